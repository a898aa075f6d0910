package graph

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// masked is added to scores that a target must not see. exp of it is 0 in float32, and unlike -∞
// it keeps sums finite.
const masked = -1e30

// visible is 1 where a target may see a source and 0 elsewhere, [B or 1,1,N,S]. A decoder's target
// sees the real sources up to its own slot and within the window, if there is one; an encoder's
// target sees every real source.
func (d *Builder) visible(l, sources, targets int) *Node {
	stack := d.Spec.Stack(l)
	v := visible(d.Length.Graph(), d.First, d.Length, targets, sources, d.Spec.Window(l),
		d.Spec.Bidirectional || stack == spec.Encoding || stack == spec.Crossing)
	if stack != spec.OneStack {
		slots := Iota(v.Graph(), shapes.Make(dtypes.Int32, 1, 1, 1, sources), 3)
		ofSource := LessThan(slots, eachText(d.Boundary, 4))
		if stack == spec.Decoding {
			ofSource = LogicalNot(ofSource)
		}
		v = Mul(Mul(v, ConvertDType(ofSource, dtypes.Float32)), InsertAxes(d.active(l, targets), 1))
	}
	if d.Real != nil {
		v = Mul(v, InsertAxes(d.Real, 1, 1))
	}
	return v
}

// visible is the part of [Builder.visible] that does not depend on padding, [B or 1,1,N,S].
func visible(g *Graph, first, length *Node, n, s, window int, bidirectional bool) *Node {
	source := Iota(g, shapes.Make(dtypes.Int32, 1, 1, n, s), 3)
	back := distance(g, first, n, s)
	v := GreaterOrEqual(back, ZerosLike(back))
	if bidirectional {
		v = LessThan(source, length)
	}
	if window > 0 {
		v = LogicalAnd(v, LessThan(Abs(back), Scalar(g, dtypes.Int32, window)))
	}
	return ConvertDType(v, dtypes.Float32)
}

// distance is how far each of s sources is before each of n targets from slot first on, [B or
// 1,1,N,S]: negative for sources after it.
func distance(g *Graph, first *Node, n, s int) *Node {
	target := Iota(g, shapes.Make(dtypes.Int32, 1, 1, n, s), 2)
	if first != nil {
		target = Add(target, eachText(first, 4))
	}
	return Sub(target, Iota(g, shapes.Make(dtypes.Int32, 1, 1, n, s), 3))
}
