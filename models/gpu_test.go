package models_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/models"
)

// A model that is too large for the GPU is refused before the plugin is loaded, with what would
// fit.
func TestSmallGPU(t *testing.T) {
	var memory int64
	loaded := errors.New("the plugin is loaded")
	t.Cleanup(backends.Register(backends.Plugins{
		FindCUDA:  func() (string, error) { return "/plugin.so", nil },
		CheckCUDA: func(string) error { return nil },
		LoadCUDA:  func(string, func() error) error { return loaded },
		GPUMemory: func() int64 { return memory },
	}))
	const dir = "testdata/goldens/gpt2" // 42 thousand numbers
	opts := models.Options{Backend: "cuda"}
	_, needs, err := models.Examine(t.Context(), dir, opts)
	must(t, err)
	weights := needs.Memory.Layers + needs.Memory.Tables
	for _, c := range []struct {
		memory int64
		kind   errorkind.Kind
		want   string
	}{
		{1000, errorkind.None, "the GPU has 1.0 kB, of which 750 bytes are left for it; take a larger GPU"},
		{(needs.Memory.Passes + weights*3/4) * 4 / 3, errorkind.DType, "; in bfloat16 it needs"},
		{(needs.Memory.Passes + weights + 100) * 4 / 3, "", loaded.Error()},
		{0, "", loaded.Error()}, // unknown
	} {
		memory = c.memory
		_, err := models.Open(dir, opts)
		var refused *trace.MemoryError
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			errors.As(err, &refused) != !strings.Contains(c.want, loaded.Error()) ||
			refused != nil && refused.Kind() != c.kind {
			t.Errorf("with %d bytes: %v, want %q", c.memory, err, c.want)
		}
	}
	memory = 4000
	if _, needs, err = models.Examine(t.Context(), dir, opts); err != nil || needs.Limit != 3000 ||
		needs.TokensPerSecond != 0 {
		t.Errorf("%+v, %v", needs, err)
	}
}
