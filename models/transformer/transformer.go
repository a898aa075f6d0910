// Package transformer is the graph of a transformer: attention, norms, positions and feed-forward exist here once, driven
// by a [Spec]; a model family is data elsewhere. It records what it is asked for and extends a cache of keys and values.
//
// Sizes: B batch, L layers, H heads, T targets (N of them in one step), S sources, D width of the residual stream, E width
// of a head, F width of the feed-forward part, V vocabulary. Shapes are outermost axis first.
//
// Prefill feeds many tokens, a decode step one; both build their blocks with the same function, and the same mixings read
// them. Building a graph panics inside GoMLX; [Model] turns that into an error.
package transformer

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
)

// masked is added to a score that must not be seen: exp of it is 0 in float32, and finite sums stay finite.
const masked = -1e30

// Weights returns the node of the array of that name; see [Spec.Params].
type Weights func(name string) *Node

// in returns the weights below a prefix.
func (w Weights) in(prefix string) Weights {
	return func(name string) *Node { return w(prefix + name) }
}

// decoder builds one graph.
type decoder struct {
	spec *Spec
	w    Weights
	// position is where the first target row stands, an int32 scalar; nil is 0.
	position *Node
}

// cache is the keys and values of one layer: [B,H,S,E] each, slots that hold no token yet are anything finite.
type cache struct{ key, value *Node }

// embed returns the residual stream before block 0, [B,N,D].
func (d *decoder) embed(ids *Node) *Node { // ids [B,N]
	x := Gather(d.w("embedding"), InsertAxes(ids, -1)) // [B,N,D]
	if d.spec.Positions == LearnedPositions {
		x = Add(x, d.learned(ids.Shape().Dimensions[1]))
	}
	if d.spec.EmbeddingNorm {
		x = layerNorm(x, d.w.in("embedding-norm."), d.spec.NormEpsilon)
	}
	return x
}

// learned returns the rows of the position table for n targets, [1,N,D].
func (d *decoder) learned(n int) *Node {
	table := d.w("positions")
	at := Iota(table.Graph(), shapes.Make(dtypes.Int32, n, 1), 0) // [N,1]
	if d.position != nil {
		at = Add(at, d.position)
	}
	// A padded target may stand beyond the table; its row means nothing, so any row serves.
	at = Min(at, Scalar(at.Graph(), dtypes.Int32, table.Shape().Dimensions[0]-1))
	return InsertAxes(Gather(table, at), 0)
}

// block builds layer l for the targets x, [B,N,D]. With past it sees the cache's S slots, whose entry at the target's
// position is replaced by the target's own (N is 1 then); without, the N targets themselves. It returns the cache to keep.
func (d *decoder) block(l int, x *Node, past *cache) (*Block, cache) {
	b := &Block{Input: x, spec: d.spec, w: d.w.in(fmt.Sprintf("blocks.%d.", l))}
	u := layerNorm(x, b.w.in("attention-norm."), d.spec.NormEpsilon)
	b.query = b.project(u, "query")
	b.queryContent = func() *Node { return b.heads(b.linear(u, "query")) }
	now := cache{key: b.project(u, "key"), value: b.project(u, "value")}
	if past != nil {
		now.key = replaceSlot(past.key, now.key, d.position)
		now.value = replaceSlot(past.value, now.value, d.position)
	}
	b.Key, b.Value = now.key, now.value
	b.visible = visible(x.Graph(), d.position, x.Shape().Dimensions[1], b.Key.Shape().Dimensions[2])
	b.attend()
	return b, now
}

// visible is 1 where target n may see source s and 0 elsewhere, [1,1,N,S]: sources up to the target's own position, where the first
// target stands at position (nil is 0).
func visible(g *Graph, position *Node, n, s int) *Node {
	target := Iota(g, shapes.Make(dtypes.Int32, 1, 1, n, s), 2)
	source := Iota(g, shapes.Make(dtypes.Int32, 1, 1, n, s), 3)
	if position != nil {
		target = Add(target, position)
	}
	return ConvertDType(LessOrEqual(source, target), dtypes.Float32)
}

// replaceSlot returns old [B,H,S,E] with slot position replaced by now [B,H,1,E].
func replaceSlot(old, now, position *Node) *Node {
	slot := Iota(old.Graph(), shapes.Make(dtypes.Int32, 1, 1, old.Shape().Dimensions[2], 1), 2)
	return Where(BroadcastToShape(Equal(slot, position), shapes.Make(dtypes.Bool, old.Shape().Dimensions...)),
		BroadcastToDims(now, old.Shape().Dimensions...), old)
}

// logits returns the scores of the vocabulary, [...,V], for final [...,D].
func (d *decoder) logits(final *Node) *Node {
	if d.spec.TiedHead {
		return contractLast(final, d.w("embedding"), 1)
	}
	return contractLast(final, d.w("head"), 0)
}

// final returns the residual stream after the final norm, [...,D].
func (d *decoder) final(x *Node) *Node {
	return layerNorm(x, d.w.in("final-norm."), d.spec.NormEpsilon)
}

// layerNorm returns (x-mean)/√(variance+ε)·gain + bias over the last axis.
func layerNorm(x *Node, w Weights, epsilon float64) *Node {
	centred := Sub(x, ReduceAndKeep(x, ReduceMean, -1))
	variance := ReduceAndKeep(Square(centred), ReduceMean, -1)
	normal := Div(centred, Sqrt(AddScalar(variance, epsilon)))
	return Add(Mul(normal, alignLast(w("gain"), x)), alignLast(w("bias"), x))
}

// alignLast reshapes v [D] to broadcast against the last axis of x.
func alignLast(v, x *Node) *Node { return ExpandLeftToRank(v, x.Rank()) }

// contractLast multiplies the last axis of x by axis of the matrix w.
func contractLast(x, w *Node, axis int) *Node {
	return DotGeneral(x, []int{x.Rank() - 1}, nil, w, []int{axis}, nil)
}

// activate applies the spec's non-linearity.
func (s *Spec) activate(x *Node) *Node {
	if s.Activation == GELUTanh {
		cubic := Mul(x, AddScalar(MulScalar(Square(x), 0.044715), 1))
		return Mul(MulScalar(x, 0.5), OnePlus(Tanh(MulScalar(cubic, math.Sqrt(2/math.Pi)))))
	}
	return Mul(MulScalar(x, 0.5), OnePlus(Erf(MulScalar(x, math.Sqrt2/2))))
}

// Logits builds the graph from ids [B,T] to the scores of the vocabulary at every position, [B,T,V], without a cache or taps:
// what a training loop differentiates. It also returns the attention of each layer, [B,H,T,T], for losses that look at it. It
// panics like all GoMLX graph code.
func Logits(spec *Spec, w Weights, ids *Node) (logits *Node, attention []*Node) {
	d := &decoder{spec: spec, w: w}
	x := d.embed(ids)
	for l := range spec.Layers {
		b, _ := d.block(l, x, nil)
		attention = append(attention, b.Attention)
		x = b.Output
	}
	return d.logits(d.final(x)), attention
}
