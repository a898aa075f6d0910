// Package local joins the engine of notebooks with the models of this module: it is what headwater serve calls.
//
//	err := local.Serve(ctx, local.Config{Socket: path, Watch: pid})
//
// # Plugins in a notebook
//
// A program that imports this package is its own engine. So a cell of a notebook can declare a mixing, an aggregation or a scorer, and
// later cells use it like any other:
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
// An aggregation and a scorer are registered with package attribution; a cell with no mixing of its own imports this package by a blank
// import, of which GoNB keeps one at most from cell to cell. Without the import the engine is the command headwater, which knows
// nothing of the cell.
//
// What happens: gonbext.Explain starts the cell's own binary once more, with a flag that package flag reads. GoNB puts flag.Parse at the
// top of a cell's main, behind all init functions, and there the process becomes the engine, so that nothing of the cell's body runs in it. It
// does run what comes before main, in both processes: an init function, or a variable whose value is computed, should do no more than
// register. In a cell that writes a main of its own without flag.Parse, what stands before the first call of gonbext runs in both, too;
// [Main] as its first line avoids that.
//
// The engine stays as long as the declarations that init functions reach are the same; models stay open meanwhile. A cell that changes
// one of them gets a new engine, and the old one ends: models are opened anew. The same holds for source files of modules that the
// workspace has beside this one; this module itself is taken as it was when the engine started.
//
// A cell that links the models takes about a second on two cores, where one that does not takes less than half of that, and two and a half
// with XLA, which a blank import of models/xla links. Without it models run in pure Go, which needs GOEXPERIMENT=simd in the kernel's
// environment to be quick.
//
// A program that is no cell has an engine of its own as well, which ends with it; calling models and attribution directly is simpler there.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
	"github.com/headwater-ml/headwater/gonbext/engine/server"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/hub"
	"github.com/headwater-ml/headwater/models/transformer"
)

// RegisterMixing makes a mixing known to both sides: its facts to package attribution and its graph code to the models. It is for an
// init function, in a cell one whose name begins with init_, and panics if the name is taken or malformed or m is nil.
func RegisterMixing(name string, info attribution.MixingInfo, m transformer.Mixing) {
	attribution.RegisterMixing(name, info)
	transformer.RegisterMixing(name, m)
}

// Config says what to serve and for how long. All but Socket may be left out.
type Config struct {
	// Socket is the path to listen on, in a directory that only this user can enter.
	Socket string
	// Watch is a process whose end ends the engine; 0: none.
	Watch int
	// Idle ends an engine that has had nothing to do for so long; 0: never.
	Idle time.Duration
	// Backend computes the models of requests that name none: go, xla, xla:PATH; empty is the best there is.
	Backend string
	// Log gets a line for each event worth one; nil: nothing is logged.
	Log io.Writer
}

// Serve answers requests until ctx is done, the watched process is gone, nothing was asked for Idle or a client says stop;
// all of these return nil. An error means that it could not listen. See [server.Serve].
func Serve(ctx context.Context, c Config) error {
	total, _ := models.MachineMemory()
	return server.Serve(ctx, server.Config{
		Socket: c.Socket, Watch: c.Watch, Idle: c.Idle, Open: opener(c.Backend), Log: c.Log,
		Name: namer(c.Backend), Bytes: total / 2, // the other half is for what runs record
	})
}

// namer returns what writes a model in one way: without the defaults, and short for the data type.
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

// loaded is a model whose limit of memory each request brings.
type loaded struct{ *models.Model }

// Within is [models.Model.WithMaxMemory].
func (m loaded) Within(maxMemory int64) (attribution.Model, error) {
	view, err := m.WithMaxMemory(maxMemory)
	if err != nil {
		return nil, err // not view, which would be a nil model that is not nil
	}
	return view, nil
}

// noMemory is an error about a machine on which other models take the memory.
type noMemory struct{ error }

func (e noMemory) Unwrap() error        { return e.error }
func (e noMemory) Is(target error) bool { return target == server.ErrMemory }

// opener returns what opens a model; backend is for requests that name none.
func opener(backend string) server.Opener {
	return func(ctx context.Context, which engine.Model, progress func(trace.Progress)) (attribution.Model, error) {
		if which.Backend == "" {
			which.Backend = backend
		}
		m, err := models.OpenContext(ctx, which.Name, models.Options{
			Backend: which.Backend, DType: which.DType, MaxMemory: which.MaxMemory,
			Progress: func(p hub.Progress) { progress(downloading(p)) },
		})
		if err == nil {
			err = ctx.Err()
		}
		var memory *models.MemoryError
		if errors.As(err, &memory) && !memory.Chosen {
			err = noMemory{err}
		}
		if err != nil {
			return nil, err
		}
		return loaded{m}, nil
	}
}

// downloading says how far a download is, in megabytes.
func downloading(p hub.Progress) trace.Progress {
	return trace.Progress{
		Stage: fmt.Sprintf("downloading %s, file %d of %d", p.File, p.Number, p.Count), Unit: "MB",
		Done: int(p.Done / 1e6), Total: int((p.Size + 999_999) / 1e6),
	}
}
