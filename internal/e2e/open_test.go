package e2e

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla"
)

// open opens a model on a backend. It skips the test where XLA is not installed, and with -short.
func open(t *testing.T, ref, backend string) *models.Model {
	t.Helper()
	if backend == "xla" {
		if testing.Short() {
			t.Skip("XLA compiles for seconds")
		}
		if _, err := models.OpenBackend("xla"); err != nil {
			t.Skip("no XLA here: ", err)
		}
	}
	m, err := models.Open(ref, models.Options{Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// explainedPrompt returns an explanation by the embedded model.
func explainedPrompt(
	t *testing.T, prompt string, opts attribution.Options,
) *attribution.Explanation {
	t.Helper()
	e, err := attribution.Explain(context.Background(), open(t, "", "go"), prompt, opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// written returns what r writes.
func written(t *testing.T, r io.WriterTo) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
