package methods

import (
	"context"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// withoutTerms is a model that does not say the terms of its predictions.
type withoutTerms struct{ counted }

func (m withoutTerms) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	ask.Terms = nil
	return m.counted.Steps(ctx, ids, ask)
}

// What live scorers compute from the cache is what they compute from passes over the whole text.
func TestLiveIsPass(t *testing.T) {
	goldens := filepath.Join("..", "..", "..", "models", "testdata", "goldens")
	for _, name := range []string{"gpt2", "llama", "gemma2", "opt_350", "bloom_postln", "falcon7"} {
		m := fixture.Open(t, filepath.Join(goldens, name), "go")
		t.Run(name, func(t *testing.T) {
			opts := attribution.Options{
				Methods: []string{"direct", "alti-logit", "raw"}, Continuation: "efga",
			}
			live, err := attribution.Explain(t.Context(), counted{m}, "abcd", opts)
			must(t, err)
			other := withoutTerms{counted{m}}
			pass, err := attribution.Explain(t.Context(), other, "abcd", opts)
			must(t, err)
			for _, method := range opts.Methods[:2] {
				got, want := live.Methods[method], pass.Methods[method]
				equal(t, method, slices.Concat(got.Rows...), slices.Concat(want.Rows...))
				equal(t, method+" residue", got.Residue, want.Residue)
				equal(t, method+" on the answer", live.Methods[method].OtherMass,
					pass.Methods[method].OtherMass)
			}
		})
	}
}

// equal compares numbers relative to the largest.
func equal(t *testing.T, what string, got, want []float64) {
	t.Helper()
	largest := 1e-3
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 1e-4*largest) {
			t.Errorf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}
