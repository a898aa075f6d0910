package models

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// paddingTol bounds how far logits, of about 1, are from those of transformers in float32. The
// largest difference seen is 1.2e-6.
const paddingTol = 1e-5

// TestPaddingInSource: padding that is typed into the source of M2M100 takes no position, and the
// tokens after it count without it, as transformers has it; see padding/record.py of the test data.
// The target is read in one pass, and token by token.
func TestPaddingInSource(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "padding", "padding.json"))
	must(t, err)
	var recorded struct {
		Target []int
		Models map[string][]struct {
			Source []int
			Logits []float64
		}
	}
	must(t, json.Unmarshal(text, &recorded))
	largest := 0.0
	for name, texts := range recorded.Models {
		m, err := Open(filepath.Join("testdata", "goldens", name), Options{Backend: "go"})
		must(t, err)
		for _, want := range texts {
			prompt := append(slices.Clone(want.Source), m.Info().Boundary())
			ids := slices.Concat(prompt, recorded.Target)
			traces, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Logits})
			must(t, err)
			last := traces[0].Data[(len(ids)-1)*m.Info().Vocab:]
			sum := 0.0
			for i, x := range want.Logits {
				largest = max(largest, math.Abs(float64(last[i])-x))
				sum += math.Exp(x)
			}
			const next = 9
			ask := trace.Ask{Continuation: append(slices.Clone(recorded.Target), next)}
			var probability float64
			for step, err := range m.Steps(t.Context(), prompt, ask) {
				must(t, err)
				probability = step.Next.Probability
			}
			if d := math.Abs(probability - math.Exp(want.Logits[next])/sum); d > paddingTol {
				t.Errorf("%s, %v: token by token the probability is %v off", name, want.Source, d)
			}
		}
	}
	if largest > paddingTol || len(recorded.Models) != 2 {
		t.Errorf("logits of %d models are up to %v off", len(recorded.Models), largest)
	}
	t.Logf("logits are up to %.2g off", largest)
}
