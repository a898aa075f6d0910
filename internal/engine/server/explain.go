package server

import (
	"context"
	"encoding/json"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
)

// explain runs [attribution.Explain] and sends what is new after each token.
func (s *server) explain(ctx context.Context, c *connection, r engine.Request) error {
	opts, err := r.ExplainOptions()
	if err != nil {
		return err
	}
	for _, name := range opts.Methods { // before a model is opened, or downloaded
		if _, err := attribution.LookupMethods(name); err != nil {
			return err
		}
	}
	return s.use(ctx, c, r.Model, func(model trace.Model) (again bool, err error) {
		return s.explainBy(ctx, c, r, model, opts)
	})
}

// explainBy explains with a model. again says that there was too little memory and that nothing has
// been sent, so that another attempt may follow.
func (s *server) explainBy(ctx context.Context, c *connection, r engine.Request, model trace.Model,
	opts attribution.Options,
) (again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var origin json.RawMessage
	if s.Origin != nil {
		made := r
		made.Model = s.models.key(r.Model) // with the type of the weights, also the default
		if origin, err = s.Origin(made, opts); err != nil {
			return false, err
		}
	}
	sent := -1         // tokens
	var findings []int // of each token that was sent
	send := func(e *attribution.Explanation, step bool) {
		e.Origin = origin
		if err := sendNew(c, e, sent, step); err != nil {
			cancel(err) // the client is gone
		}
		sent = len(e.Steps)
		for _, g := range e.Steps[len(findings):] {
			findings = append(findings, len(g.Studies))
		}
	}
	if s.Opens != nil {
		opts.Opens = func(e *attribution.Explanation) int { return s.Opens(e, r.Show) }
	}
	opts.OnProgress = c.progress
	opts.OnStep = func(e *attribution.Explanation) { send(e, true) }
	e, err := attribution.Explain(ctx, model, string(r.Text), opts)
	if ofMemory(err) && sent < 0 {
		return true, err
	}
	if e != nil && sent < len(e.Steps) {
		send(e, false)
	}
	if e != nil && opts.Afterwards() {
		if wrong := sendLast(c, e, findings); err == nil {
			err = wrong
		}
	}
	s.last.keep(e, r)
	if cause := context.Cause(ctx); err != nil && cause != nil && ctx.Err() != cause {
		return false, cause
	}
	return false, err
}

// use calls do with a model. If do fails because memory is too small, it closes the least recently
// used of the other models and calls do again, unless do forbids that.
func (s *server) use(ctx context.Context, c *connection, which engine.Model,
	do func(model trace.Model) (again bool, err error),
) error {
	for {
		more, err := s.useOnce(ctx, c, which, do)
		if !more {
			return err
		}
	}
}

// useOnce calls do with a model once. more says that there is more memory now.
func (s *server) useOnce(ctx context.Context, c *connection, which engine.Model,
	do func(model trace.Model) (again bool, err error),
) (more bool, err error) {
	model, release, err := s.model(ctx, c, which)
	if err != nil {
		return false, err
	}
	defer release()
	again, err := do(model)
	more = again && ctx.Err() == nil && s.models.makeRoom(err, which)
	return more, s.models.limited(err, s.models.key(which), which)
}

// model returns a model, and the function to call when the request no longer uses it. It waits
// until the request may use one, because models and what they compute take memory.
func (s *server) model(
	ctx context.Context, c *connection, which engine.Model,
) (_ trace.Model, release func(), err error) {
	free, err := s.acquire(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if release == nil { // an error, or a panic of the opener
			free()
		}
	}()
	model, leave, err := s.models.get(ctx, which, c.progress)
	if err != nil {
		return nil, nil, err
	}
	w, ok := model.(watchable)
	if !ok {
		return model, func() { leave(); free() }, nil
	}
	watched, stop := w.Watched(c.progress)
	return watched, func() { stop(); leave(); free() }, nil
}

// sendNew sends what e has more than its first sent tokens; -1 if the client has nothing yet. With
// step the client shows the explanation. Maps do not change, and each has an event of its own,
// because it is large.
func sendNew(c *connection, e *attribution.Explanation, sent int, step bool) error {
	part := attribution.Explanation{
		Steps: e.Steps[max(sent, 0):], Warnings: e.Warnings,
		Methods: map[string]*attribution.Result{},
	}
	if sent < 0 {
		part.Model, part.Prompt, part.Order = e.Model, e.Prompt, e.Order
		part.Origin, part.Edited, part.Edits = e.Origin, e.Edited, e.Edits
	}
	for name, r := range e.Methods {
		part.Methods[name] = newRows(r, sent)
	}
	if sent >= 0 || len(e.Maps) == 0 {
		return c.send(engine.Event{Explanation: &part, Step: step})
	}
	if err := c.send(engine.Event{Explanation: &part}); err != nil {
		return err
	}
	for _, name := range e.Order {
		m := e.Maps[name]
		if m == nil {
			continue
		}
		one := &attribution.Explanation{
			Maps: map[string]*attribution.Map{name: m}, Warnings: e.Warnings,
		}
		if err := c.send(engine.Event{Explanation: one}); err != nil {
			return err
		}
	}
	return c.send(engine.Event{Step: step})
}

// sendLast sends what studies found when all tokens were there, with their remarks. Of the first
// tokens, so many findings have been sent.
func sendLast(c *connection, e *attribution.Explanation, sent []int) error {
	last := engine.Event{
		Explanation: &attribution.Explanation{Studies: e.Studies, Warnings: e.Warnings},
		Findings:    map[int]attribution.Findings{},
	}
	for t, g := range e.Steps {
		if t >= len(sent) || len(g.Studies) > sent[t] {
			last.Findings[t] = g.Studies
		}
	}
	return c.send(last)
}

// newRows returns the rows of r after the first sent tokens; -1 if the client does not have r yet.
func newRows(r *attribution.Result, sent int) *attribution.Result {
	var part attribution.Result
	if sent < 0 {
		part, sent = *r, 0
	}
	n := r.Shape[0]
	part.Shape = [3]int{n - sent, r.Shape[1], r.Shape[2]}
	part.Rows = r.Rows[sent*r.Shape[2] : n*r.Shape[2]]
	part.Shown = r.Shown[min(sent, len(r.Shown)):min(n, len(r.Shown))]
	part.OtherMass = rows(r.OtherMass, sent, n, r.Shape[2])
	part.Explained, part.Residue = rows(r.Explained, sent, n, 1), rows(r.Residue, sent, n, 1)
	return &part
}

// rows returns rows begin to end of values that may be missing. A row has so many values.
func rows(values []float64, begin, end, size int) []float64 {
	return values[min(begin*size, len(values)):min(end*size, len(values))]
}
