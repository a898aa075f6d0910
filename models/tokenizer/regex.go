package tokenizer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// program is a compiled regular expression for a backtracking machine that runs one instruction per
// step. Each step is counted in the budget of the text, so a search ends after the same step on
// every machine. A machine that runs all alternatives at once would need no way back, but it has no
// look-around and no atomic groups.
type program struct {
	insts []inst
	marks int // registers, for loops whose body may match nothing
}

type opcode uint8

const (
	opMatch  opcode = iota // the end
	opSet                  // one character of set
	opRepeat               // min to max characters of set
	opSplit                // tries x first, then y
	opJump                 // to x
	opMark                 // stores in register x where an iteration begins
	opCheck                // jumps to y if the iteration since register x was empty
	opLook                 // sub matches here or, if behind, ends here
	opAtomic               // the first match of sub
	opBegin                // the start of the text
	opEnd                  // the end of the text
)

// inst is one instruction. The next one follows it unless it is a jump. Which fields count depends
// on op.
type inst struct {
	op      opcode
	lazy    bool // opRepeat
	negated bool // opLook
	behind  bool // opLook
	set     *charSet
	x, y    int
	// opRepeat: the number of characters, max < 0 for any number. With behind: the length of sub in
	// characters.
	min, max int
	sub      []inst
}

// maxInsts is how many instructions a program may have. A group that is repeated n times is
// compiled n times.
const maxInsts = 1 << 16

// compile reads the syntax that [translate] writes: groups, look-around and atomic groups,
// alternatives, classes of escaped characters, ranges and properties, \A, \z, and quantifiers.
func compile(pattern string) (*program, error) {
	c := compiler{rest: pattern, sets: map[string]*charSet{}}
	n, err := c.alternatives()
	if err == nil && c.rest != "" {
		err = fmt.Errorf("%.40q is not expected", c.rest)
	}
	if err != nil {
		return nil, err
	}
	insts, err := c.program(n)
	return &program{insts, c.marks}, err
}

// regexNode is a node of the syntax tree. opJump is a list of nodes one after the other, opSplit a
// list of alternatives in the order in which they are tried.
type regexNode struct {
	op       opcode
	list     []*regexNode
	set      *charSet
	min, max int // how often opRepeat repeats list[0]
	lazy     bool
	negated  bool
	behind   bool
}

// compiler reads a pattern from left to right, by recursive descent: alternatives, elements,
// quantifiers.
type compiler struct {
	rest  string
	sets  map[string]*charSet // by their text
	marks int
	count int // instructions
}

func (c *compiler) accept(prefix string) bool {
	rest, ok := strings.CutPrefix(c.rest, prefix)
	c.rest = rest
	return ok
}

// alternatives reads up to the end of a group. translate limits how deep groups are nested.
func (c *compiler) alternatives() (*regexNode, error) {
	all := &regexNode{op: opSplit}
	one := &regexNode{op: opJump}
	for c.rest != "" && c.rest[0] != ')' {
		if c.accept("|") {
			all.list, one = append(all.list, one), &regexNode{op: opJump}
			continue
		}
		n, err := c.element()
		if err != nil {
			return nil, err
		}
		if n, err = c.quantifier(n); err != nil {
			return nil, err
		}
		one.list = append(one.list, n)
	}
	all.list = append(all.list, one)
	return all, nil
}

// element reads one group, anchor, class or character, without its quantifier.
func (c *compiler) element() (*regexNode, error) {
	switch {
	case c.accept("(?:"):
		return c.group(regexNode{op: opJump})
	case c.accept("(?="):
		return c.group(regexNode{op: opLook})
	case c.accept("(?!"):
		return c.group(regexNode{op: opLook, negated: true})
	case c.accept("(?<="):
		return c.group(regexNode{op: opLook, behind: true})
	case c.accept("(?<!"):
		return c.group(regexNode{op: opLook, behind: true, negated: true})
	case c.accept("(?>"):
		return c.group(regexNode{op: opAtomic})
	case c.accept(`\A`):
		return &regexNode{op: opBegin}, nil
	case c.accept(`\z`):
		return &regexNode{op: opEnd}, nil
	case c.accept("["):
		body, rest, ok := strings.Cut(c.rest, "]") // a bracket in a class is written \x{5d}
		if !ok {
			return nil, errors.New("a class is not closed")
		}
		c.rest = rest
		return c.class(body)
	}
	// One character, or an escape of a backslash and another character. translate writes longer
	// escapes in classes only.
	_, size := utf8.DecodeRuneInString(c.rest)
	if c.rest[0] == '\\' {
		size = 2
	}
	if size > len(c.rest) {
		return nil, errors.New("the pattern ends in a backslash")
	}
	body := c.rest[:size]
	c.rest = c.rest[size:]
	return c.class(body)
}

func (c *compiler) group(n regexNode) (*regexNode, error) {
	inner, err := c.alternatives()
	if err != nil {
		return nil, err
	}
	if !c.accept(")") {
		return nil, errors.New("a group is not closed")
	}
	n.list = []*regexNode{inner}
	return &n, nil
}

// class returns a node for one character of a class. Equal classes share a set, because one with
// characters beyond ASCII takes 8 KiB.
func (c *compiler) class(body string) (*regexNode, error) {
	set, ok := c.sets[body]
	if !ok {
		var err error
		if set, err = newCharSet(body); err != nil {
			return nil, err
		}
		c.sets[body] = set
	}
	return &regexNode{op: opSet, set: set}, nil
}

// quantifier reads the quantifier after n, if there is one. It reads *, +, ?, {n}, {n,} and {n,m},
// each lazy with a ? after it.
func (c *compiler) quantifier(n *regexNode) (*regexNode, error) {
	loop := &regexNode{op: opRepeat, list: []*regexNode{n}, max: -1}
	switch {
	case c.accept("*"):
	case c.accept("+"):
		loop.min = 1
	case c.accept("?"):
		loop.max = 1
	case strings.HasPrefix(c.rest, "{"):
		body, rest, ok := strings.Cut(c.rest[1:], "}")
		low, high, ranged := strings.Cut(body, ",")
		var err, err2 error
		loop.min, err = strconv.Atoi(low)
		switch {
		// {n} is {n,n}
		case !ranged:
			loop.max = loop.min
		case high != "":
			loop.max, err2 = strconv.Atoi(high)
		}
		if !ok || err != nil || err2 != nil {
			return nil, fmt.Errorf("%.40q is not a count", c.rest)
		}
		c.rest = rest
	default:
		return n, nil
	}
	loop.lazy = c.accept("?")
	return loop, nil
}

// program writes the instructions of n and the end.
func (c *compiler) program(n *regexNode) (insts []inst, err error) {
	if insts, err = c.write(nil, n); err != nil {
		return nil, err
	}
	return append(insts, inst{op: opMatch}), nil
}

// write appends the instructions of n. Their targets are indexes of dst. The bodies of look-around
// and atomic groups are programs of their own, in the field sub, so that a search within them
// cannot leave them.
func (c *compiler) write(dst []inst, n *regexNode) (_ []inst, err error) {
	if c.count++; c.count > maxInsts {
		return nil, fmt.Errorf(
			"the pattern has more than %d instructions; its counts are too large",
			maxInsts)
	}
	switch n.op {
	case opJump:
		for _, each := range n.list {
			if dst, err = c.write(dst, each); err != nil {
				return nil, err
			}
		}
		return dst, nil
	case opSplit:
		return c.writeAlternatives(dst, n.list)
	case opRepeat:
		return c.writeLoop(dst, n)
	case opLook, opAtomic:
		i := inst{op: n.op, negated: n.negated, behind: n.behind}
		if n.behind {
			// Looking behind tries every length that the body may have.
			i.min, i.max = length(n.list[0])
		}
		if i.sub, err = c.program(n.list[0]); err != nil {
			return nil, err
		}
		return append(dst, i), nil
	}
	return append(dst, inst{op: n.op, set: n.set}), nil
}

// writeAlternatives writes a|b|c so that they are tried in this order:
//
//	split 1 2;  1: a; jump end;  2: split 3 4;  3: b; jump end;  4: c;  end:
func (c *compiler) writeAlternatives(dst []inst, list []*regexNode) (_ []inst, err error) {
	var jumps []int
	for i, each := range list {
		split := len(dst)
		if i < len(list)-1 {
			dst = append(dst, inst{op: opSplit, x: split + 1})
		}
		if dst, err = c.write(dst, each); err != nil {
			return nil, err
		}
		if i < len(list)-1 {
			jumps = append(jumps, len(dst))
			dst = append(dst, inst{op: opJump})
			dst[split].y = len(dst)
		}
	}
	for _, at := range jumps {
		dst[at].x = len(dst)
	}
	return dst, nil
}

// writeLoop writes the loop a{min,max}. For one character it is a single instruction, which counts
// instead of remembering every step. Otherwise a is written min times, and then max-min times with
// a way out before each:
//
//	a…a;  split 1 end; 1: a;  split 2 end; 2: a;  …  end:
//
// Without a limit it is a loop, which ends if its body matched nothing, because it would do so
// again:
//
//	loop: split 1 end;  1: mark r; a; check r end; jump loop;  end:
//
// A lazy loop tries the way out first.
func (c *compiler) writeLoop(dst []inst, n *regexNode) (_ []inst, err error) {
	body := n.list[0]
	if body.op == opSet {
		return append(dst, inst{
			op: opRepeat, set: body.set, min: n.min, max: n.max,
			lazy: n.lazy,
		}), nil
	}
	for range n.min {
		if dst, err = c.write(dst, body); err != nil {
			return nil, err
		}
	}
	split := func(begin int) inst { // its exit is set later
		if n.lazy {
			return inst{op: opSplit, x: -1, y: begin}
		}
		return inst{op: opSplit, x: begin, y: -1}
	}
	var outs []int
	for range n.max - n.min { // none if max < 0
		outs = append(outs, len(dst))
		dst = append(dst, split(len(dst)+1))
		if dst, err = c.write(dst, body); err != nil {
			return nil, err
		}
	}
	if n.max < 0 {
		loop, mark := len(dst), c.marks
		c.marks++
		outs = append(outs, loop)
		dst = append(dst, split(loop+1), inst{op: opMark, x: mark})
		if dst, err = c.write(dst, body); err != nil {
			return nil, err
		}
		outs = append(outs, len(dst))
		dst = append(dst, inst{op: opCheck, x: mark, y: -1}, inst{op: opJump, x: loop})
	}
	// The end is known now.
	for _, at := range outs {
		if dst[at].op == opSplit && dst[at].x < 0 {
			dst[at].x = len(dst)
		} else {
			dst[at].y = len(dst)
		}
	}
	return dst, nil
}

// manyChars is a length that counts as unlimited.
const manyChars = 1 << 30

// length returns how many characters n may match at least and at most; at most -1 for any number.
func length(n *regexNode) (least, most int) {
	switch n.op {
	case opSet:
		return 1, 1
	case opJump, opAtomic:
		for _, each := range n.list {
			low, high := length(each)
			least, most = min(least+low, manyChars), addLength(most, high)
		}
		return least, most
	case opSplit:
		for i, each := range n.list {
			low, high := length(each)
			if i == 0 {
				least, most = low, high
				continue
			}
			least = min(least, low)
			if most >= 0 {
				most = max(most, high)
			}
			if high < 0 {
				most = -1
			}
		}
		return least, most
	case opRepeat:
		low, high := length(n.list[0])
		least = min(low*n.min, manyChars) // both below 2^31
		switch {
		case high == 0:
			most = 0
		case n.max < 0 || high < 0 || high*n.max > manyChars:
			most = -1
		default:
			most = high * n.max
		}
		return least, most
	}
	return 0, 0
}

// addLength adds two lengths, -1 for any number.
func addLength(a, b int) int {
	if a < 0 || b < 0 || a+b > manyChars {
		return -1
	}
	return a + b
}

// charSet is a class of characters. A byte that is not part of a valid character counts as U+FFFD.
type charSet struct {
	ascii   [2]uint64
	bits    []uint64  // of characters up to U+FFFF, nil if it has none beyond ASCII
	high    []runeRun // of those beyond, in order
	negated bool
}

// has reports whether the class has a character: two table lookups up to U+FFFF, a binary search
// beyond.
func (s *charSet) has(r rune) bool {
	in := false
	switch {
	case r < utf8.RuneSelf:
		in = s.ascii[r>>6]>>(r&63)&1 != 0
	case r <= 0xffff:
		in = s.bits != nil && s.bits[r>>6]>>(r&63)&1 != 0
	default:
		i, _ := slices.BinarySearchFunc(s.high, r, func(run runeRun,
			r rune,
		) int {
			return int(run.last - r)
		})
		in = i < len(s.high) && s.high[i].first <= r
	}
	return in != s.negated
}

// newCharSet reads a class without its brackets.
func newCharSet(body string) (*charSet, error) {
	s := &charSet{}
	rest, negated := strings.CutPrefix(body, "^")
	if negated && rest == "" {
		rest, negated = body, false // the character ^ itself
	}
	var runs runeSet
	for rest != "" {
		item, left, err := classItem(rest)
		if err != nil {
			return nil, err
		}
		runs, rest = append(runs, item...), left
	}
	// Sorted, so that the ranges beyond U+FFFF can be joined and searched.
	slices.SortFunc(runs, func(a, b runeRun) int { return int(a.first - b.first) })
	for _, r := range runs {
		s.add(r)
	}
	s.negated = negated
	return s, nil
}

// add adds a range. Ranges come in the order of their first character.
func (s *charSet) add(r runeRun) {
	for c := r.first; c <= min(r.last, utf8.RuneSelf-1); c++ {
		s.ascii[c>>6] |= 1 << (c & 63)
	}
	if first := max(r.first, utf8.RuneSelf); first <= min(r.last, 0xffff) {
		if s.bits == nil {
			s.bits = make([]uint64, 1<<10)
		}
		for c := first; c <= min(r.last, 0xffff); c++ {
			s.bits[c>>6] |= 1 << (c & 63)
		}
	}
	if r.last <= 0xffff {
		return
	}
	r.first = max(r.first, 0x10000)
	if n := len(s.high); n > 0 && r.first <= s.high[n-1].last+1 {
		s.high[n-1].last = max(s.high[n-1].last, r.last)
		return
	}
	s.high = append(s.high, r)
}

// classItem reads a member of a class. It returns its characters and the rest of text.
func classItem(text string) (runeSet, string, error) {
	switch {
	case strings.HasPrefix(text, `\s`):
		return tableRuns(unicode.White_Space), text[2:], nil
	case strings.HasPrefix(text, `\S`):
		return runeSet(tableRuns(unicode.White_Space)).complement(), text[2:], nil
	case strings.HasPrefix(text, `\p{`):
		name, rest, _ := strings.Cut(text[3:], "}")
		runs, ok := propertyRuns(name)
		if !ok {
			return nil, "", fmt.Errorf("there is no class %.40q", name)
		}
		return runs, rest, nil
	}
	first, rest, err := classChar(text)
	if err != nil {
		return nil, "", err
	}
	last := first
	if after, ok := strings.CutPrefix(rest, "-"); ok && after != "" {
		if last, rest, err = classChar(after); err != nil {
			return nil, "", err
		}
	}
	return runeSet{{first, last}}, rest, nil
}

// classChar reads one character and returns it with the rest of text.
func classChar(text string) (rune, string, error) {
	if hexText, ok := strings.CutPrefix(text, `\x{`); ok {
		digits, rest, _ := strings.Cut(hexText, "}")
		n, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || n > utf8.MaxRune {
			return 0, "", fmt.Errorf("%.40q is not a character", text)
		}
		return rune(n), rest, nil
	}
	if strings.HasPrefix(text, `\n`) {
		return '\n', text[2:], nil
	}
	r, size := utf8.DecodeRuneInString(text)
	if r == '\\' {
		return 0, "", fmt.Errorf("%.40q is not a character", text)
	}
	return r, text[size:], nil
}

// complement returns the characters that s, which is sorted, does not have.
func (s runeSet) complement() (runs runeSet) {
	next := rune(0)
	for _, r := range s {
		if r.first > next {
			runs = append(runs, runeRun{next, r.first - 1})
		}
		next = r.last + 1
	}
	return append(runs, runeRun{next, utf8.MaxRune})
}

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
	ErrLimit, maxFrames)

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
