package methods

import (
	"context"
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// sliceTol bounds M, which is made of rows of a cache, against one pass; the rows agree to 2e-7 in
// float32.
const sliceTol = 2e-6

// TestExplanationIsASlice explains a generation token by token and computes the same from one pass
// over all tokens: M is the slice of rows m-1..m+n-2 (SPEC §A).
func TestExplanationIsASlice(t *testing.T) {
	m := fixture.Open(t, "", "go")
	methods := []string{"raw", "rollout", "flow", "flow-normalized", "value-zeroing", "value-zeroing-rollout"}
	opts := attribution.Options{Methods: methods, MaxTokens: 5, AllLevels: true}
	e, err := attribution.Explain(context.Background(), m, "the keys to the cabinet", opts)
	must(t, err)
	text := append([]int{}, e.Prompt.IDs...)
	for _, s := range e.Steps {
		text = append(text, s.ID)
	}
	taps, err := m.Trace(context.Background(), text, []trace.Tap{trace.Attention, trace.ValueZeroing})
	must(t, err)
	opts = attribution.Options{Methods: methods, AllLevels: true}
	whole, err := attribution.Attribute(context.Background(), attribution.InMemory(taps), opts)
	must(t, err)
	for _, name := range methods {
		compareSlice(t, name, e.Methods[name], mapOf(t, whole, name), len(e.Prompt.IDs)-1,
			len(text))
	}
}

// mapOf returns [L,T,T] of a method.
func mapOf(t *testing.T, a *attribution.Attribution, name string) []float64 {
	t.Helper()
	if m := a.Methods[name]; m != nil {
		return m.Data
	}
	t.Fatalf("Attribute returns no %s", name)
	return nil
}

// compareSlice compares M[n,m,l] with rows first.. of whole [L,T,T].
func compareSlice(
	t *testing.T, name string, r *attribution.Result, whole []float64, first, tokens int,
) {
	t.Helper()
	for step := range r.Shape[0] {
		for j := range r.Shape[1] {
			for k := range r.Layers {
				layer := r.Layer(step, k)
				want := whole[(layer*tokens+first+step)*tokens+j]
				if got := r.At(step, j, k); math.Abs(got-want) > sliceTol {
					t.Fatalf("%s: M[%d,%d,%d] = %v, the slice of one pass has %v",
						name, step, j, k, got, want)
				}
			}
		}
	}
}
