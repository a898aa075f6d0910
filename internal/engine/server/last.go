package server

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/message"
)

// last is the latest explanation that the engine made, and the latest picture. They are in memory
// and not in a file, so they are as private as the socket, and end with the kernel. It is safe for
// concurrent use.
type last struct {
	mu        sync.Mutex
	explained *picture // nil if there is none
	// drawn is a picture that a cell drew later; nil if there is none.
	drawn *picture
	// tooLarge is how many bytes the latest explanation takes, if that is more than a picture may.
	tooLarge int64
}

// picture is a picture with the model of its explanation.
type picture struct {
	engine.Picture
	model engine.Model
}

// keep keeps e, which answers r, as the latest explanation, unless it has no token or is too large.
// Nobody changes e afterwards.
func (l *last) keep(e *attribution.Explanation, r engine.Request) {
	if e == nil || len(e.Steps) == 0 {
		return
	}
	named := *e
	if r.Name != "" && r.Name != r.Model.Name { // a path, which the client made absolute
		named.Model.Name = r.Name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.explained, l.drawn, l.tooLarge = nil, nil, 0
	if n := size(e); n > engine.MaxPicture {
		l.tooLarge = n
		return
	}
	l.explained = &picture{engine.Picture{Explanation: &named, Show: r.Show}, r.Model}
}

// drew keeps a picture as the latest one.
func (l *last) drew(p engine.Picture, of engine.Model) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drawn = &picture{p, of}
}

// latest returns the latest explanation.
func (l *last) latest() (picture, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.tooLarge > 0:
		return picture{}, usagef("the latest explanation has %s of numbers and was "+
			"not kept; the limit is %s: use the value that the cell got, or explain again",
			message.FormatBytes(l.tooLarge), message.FormatBytes(engine.MaxPicture))
	case l.explained == nil:
		return picture{}, usagef("there is no explanation yet: run a cell with Explain first")
	}
	return *l.explained, nil
}

// picture returns the latest picture.
func (l *last) picture() (picture, error) {
	l.mu.Lock()
	drawn := l.drawn
	l.mu.Unlock()
	if drawn == nil {
		return l.latest()
	}
	if drawn.Other != "" {
		return picture{}, usagef("%s", drawn.Other)
	}
	return *drawn, nil
}

// send sends the latest explanation.
func (l *last) send(c *connection) error {
	p, err := l.latest()
	if err != nil {
		return err
	}
	return sendNew(c, p.Explanation, -1, false)
}

// pieceOfFile is how many bytes of a file an event has.
const pieceOfFile = 1 << 20

// save sends the bytes of a file of a picture.
func (s *server) save(ctx context.Context, c *connection, r engine.Request) error {
	p, err := s.saved(r)
	if err != nil {
		return err
	}
	if s.Encode == nil {
		return usagef("an engine of a notebook's own plugins makes no files: use the command " +
			"headwater explain with its flag save")
	}
	data, notes, err := s.Encode(ctx, File{
		Picture: p.Picture, Name: r.File, Asked: r.Show, Tracer: tracer{s, c, p},
	})
	if err != nil {
		return err
	}
	if err := sendFile(c, data); err != nil {
		return err
	}
	return c.send(engine.Event{Notes: notes})
}

// saved returns the picture that a request saves: the latest one, also where the request has only
// what that is compared with, or its own. If the latest explanation is of the same model, the
// request may say less about the model than it did.
func (s *server) saved(r engine.Request) (picture, error) {
	if len(r.Picture) == 0 {
		return s.last.picture()
	}
	own, err := s.uploads.take(r)
	if err != nil {
		return picture{}, err
	}
	if own.Explanation == nil {
		p, err := s.last.picture()
		p.Against = own.Against
		return p, err
	}
	of := r.Model
	if p, err := s.last.latest(); err == nil &&
		p.Explanation.Model.Hash == own.Explanation.Model.Hash {
		of = p.model
	}
	return picture{own, of}, nil
}

// tracer records tensors of a model that is open, or opens it.
type tracer struct {
	s *server
	c *connection
	p picture
}

// Trace implements [trace.Tracer]. It refuses a model that is not the one of the explanation.
func (t tracer) Trace(ctx context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
	return t.Run(ctx, ids, taps, nil)
}

// Run implements [trace.EditTracer].
func (t tracer) Run(ctx context.Context, ids []int, taps []trace.Tap, edits []trace.Edit) (
	tensors []trace.Tensor, err error,
) {
	ask := engine.Request{Model: t.p.model, IDs: ids, Taps: taps, Edits: edits}
	err = t.s.use(ctx, t.c, ask.Model, func(model trace.Model) (again bool, err error) {
		if of := t.p.Explanation.Model; model.Info().Hash != of.Hash {
			return false, usagef("this picture needs the model of its explanation, and %q has "+
				"other weights now: explain again", of.Name)
		}
		tensors, err = record(ctx, t.c, ask, model)
		return true, err
	})
	return tensors, err
}

// sendFile sends bytes in pieces.
func sendFile(c *connection, data []byte) error {
	for piece := range slices.Chunk(data, pieceOfFile) {
		if err := c.send(engine.Event{Piece: piece}); err != nil {
			return err
		}
	}
	return nil
}

// usagef returns a [trace.UsageError] of the engine with a formatted reason.
func usagef(format string, args ...any) error {
	return &trace.UsageError{Package: "engine", Reason: fmt.Sprintf(format, args...)}
}

// size returns how many bytes the numbers of an explanation take.
func size(e *attribution.Explanation) int64 {
	n := 0
	for _, r := range e.Methods {
		n += len(r.OtherMass) + len(r.Explained) + len(r.Residue)
		for _, row := range r.Rows {
			n += len(row)
		}
	}
	for _, m := range e.Maps {
		n += len(m.Data)
	}
	return int64(n) * 8
}
