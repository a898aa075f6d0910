package chat

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unsafe"
)

// Span is a stretch of a rendered text: words of one message, or what the template wrote.
type Span struct {
	// Turn is the index of the message that the span belongs to. What the template writes belongs
	// to the message that its loop is at, and outside of a loop to the nearest message, the one
	// before if there is one.
	Turn int
	// Template says that the template wrote the span. Tools count as written by the template.
	Template bool
	// Thinking says that the span is reasoning_content, or between <think> and </think> in what an
	// assistant says.
	Thinking bool
	// Begin and End are the bytes [Begin,End) of the text.
	Begin, End int
}

// The spans come from following strings through the run, for a template trims, cuts, joins and
// tests what a message says, so that neither marks inside of the texts nor a search in the result
// would do. Every string of a message is copied to memory of its own. Trimming and cutting a Go
// string gives a part of the same memory, so the address of a string tells which text it is a part
// of. What makes a string of others (joining, capturing, printing a dict) notes of which pieces.
// At the end the pieces of the result are followed back to messages. Addresses are only compared,
// and the notes keep their strings alive, so that no other string can have the same address.

// origin is where a stretch of text comes from.
type origin struct {
	turn               int
	template, thinking bool
}

// noTurn is the turn of what belongs to no message yet.
const noTurn = -1

// assembled is a string with the pieces that it was put together of, in order and without gaps.
type assembled struct {
	text   string
	pieces []piece
}

// piece is a stretch of an assembled string, of size bytes. It comes from source: it is source, or
// if source has another length, text that was made of it, such as its JSON. Or origin is known.
type piece struct {
	source string
	size   int
	origin *origin
	turn   int // of what turns out to be the template's, noTurn for that around it
	end    int // where the piece ends in the assembled string
}

// bytesPerPiece is what a piece counts in the budget.
const bytesPerPiece = 64

// address returns where a string is in memory.
func address(s string) uintptr {
	return uintptr(unsafe.Pointer(unsafe.StringData(s))) //nolint:gosec // it is only compared
}

// within reports whether s is a part of the memory of text.
func within(s, text string) bool {
	return address(s) >= address(text) && address(s)+uintptr(len(s)) <=
		address(text)+uintptr(len(text))
}

// assemble notes which pieces text was put together of, and returns text. If it is a part of one of
// them, as what was joined with nothing, that is known already.
func (r *run) assemble(text string, pieces ...piece) string {
	end := 0
	for i, p := range pieces {
		if p.size > 0 && within(text, p.source) {
			return text
		}
		end += p.size
		pieces[i].end = end
	}
	if text != "" && len(pieces) > 0 {
		r.alloc(bytesPerPiece * len(pieces))
		r.assembled = append(r.assembled, assembled{text, pieces})
	}
	return text
}

// concatenated returns a and b as one string.
func (r *run) concatenated(a, b string) string {
	r.alloc(len(a) + len(b))
	return r.assemble(a+b, piece{source: a, size: len(a), turn: noTurn},
		piece{source: b, size: len(b), turn: noTurn})
}

// rewritten notes that text was made of all of source, and returns text.
func (r *run) rewritten(text, source string) string {
	return r.assemble(text, piece{source: source, size: len(text), turn: noTurn})
}

// writer collects a text and its pieces.
type writer struct {
	text   strings.Builder
	pieces []piece
}

// WriteString writes a text that keeps its origin.
func (w *writer) WriteString(s string) { w.add(s, piece{source: s, turn: noTurn}) }

// add writes text, which comes from where p says.
func (w *writer) add(text string, p piece) {
	if p.size = len(text); text != "" {
		w.text.WriteString(text)
		w.pieces = append(w.pieces, p)
	}
}

// belongs returns a function that ends the writing of v. All of what is written of an object or a
// list of a message belongs to the message.
func (w *writer) belongs(v value) func() {
	var from *origin
	switch v := v.(type) {
	case *dict:
		from = v.from
	case *sequence:
		from = v.from
	}
	begin, n := w.text.Len(), len(w.pieces)
	return func() {
		if from != nil {
			w.pieces = append(w.pieces[:n], piece{size: w.text.Len() - begin, origin: from})
		}
	}
}

// finish returns the text of a writer.
func (r *run) finish(w *writer) string { return r.assemble(w.text.String(), w.pieces...) }

// spans follows the pieces of a text back to the messages.
func (r *run) spans(pieces []piece) []Span {
	slices.SortFunc(r.assembled, func(a, b assembled) int {
		return cmp.Compare(address(a.text), address(b.text))
	})
	var all []Span
	turn, end := noTurn, 0
	for size, o := range r.origins(pieces, 0) {
		if o.turn != noTurn {
			turn = o.turn
		}
		all = append(all, Span{turn, o.template, o.thinking, end, end + size})
		end += size
	}
	for i, next := len(all)-1, 0; i >= 0; i-- { // before the first turn
		if all[i].Turn == noTurn {
			all[i].Turn = next
		}
		next = all[i].Turn
	}
	joined := all[:0]
	for _, s := range all {
		if n := len(joined); n > 0 {
			longer := joined[n-1]
			longer.End = s.End
			if s.Begin = longer.Begin; s == longer {
				joined[n-1] = longer
				continue
			}
			s.Begin = joined[n-1].End
		}
		joined = append(joined, s)
	}
	return joined
}

// origins yields the size and the origin of each stretch of a text in its order. It takes a step of
// the budget for each piece that it looks at.
func (r *run) origins(pieces []piece, depth int) iter.Seq2[int, origin] {
	return func(yield func(int, origin) bool) {
		stack := slices.Clone(pieces)
		slices.Reverse(stack)
		for len(stack) > 0 {
			p := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			r.step(1)
			o := origin{turn: p.turn, template: true}
			known := r.find(p.source)
			switch {
			case p.size == 0:
				continue
			case p.origin != nil:
				if o = *p.origin; o.turn == noTurn {
					o.turn = p.turn
				}
			case len(p.source) != p.size:
				o = r.first(p, depth)
			case known != nil:
				stack = known.push(stack, p)
				continue
			}
			if !yield(p.size, o) {
				return
			}
		}
	}
}

// first returns the origin of the first words of a message that a piece was made of.
func (r *run) first(p piece, depth int) origin {
	if depth < maxDepth {
		source := piece{source: p.source, size: len(p.source), turn: p.turn}
		for _, o := range r.origins([]piece{source}, depth+1) {
			if !o.template {
				return o
			}
		}
	}
	return origin{turn: p.turn, template: true}
}

// find returns the assembled string that s is a part of, nil if there is none.
func (r *run) find(s string) *assembled {
	i, found := slices.BinarySearchFunc(r.assembled, address(s),
		func(a assembled, at uintptr) int { return cmp.Compare(address(a.text), at) })
	if !found {
		i--
	}
	if s == "" || i < 0 || !within(s, r.assembled[i].text) {
		return nil
	}
	return &r.assembled[i]
}

// push puts the pieces of a on the stack that p, a part of it, has, the first of them last.
func (a *assembled) push(stack []piece, p piece) []piece {
	begin := int(address(p.source) - address(a.text)) //nolint:gosec // p is a part of a
	n := len(stack)
	first, _ := slices.BinarySearchFunc(a.pieces, begin+1, func(q piece, at int) int {
		return cmp.Compare(q.end, at)
	})
	for _, q := range a.pieces[first:] {
		at := q.end - q.size
		low, high := max(begin-at, 0), min(begin+p.size-at, q.size)
		if at >= begin+p.size {
			break
		}
		if low >= high { // an empty piece
			continue
		}
		if len(q.source) == q.size {
			q.source = q.source[low:high]
		}
		if q.size = high - low; q.turn == noTurn {
			q.turn = p.turn
		}
		stack = append(stack, q)
	}
	slices.Reverse(stack[n:])
	return stack
}
