package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/train"
)

// TestRunRefuses checks that an unknown backend is refused before anything is trained or written.
func TestRunRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "data")
	err := run(t.Context(), train.Default(), "abacus", out)
	if err == nil || !strings.Contains(err.Error(), "abacus") {
		t.Errorf("error %v does not name the backend", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the directory was made")
	}
}

// TestSettings: each model has its own directory and schedule, which flags change.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		model, name, dir string
	}{
		{"decoder", "", "internal/tiny/data"},
		{"verb", "tiny-verb", "internal/tiny/trained/tiny-verb"},
		{"mlm", "tiny-mlm", "internal/tiny/trained/tiny-mlm"},
		{"sentiment", "tiny-sentiment", "internal/tiny/trained/tiny-sentiment"},
		{"alibi", "tiny-alibi", "internal/tiny/trained/tiny-alibi"},
		{"translation", "tiny-translation", "internal/tiny/trained/tiny-translation"},
	} {
		cfg, dir, err := settings(c.model, 0, -1, 1)
		if err != nil || cfg.Model != c.name || dir != c.dir || cfg.Steps == 0 {
			t.Errorf("%s: %+v into %s, error %v; want %q into %s", c.model, cfg, dir, err, c.name,
				c.dir)
		}
	}
	if cfg, _, err := settings("decoder", 0, -1, 1); err != nil || cfg != train.Default() {
		t.Errorf("the decoder has %+v, error %v; want %+v", cfg, err, train.Default())
	}
	cfg, _, err := settings("decoder", 7, 3, 2)
	if err != nil || cfg.Steps != 7 || cfg.Guided != 3 || cfg.Seed != 2 {
		t.Errorf("with flags: %+v, error %v", cfg, err)
	}
	for _, c := range []struct {
		model  string
		guided int
		want   string
	}{{"poem", -1, `-model "poem" is unknown`}, {"verb", 5, "never shown the evidence"}} {
		if _, _, err := settings(c.model, 0, c.guided, 1); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, guided %d: error %v, want %q", c.model, c.guided, err, c.want)
		}
	}
}
