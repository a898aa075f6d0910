package trace_test

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestShownName: a title that reads as a name is shown, and else the name that the user gave,
// without the folders of a path.
func TestShownName(t *testing.T) {
	for _, c := range []struct{ title, name, want string }{
		{"", "tiny", "tiny"},
		{"SmolLM2 135M Instruct", "smollm2", "SmolLM2 135M Instruct"},
		{"Qwen3 30B A3B Instruct 2507", "q.gguf", "Qwen3 30B A3B Instruct 2507"},
		{"Smollm2 135M 8k Lc100K Mix1 Ep2", "smollm2", "smollm2"},
		{"Smollm2 135M 8k Lc100K Mix1 Ep2", "/home/me/models/smol.gguf", "smol.gguf"},
		{"", "./mine/gpt2", "gpt2"},
		{"", "models/smol.gguf", "smol.gguf"},
		{"", `C:\models\gpt2`, "gpt2"},
		{"", "openai-community/gpt2", "openai-community/gpt2"},
		{"", "/", "/"},
	} {
		if got := (trace.Info{Title: c.title, Name: c.name}).ShownName(); got != c.want {
			t.Errorf("title %q, name %q: %q, want %q", c.title, c.name, got, c.want)
		}
	}
}
