package chat

import (
	"errors"
	"fmt"
	"strings"
)

// ErrLimit is wrapped by the error for a template that exceeds its budget: it may loop, recurse or
// grow without end.
var ErrLimit = errors.New("the template does not end within its limits")

// ErrRefused is wrapped by the error for a template that calls raise_exception. The rest of the
// text comes from the template.
var ErrRefused = errors.New("the template refuses the conversation")

// ErrNoDate is wrapped by the error for a template that calls strftime_now when no date is given.
// Its kind is "date".
var ErrNoDate error = noDate{}

type noDate struct{}

func (noDate) Error() string { return "the template asks for the date, and none is given" }
func (noDate) Kind() string  { return "date" }

const (
	defaultSteps = 2_000_000
	defaultBytes = 64 << 20
	// bytesPerMessage is how many bytes are added to the budget for every byte of the messages.
	bytesPerMessage = 256
	// bytesPerStep is how many bytes of a string are read in one step.
	bytesPerStep = 256
	// maxDepth bounds nested calls, brackets and blocks, because each level takes stack.
	maxDepth = 100
)

// run is one rendering. An error in it panics with a failure, which protect returns as an error.
type run struct {
	scope *scope
	out   *strings.Builder
	// turns is the index of each message, and turn that of the message that the innermost loop is
	// at, noTurn outside of loops over messages. written has where in the text it changed.
	turns   map[*dict]int
	turn    int
	roles   []string // of the messages
	written []stretch
	// marks reports whether texts of messages get marks, and texts has these; see span.go.
	marks bool
	texts []messageText
	// captures is how many blocks are rendered into a value and not into the text.
	captures int
	// line is that of the statement that runs, 0 before the first, and loops how many loops run.
	line, loops int
	// steps, bytes and depth are the rest of the budget.
	steps, bytes, depth int
	maxSteps, maxBytes  int // the whole budget, for errors
}

// failure is the error that a panic carries out of a run or a parser.
type failure struct{ error }

func newRun(opts Options, size int) *run {
	r := &run{
		out:   new(strings.Builder),
		turns: map[*dict]int{},
		turn:  noTurn,
		steps: opts.MaxSteps,
		bytes: opts.MaxBytes,
		depth: maxDepth,
	}
	if r.steps == 0 {
		r.steps = defaultSteps
	}
	if r.bytes == 0 {
		r.bytes = defaultBytes + bytesPerMessage*size
	}
	r.maxSteps, r.maxBytes = r.steps, r.bytes
	return r
}

// protect calls f and returns the error that it fails with.
func (r *run) protect(f func()) (err error) {
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case failure:
			err = pkg.Errorf("%w", failed.error)
			if r.line > 0 {
				err = pkg.Errorf("line %d: %w", r.line, failed.error)
			}
		default:
			err = pkg.Errorf("internal error in a template: %v", failed)
		}
	}()
	f()
	return nil
}

// fail ends the run with an error.
func (r *run) fail(format string, args ...any) {
	panic(failure{fmt.Errorf(format, args...)})
}

// step takes n steps from the budget.
func (r *run) step(n int) {
	r.steps -= n
	if r.steps < 0 || n < 0 {
		r.fail("%w: more than %d steps", ErrLimit, r.maxSteps)
	}
}

// alloc takes n bytes from the budget. Call it before the memory is allocated.
func (r *run) alloc(n int) {
	r.bytes -= n
	if r.bytes < 0 || n < 0 {
		r.fail("%w: more than %d bytes of text and lists", ErrLimit, r.maxBytes)
	}
}

// text takes the bytes of a string from the budget and returns the string.
func (r *run) text(s string) string {
	r.alloc(len(s))
	return s
}

// list takes the memory of a list from the budget and returns the list.
func (r *run) list(items []value) *sequence {
	r.alloc(16 * len(items))
	return &sequence{items: items}
}

// nested calls f one level deeper.
func (r *run) nested(f func()) {
	if r.depth == 0 {
		r.fail("%w: calls nested deeper than %d", ErrLimit, maxDepth)
	}
	r.depth--
	f()
	r.depth++
}

// write appends to the output.
func (r *run) write(s string) {
	r.alloc(len(s))
	if n := len(r.written); r.captures == 0 && (n == 0 || r.written[n-1].turn != r.turn) {
		r.written = append(r.written, stretch{r.out.Len(), r.turn})
	}
	r.out.WriteString(s)
}

// capture calls f and returns what it writes, which does not reach the output.
func (r *run) capture(f func()) string {
	outer := r.out
	r.out = new(strings.Builder)
	r.captures++
	f()
	r.captures--
	text := r.out.String()
	r.out = outer
	return text
}

// inScope calls f in a new scope inside parent.
func (r *run) inScope(parent *scope, f func()) {
	outer := r.scope
	r.scope = &scope{vars: map[string]value{}, parent: parent}
	f()
	r.scope = outer
}

// scope has the variables that statements set. An iteration of a loop, a macro, a with and a
// captured block have scopes of their own; an if has none.
type scope struct {
	vars   map[string]value
	parent *scope
}

// lookup returns the value of a name in the innermost scope that has it.
func (s *scope) lookup(name string) value {
	for ; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return undefined{fmt.Sprintf("'%s' is undefined", name)}
}

// flow is how a statement ended.
type flow int

const (
	flowNext flow = iota
	flowBreak
	flowContinue
)

// execute runs statements until one of them leaves the loop around it.
func (r *run) execute(body []statement) flow {
	for _, s := range body {
		r.step(1)
		if f := s(r); f != flowNext {
			return f
		}
	}
	return flowNext
}
