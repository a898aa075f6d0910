package models_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/models"
)

// TestSmolLM2 opens the real model by its short name and out of a store laid out as Ollama's. Both
// are the same model, and it answers.
func TestSmolLM2(t *testing.T) {
	if testing.Short() {
		t.Skip("loads a model of 538 MB twice")
	}
	folder, err := filepath.Abs("../.cache/models")
	must(t, err)
	t.Setenv("HEADWATER_MODELS", folder)
	blob, err := hub.Local("smollm2", hub.Options{Models: folder})
	must(t, err)
	if blob == "" {
		t.Skip("the model is not there; make smollm2 brings it")
	}
	data, err := os.ReadFile(blob)
	must(t, err)
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	store := t.TempDir()
	t.Setenv("OLLAMA_MODELS", store)
	layers := []map[string]any{
		{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + sum, "size": len(data)},
		{"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:" + strings.Repeat("0", 64), "size": 1},
	}
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "layers": layers})
	must(t, err)
	names := filepath.Join(store, "manifests", "registry.ollama.ai", "library", "smollm2")
	for _, dir := range []string{filepath.Join(store, "blobs"), names} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	write(t, filepath.Join(names, "135m"), manifest)
	link := filepath.Join(store, "blobs", "sha256-"+sum)
	if err := os.Symlink(blob, link); err != nil {
		t.Skip("no link can be made here: ", err)
	}
	var hashes []string
	for _, name := range []string{"smollm2", "ollama:smollm2:135m"} {
		m, err := models.Open(name, models.Options{Backend: "go"})
		must(t, err)
		if info := m.Info(); info.Name != name || info.Layers != 30 || info.Vocab != 49152 {
			t.Errorf("%s: %+v", name, info)
		}
		hashes = append(hashes, m.Info().Hash)
		e, err := attribution.Explain(t.Context(), m,
			"The Eiffel Tower is in Paris. The Colosseum is in",
			attribution.Options{MaxTokens: 1, Methods: []string{"raw"}})
		must(t, err)
		if got := e.Steps[0]; got.Text != " Rome" || got.Probability < .95 {
			t.Errorf("%s answers %q with probability %.3f, want Rome", name, got.Text,
				got.Probability)
		}
	}
	if hashes[0] != hashes[1] {
		t.Errorf("hashes %s, want the same one", hashes)
	}
}
