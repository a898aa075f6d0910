package backends

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/models"
)

// decomposed returns every part of a logit: those of LogitTerms, those of Decompose, and its rest.
func decomposed(t *testing.T, m *models.Model, q trace.Query) (terms, parts []float64) {
	t.Helper()
	x, err := m.LogitTerms(context.Background(), q)
	must(t, err)
	parts, rest, err := m.Decompose(context.Background(), q)
	must(t, err)
	sums := []float64{x.Value, x.Embedding, x.Bias}
	return slices.Concat(sums, x.Attention, x.MLP, x.AttentionBias), append(parts, rest)
}

// TestPartsAgree compares the parts of a logit in pure Go and XLA, of the embedded model and of
// goldens that between them have every order of a block, every place of a norm, every kind of head,
// gates, heads that share keys, and experts.
func TestPartsAgree(t *testing.T) {
	refs := []string{models.Default}
	for _, family := range []string{"gpt2", "bloom_h6", "bloom_postln", "llama", "falcon7", "gemma2", "opt_350", "bert", "distilbert_cls", "electra_disc", "bert_qa", "opt_cls", "mixtral", "gpt_oss"} {
		refs = append(refs, goldens+family)
	}
	contrast := 0
	for _, ref := range refs {
		t.Run(filepath.Base(ref), func(t *testing.T) {
			t.Parallel()
			plain, xla := fixture.Open(t, ref, "go"), fixture.Open(t, ref, "xla")
			q := trace.Query{
				IDs: []int{5, 17, 33, 8, 90, 41, 6, 77, 23},
				Objective: trace.Objective{
					Quantity: trace.Logit, Position: 7, Token: 1, Contrast: &contrast,
				},
			}
			for i := range q.IDs {
				q.IDs[i] %= plain.Info().Vocab
			}
			wantTerms, wantParts := decomposed(t, plain, q)
			terms, parts := decomposed(t, xla, q)
			agree(t, "terms", terms, wantTerms)
			agree(t, "parts", parts, wantParts)
		})
	}
}

// agree compares numbers relative to the largest and 1.
func agree(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	scale := 1.0
	for _, x := range want {
		scale = max(scale, math.Abs(x))
	}
	for i := range got {
		if d := math.Abs(got[i]-want[i]) / scale; !(d <= backendTol) {
			t.Errorf("%s: number %d = %v in XLA, %v in pure Go: %g apart, relative to %g",
				what, i, got[i], want[i], d, scale)
		}
	}
}

// TestPartsHalf: in XLA too, weights of half precision leave the sum of parts within what rounding
// activations costs.
func TestPartsHalf(t *testing.T) {
	const cost = 0.08 // see TestPartsBFloat16 of models/transformer
	for _, family := range []string{"gpt2", "llama"} {
		t.Run(family, func(t *testing.T) {
			fixture.Open(t, goldens+family, "xla") // or skip
			m, err := models.Open(goldens+family, models.Options{Backend: "xla", DType: "bfloat16"})
			must(t, err)
			q := trace.Query{
				IDs:       []int{5, 17, 33, 8, 90},
				Objective: trace.Objective{Quantity: trace.Logit, Position: 4, Token: 7},
			}
			want, err := m.Predict(context.Background(), []trace.Query{q})
			must(t, err)
			terms, parts := decomposed(t, m, q)
			rest := parts[len(parts)-1]
			apart := math.Abs(terms[0] - want[0])
			if !(apart <= cost) || !(math.Abs(rest) <= cost) || rest == 0 {
				t.Errorf("the terms add up to %v and the rest is %v, of the logit %v: "+
					"want both within %v of it, and rounding", terms[0], rest, want[0], cost)
			}
		})
	}
}
