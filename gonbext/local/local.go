// Package local joins the engine of notebooks with the models of this module: it is what headwater serve calls.
//
//	err := local.Serve(ctx, local.Config{Socket: path, Watch: pid})
//
// It links the whole model code, XLA too where there is cgo. A notebook's cell needs none of it; see package gonbext.
package local

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
	"github.com/headwater-ml/headwater/gonbext/engine/server"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/hub"
	_ "github.com/headwater-ml/headwater/models/xla" // XLA, where the program is built with cgo
)

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
	return server.Serve(ctx, server.Config{
		Socket: c.Socket, Watch: c.Watch, Idle: c.Idle, Open: opener(c.Backend), Log: c.Log,
	})
}

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
		if err != nil {
			return nil, err // not m, which would be a nil model that is not nil
		}
		return m, nil
	}
}

// downloading says how far a download is, in megabytes.
func downloading(p hub.Progress) trace.Progress {
	return trace.Progress{
		Stage: fmt.Sprintf("downloading %s, file %d of %d", p.File, p.Number, p.Count), Unit: "MB",
		Done: int(p.Done / 1e6), Total: int((p.Size + 999_999) / 1e6),
	}
}
