package models_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/hub"
	"github.com/headwater-ml/headwater/models/tiny"
)

// TestBrokenInTheCache cuts the weights of a model of the Hub short. The error says which file it
// is, and that it is in the cache.
func TestBrokenInTheCache(t *testing.T) {
	const commit = "cccccccccccccccccccccccccccccccccccccccc"
	cache := t.TempDir()
	repo := filepath.Join(cache, "models--org--name")
	dir := filepath.Join(repo, "snapshots", commit)
	for _, folder := range []string{dir, filepath.Join(repo, "refs")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(repo, "refs", "v1"), []byte(commit))
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		data, err := fs.ReadFile(tiny.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), data)
	}
	open := func() error {
		_, err := models.Open("org/name@v1",
			models.Options{Backend: "go", Hub: &hub.Options{Cache: cache, Offline: true}})
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 1000); err != nil {
		t.Fatal(err)
	}
	err := open()
	var cached *models.CacheError
	if !errors.As(err, &cached) || cached.Ref != "org/name@v1" || cached.Dir != dir ||
		trace.KindOf(err) != trace.CacheKind {
		t.Errorf("error %v, want one that names the model", err)
	}
	for _, want := range []string{filepath.Join(dir, "model.safetensors"), "a file there may be broken"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
