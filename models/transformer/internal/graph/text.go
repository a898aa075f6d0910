package graph

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// Text is the input of a graph.
type Text struct {
	// IDs are the targets, [B,N].
	IDs *Node
	// First is the slot of the first target, an int32 scalar, or [B] if it differs from text to
	// text; nil means 0.
	First *Node
	// Length is how many slots hold tokens, those of this pass included, an int32 scalar.
	Length *Node
	// Positions are the positions of the targets in their texts, [B,N]; nil if they are the slots.
	Positions *Node
	// Types are the token types of the targets, [B,N]; nil means type 0.
	Types *Node
	// Real is 1 for slots that hold a token and 0 for padding, [B,S]; nil if all slots before
	// length hold tokens.
	Real *Node
	// Boundary is the slot of the first token of the target, [B]; nil if there is one stack.
	Boundary *Node
}

// at returns the positions of the targets, [B or 1,N], which in either of two stacks begin at 0.
func (t Text) at() *Node {
	if t.Positions != nil {
		return t.Positions
	}
	slots := t.slots(t.IDs.Shape().Dimensions[1])
	if t.Boundary != nil {
		after := Sub(slots, eachText(t.Boundary, 2))
		slots = BroadcastToShape(slots, after.Shape())
		return Where(LessThan(after, ZerosLike(after)), slots, after)
	}
	return slots
}

// slots are those of n targets, [B or 1,N].
func (t Text) slots(n int) *Node {
	slots := Iota(t.Length.Graph(), shapes.Make(dtypes.Int32, 1, n), 1)
	if t.First != nil {
		slots = Add(slots, eachText(t.First, 2))
	}
	return slots
}

// eachText reshapes one number for each text, [B], to broadcast against [B,...] of that rank. A
// scalar, the same number for all texts, stays as it is.
func eachText(x *Node, rank int) *Node {
	if x.IsScalar() {
		return x
	}
	dims := slices.Repeat([]int{1}, rank)
	dims[0] = -1
	return Reshape(x, dims...)
}

// BoundaryOf returns the slot of the first token of the target, the number of tokens if there is
// none.
func BoundaryOf(s *spec.Spec, ids []int) int {
	if at := slices.Index(ids, s.Boundary()); at >= 0 {
		return at
	}
	return len(ids)
}

// BoundaryIn is [BoundaryOf] in a model of two stacks and 0 in others.
func BoundaryIn(s *spec.Spec, ids []int) int {
	if s.Encoder == 0 {
		return 0
	}
	return BoundaryOf(s, ids)
}

// LengthOf returns the number and the boundaries of [run.withBoundaries], nil if there are none.
func LengthOf(x *Node) (number, boundary *Node) {
	if x.IsScalar() {
		return x, nil
	}
	return Squeeze(Slice(x, AxisElem(0)), 0), Slice(x, AxisRangeToEnd(1))
}
