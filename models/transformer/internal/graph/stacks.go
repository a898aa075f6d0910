package graph

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// A model of two stacks reads one text, the tokens of the source and then those of the target, and
// each of its layers works on the tokens of one of them; see [spec.Stack]. So a layer is a block as
// in any other model, with fewer sources that a target sees, and everything that reads blocks needs
// no second graph.

// byStack is source [B or 1,N,D] of tokens of the source and target() of those of the target, as
// far as like has them; source alone if there is one stack.
func (d *Builder) byStack(like, source *Node, target func() *Node) *Node {
	if d.Boundary == nil {
		return source
	}
	other := target()
	is := InsertAxes(d.ofTarget(like.Shape().Dimensions[1]), -1)
	dims := slices.Clone(other.Shape().Dimensions)
	dims[0] = max(dims[0], is.Shape().Dimensions[0])
	return Where(BroadcastToDims(is, dims...), BroadcastToDims(other, dims...),
		BroadcastToDims(source, dims...))
}

// ofTarget is whether each of n targets of the pass is a token of the target, [B,N].
func (d *Builder) ofTarget(n int) *Node {
	after := Sub(d.slots(n), eachText(d.Boundary, 2))
	return GreaterOrEqual(after, ZerosLike(after))
}

// active is [Block.active] of layer l for n targets.
func (d *Builder) active(l, n int) *Node {
	stack := d.Spec.Stack(l)
	if stack == spec.OneStack {
		return nil
	}
	is := d.ofTarget(n)
	if stack == spec.Encoding {
		is = LogicalNot(is)
	}
	return InsertAxes(ConvertDType(is, dtypes.Float32), -1)
}

// WhereActive is x [B,N,...,D] of targets on which the layer works, and other of the rest.
func WhereActive(b *Block, x, other *Node) *Node {
	switch {
	case b.active == nil:
		return x
	case b.idle:
		return other
	}
	active := b.active
	for active.Rank() < x.Rank() {
		active = InsertAxes(active, -1)
	}
	is := GreaterThan(active, ZerosLike(active))
	return Where(BroadcastToDims(is, x.Shape().Dimensions...), x, other)
}

// identity is rows of a mixing, [B,(H,)N,S], with 1 for the target itself and 0 for all others in
// those of targets that the layer leaves as they are.
func (b *Block) identity(rows *Node, heads trace.Heads) *Node {
	if b.active == nil {
		return rows
	}
	is, self := GreaterThan(b.active, ZerosLike(b.active)), b.Self()
	if heads.Fusion == trace.EachHead {
		is, self = InsertAxes(is, 1), InsertAxes(self, 1)
	}
	dims := rows.Shape().Dimensions
	if b.idle {
		return BroadcastToDims(self, dims...)
	}
	return Where(BroadcastToDims(is, dims...), rows, BroadcastToDims(self, dims...))
}

// seen is 1 for the sources that a row of a mixing may have: those that the target sees, and in a
// model of two stacks the target itself, because the residual comes from there. [B or 1,1,N,S].
func (b *Block) seen() *Node {
	if b.active == nil {
		return b.visible
	}
	return Max(b.visible, InsertAxes(b.Self(), 1))
}
