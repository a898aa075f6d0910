package graph

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// rowsInTurn is from how many rows of an expert on, in the mean, a loop over the experts takes less
// time than all rows through all experts: a loop copies every matrix that it reads. Between 64 and
// 256 rows of which each passes 8 of 64 experts the two are alike.
const rowsInTurn = 16

// takesTurns reports whether the experts of r are computed one after the other, each for the rows
// that pass it, where XLA computes on a CPU and nothing is differentiated, because a loop has no
// derivative: for many rows, and for all but a single one where matrices are in codes, which then
// become numbers for the experts that are passed alone. The loop computes gates of SiLU.
func (l *Layer) takesTurns(m *spec.Mixture, r routing) bool {
	dims := r.chosen.Shape().Dimensions
	onCPU := l.Product.OutFirst && l.Product.Always != nil
	if !onCPU || l.Product.StraightThrough || !l.Spec.Gated || l.Spec.Activation != spec.SiLU {
		return false
	}
	return dims[0]*dims[1] >= rowsInTurn*m.Experts ||
		dims[0] > 1 && codes.QuantizedOf(l.W("experts.gate.weight")) != nil
}

// turns is the order in which a loop takes the P = M·K pairs of a row and its expert: sorted by
// expert, in blocks of size rows of one expert each. A block may go beyond the rows of its expert;
// what it writes there is overwritten by the blocks after it.
type turns struct {
	size int
	// order [P] is the pair at each place, and place [P] is its inverse.
	order, place *Node
	// blocks is how many blocks there are, a scalar; experts and begins, [at most so many], are
	// the expert and the first place of each.
	blocks, experts, begins *Node
}

// turnsOf sorts the pairs of r.
func turnsOf(m *spec.Mixture, r routing) turns {
	g, pairs := r.chosen.Graph(), r.chosen.Shape().Size()
	t := turns{size: 8}
	for t.size < 64 && t.size*m.Experts < pairs {
		t.size *= 2
	}
	sorted := func(keys, values *Node) *Node {
		less := NewClosure(g, func(g *Graph) []*Node {
			a := Parameter(g, "a", shapes.Make(dtypes.Int32))
			b := Parameter(g, "b", shapes.Make(dtypes.Int32))
			Parameter(g, "of a", shapes.Make(dtypes.Int32))
			Parameter(g, "of b", shapes.Make(dtypes.Int32))
			return []*Node{LessThan(a, b)}
		})
		return SortFunc(less, 0, true, keys, values)[1]
	}
	numbers := Iota(g, shapes.Make(dtypes.Int32, pairs), 0)
	t.order = sorted(Reshape(r.chosen, pairs), numbers)
	t.place = sorted(t.order, numbers)

	counts := ConvertDType(ReduceSum(r.is, 0, 1), dtypes.Int32) // [X]
	blocks := Div(AddScalar(counts, t.size-1), Scalar(g, dtypes.Int32, t.size))
	square := shapes.Make(dtypes.Int32, m.Experts, m.Experts)
	earlier := ConvertDType(LessThan(Iota(g, square, 1), Iota(g, square, 0)), dtypes.Int32)
	before := func(x *Node) *Node { return ReduceSum(Mul(earlier, InsertAxes(x, 0)), -1) } // [X]
	firstPlace, firstBlock := before(counts), before(blocks)
	t.blocks = ReduceAllSum(blocks)

	most := min(m.Experts, pairs) + pairs/t.size
	number := Iota(g, shapes.Make(dtypes.Int32, most, m.Experts), 0)
	done := LessOrEqual(InsertAxes(Add(firstBlock, blocks), 0), number)
	t.experts = MinScalar(ReduceSum(ConvertDType(done, dtypes.Int32), -1), m.Experts-1)
	of := func(x *Node) *Node { return Gather(x, InsertAxes(t.experts, -1)) }
	number = Iota(g, shapes.Make(dtypes.Int32, most), 0)
	t.begins = Add(of(firstPlace), MulScalar(Sub(number, of(firstBlock)), t.size))
	return t
}

// inTurn is the sum of what the experts make of rows x [M,D], each times its weight.
func (l *Layer) inTurn(m *spec.Mixture, r routing, x *Node) *Node {
	g, t, dims := x.Graph(), turnsOf(m, r), r.chosen.Shape().Dimensions
	rows := Div(t.order, Scalar(g, dtypes.Int32, dims[1]))
	sorted := Gather(x, InsertAxes(rows, -1)) // [P,D]
	room := Zeros(g, shapes.Make(x.DType(), t.size, l.Spec.Width))
	sorted = Concatenate([]*Node{sorted, room}, 0)
	state := []*Node{
		ScalarZero(g, dtypes.Int32), ZerosLike(sorted), sorted, t.blocks, t.experts, t.begins,
		l.Product.Always, ScalarZero(g, dtypes.Float32),
	}
	body := turnBody{spec: l.Spec, experts: m.Experts, size: t.size}
	for i, name := range []string{"gate", "up", "down"} {
		w := l.W("experts." + name + ".weight")
		if body.stacks[i] = (codes.FormNodes{Codes: w}); codes.QuantizedOf(w) != nil {
			body.stacks[i] = codes.QuantizedOf(w)[0]
		}
		for _, x := range body.stacks[i].Nodes() {
			state = append(state, *x)
		}
		if l.Spec.MLPBias {
			state = append(state, l.W("experts."+name+".bias"))
		}
	}
	made := While(turnCondition(g, state), body.build(g, state), state...)[1]
	byPair := Gather(made, InsertAxes(Reshape(t.place, dims...), -1)) // [M,K,D]
	return ReduceSum(Mul(byPair, InsertAxes(r.weightsOfChosen(), -1)), 1)
}

// parameters are those of a closure, one for each node of the state of a loop.
func parameters(g *Graph, state []*Node) (all []*Node) {
	for i, x := range state {
		all = append(all, Parameter(g, fmt.Sprint("state ", i), x.Shape()))
	}
	return all
}

// turnCondition reports whether there is another block.
func turnCondition(g *Graph, state []*Node) *Function {
	return NewClosure(g, func(g *Graph) []*Node {
		p := parameters(g, state)
		return []*Node{LessThan(p[0], p[3])}
	})
}

// turnBody computes a block of so many rows. XLA lets a closure read its parameters alone, and
// GoMLX shares the constants that [AddScalar] and its like make among all closures; so the body
// has no such constants.
type turnBody struct {
	spec          *spec.Spec
	experts, size int
	// stacks are gate, up and down of all experts: codes, or numbers [XF,D] in place of codes.
	stacks [3]codes.FormNodes
}

// build builds the body. The state has, after eight nodes, those of each stack and its bias.
func (t turnBody) build(g *Graph, state []*Node) *Function {
	return NewClosure(g, func(g *Graph) []*Node {
		p := parameters(g, state)
		at, nought := p[0], Const(g, int32(0))
		number := func(of *Node) *Node { return Reshape(DynamicSlice(of, []*Node{at}, []int{1})) }
		expert, begin := number(p[4]), number(p[5])
		isolated := func(x *Node) *Node {
			dims := x.Shape().Dimensions
			none := BroadcastToDims(ConvertDType(p[7], x.DType()), dims...)
			return Where(BroadcastToDims(p[6], dims...), x, none)
		}
		own := func(all *Node) *Node { // what the expert has of all
			dims := slices.Clone(all.Shape().Dimensions)
			dims[0] /= t.experts
			from := slices.Repeat([]*Node{nought}, len(dims))
			from[0] = Mul(expert, Const(g, int32(dims[0])))
			return DynamicSlice(all, from, dims)
		}
		next := p[8:]
		take := func() (x *Node) {
			x, next = next[0], next[1:]
			return x
		}
		// dense is x [m,·] times the next matrix.
		dense := func(x *Node, f codes.FormNodes, axis int) *Node {
			for _, x := range f.Nodes() {
				*x = take()
			}
			f = f.Each(own)
			w := f.Codes
			if w.Rank() > 2 {
				w, axis = codes.Quantized{f}.Numbers(), 1
			}
			if w.DType() != x.DType() {
				x, w = codes.Float(isolated(ConvertDType(x, w.DType()))), codes.Float(w)
			}
			y := isolated(Dot(isolated(x), isolated(w)).General([]int{1}, nil, []int{axis}, nil))
			if t.spec.MLPBias {
				y = Add(y, InsertAxes(own(take()), 0))
			}
			return y
		}
		x := DynamicSlice(p[2], []*Node{begin, nought}, []int{t.size, p[2].Shape().Dimensions[1]})
		gate := dense(x, t.stacks[0], 1)
		inner := t.gated(gate, dense(x, t.stacks[1], 1))
		made := DynamicUpdateSlice(p[1], dense(inner, t.stacks[2], 0), []*Node{begin, nought})
		return append([]*Node{Add(at, Const(g, int32(1))), made}, p[2:]...)
	})
}

// gated is [Layer.gated] with constants of its own.
func (t turnBody) gated(gate, up *Node) *Node {
	fixed := func(x float64) *Node { return Const(gate.Graph(), float32(x)) }
	if limit := t.spec.InnerLimit; limit > 0 {
		gate = Min(gate, fixed(limit))
		up = Max(Min(up, fixed(limit)), fixed(-limit))
	}
	if t.spec.UpOffset != 0 {
		up = Add(up, fixed(t.spec.UpOffset))
	}
	slope := gate
	if t.spec.SwishScale != 0 {
		slope = Mul(gate, fixed(t.spec.SwishScale))
	}
	return Mul(Mul(gate, Sigmoid(slope)), up)
}
