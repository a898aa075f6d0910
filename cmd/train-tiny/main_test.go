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
