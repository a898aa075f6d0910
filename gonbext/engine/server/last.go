package server

import (
	"fmt"
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
	l.e, l.tooLarge = &kept, 0
	if n := size(e); n > maxLast {
		l.e, l.tooLarge = nil, n
	}
}

// send sends the explanation.
func (l *last) send(c *connection) error {
	l.mu.Lock()
	e, tooLarge := l.e, l.tooLarge
	l.mu.Unlock()
	switch {
	case tooLarge > 0:
		return usagef("the latest explanation has %s of numbers and was not kept; the limit "+
			"is %s: use the value that the cell got, or explain again",
			message.FormatBytes(tooLarge), message.FormatBytes(maxLast))
	case e == nil:
		return usagef("there is no explanation yet: run a cell with Explain first")
	}
	return sendNew(c, e, -1, false)
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
	}
	for _, m := range e.Maps {
		n += len(m.Data)
	}
	for _, values := range e.OtherMass {
		n += len(values)
	}
	return int64(n) * 8
}
