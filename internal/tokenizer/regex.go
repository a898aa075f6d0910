package tokenizer

import "fmt"

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

// compile writes the program of a syntax tree.
func compile(n *regexNode) (*program, error) {
	var c compiler
	insts, err := c.program(n)
	return &program{insts, c.marks}, err
}

// compiler writes a program.
type compiler struct{ marks, count int } // registers and instructions so far

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
