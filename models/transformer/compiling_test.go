package transformer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// watcher keeps what a model reports.
type watcher struct {
	mu           sync.Mutex
	begun, ended []string
	unnamed      []string // the keys of graphs without a name of their own
	took         time.Duration
}

func (w *watcher) watch() transformer.Watch {
	return transformer.Watch{
		Begin: func(c transformer.Compilation) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.begun = append(w.begun, c.Graph)
		},
		End: func(c transformer.Compilation) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ended, w.took = append(w.ended, c.Graph), w.took+c.Took
			if c.Graph == "another pass" {
				w.unnamed = append(w.unnamed, c.Key)
			}
		},
	}
}

// read runs a prompt and one more token.
func read(t *testing.T, m *transformer.Model, ids []int) {
	t.Helper()
	s, err := m.NewSession([]trace.MixingAsk{{Name: "attention"}}, len(ids)+1)
	must(t, err)
	defer s.Close()
	_, err = s.Prompt(context.Background(), ids, nil)
	must(t, err)
	_, err = s.Step(context.Background(), ids[0])
	must(t, err)
}

// TestWatched reports each graph that a run waits for, once for each shape, until it is stopped.
func TestWatched(t *testing.T) {
	g := openGolden(t, "gpt2")
	m := g.changed(t, func(string, []float32) {})
	m.RoundUp() // as where compiling takes time
	var w watcher
	watched, stop := m.Watched(w.watch())
	read(t, watched, g.ids)
	for _, graph := range []string{
		"the start of the prompt", "a layer of the prompt", "the scores of the prompt",
		"a layer of one token",
	} {
		if !slices.Contains(w.ended, graph) {
			t.Errorf("compiled %q, want %q among them", w.ended, graph)
		}
	}
	if len(w.begun) == 0 || w.begun[0] != "the start of the prompt" || w.took <= 0 {
		t.Errorf("began %q, took %v", w.begun, w.took)
	}
	ended := len(w.ended)
	read(t, watched, g.ids)
	if len(w.ended) != ended {
		t.Errorf("compiled %q, want nothing for a text of the same length", w.ended[ended:])
	}
	stop()
	long := slices.Concat(slices.Repeat(g.ids, 33/len(g.ids)+1))
	read(t, watched, long[:33])
	if len(w.ended) != ended {
		t.Errorf("%q were reported after the end", w.ended[ended:])
	}
}

// TestWatchedNames: the graphs of long prompts, products and batches have names for a user too.
func TestWatchedNames(t *testing.T) {
	g := openGolden(t, "gpt2")
	m := g.changed(t, func(string, []float32) {})
	m.RoundUp()
	var w watcher
	watched, stop := m.InTiles(4, 4, 4).Watched(w.watch())
	defer stop()
	ctx := context.Background()
	asks := []trace.MixingAsk{{Name: "attention"}, {Name: "value-zeroing"}}
	m.ProjectAlways()

	s, err := watched.NewSession(asks, len(g.ids)+1)
	must(t, err)
	defer s.Close()
	s.KeepStreams()
	must(t, s.KeepTerms())
	_, err = s.Prompt(ctx, g.ids, nil)
	must(t, err)
	left := make([]float64, len(g.ids))
	left[len(left)-1] = 1
	_, err = s.Multiply(ctx, trace.Product{Mixing: "attention", K: 1, Left: left, Residual: 0.5})
	must(t, err)
	_, err = s.Terms(ctx, trace.Objective{Quantity: trace.Logit, Token: 5})
	must(t, err)

	b, err := watched.NewBatchSession(transformer.BatchAsk{
		Asks: asks[:1], Terms: true, Texts: 2, Tokens: len(g.ids) + 1,
	})
	must(t, err)
	defer b.Close()
	rows := []int{0, 1}
	_, err = b.Prompt(ctx, rows, [][]int{g.ids, g.ids[:5]})
	must(t, err)
	_, err = b.Step(ctx, rows, []int{3, 4})
	must(t, err)
	_, err = b.Terms(ctx, []*trace.Objective{{Quantity: trace.Logit, Token: 5}, nil})
	must(t, err)
	for _, key := range w.unnamed {
		t.Errorf("the graph %q has no name", key)
	}
	for _, graph := range []string{
		"products with the rows of a layer", "the parts of the prediction", "a layer of one token",
	} {
		if !slices.Contains(w.ended, graph) {
			t.Errorf("compiled %q, want %q among them", w.ended, graph)
		}
	}
}

// TestRefusedCompilesNothing: a prompt that does not fit the memory is refused before its graphs,
// and those of what follows it, are compiled.
func TestRefusedCompilesNothing(t *testing.T) {
	g := openGolden(t, "gpt2")
	for _, above := range []int{0, 4} { // a whole pass, and tiles
		m := g.changed(t, func(string, []float32) {})
		m.RoundUp()
		m.MaxBytes = 1
		if above > 0 {
			m = m.InTiles(above, 4, 4)
		}
		s, err := m.NewSession([]trace.MixingAsk{{Name: "attention"}}, len(g.ids)+1)
		must(t, err)
		must(t, s.KeepTerms(trace.MixingAsk{Name: "value-zeroing"}))
		var refused *trace.MemoryError
		if _, err := s.Prompt(context.Background(), g.ids, nil); !errors.As(err, &refused) {
			t.Errorf("error %v, want that the memory does not suffice", err)
		}
		s.Close() // waits for what is being compiled
		if graphs := m.Graphs(); len(graphs) != 0 {
			t.Errorf("compiled %q for a prompt that was refused", graphs)
		}
	}
}

// TestWatchedInGo reports nothing where every length is a graph of its own that costs nothing.
func TestWatchedInGo(t *testing.T) {
	g := openGolden(t, "gpt2")
	var w watcher
	watched, stop := g.model.Watched(w.watch())
	defer stop()
	read(t, watched, g.ids)
	if len(w.begun)+len(w.ended) != 0 {
		t.Errorf("began %q, ended %q, want nothing", w.begun, w.ended)
	}
}

// TestWaitingIsReported tells a run that it waits for a graph that another run compiles.
func TestWaitingIsReported(t *testing.T) {
	g := openGolden(t, "gpt2")
	m := g.changed(t, func(string, []float32) {})
	m.RoundUp()
	began, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	first, stop := m.Watched(transformer.Watch{End: func(transformer.Compilation) {
		once.Do(func() { close(began); <-proceed }) // still being compiled
	}})
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = first.Trace(context.Background(), g.ids, []trace.Tap{trace.Attention})
	}()
	<-began
	second, stop := m.Watched(transformer.Watch{Begin: func(c transformer.Compilation) {
		if c.Graph != "the start of the prompt" {
			return
		}
		select {
		case <-proceed:
		default:
			close(proceed)
		}
	}})
	defer stop()
	_, err := second.Trace(context.Background(), g.ids, []trace.Tap{trace.Attention})
	must(t, err)
	<-done
}

// TestPreparedUnderEdits: the steps that are compiled while a prompt is read are those that follow
// it, under the edits of each layer, and a step compiles no layer again.
func TestPreparedUnderEdits(t *testing.T) {
	g := openGolden(t, "gpt2")
	for _, c := range []struct {
		edit trace.Edit
		want int // programs of the layers of a step
	}{
		{trace.Edit{Tap: trace.FeedForwardOutput, Change: trace.Scale, Factor: 0.5}, 1},
		{trace.Edit{Tap: trace.Attention, Layers: []int{0}, Change: trace.Scale, Factor: 0.5}, 2},
		{trace.Edit{Tap: trace.Value, Positions: []int{1}, Change: trace.SetZero}, 1},
	} {
		m := g.changed(t, func(string, []float32) {})
		m.RoundUp()
		s, err := m.NewSession([]trace.MixingAsk{{Name: "attention"}}, len(g.ids)+1)
		must(t, err)
		s.Edit(c.edit)
		_, err = s.Prompt(context.Background(), g.ids, nil)
		must(t, err)
		transformer.Prepared(s)
		layers := func() (n int) {
			for _, graph := range m.Graphs() {
				if strings.HasPrefix(graph, "step ") && strings.Contains(graph, "terms=") {
					n++
				}
			}
			return n
		}
		before := layers()
		_, err = s.Step(context.Background(), g.ids[0])
		must(t, err)
		if before != c.want || layers() != before {
			t.Errorf("%v: %d programs were compiled ahead, then %d; want %d\n%q", c.edit, before,
				layers(), c.want, m.Graphs())
		}
		s.Close()
	}
}
