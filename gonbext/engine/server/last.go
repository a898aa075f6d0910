package server

import (
	"fmt"
	"slices"
	"sync"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
	"github.com/headwater-ml/headwater/internal/message"
)

// maxLast is how many bytes the numbers of an explanation may take to be kept: ten times as many as
// those of 512 prompt tokens, 64 generated ones, three methods and 30 layers.
const maxLast = 256 << 20

// last is the latest explanation that the engine made. It is safe for concurrent use.
type last struct {
	mu sync.Mutex
	e  *attribution.Explanation // nil if there is none
	r  engine.Request           // made it
	// tooLarge is how many bytes it takes, if that is more than maxLast.
	tooLarge int64
}

// keep replaces the explanation by e, which answers r, unless e has no token. Nobody changes e
// afterwards.
func (l *last) keep(e *attribution.Explanation, r engine.Request) {
	if e == nil || len(e.Steps) == 0 {
		return
	}
	kept := *e
	if r.Name != "" && r.Name != r.Model.Name { // a path, which the client made absolute
		kept.Model.Name = r.Name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.e, l.r, l.tooLarge = &kept, r, 0
	if n := size(e); n > maxLast {
		l.e, l.tooLarge = nil, n
	}
}

// get returns the explanation and the request that made it.
func (l *last) get() (*attribution.Explanation, engine.Request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.tooLarge > 0:
		return nil, engine.Request{}, usagef("the latest explanation has %s of numbers and was "+
			"not kept; the limit is %s: use the value that the cell got, or explain again",
			message.FormatBytes(l.tooLarge), message.FormatBytes(maxLast))
	case l.e == nil:
		return nil, engine.Request{}, usagef("there is no explanation yet: run a cell with " +
			"Explain first")
	}
	return l.e, l.r, nil
}

// send sends the explanation.
func (l *last) send(c *connection) error {
	e, _, err := l.get()
	if err != nil {
		return err
	}
	return sendNew(c, e, -1, false)
}

// pieceOfFile is how many bytes of a file an event has.
const pieceOfFile = 1 << 20

// save sends the bytes of a file of the explanation.
func (s *server) save(c *connection, r engine.Request) error {
	e, explained, err := s.last.get()
	if err != nil {
		return err
	}
	if s.Encode == nil {
		return usagef("an engine of a notebook's own plugins makes no files: use the command " +
			"headwater explain with its flag save")
	}
	data, notes, err := s.Encode(e, explained, r.File, r.Options)
	if err != nil {
		return err
	}
	if err := sendFile(c, data); err != nil {
		return err
	}
	return c.send(engine.Event{Notes: notes})
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
		n += len(r.Data) + len(r.Explained) + len(r.Residue)
		for _, row := range slices.Concat(r.Generated, r.GeneratedLevels) {
			n += len(row)
		}
	}
	for _, m := range e.Maps {
		n += len(m.Data)
	}
	for _, values := range e.OtherMass {
		n += len(values)
	}
	return int64(n) * 8
}
