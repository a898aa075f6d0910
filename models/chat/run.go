package chat

import (
	"errors"
	"fmt"
	"strings"
)

// ErrLimit is wrapped by the error for a template that used up its budget: one that loops, recurses or grows without end.
var ErrLimit = errors.New("the template does not end within its limits")

// ErrRefused is wrapped by the error for a template that called raise_exception; the text is the template's own.
var ErrRefused = errors.New("the template refuses the conversation")

const (
	defaultSteps = 2_000_000
	defaultBytes = 64 << 20
	// bytesPerMessage is how much more may be made for every byte of the messages.
	bytesPerMessage = 256
	// bytesPerStep is how much of a string is looked at in one step.
	bytesPerStep = 256
	// maxDepth bounds nested calls, and nested brackets and blocks of a template: each takes stack.
	maxDepth = 100
)

// run is one rendering. What goes wrong in it panics with a fault, which protect turns into an error.
type run struct {
	scope *scope
	out   *strings.Builder
	// steps, bytes and depth are what is left of the budget.
	steps, bytes, depth int
	limits              [2]int
	loops               int
}

// fault is an error on its way out of a run.
type fault struct{ error }

func newRun(opts Options, size int) *run {
	r := &run{out: new(strings.Builder), steps: opts.MaxSteps, bytes: opts.MaxBytes, depth: maxDepth}
	if r.steps == 0 {
		r.steps = defaultSteps
	}
	if r.bytes == 0 {
		r.bytes = defaultBytes + bytesPerMessage*size
	}
	r.limits = [2]int{r.steps, r.bytes}
	return r
}

// protect calls f and returns what it fails with.
func (r *run) protect(f func()) (err error) {
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case fault:
			err = fmt.Errorf("chat: %w", failed.error)
		default:
			err = fmt.Errorf("chat: internal error in a template: %v", failed)
		}
	}()
	f()
	return nil
}

// fail ends the run.
func (r *run) fail(format string, args ...any) {
	panic(fault{fmt.Errorf(format, args...)})
}

// step spends n steps.
func (r *run) step(n int) {
	r.steps -= n
	if r.steps < 0 || n < 0 {
		r.fail("%w: more than %d steps", ErrLimit, r.limits[0])
	}
}

// alloc spends n bytes, before they are taken.
func (r *run) alloc(n int) {
	r.bytes -= n
	if r.bytes < 0 || n < 0 {
		r.fail("%w: more than %d bytes of text and lists", ErrLimit, r.limits[1])
	}
}

// text spends a string's bytes and returns it.
func (r *run) text(s string) string {
	r.alloc(len(s))
	return s
}

// list spends a list's memory and returns it.
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

// write adds to the output.
func (r *run) write(s string) {
	r.alloc(len(s))
	r.out.WriteString(s)
}

// capture returns what f writes.
func (r *run) capture(f func()) string {
	outer := r.out
	r.out = new(strings.Builder)
	f()
	text := r.out.String()
	r.out = outer
	return text
}

// within calls f in a scope of its own.
func (r *run) within(parent *scope, f func()) {
	outer := r.scope
	r.scope = &scope{vars: map[string]value{}, parent: parent}
	f()
	r.scope = outer
}

// scope holds the names that statements set. An if shares the one around it; a loop's turn, a macro and a captured block do not.
type scope struct {
	vars   map[string]value
	parent *scope
}

// lookup returns what a name stands for.
func (s *scope) lookup(name string) value {
	for ; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return undefined{fmt.Sprintf("'%s' is undefined", name)}
}

// flow says how a statement ended.
type flow int

const (
	flowNext flow = iota
	flowBreak
	flowContinue
)

// statement is a statement or a piece of text, ready to run.
type statement func(r *run) flow

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
