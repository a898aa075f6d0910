package server

import (
	"context"
	"io"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
)

// explain runs [attribution.Explain] and sends what is new after each token.
func (s *server) explain(ctx context.Context, w io.Writer, r engine.Request) error {
	opts, err := r.ExplainOptions()
	if err != nil {
		return err
	}
	for _, name := range opts.Methods { // before a model is opened, or downloaded
		if _, err := attribution.LookupMethod(name); err != nil {
			return err
		}
	}
	model, release, err := s.model(ctx, w, r.Model)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &growth{send: func(ev engine.Event) {
		if err := s.send(w, ev); err != nil {
			cancel(err) // the client is gone, or the event too long
		}
	}}
	opts.OnProgress = func(p trace.Progress) { out.send(engine.Event{Progress: &p}) }
	opts.OnStep = func(e *attribution.Explanation) { out.add(e, true) }
	e, err := attribution.Explain(ctx, model, string(r.Text), opts)
	if e != nil {
		out.add(e, false)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && ctx.Err() != cause {
		return cause
	}
	return err
}

// model returns a model, and the function to call when the request no longer uses it. It waits for a
// place, because models and what they compute take memory.
func (s *server) model(
	ctx context.Context, w io.Writer, which engine.Model,
) (attribution.Model, func(), error) {
	give, err := s.place(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	opened := false
	defer func() {
		if !opened { // an error, or a panic of the opener
			give()
		}
	}()
	model, leave, err := s.models.get(ctx, which, s.progress(w))
	if err != nil {
		return nil, nil, err
	}
	opened = true
	return model, func() { leave(); give() }, nil
}

// progress returns what tells the client how far a piece of work is. A client that is gone is noticed by the next event.
func (s *server) progress(w io.Writer) func(trace.Progress) {
	return func(p trace.Progress) { _ = s.send(w, engine.Event{Progress: &p}) }
}

// growth sends an explanation as it grows: what was not sent yet, and a result anew if what was sent of it has changed.
type growth struct {
	send     func(engine.Event)
	begun    bool
	mapped   bool
	steps    int
	warnings []string
	sent     map[string]*sent
}

// sent is what the client has of one method.
type sent struct {
	rows int
	data []float64
}

// add sends what e has more than was sent. With step the client shows it.
func (g *growth) add(e *attribution.Explanation, step bool) {
	if !g.begun {
		g.begun, g.sent = true, map[string]*sent{}
		g.send(engine.Event{Begin: &engine.Begin{Model: e.Model, Prompt: e.Prompt, Order: e.Order}})
	}
	if !g.mapped && e.Maps != nil { // they come at once and stay
		g.mapped = true
		for _, name := range e.Order {
			if m := e.Maps[name]; m != nil {
				g.addMap(name, m)
			}
		}
	}
	for _, name := range e.Order {
		if r := e.Methods[name]; r != nil {
			g.method(name, r, e.OtherMass[name])
		}
	}
	ev := engine.Event{Tokens: e.Steps[g.steps:], Step: step}
	g.steps = len(e.Steps)
	if !slices.Equal(g.warnings, e.Warnings) {
		g.warnings = slices.Clone(e.Warnings)
		ev.Warnings = g.warnings
	}
	if step || len(ev.Tokens) > 0 || ev.Warnings != nil {
		g.send(ev)
	}
}

// method sends the new rows of one result.
func (g *growth) method(name string, r *attribution.Result, other []float64) {
	old := g.sent[name]
	if old == nil || len(old.data) > len(r.Data) || !same(old.data, r.Data[:len(old.data)]) {
		old = &sent{}
		g.sent[name] = old
		g.send(engine.Event{Method: &engine.Method{
			Name: name, Options: r.Options, Layers: r.Layers, Prompt: r.Shape[1], Unit: r.Unit,
		}})
	}
	size, layers := r.Shape[1]*r.Shape[2], r.Shape[2]
	for ; old.rows < r.Shape[0]; old.rows++ {
		t := old.rows
		row := engine.Row{Method: name, Data: r.Data[t*size : (t+1)*size]}
		if (t+1)*layers <= len(other) {
			row.Other = other[t*layers : (t+1)*layers]
		}
		row.Explained, row.Residue = at(r.Explained, t), at(r.Residue, t)
		g.send(engine.Event{Row: &row})
		old.data = append(old.data, row.Data...)
	}
}

// at returns entry t of values that may be missing, as a slice.
func at(values []float64, t int) []float64 {
	if t >= len(values) {
		return nil
	}
	return values[t : t+1]
}

// mapPart is how many values of a map one event holds, well below [engine.MaxFrame].
const mapPart = 1 << 20

// addMap sends a map.
func (g *growth) addMap(name string, m *attribution.Map) {
	g.send(engine.Event{Map: &engine.Map{
		Name: name, Options: m.Options, Layers: m.Layers, Tokens: m.Shape[1], Unit: m.Unit,
	}})
	for part := range slices.Chunk(m.Data, mapPart) {
		g.send(engine.Event{MapPart: part})
	}
}

// same compares values, NaN equal to itself.
func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}
