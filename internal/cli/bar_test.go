package cli

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/hub"
)

// On a terminal a bar is drawn and removed.
func TestDownloadBar(t *testing.T) {
	var b strings.Builder
	bar := &DownloadBar{k: &Kit{Stderr: &b}, width: 100}
	for done := int64(0); done <= 4; done += 2 {
		bar.Show(hub.Progress{
			File: "a\x1b[31m.safetensors", Done: done, Size: 4, Number: 1, Count: 2,
		})
	}
	for done := range int64(3) {
		bar.Show(hub.Progress{File: "a\x1b[31m.safetensors", Done: done, Size: 4, Checking: true})
	}
	bar.Done()
	if !strings.Contains(b.String(), "checking a") {
		t.Errorf("drawn %q, want that the file is checked", b.String())
	}
	if !strings.Contains(b.String(), "(1 of 2)") || strings.Contains(b.String(), "\x1b[31m") {
		t.Errorf("drawn %q, want the number, and the name without its escapes", b.String())
	}
}
