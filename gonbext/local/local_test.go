package local

import (
	"context"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/engine"
	"github.com/headwater-ml/headwater/models"
)

// A request that names no backend gets that of the engine, and one that names one gets it.
func TestOpener(t *testing.T) {
	m, err := opener("go")(t.Context(), engine.Model{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if info := m.Info(); info.Name != models.Default || info.Backend != "go" {
		t.Errorf("the default model is %s on %s", info.Name, info.Backend)
	}
	cases := []struct{ name, model, backend, engine, want string }{
		{"request's backend", "", "tpu", "go", `backend "tpu" is unknown`},
		{"engine's backend", "", "", "npu", `backend "npu" is unknown`},
		{"unknown model", "./nope", "", "go", "nope is neither a directory, nor an embedded model (tiny"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := opener(c.engine)(t.Context(), engine.Model{Name: c.model, Backend: c.backend}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// The embedded model computes in pure Go, also where XLA is linked and found: it has answered before XLA has started.
func TestOpenerEmbedded(t *testing.T) {
	m, err := opener("")(t.Context(), engine.Model{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if backend := m.Info().Backend; backend != "go" {
		t.Errorf("the embedded model runs on %s", backend)
	}
}

// A request that is cancelled while its model opens gets an error, not a model.
func TestOpenerCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := opener("go")(ctx, engine.Model{}, nil); m != nil || err != context.Canceled {
		t.Errorf("opener returned %v, %v", m, err)
	}
}
