package gguf

import (
	"os"
	"strings"
	"testing"
)

// TestModelsPage: docs/models.md names every architecture.
func TestModelsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range architectures {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/models.md lacks the architecture %s", name)
		}
	}
}
