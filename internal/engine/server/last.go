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

// maxLast is how many bytes the numbers of all kept explanations may take: ten times as many as
// those of 512 prompt tokens, 64 generated ones, three methods and 30 layers.
const maxLast = 256 << 20

// last are the latest explanations that the engine made, as many as maxLast allows. It is safe for
// concurrent use.
type last struct {
	mu  sync.Mutex
	all []kept // the latest one last
	// made is how many were made, which is the number of the latest.
	made int
	// drawn is the latest picture if it was drawn after the latest explanation was made, else nil.
	drawn *engine.Request
	// tooLarge is how many bytes the latest one takes, if that is more than maxLast.
	tooLarge int64
}

// kept is an explanation that is kept.
type kept struct {
	Explained
	number int // from 1
	bytes  int64
	// drawn is the latest picture that it is the first explanation of, nil if it was not drawn
	// again after it was made.
	drawn *engine.Request
}

// keep keeps e, which answers r, as the latest explanation, and returns its number; 0 if it has no
// token or is too large. The oldest ones leave. Nobody changes e afterwards.
func (l *last) keep(e *attribution.Explanation, r engine.Request) (number int) {
	if e == nil || len(e.Steps) == 0 {
		return 0
	}
	named := *e
	if r.Name != "" && r.Name != r.Model.Name { // a path, which the client made absolute
		named.Model.Name = r.Name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	l.drawn = nil
	n := size(e)
	if l.tooLarge = 0; n > maxLast {
		l.tooLarge = n
		return 0
	}
	l.all = append(l.all, kept{
		Explained: Explained{&named, r}, number: l.made, bytes: n,
	})
	sum := int64(0)
	for i := len(l.all) - 1; i >= 0; i-- {
		if sum += l.all[i].bytes; sum > maxLast {
			l.all = slices.Clone(l.all[i+1:]) // a copy, which does not hold the others
			break
		}
	}
	return l.made
}

// drew notes what r, of [engine.KindDrawn], says was drawn.
func (l *last) drew(r engine.Request) error {
	for i, number := range r.Of {
		k, err := l.get(number)
		if err != nil {
			return err
		}
		r.Of[i] = k.number
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drawn = &r
	for i := range l.all {
		if len(r.Of) > 0 && l.all[i].number == r.Of[0] {
			l.all[i].drawn = &r
		}
	}
	return nil
}

// picture returns what was drawn of an explanation last, with the number of the one that it was
// compared with, 0 if there is none. The request of the explanation says how it was shown. number 0
// is the latest picture.
func (l *last) picture(number int) (of kept, against int, err error) {
	l.mu.Lock()
	drawn := l.drawn
	l.mu.Unlock()
	if number == 0 && drawn != nil {
		if len(drawn.Of) == 0 {
			return kept{}, 0, usagef("%s", drawn.Text)
		}
		number = drawn.Of[0]
	}
	if of, err = l.get(number); err != nil || of.drawn == nil {
		return of, 0, err
	}
	of.Request.Show = of.drawn.Show
	if len(of.drawn.Of) > 1 {
		against = of.drawn.Of[1]
	}
	return of, against, nil
}

// get returns the explanation with a number; 0 is the latest one.
func (l *last) get(number int) (kept, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case number == 0 && l.tooLarge > 0:
		return kept{}, usagef("the latest explanation has %s of numbers and was "+
			"not kept; the limit is %s: use the value that the cell got, or explain again",
			message.FormatBytes(l.tooLarge), message.FormatBytes(maxLast))
	case l.made == 0:
		return kept{}, usagef("there is no explanation yet: run a cell with Explain first")
	case number == 0:
		number = l.made
	}
	for _, k := range l.all {
		if k.number == number {
			return k, nil
		}
	}
	return kept{}, usagef("explanation %d of this kernel is no longer kept: the engine keeps the "+
		"latest ones, %s of numbers together; explain again", number,
		message.FormatBytes(maxLast))
}

// send sends the latest explanation.
func (l *last) send(c *connection) error {
	k, err := l.get(0)
	if err != nil {
		return err
	}
	if err := c.send(engine.Event{Number: k.number}); err != nil {
		return err
	}
	return sendNew(c, k.Explanation, -1, false)
}

// pieceOfFile is how many bytes of a file an event has.
const pieceOfFile = 1 << 20

// save sends the bytes of a file of an explanation.
func (s *server) save(ctx context.Context, c *connection, r engine.Request) error {
	f := File{Name: r.File, Figure: r.Options}
	of, number, err := s.last.picture(append(r.Of, 0)[0])
	if err != nil {
		return err
	}
	f.Explained = of.Explained
	if len(r.Of) > 1 {
		number = r.Of[1]
	}
	if number > 0 || len(r.Of) > 1 {
		against, err := s.last.get(number)
		if err != nil {
			return err
		}
		f.Against = &against.Explained
	}
	if s.Encode == nil {
		return usagef("an engine of a notebook's own plugins makes no files: use the command " +
			"headwater explain with its flag save")
	}
	f.Tracer = tracer{s, c, of.Request.Model}
	data, notes, err := s.Encode(ctx, f)
	if err != nil {
		return err
	}
	if err := sendFile(c, data); err != nil {
		return err
	}
	return c.send(engine.Event{Notes: notes})
}

// tracer records tensors of a model that is open, or opens it.
type tracer struct {
	s     *server
	c     *connection
	which engine.Model
}

// Trace implements [trace.Tracer].
func (t tracer) Trace(
	ctx context.Context, ids []int, taps []trace.Tap,
) (tensors []trace.Tensor, err error) {
	ask := engine.Request{Model: t.which, IDs: ids, Taps: taps}
	err = t.s.use(ctx, t.c, t.which, func(model trace.Model) (again bool, err error) {
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
