package local

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
)

// A request gets the backend that it names, or else that of the engine.
func TestOpener(t *testing.T) {
	m, err := opener("go")(t.Context(), engine.Model{}, nil)
	must(t, err)
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
	must(t, err)
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
	must(t, err)
	// The program and the weights; a quarter of what is left stays free.
	held := 1<<30 - m.(trace.Budgeted).Memory().Left/3*4
	within := m.(loaded).Within
	if view, err := within(held - 100); view != nil || err == nil ||
		errors.Is(err, server.ErrMemory) {
		t.Errorf("below the weights: %v, %v; want an error about the limit", view, err)
	}
	view, err := within(held + 4000)
	must(t, err)
	if got := view.(trace.Budgeted).Memory().Left; got < 2990 || got > 3010 {
		t.Errorf("%d bytes are left for a pass, want three quarters of 4000", got)
	}
	if _, ok := view.(trace.Tracer); !ok {
		t.Error("a limited model cannot be traced")
	}
}

// TestErrorAboutMemory checks that a full machine and a low limit give different errors.
func TestErrorAboutMemory(t *testing.T) {
	err := error(noMemory{&trace.MemoryError{What: "the weights"}})
	var memory *trace.MemoryError
	if !errors.Is(err, server.ErrMemory) || !errors.As(err, &memory) ||
		err.Error() != memory.Error() {
		t.Errorf("error %v", err)
	}
	if _, err := opener("go")(t.Context(), engine.Model{MaxMemory: 1}, nil); err == nil ||
		errors.Is(err, server.ErrMemory) {
		t.Errorf("a limit of one byte: %v", err)
	}
}

// TestFromEnvironment takes the limits of engines that notebooks start from the environment, where
// no flag says otherwise.
func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		memory, models string
		given          Config
		wantMemory     int64
		wantModels     int
		fails          string
	}{
		{"", "", Config{}, 0, 0, ""},
		{"12GB", "2", Config{}, 12e9, 2, ""},
		{"12GB", "2", Config{Memory: 5, Models: 6}, 5, 6, ""},
		{"much", "", Config{}, 0, 0, `local: HEADWATER_ENGINE_MEMORY is "much": want a size`},
		{"", "0", Config{}, 0, 0, `local: HEADWATER_ENGINE_MODELS is "0": want a number of models`},
		{"", "two", Config{}, 0, 0, `local: HEADWATER_ENGINE_MODELS is "two": want a number`},
	} {
		t.Setenv("HEADWATER_ENGINE_MEMORY", c.memory)
		t.Setenv("HEADWATER_ENGINE_MODELS", c.models)
		err := c.given.FromEnvironment()
		if c.fails != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.fails) {
				t.Errorf("%q, %q: error %v, want %q", c.memory, c.models, err, c.fails)
			}
			continue
		}
		if err != nil || c.given.Memory != c.wantMemory || c.given.Models != c.wantModels {
			t.Errorf("%q, %q: memory %d, models %d, %v", c.memory, c.models, c.given.Memory,
				c.given.Models, err)
		}
	}
}

// TestMemoryOfTheEngine opens real models within one budget: the one used longest ago leaves for
// another one, and a budget below a single model is refused in one line.
func TestMemoryOfTheEngine(t *testing.T) {
	one, err := models.Open("tiny", models.Options{})
	must(t, err)
	const program = 64 << 20 // what package models counts for the program
	for _, c := range []struct {
		name   string
		memory int64
		fails  string
	}{
		{"enough", 2 << 30, ""},
		{"too little", program + one.Memory().Weights - 1000, "is the limit of all models of the engine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := engine.Client{Socket: filepath.Join(testhelp.ShortDir(t), "s")}
			done := make(chan error, 1)
			go func() {
				done <- Serve(t.Context(), Config{
					Socket: client.Socket, Backend: "go", Memory: c.memory, Models: 2,
				})
			}()
			for {
				if _, err := client.Info(t.Context()); err == nil {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			for _, name := range []string{"tiny", "planted-offset", "planted-sink"} {
				_, _, err = client.Trace(t.Context(), engine.Model{Name: name},
					engine.Input{IDs: []int{1, 2}}, trace.Final)
				if err != nil {
					break
				}
			}
			if (err != nil) != (c.fails != "") ||
				err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			status, err := client.Info(t.Context())
			var want []string // tiny left
			if c.fails == "" {
				want = []string{"planted-offset", "planted-sink"}
			}
			if err != nil || !slices.Equal(status.Models, want) || status.Limit != c.memory {
				t.Errorf("status %+v, %v; want the models %v", status, err, want)
			}
			if err := client.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

var must = testhelp.Must // ends a test at an error
