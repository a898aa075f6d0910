package models_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// Each seed gives a different model, the same one every time, and none is the model that was
// trained.
func TestShuffle(t *testing.T) {
	final := func(seed uint64) ([]float32, string) {
		m, err := models.Open("testdata/goldens/gpt2", models.Options{Backend: "go", Shuffle: seed})
		must(t, err)
		taps, err := m.Trace(t.Context(), []int{1, 2, 3}, []trace.Tap{trace.Final})
		must(t, err)
		return taps[0].Data, m.Info().Hash
	}
	learnt, hash := final(0)
	one, oneHash := final(1)
	again, _ := final(1)
	two, _ := final(2)
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("seed 1 twice differs:\n%s", diff)
	}
	if cmp.Equal(learnt, one) || cmp.Equal(one, two) || hash == oneHash {
		t.Errorf("models or hashes are equal: %q, %q", hash, oneHash)
	}
}
