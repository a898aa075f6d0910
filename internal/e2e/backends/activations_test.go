package backends

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// TestActivations: with each name of an activation, the logits of a GPT-2 after its text are those
// of the reference, in pure Go and on XLA.
func TestActivations(t *testing.T) {
	data, err := os.ReadFile(goldens + "activations.json")
	must(t, err)
	var all map[string]json.RawMessage
	must(t, json.Unmarshal(data, &all))
	delete(all, "points")
	for _, name := range []string{"laplace", "sigmoid", "sqrtsoftplus"} { // they are refused
		delete(all, name)
	}
	config, err := os.ReadFile(goldens + "gpt2/config.json")
	must(t, err)
	text := ids(t, "gpt2", "input_ids", 2)
	for name, recording := range all {
		var want struct{ Logits []float32 }
		must(t, json.Unmarshal(recording, &want))
		dir := t.TempDir()
		weights, err := filepath.Abs(goldens + "gpt2/model.safetensors")
		must(t, err)
		must(t, os.Symlink(weights, dir+"/model.safetensors"))
		must(t, os.WriteFile(dir+"/config.json", bytes.ReplaceAll(config, []byte(`"gelu_new"`),
			[]byte(fmt.Sprintf("%q", name))), 0o600))
		for _, backend := range []string{"go", "xla"} {
			t.Run(name+" on "+backend, func(t *testing.T) {
				ts, err := fixture.Open(t, dir, backend).Trace(context.Background(), text,
					[]trace.Tap{trace.Logits})
				must(t, err)
				got := ts[0].Data
				compare(t, "logits", got[len(got)-len(want.Logits):], want.Logits, logitsTol)
			})
		}
	}
}
