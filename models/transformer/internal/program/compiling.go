package program

import (
	"strings"
	"sync/atomic"
	"time"
)

// Compilation is one graph that is compiled for a model.
type Compilation struct {
	// Graph says in words for a user what the graph computes: "a layer of the prompt".
	Graph string
	// Key is the same in every process for the same graph of the same architecture, whatever the
	// lengths of its inputs.
	Key string
	// Took is how long compiling took; 0 while it has not ended.
	Took time.Duration
}

// Watch is who is told when graphs are compiled. Both functions may be nil and are called by
// several goroutines at once. Where compiling costs nothing, in pure Go, neither is called.
type Watch struct {
	// Begin is called before somebody waits for a graph to be compiled.
	Begin func(Compilation)
	// End is called after a graph was compiled, also in the background.
	End func(Compilation)
}

// Watched returns a copy that reports to w until stop is called.
func (m *Machine) Watched(w Watch) (watched *Machine, stop func()) {
	// A graph that is kept refers to the model for which it was built first, so that model must
	// not keep the watcher alive.
	holder := &atomic.Pointer[Watch]{}
	holder.Store(&w)
	return &Machine{compiledGraphs: m.compiledGraphs, watch: holder}, func() { holder.Store(nil) }
}

// waiting reports a graph that somebody waits for.
func (m *Machine) waiting(p Program) {
	if w := m.watcher(); w != nil && w.Begin != nil {
		w.Begin(Compilation{Graph: describeGraph(p.key), Key: p.key})
	}
}

// compiledIn reports how long a graph took.
func (m *Machine) compiledIn(p Program, took time.Duration) {
	if w := m.watcher(); w != nil && w.End != nil {
		w.End(Compilation{Graph: describeGraph(p.key), Key: p.key, Took: took})
	}
}

// watcher returns who is told of compilations, or nil.
func (m *Machine) watcher() *Watch {
	if m.watch == nil || m.PromptStep == 1 { // compiling costs nothing
		return nil
	}
	return m.watch.Load()
}

// graphNames are the first words of the keys of graphs, and what a user calls the graph.
var graphNames = []struct{ prefix, name string }{
	{"step embed", "the start of one token"},
	{"step logits", "the scores of one token"},
	{"step ", "a layer of one token"},
	{"extend embed", "the start of a text on the cache"},
	{"extend ", "a layer of a text on the cache"},
	{"embed", "the start of the prompt"},
	{"block ", "a layer of the prompt"},
	{"keys and values ", "a layer of the prompt"},
	{"prompt tile ", "a layer of the prompt"},
	{"last target ", "a layer of the prompt"},
	{"product ", "products with the rows of a layer"},
	{"end ", "the scores of the prompt"},
	{"tile ", "prompt rows"},
	{"projected ", "prompt rows"},
	{"back ", "gradients"},
	{"value parts", "the parts of the prediction"},
	{"parts ", "the parts of the prediction"},
	{"terms ", "the parts of the prediction"},
	{"direction ", "the parts of the prediction"},
	{"keep", "the key-value cache"},
	{"grow ", "the key-value cache"},
}

// describeGraph returns the words for the graph of a key.
func describeGraph(key string) string {
	for _, g := range graphNames {
		if strings.HasPrefix(key, g.prefix) {
			return g.name
		}
	}
	return "another pass"
}
