package scorer_test

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/scorer"
)

// Random numbers depend on the seed, the text and the position, and on nothing else.
func TestRandom(t *testing.T) {
	m := attributiontest.NewModel(1)
	q := ids(1, 2, 3)
	one := score(t, "random", m, q, scorer.Options{}).Values
	other := q
	other.Token = 5
	near(t, "another token", score(t, "random", m, other, scorer.Options{}).Values, one, 0)
	for name, got := range map[string][]float64{
		"another seed": score(t, "random", m, q, scorer.Options{Seed: 1}).Values,
		"another text": score(t, "random", m, ids(1, 2, 4), scorer.Options{}).Values,
	} {
		if got[0] == one[0] {
			t.Errorf("%s gives %v again", name, got)
		}
	}
	for _, v := range one {
		if !(v >= 0 && v < 1) {
			t.Errorf("random values %v, want them in [0,1)", one)
		}
	}
}
