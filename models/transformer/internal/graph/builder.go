package graph

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// masked is added to scores that a target must not see. exp of it is 0 in float32, and unlike -∞
// it keeps sums finite.
const masked = -1e30

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

// Builder builds one graph.
type Builder struct {
	Text
	Spec *spec.Spec
	W    codes.Weights
	// Fused is whether query, key and value are one array, as [transformer.Model] holds them.
	Fused   bool
	Product codes.Product
	// relevance is whether the graph is differentiated for relevance.
	relevance relevance
	// Edits are the inputs of the edits of a layer, by tap; nil for none.
	Edits map[trace.Tap]EditNodes
	// turnings are made once for all layers that share a rotary embedding.
	turnings map[*spec.Rotary]*turning
	// OfTargetAlone is whether all targets are tokens of the target of a model of two stacks, as
	// after its prompt; then the layers of the encoder compute nothing.
	OfTargetAlone bool
}

func NewBuilder(s *spec.Spec, w codes.Weights, t Text) *Builder {
	return &Builder{Text: t, Spec: s, W: w, turnings: map[*spec.Rotary]*turning{}}
}

// Cache is the keys and values of one layer, [B,G,S,E] each. Slots that hold no token yet have any
// finite numbers.
type Cache struct{ Key, Value *Node }

// Embed returns the residual stream before block 0, [B,N,D].
func (d *Builder) Embed() *Node { return d.Embedded(d.Rows()) }

// Rows returns the rows of the embedding of the targets, [B,N,W].
func (d *Builder) Rows() *Node {
	ids := d.IDs
	if d.Boundary != nil {
		start := Scalar(ids.Graph(), dtypes.Int32, d.Spec.TargetStart)
		ids = Where(Equal(ids, Scalar(ids.Graph(), dtypes.Int32, d.Spec.Boundary())),
			BroadcastToShape(start, ids.Shape()), ids)
	}
	if d.Spec.SourceVocab == 0 {
		return codes.Gathered(d.W("embedding"), ids)
	}
	source := AddScalar(ids, -d.Spec.Vocab)
	ofSource := GreaterOrEqual(source, ZerosLike(source))
	rows := codes.Gathered(d.W("source-embedding"), Where(ofSource, source, ZerosLike(ids)))
	return Where(BroadcastToDims(InsertAxes(ofSource, -1), rows.Shape().Dimensions...), rows,
		codes.Gathered(d.W("embedding"), Where(ofSource, ZerosLike(ids), ids)))
}

// Embedded turns rows of the embedding, [B,N,W], into the residual stream before block 0, [B,N,D]:
// scale, projection, positions, token types and norm, as far as the spec has them.
func (d *Builder) Embedded(x *Node) *Node {
	s := d.Spec
	if s.EmbeddingScale != 0 {
		x = MulScalar(x, s.EmbeddingScale)
	}
	projected := s.Embedded() != s.Width
	if projected && s.ProjectTokens {
		x = d.Product.With(x, d.W("embedding-projection.weight"), 0)
	}
	if s.Positions == spec.LearnedPositions {
		x = Add(x, d.learned())
	}
	if s.TokenTypes > 0 {
		if d.Types == nil {
			x = Add(x,
				Reshape(SliceAxis(codes.Float(d.W("token-types")), 0, AxisRange(0, 1)), 1, 1, -1))
		} else {
			x = Add(x, codes.Gathered(d.W("token-types"), d.Types))
		}
	}
	if s.EmbeddingNorm {
		x = d.byStack(x, d.norm(x, "embedding-norm."), func() *Node {
			return d.norm(x, "target-embedding-norm.")
		})
	}
	if projected && !s.ProjectTokens {
		x = d.Product.With(x, d.W("embedding-projection.weight"), 0)
		x = Add(x, codes.AlignLast(d.W("embedding-projection.bias"), x))
	}
	return x
}

// learned returns the rows of the position table for the targets, [B or 1,N,W].
func (d *Builder) learned() *Node {
	at := AddScalar(d.at(), d.Spec.PositionOffset)
	// A padded target may lie beyond the table. Nobody reads its row, so any row will do.
	at = MinScalar(at, d.Spec.Context+d.Spec.PositionOffset-1)
	rows := codes.Gathered(d.W("positions"), at)
	return d.byStack(rows, rows,
		func() *Node { return codes.Gathered(d.W("target-positions"), at) })
}

// Block builds layer l for targets x, [B,N,D], that see each other. It also returns their keys and
// values.
func (d *Builder) Block(l int, x *Node) (*Block, Cache) {
	b, now := d.StartBlock(l, x)
	b.sources = now
	d.attend(b)
	Finish(b)
	return b, now
}

// TileBlock builds layer l for a tile of targets x, [1,N,D], from slot d.first on, over sources
// whose keys and values are known.
func (d *Builder) TileBlock(l int, x *Node, sources Cache) *Block {
	b, _ := d.StartBlock(l, x)
	b.sources = sources
	d.attend(b)
	Finish(b)
	return b
}

// StepBlock builds layer l for the one target of each text, x [B,1,D], of a decode step, in slot
// d.first of the cache past. What past holds in that slot is not read. It also returns the
// target's key and value, [B,G,1,E]. The block has no output yet; see [Finish].
func (d *Builder) StepBlock(l int, x *Node, past Cache) (*Block, Cache) {
	b, now := d.StartBlock(l, x)
	b.own = &ownSlot{Cache: now, past: past, slot: d.First}
	b.sources = Cache{
		Key:   replaceSlot(past.Key, now.Key, d.First),
		Value: replaceSlot(past.Value, now.Value, d.First),
	}
	d.attend(b)
	if b.idle { // nobody reads them
		now = Cache{Key: ZerosLike(now.Key), Value: ZerosLike(now.Value)}
		b.sources = past
	}
	return b, now
}

// StartBlock begins a block: its input, its query, and the keys and values of its targets.
func (d *Builder) StartBlock(l int, x *Node) (*Block, Cache) {
	b := &Block{
		Input: x, layer: d.Layer(l), first: d.First, turning: d.turning(l),
	}
	if after := NormAfter(d.Spec, l); after != "" {
		b.finalNorm = func(x *Node) *Node { return Norm(d.Spec, x, d.W.In(after)) }
	}
	u := x
	if d.Spec.Order != spec.PostNorm {
		u = b.layer.Norm(x, "attention-norm")
	}
	if d.Spec.Stack(l) == spec.Crossing {
		source := x
		if d.Spec.MemoryNorm {
			source = b.layer.Norm(x, "memory-norm")
		}
		queries := u
		u = d.byStack(x, source, func() *Node { return queries })
	}
	b.active = d.active(l, x.Shape().Dimensions[1])
	b.idle = d.OfTargetAlone && d.Spec.Stack(l) == spec.Encoding
	p := b.layer.project(u, d.Fused)
	whole := splitHeads(p.query, d.Spec.Heads)
	b.query = b.layer.Edited(trace.QueryVector, b.turned(whole, whole, "query"))
	b.queryContent = func() *Node {
		return b.turned(splitHeads(p.queryContent, d.Spec.Heads), whole, "query")
	}
	b.queryBias = func() *Node {
		bias := Reshape(p.queryBias, 1, d.Spec.Heads, 1, d.Spec.HeadWidth)
		return b.turned(BroadcastToShape(bias, whole.Shape()), whole, "query")
	}
	key := splitHeads(p.key, d.Spec.Groups())
	return b, Cache{
		Key:   b.layer.Edited(trace.KeyVector, b.turned(key, key, "key")),
		Value: b.layer.Edited(trace.Value, splitHeads(p.value, d.Spec.Groups())),
	}
}

// attend computes the attention of a block whose sources are set.
func (d *Builder) attend(b *Block) {
	sources, x := b.sources.Key.Shape().Dimensions[2], b.query
	b.visible = d.visible(b.layer.Number, sources, x.Shape().Dimensions[2])
	if d.Spec.Positions == spec.ALiBi {
		b.alibi = d.alibi(sources)
	}
	if d.Spec.Relative != nil {
		b.alibi = d.disentangled(b)
	}
	if d.Spec.RelativeBuckets > 0 && d.Spec.Stack(b.layer.Number) != spec.Crossing {
		back := distance(x.Graph(), d.First, x.Shape().Dimensions[2], sources)
		rows := codes.Gathered(b.layer.W("relative-bias"),
			// [B or 1,1,N,S,H]
			bucketOf(d.Spec, back, d.Spec.Stack(b.layer.Number) != spec.Decoding))
		b.alibi = TransposeAllAxes(Squeeze(rows, 1), 0, 3, 1, 2)
	}
	b.attend()
}

// turning returns how layer l turns queries and keys, nil if it does not.
func (d *Builder) turning(l int) *turning {
	r := d.Spec.RotaryOf(l)
	if r == nil {
		return nil
	}
	if d.turnings[r] == nil {
		t := newTurning(r, d.at(), d.Length)
		d.turnings[r] = &t
	}
	return d.turnings[r]
}

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

// alibi is what ALiBi adds to the score of every source, [B or 1,H,1,S].
func (d *Builder) alibi(sources int) *Node {
	table := Const(d.IDs.Graph(), alibiBias(d.Spec, sources)) // [H·S]
	if d.Positions == nil {
		return Reshape(table, 1, d.Spec.Heads, 1, sources)
	}
	rows := Transpose(Reshape(table, d.Spec.Heads, sources), 0, 1)                     // [S,H]
	return InsertAxes(TransposeAllAxes(codes.Gathered(rows, d.Positions), 0, 2, 1), 2) // [B,H,1,S]
}

// replaceSlot returns old [B,G,S,E] with one slot, a scalar or [B], replaced by now [B,G,1,E].
func replaceSlot(old, now, slot *Node) *Node {
	slots := Iota(old.Graph(), shapes.Make(dtypes.Int32, 1, 1, old.Shape().Dimensions[2], 1), 2)
	return Where(BroadcastToShape(Equal(slots, eachText(slot, 4)),
		shapes.Make(dtypes.Bool, old.Shape().Dimensions...)),
		BroadcastToDims(now, old.Shape().Dimensions...), old)
}

// finalNorm is the prefix of the weights of the norm after the last layer.
const finalNorm = "final-norm."

// Final applies the final norm and the projection back to the width of the embedding to x [...,D],
// if the spec has them, and returns [...,D or W].
func (d *Builder) Final(x *Node) *Node {
	if !d.Spec.NoFinalNorm {
		x = d.norm(x, finalNorm)
	}
	if d.Spec.ProjectsOut() {
		x = d.Product.With(x, d.W("head-projection.weight"), 0)
	}
	return x
}

// norm is the norm whose weights have a prefix.
func (d *Builder) norm(x *Node, prefix string) *Node {
	return d.relevance.norm(d.Spec, x, d.W.In(prefix))
}
