package tokenizer

import (
	"fmt"
	"unicode/utf8"
)

// matchWork is a search for matches in a text.
type matchWork struct {
	text  string
	meter *meter
	marks []int
	stack []frame
}

// frame is an alternative that the search tries if the current one fails.
type frame struct {
	kind frameKind
	pc   int // of the instruction to go on with; a register for a mark
	pos  int // in the text; what was in the register
	// least is where the shortest match of a greedy repeat ends, or how many more characters a lazy
	// one may match.
	least int
}

type frameKind uint8

const (
	frameGo frameKind = iota
	frameGreedy
	frameLazy
	frameMark
)

// maxFrames bounds the memory of a search to 64 MiB.
const maxFrames = 1 << 21

// errFrames is the error for a search that must remember too many alternatives.
var errFrames = fmt.Errorf("%w: the search of a regular expression "+
	"remembers more than %d alternatives; split the text",
	errLimit, maxFrames)

// search returns the first match at or after byte from; begin < 0 if there is none. It tries every
// place in turn, so the first match is the leftmost one.
func (w *matchWork) search(p *program, from int) (begin, end int, err error) {
	for begin = from; begin <= len(w.text); {
		end, ok, err := w.run(p.insts, begin, -1)
		if ok || err != nil {
			return begin, end, err
		}
		if begin == len(w.text) {
			break
		}
		begin += runeLen(w.text[begin:])
	}
	return -1, -1, nil
}

// run matches insts at byte pos and returns where the match ends. If want is not negative, the
// match must end there. Where an instruction fails, it goes back to the last alternative on the
// stack. Frames below base belong to a program around this one and are not touched, so a match of
// sub is final: that is what makes a group atomic.
func (w *matchWork) run(insts []inst, pos, want int) (end int, ok bool, err error) {
	base, pc, steps := len(w.stack), 0, 0
	defer func() { w.stack = w.stack[:base] }()
	for {
		// Counted by 64, because counting each step would cost as much as the step.
		if steps++; steps&63 == 0 {
			if err := w.meter.step(64); err != nil {
				return 0, false, err
			}
			if len(w.stack) > maxFrames {
				return 0, false, errFrames
			}
		}
		// Each case sets pc to the next instruction, even if it fails.
		i := &insts[pc]
		ok := true
		switch i.op {
		case opMatch:
			if ok = want < 0 || pos == want; ok {
				return pos, true, w.meter.step(1 + steps&63)
			}
		case opSet:
			if ok = pos < len(w.text); ok {
				r, size := w.rune(pos)
				ok, pos = i.set.has(r), pos+size
			}
			pc++
		case opRepeat:
			pos, ok, err = w.repeat(i, pc, pos)
			pc++
		// y is tried when x has failed, from the same place.
		case opSplit:
			w.push(frame{frameGo, i.y, pos, 0})
			pc = i.x
		case opJump:
			pc = i.x
		// The old number comes back if the search goes back beyond this place.
		case opMark:
			w.push(frame{frameMark, i.x, w.marks[i.x], 0})
			w.marks[i.x] = pos
			pc++
		// Nothing was matched since the mark, so the loop ends.
		case opCheck:
			if pc++; w.marks[i.x] == pos {
				pc = i.y
			}
		case opLook:
			ok, err = w.look(i, pos)
			pc++
		case opAtomic:
			pos, ok, err = w.run(i.sub, pos, -1)
			pc++
		case opBegin:
			ok = pos == 0
			pc++
		case opEnd:
			ok = pos == len(w.text)
			pc++
		}
		if err != nil {
			return 0, false, err
		}
		if !ok {
			if pc, pos, ok = w.back(insts, base); !ok {
				return 0, false, w.meter.step(1 + steps&63)
			}
		}
	}
}

func (w *matchWork) push(f frame) { w.stack = append(w.stack, f) }

// rune returns the character at pos and its size, U+FFFD for a byte that is not part of a valid
// character.
func (w *matchWork) rune(pos int) (rune, int) {
	if c := w.text[pos]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(w.text[pos:])
}

// repeat matches as many characters as possible if it is greedy, else as few as possible. One frame
// stands for all of its alternatives: a greedy one can give back characters down to least, a lazy
// one can take more.
func (w *matchWork) repeat(i *inst, pc, pos int) (end int, ok bool, err error) {
	begin, least, n := pos, -1, 0
	if i.min == 0 {
		least = pos
	}
	for pos < len(w.text) && (i.max < 0 || n < i.max) && (!i.lazy || n < i.min) {
		r, size := w.rune(pos)
		if !i.set.has(r) {
			break
		}
		pos += size
		if n++; n == i.min {
			least = pos
		}
	}
	if err := w.meter.step(pos - begin); err != nil {
		return 0, false, err
	}
	switch {
	case n < i.min:
		return 0, false, nil
	case i.lazy && (i.max < 0 || n < i.max):
		w.push(frame{frameLazy, pc, pos, i.max - n})
	case !i.lazy && pos > least:
		w.push(frame{frameGreedy, pc, pos, least})
	}
	return pos, true, nil
}

// back returns to the last alternative above base that was not tried yet. ok is false if there is
// none: then the search from this place has failed.
func (w *matchWork) back(insts []inst, base int) (pc, pos int, ok bool) {
	for len(w.stack) > base {
		last := len(w.stack) - 1
		f := &w.stack[last]
		switch f.kind {
		// no alternative, but a register to set back on the way
		case frameMark:
			w.marks[f.pc] = f.pos
			w.stack = w.stack[:last]
		case frameGo:
			w.stack = w.stack[:last]
			return f.pc, f.pos, true
		// one character less
		case frameGreedy:
			f.pos -= w.lastLen(f.pos)
			pc, pos := f.pc+1, f.pos
			if f.pos <= f.least {
				w.stack = w.stack[:last]
			}
			return pc, pos, true
		// one character more, if the class has it
		case frameLazy:
			if f.pos < len(w.text) {
				if r, size := w.rune(f.pos); insts[f.pc].set.has(r) {
					f.pos += size
					f.least--
					pc, pos := f.pc+1, f.pos
					if f.least == 0 {
						w.stack = w.stack[:last]
					}
					return pc, pos, true
				}
			}
			w.stack = w.stack[:last]
		}
	}
	return 0, 0, false
}

// lastLen returns the size of the character before pos.
func (w *matchWork) lastLen(pos int) int {
	if w.text[pos-1] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeLastRuneInString(w.text[:pos])
	return size
}

// look reports whether a look-around holds at pos. Behind, the body must end at pos. Its begin is
// searched from pos to the left, the shortest length first; each length is a step, so an unlimited
// one is bounded by the budget.
func (w *matchWork) look(i *inst, pos int) (bool, error) {
	if !i.behind {
		_, ok, err := w.run(i.sub, pos, -1)
		return ok != i.negated, err
	}
	for n, at := 0, pos; i.max < 0 || n <= i.max; n++ {
		if n >= i.min {
			if _, ok, err := w.run(i.sub, at, pos); ok || err != nil {
				return !i.negated, err
			}
		}
		if err := w.meter.step(1); err != nil {
			return false, err
		}
		if at == 0 {
			break
		}
		at -= w.lastLen(at)
	}
	return i.negated, nil
}
