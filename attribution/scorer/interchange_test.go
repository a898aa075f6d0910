package scorer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// The planted token loses 0.7 with every other token in its place, and the others lose nothing. The
// first token has no alternatives, although it decides here as well.
func TestInterchange(t *testing.T) {
	m := newPlanted()
	m.Predicted = func(q trace.Query) float64 {
		return 0.2 + 0.7*fakemodel.On(q.IDs[2] == 7) + 5*fakemodel.On(q.IDs[0] == 3)
	}
	text := []int{3, 4, 7, 8}
	got := score(t, "interchange", m, ids(text...), scorer.Options{})
	near(t, "values", got.Values, []float64{0, 0, 0.7, 0}, 1e-12)
	near(t, "value", []float64{got.Value}, []float64{5.9}, 1e-12)
	count, seen := replacedTokens(text, m)
	if fmt.Sprint(count) != "[0 4 3 4]" ||
		fmt.Sprint(seen) != "[[] [5 7 11 21] [5 11 22] [5 7 11 23]]" {
		t.Errorf("replaced %v times, by %v; want what the model offers", count, seen)
	}
}

// By brute force, over all tokens of a small vocabulary whose probabilities are known: the weighted
// mean of the losses with the five most probable others, text by text.
func TestInterchangeBruteForce(t *testing.T) {
	m := newPlanted()
	rng := rand.New(rand.NewPCG(5, 6))
	table := map[string]float64{}
	m.Predicted = func(q trace.Query) float64 {
		key := fmt.Sprint(q.IDs)
		if _, ok := table[key]; !ok {
			table[key] = rng.NormFloat64()
		}
		return table[key]
	}
	q := ids(9, 5, 21, 14)
	got := score(t, "interchange", m, q, scorer.Options{})
	whole := table[fmt.Sprint(q.IDs)]
	want := make([]float64, 4)
	for j := 1; j < 4; j++ {
		offered := map[int]float64{5: .25, 7: .25, 11: .25, 20 + j: .25}
		delete(offered, q.IDs[j])
		sum := 0.0
		for _, p := range offered {
			sum += p
		}
		for id, p := range offered {
			other := append([]int{}, q.IDs...)
			other[j] = id
			value, ok := table[fmt.Sprint(other)]
			if !ok {
				t.Fatalf("the model was not asked about %v", other)
			}
			want[j] += p / sum * (whole - value)
		}
	}
	near(t, "values", got.Values, want, 1e-12)
}

// An encoder is asked what could stand at each masked place but the one explained.
func TestInterchangeEncoder(t *testing.T) {
	m := newPlanted()
	m.About.Bidirectional, m.About.Head = true, trace.MaskedToken
	got := score(t, "interchange", m, ids(3, 4, 7, 30), scorer.Options{})
	near(t, "values", got.Values, []float64{0, 0, 0.7, 0}, 1e-12)
	if s := fmt.Sprint(*m.asks); s != "[[30 4 7 30] [] [0] [3 30 7 30] [] [1] [3 4 30 30] [] [2]]" {
		t.Errorf("runs %s", s)
	}
	q := ids(3, 4)
	var offers trace.Model = attributiontest.NewModel(4)
	var e error
	q.Embeddings, e = offers.(trace.Differentiable).Embed(t.Context(), q.IDs)
	must(t, e)
	s, err := scorer.Lookup("interchange")
	must(t, err)
	_, err = s.Score(t.Context(), offers, q, scorer.Options{})
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "puts other tokens in") {
		t.Errorf("with embeddings: error %v, want wrong usage", err)
	}
}
