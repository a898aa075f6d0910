// Package local joins the engine of notebooks with the models of this module. The command headwater
// serve calls it:
//
//	err := local.Serve(ctx, local.Config{Socket: path, Watch: pid})
//
// # Plugins in a notebook
//
// A program that imports this package is its own engine. So a cell of a notebook can declare a
// mixing, an aggregation or a scorer, and later cells use it like any other:
//
//	import "github.com/headwater-ml/headwater/gonbext/local"
//
//	type mine struct{}
//
//	func (mine) Mix(b *transformer.Block, heads trace.Heads) *graph.Node { … }
//	func (mine) Check(heads trace.Heads) error { return nil }
//	func (mine) PerPair() bool { return false }
//
//	func init_mine() { local.RegisterMixing("mine", attribution.MixingInfo{Unit: "…"}, mine{}) }
//
//	%%
//	gonbext.Explain("the keys to the cabinet", gonbext.Options{Methods: []string{"mine+rollout"}})
//
// An aggregation or a scorer is registered with package attribution. A cell that declares one and
// no mixing imports this package with a blank import; GoNB keeps at most one blank import from cell
// to cell. Without the import the engine is the command headwater, which does not have the plugin.
//
// gonbext.Explain starts the cell's own binary a second time, with a flag that package flag reads.
// GoNB puts flag.Parse at the top of a cell's main, after all init functions. There the second
// process becomes the engine, so nothing in the cell's body runs twice. What comes before main does
// run in both processes: init functions and variables with computed values should only register
// plugins. If a cell has a main of its own without flag.Parse, the code before the first call of
// gonbext also runs twice, unless the first line calls [Main].
//
// The engine runs as long as the declarations that init functions reach stay the same, and its
// models stay open. If a cell changes one of them, it gets a new engine, the old one ends, and
// models are opened again. The same happens when a source file changes in another module of the
// workspace. This module is an exception: the engine keeps the version that it started with.
//
// A cell that links the models takes about a second to build on two cores, compared with less than
// half of that without them, and two and a half seconds with XLA, which a blank import of
// models/xla adds. Without XLA the models run in pure Go, which is fast only if GOEXPERIMENT=simd
// is set in the kernel's environment.
//
// A program that is not a cell also gets an engine of its own, which ends with it. There it is
// simpler to call models and attribution directly.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	_ "github.com/headwater-ml/headwater/attribution/study" // which the engine runs
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/hostmemory"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/transformer"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("local")

// RegisterMixing registers a mixing: info with package attribution and the graph code m with the
// models. An init function calls it; in a cell its name begins with init_. RegisterMixing panics if
// the name is taken or malformed, or if m is nil.
func RegisterMixing(name string, info attribution.MixingInfo, m transformer.Mixing) {
	attribution.RegisterMixing(name, info)
	transformer.RegisterMixing(name, m)
}

// Config is what to serve and for how long. Every field except Socket is optional.
type Config struct {
	// Socket is the path to listen on, in a directory that only this user can enter.
	Socket string
	// Watch is the pid of a process whose end ends the engine; 0: none.
	Watch int
	// Idle ends an engine that gets no request for that long; 0: never.
	Idle time.Duration
	// Backend is for requests that name none: go, xla or xla:PATH; empty chooses the best available
	// one.
	Backend string
	// Encode makes files of explanations; nil: the engine makes none. Origin is what explanations
	// say of their origin; see [server.Config].
	Encode server.Encoder
	Origin func(engine.Request, attribution.Options) (json.RawMessage, error)
	// Opens returns the token that a picture opens at; see [server.Config].
	Opens func(e *attribution.Explanation, show json.RawMessage) int
	// Models is how many models stay open at most; 0: 4. When another one is opened, the least
	// recently used one leaves.
	Models int
	// Memory is how many bytes the open models and what their runs record may take together. The
	// least recently used models leave before that is exceeded. 0: half of the machine's memory for
	// weights, and for runs what the machine has left.
	Memory int64
	// Build is the version of the program, for messages.
	Build string
	// Figures makes figures of documents; the zero value makes none.
	Figures server.Figures
	// Log gets one line for each error and for the start and the end; nil: nothing is logged.
	Log io.Writer
}

// Serve answers requests until ctx is done, the watched process ends, no request arrives for Idle,
// or a client sends a stop request; then it returns nil. It returns an error if it cannot listen.
// See [server.Serve].
func Serve(ctx context.Context, c Config) error {
	weights := c.Memory
	if weights == 0 {
		total, _, _ := hostmemory.Read("/")
		weights = total / 2 // the other half is for what runs record
	}
	return server.Serve(ctx, server.Config{
		Socket: c.Socket, Watch: c.Watch, Idle: c.Idle, Open: opener(c.Backend), Log: c.Log,
		Name: namer(c.Backend), Models: c.Models, Bytes: weights, Memory: c.Memory,
		Encode: c.Encode, Origin: c.Origin, Figures: c.Figures, Build: c.Build,
		Opens: c.Opens, Release: backends.ReleaseMemory,
	})
}

// The environment variables that say what engines may take that notebooks start.
const (
	memoryVariable = "HEADWATER_ENGINE_MEMORY"
	modelsVariable = "HEADWATER_ENGINE_MODELS"
)

// FromEnvironment fills in Memory and Models, if they are 0, from HEADWATER_ENGINE_MEMORY, such as
// 12GB, and HEADWATER_ENGINE_MODELS, such as 2. It returns an error for other values.
func (c *Config) FromEnvironment() error {
	if text := os.Getenv(memoryVariable); text != "" && c.Memory == 0 {
		bytes, err := message.ParseBytes(text)
		if err != nil {
			return pkg.Errorf("%s is %.60q: %w", memoryVariable, text, err)
		}
		c.Memory = bytes
	}
	if text := os.Getenv(modelsVariable); text != "" && c.Models == 0 {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return pkg.Errorf("%s is %.60q: want a number of models from 1 on",
				modelsVariable, text)
		}
		c.Models = n
	}
	return nil
}

// namer returns a function that gives every way to name one model the same value: it fills in the
// defaults and writes the data type in full.
func namer(backend string) func(engine.Model) engine.Model {
	return func(which engine.Model) engine.Model {
		if which.Name == "" {
			which.Name = models.Default
		}
		if which.Backend == "" {
			which.Backend = backend
		}
		switch which.DType {
		case "", "f32":
			which.DType = "float32"
		case "bf16":
			which.DType = "bfloat16"
		}
		return which
	}
}

// loaded is an open model. Each request has its own limit of memory and its own report of progress.
type loaded struct{ *models.Model }

// Within is [models.Model.WithMaxMemory].
func (m loaded) Within(maxMemory int64) (trace.Model, error) {
	view, err := m.WithMaxMemory(maxMemory)
	if err != nil {
		return nil, err // not view: an interface with a nil pointer is not nil
	}
	return loaded{view}, nil
}

// Watched is [models.Model.Watched].
func (m loaded) Watched(progress func(trace.Progress)) (trace.Model, func()) {
	return m.Model.Watched(progress)
}

// noMemory is an error that says that other models take the memory.
type noMemory struct{ error }

func (e noMemory) Unwrap() error        { return e.error }
func (e noMemory) Is(target error) bool { return target == server.ErrMemory }

// opener returns a function that opens a model. backend is for requests that name none.
func opener(backend string) server.Opener {
	return func(
		ctx context.Context, which engine.Model, progress func(trace.Progress),
	) (trace.Model, error) {
		if which.Backend == "" {
			which.Backend = backend
		}
		m, err := models.OpenContext(ctx, which.Name, models.Options{
			Backend: which.Backend, DType: which.DType, MaxMemory: which.MaxMemory,
			Progress: func(p hub.Progress) { progress(downloading(p)) }, Loading: progress,
		})
		if ctx.Err() != nil {
			err = ctx.Err() // whether it ended the opening or came too late for that
		}
		var memory *trace.MemoryError
		if errors.As(err, &memory) && memory.Machine {
			err = noMemory{err}
		}
		if err != nil {
			return nil, err
		}
		return loaded{m}, nil
	}
}

// downloading returns the progress of a download in megabytes.
func downloading(p hub.Progress) trace.Progress {
	if p.Checking {
		return trace.Progress{
			Stage: "checking " + p.File, Unit: "MB",
			Done: int(p.Done / 1e6), Total: int((p.Size + 999_999) / 1e6),
		}
	}
	return trace.Progress{
		Stage: fmt.Sprintf("downloading %s, file %d of %d", p.File, p.Number, p.Count), Unit: "MB",
		Done: int(p.Done / 1e6), Total: int((p.Size + 999_999) / 1e6),
	}
}
