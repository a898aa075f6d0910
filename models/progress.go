package models

import (
	"context"
	"fmt"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// loading reports how far the opening of a model is, and ends it when ctx is done.
type loading struct {
	ctx    context.Context
	report func(trace.Progress) // nil: nobody listens
	done   int64                // numbers loaded
	total  int64
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

// stage says what begins.
func (l *loading) stage(what string) {
	if l.report != nil {
		l.report(trace.Progress{Stage: what})
	}
}

// reportEvery is the least time between two reports of one stage.
const reportEvery = 100 * time.Millisecond

// loader returns a loader that counts the numbers that load gives, and stops between two parameters
// when ctx is done. It reports percent, because the type of the numbers in the file may be another
// one than in memory.
func (l *loading) loader(load spec.Loader) spec.Loader {
	return func(p spec.Param, put func(first int, values []float32)) error {
		if err := l.ctx.Err(); err != nil {
			return fmt.Errorf("models: stopped while the weights were loaded: %w", err)
		}
		if l.report != nil && time.Since(l.latest) >= reportEvery && l.total > 0 {
			l.latest = time.Now()
			l.report(trace.Progress{
				Stage: "loading the weights", Unit: "percent",
				Done: int(100 * l.done / l.total), Total: 100,
			})
		}
		l.done += int64(p.Size())
		return load(p, put)
	}
}

// Watched returns the model so that everything that it does reports to progress which graph is
// being compiled, until stop is called. m does not change. times knows how long each graph took
// before and learns it from this run; nil knows nothing. progress is called by the goroutine that
// waits. Where compiling costs nothing, in pure Go, it is never called.
func (m *Model) Watched(progress func(trace.Progress), times *CompileTimes) (
	watched *Model, stop func(),
) {
	view := *m
	of := fmt.Sprintf("%s %s %s ", m.info.Hash, m.info.Backend, m.graph.DType)
	graph, stop := m.graph.Watched(transformer.Watch{
		Begin: func(c transformer.Compilation) {
			progress(trace.Progress{Stage: "compiling " + c.Graph + lasted(times, of+c.Key)})
		},
		End: func(c transformer.Compilation) { times.Add(of+c.Key, c.Took) },
	})
	view.setGraph(graph)
	return &view, stop
}

// lasted says how long compiling a graph took the last time.
func lasted(times *CompileTimes, key string) string {
	took, known := times.Took(key)
	switch {
	case times == nil:
		return ""
	case !known:
		return ", for the first time"
	}
	return fmt.Sprintf(", last time %.1f s", took.Seconds())
}
