package models

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// loading reports how far the opening of a model is, and ends it when ctx is done.
type loading struct {
	ctx    context.Context
	report func(trace.Progress) // nil: nobody listens
	total  int64                // numbers

	mu     sync.Mutex // locked while report is called
	done   int64      // numbers whose loading has begun
	latest time.Time
}

// newLoading returns the report of the opening of a model with such a spec.
func newLoading(ctx context.Context, s *spec.Spec, report func(trace.Progress)) *loading {
	l := &loading{ctx: ctx, report: report}
	for _, p := range s.Params() {
		l.total += int64(p.Size())
	}
	return l
}

// stage reports what begins.
func (l *loading) stage(what string) {
	if l.report != nil {
		l.report(trace.Progress{Stage: what})
	}
}

// reportEvery is the least time between two reports of one stage.
const reportEvery = 100 * time.Millisecond

// begin counts numbers that are about to be loaded, and reports how many came before them: in
// percent, because the type of the numbers in the file may be another one than in memory. It
// returns an error when ctx is done.
func (l *loading) begin(numbers int) error {
	if err := l.ctx.Err(); err != nil {
		return pkg.Errorf("stopped while the weights were loaded: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.report != nil && time.Since(l.latest) >= reportEvery && l.total > 0 {
		l.latest = time.Now()
		l.report(trace.Progress{
			Stage: "loading the weights", Unit: "percent",
			// An array that could not be read as codes is read again.
			Done: int(min(100, 100*l.done/l.total)), Total: 100,
		})
	}
	l.done += int64(numbers)
	return nil
}

// loader returns a loader that reports what load gives.
func (l *loading) loader(load spec.Loader) spec.Loader {
	return func(p spec.Param, put func(first int, values []float32)) error {
		if err := l.begin(p.Size()); err != nil {
			return err
		}
		return load(p, put)
	}
}

// quantized returns a reader that reports what q gives. It is nil if q is.
func (l *loading) quantized(q spec.Quantized) spec.Quantized {
	if q == nil {
		return nil
	}
	return reported{q, l}
}

// reported is a reader of quantised matrices that reports what it gives.
type reported struct {
	spec.Quantized
	to *loading
}

// ReadBlocks implements [spec.Quantized].
func (r reported) ReadBlocks(p spec.Param, first int, b spec.Blocks) error {
	if err := r.to.begin(len(b.Codes)); err != nil {
		return err
	}
	return r.Quantized.ReadBlocks(p, first, b)
}

// Watched returns the model so that everything that it does reports to progress which graph is
// being compiled, until stop is called, and how long that took the last time: a file in the user's
// cache keeps it. m does not change. progress is called by the goroutine that waits. Where
// compiling costs nothing, in pure Go, it is never called.
func (m *Model) Watched(progress func(trace.Progress)) (watched *Model, stop func()) {
	view, times := *m, userCompileTimes()
	of := fmt.Sprintf("%s %s %s ", m.info.Hash, m.info.Backend, m.graph.DType)
	graph, stop := m.graph.Watched(transformer.Watch{
		Begin: func(c transformer.Compilation) {
			progress(trace.Progress{Stage: trace.Compiling + c.Graph + lasted(times, of+c.Key)})
		},
		End: func(c transformer.Compilation) { times.Add(of+c.Key, c.Took) },
	})
	view.setGraph(graph)
	return &view, stop
}

// lasted says how long compiling a graph took the last time.
func lasted(times *compileTimes, key string) string {
	took, known := times.Took(key)
	switch {
	case times == nil:
		return ""
	case !known:
		return ", for the first time"
	}
	return fmt.Sprintf(", last time %.1f s", took.Seconds())
}
