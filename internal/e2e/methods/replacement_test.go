package methods

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// twoSided is a model with a vocabulary for each side whose padding is 5 in the target and the 9th
// of the source.
type twoSided struct{ asked }

func (m twoSided) Replacement(kind string) (int, bool) { return 5, kind == "pad" }

func (m twoSided) SourceReplacement(kind string) (int, bool) {
	return m.Info().Vocab + 9, kind == "pad"
}

// TestReplacementOfEachSide: where source and target have a vocabulary each, a token of the source
// is replaced by the source's own, and one of the target by the target's. Occlusion is what is lost
// when that is done by hand, by ids and by embeddings, and integrated gradients add up to what is
// lost without all of them but the one with which the target begins.
func TestReplacementOfEachSide(t *testing.T) {
	m := twoSided{asked{fixture.Open(t, filepath.Join("..", "..", "..", "models", "testdata",
		"goldens", "marian_separate"), "go"), new([]trace.Query)}}
	v := m.Info().Vocab
	ids := []int{v + 7, v + 11, v + 3, v + 2, m.Info().Boundary(), 8, 21}
	begin := 4
	replaced := func(all ...int) (text []int) {
		text = slices.Clone(ids)
		for _, j := range all {
			if text[j] = 5; j < begin {
				text[j] = v + 9
			}
		}
		return text
	}
	const token = 13
	probability := func(ids []int) float64 {
		p, _ := m.probabilities(t, ids)
		return p[len(ids)-1][token]
	}
	whole := probability(ids)
	want := make([]float64, len(ids))
	for j := range ids {
		if j != begin {
			want[j] = whole - probability(replaced(j))
		}
	}
	embeddings, err := m.Embed(t.Context(), ids)
	must(t, err)
	q := trace.Query{IDs: ids}
	q.Position, q.Token = len(ids)-1, token
	opts := scorer.Options{
		Quantity: trace.Probability, Replacement: "pad", Steps: 1024,
	}
	given := q
	given.Embeddings = embeddings
	for what, q := range map[string]trace.Query{"ids": q, "embeddings": given} {
		got := scored(t, "occlusion", m, q, opts).Values
		for j := range want {
			if math.Abs(got[j]-want[j]) > 1e-6 {
				t.Errorf("%s: occlusion of token %d is %v, want %v", what, j, got[j], want[j])
			}
		}
		sum := 0.0
		for _, x := range scored(t, "integrated-gradients", m, q, opts).Values {
			sum += x
		}
		lost := whole - probability(replaced(0, 1, 2, 3, 5, 6))
		if math.Abs(sum-lost) > 1e-4*math.Abs(lost)+1e-7 {
			t.Errorf("%s: integrated gradients add up to %v, want %v", what, sum, lost)
		}
	}
	// Occlusion without a word of the caller takes the token away, as this model has no mask.
	if s := scored(t, "occlusion", m, q, scorer.Options{}); s.Replacement != "delete" {
		t.Errorf("by default a token is replaced by %q", s.Replacement)
	}
}
