package models_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/tiny"
)

// withTemplate is a directory with the embedded model and a chat template.
func withTemplate(t *testing.T, template string) *models.Model {
	t.Helper()
	dir := t.TempDir()
	files := tiny.Files()
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), data)
	}
	write(t, filepath.Join(dir, "tokenizer_config.json"), []byte(`{"bos_token": "<bos>"}`))
	if template != "" {
		write(t, filepath.Join(dir, "chat_template.jinja"), []byte(template))
	}
	m, err := models.Open(dir, models.Options{Backend: "go"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestChat explains what a model answers to a user: the template's control tokens are prompt tokens, and flagged.
func TestChat(t *testing.T) {
	m := withTemplate(t, "{{ bos_token }}{% for m in messages %} {{ m.content }}{% endfor %}{% if add_generation_prompt %} .{% endif %}")
	e, err := attribution.Explain(context.Background(), m, "mary has the red key", attribution.Options{Chat: true, MaxTokens: 2, Methods: []string{"rollout"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "<bos> mary has the red key ."; e.Prompt.Text != want {
		t.Errorf("prompt %q, want %q", e.Prompt.Text, want)
	}
	if !e.Prompt.Special[0] || e.Prompt.Special[1] || e.Prompt.Offsets[0] != [2]int{0, 5} {
		t.Errorf("first token: special %v at %v, want a control token at [0 5]", e.Prompt.Special[0], e.Prompt.Offsets[0])
	}
}

func TestChatRefusals(t *testing.T) {
	for name, c := range map[string]struct{ template, say string }{
		"none":              {"", "no chat template"},
		"does not parse":    {"{% for m in %}", "chat"},
		"loops":             {"{% for i in range(1000000000) %}x{% endfor %}", "limits"},
		"refuses":           {"{{ raise_exception('only kings may speak') }}", "only kings may speak"},
		"an unknown filter": {"{{ messages | frobnicate }}", "frobnicate"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := withTemplate(t, c.template).Chat("hi"); err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("Chat = %v, want an error with %q", err, c.say)
			}
		})
	}
}

// TestMemory: weights that do not fit are refused before they are read, and the error says what would fit.
func TestMemory(t *testing.T) {
	dir := "testdata/goldens/gpt2" // 42 thousand numbers
	for name, c := range map[string]struct {
		opts models.Options
		say  string
	}{
		"neither": {models.Options{MaxMemory: 1000}, "--max-memory"},
		"half":    {models.Options{MaxMemory: 100_000}, "in bfloat16 (--dtype bfloat16) they need"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := models.Open(dir, c.opts)
			var memory *models.MemoryError
			if !errors.As(err, &memory) || !memory.Chosen || memory.Limit != c.opts.MaxMemory || !strings.Contains(err.Error(), c.say) {
				t.Errorf("error %v, want a MemoryError with %q", err, c.say)
			}
		})
	}
	m, err := models.Open(dir, models.Options{Backend: "go", DType: "bf16", MaxMemory: 1 << 30})
	if err != nil || m.DType() != "bfloat16" {
		t.Errorf("bfloat16 within a limit: %v", err)
	}
}
