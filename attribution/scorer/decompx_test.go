package scorer_test

import (
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

func TestDecompX(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.Parts, m.Rest = []float64{2, -3, 5}, 0.5
	got := score(t, "decompx", m, ids(1, 2, 3), scorer.Options{})
	if s := fmt.Sprint(got.Values, got.Value, *got.Residue); s != "[2 -3 5] 4.5 0.5" {
		t.Errorf("values, value and residue %s", s)
	}
}
