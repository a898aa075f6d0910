package local

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
	"github.com/headwater-ml/headwater/gonbext/engine/server"
	"github.com/headwater-ml/headwater/models"
)

// A request gets the backend that it names, or else that of the engine.
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
		{"unknown model", "./nope", "", "go", "nope is neither a directory nor a GGUF file, nor an embedded model (tiny"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			which := engine.Model{Name: c.model, Backend: c.backend}
			_, err := opener(c.engine)(t.Context(), which, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// The embedded model computes in pure Go even if XLA is available, because it answers before XLA
// has started.
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

// TestNamer checks that one model has one name, with the engine's defaults filled in.
func TestNamer(t *testing.T) {
	name := namer("go")
	want := engine.Model{Name: models.Default, Backend: "go", DType: "float32"}
	for _, m := range []engine.Model{
		{}, {Name: "tiny"}, {DType: "f32"}, {Backend: "go"}, {Name: "tiny", DType: "float32", Backend: "go"},
	} {
		if got := name(m); got != want {
			t.Errorf("%+v is named %+v, want %+v", m, got, want)
		}
	}
	for _, m := range []engine.Model{{Name: "other"}, {Backend: "xla"}, {DType: "bf16"}} {
		if got := name(m); got == want {
			t.Errorf("%+v is named as the default", m)
		}
	}
}

// TestLimitOfARequest checks that an open model keeps to the limit of each request.
func TestLimitOfARequest(t *testing.T) {
	m, err := opener("go")(t.Context(), engine.Model{MaxMemory: 1 << 30}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The program and the weights; a quarter of what is left stays free.
	held := 1<<30 - m.(trace.Budgeted).Budget()/3*4
	within := m.(loaded).Within
	if view, err := within(held - 100); view != nil || err == nil ||
		errors.Is(err, server.ErrMemory) {
		t.Errorf("below the weights: %v, %v; want an error about the limit", view, err)
	}
	view, err := within(held + 4000)
	if err != nil {
		t.Fatal(err)
	}
	if got := view.(trace.Budgeted).Budget(); got < 2990 || got > 3010 {
		t.Errorf("%d bytes are left for a pass, want three quarters of 4000", got)
	}
	if _, ok := view.(trace.Tracer); !ok {
		t.Error("a limited model cannot be traced")
	}
}

// TestErrorAboutMemory checks that a full machine and a low limit give different errors.
func TestErrorAboutMemory(t *testing.T) {
	err := error(noMemory{&models.MemoryError{What: "the weights"}})
	var memory *models.MemoryError
	if !errors.Is(err, server.ErrMemory) || !errors.As(err, &memory) ||
		err.Error() != memory.Error() {
		t.Errorf("error %v", err)
	}
	if _, err := opener("go")(t.Context(), engine.Model{MaxMemory: 1}, nil); err == nil ||
		errors.Is(err, server.ErrMemory) {
		t.Errorf("a limit of one byte: %v", err)
	}
}
