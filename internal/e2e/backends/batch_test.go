package backends

import (
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/modelgolden"
)

// TestBatch: on XLA each text of a batch gets the tokens and the numbers that it gets alone. The
// families differ in their positions, norms, windows and groups of heads; models/batch_test.go has
// all of them in pure Go.
func TestBatch(t *testing.T) {
	for _, family := range []string{"bloom", "gemma2", "qwen3"} {
		t.Run(family, func(t *testing.T) {
			m := fixture.Open(t, goldens+family, "xla")
			modelgolden.Batch(t, m, 4)
		})
	}
}
