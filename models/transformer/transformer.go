package transformer

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/spec"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("transformer")

// masked is added to scores that a target must not see. exp of it is 0 in float32, and unlike -∞
// it keeps sums finite.
const masked = -1e30

// text is the input of a graph.
type text struct {
	// ids are the targets, [B,N].
	ids *Node
	// first is the slot of the first target, an int32 scalar, or [B] if it differs from text to
	// text; nil means 0.
	first *Node
	// length is how many slots hold tokens, those of this pass included, an int32 scalar.
	length *Node
	// positions are the positions of the targets in their texts, [B,N]; nil if they are the slots.
	positions *Node
	// types are the token types of the targets, [B,N]; nil means type 0.
	types *Node
	// real is 1 for slots that hold a token and 0 for padding, [B,S]; nil if all slots before
	// length hold tokens.
	real *Node
	// boundary is the slot of the first token of the target, [B]; nil if there is one stack.
	boundary *Node
}

// at returns the positions of the targets, [B or 1,N], which in either of two stacks begin at 0.
func (t text) at() *Node {
	if t.positions != nil {
		return t.positions
	}
	slots := t.slots(t.ids.Shape().Dimensions[1])
	if t.boundary != nil {
		after := Sub(slots, eachText(t.boundary, 2))
		slots = BroadcastToShape(slots, after.Shape())
		return Where(LessThan(after, ZerosLike(after)), slots, after)
	}
	return slots
}

// slots are those of n targets, [B or 1,N].
func (t text) slots(n int) *Node {
	slots := Iota(t.length.Graph(), shapes.Make(dtypes.Int32, 1, n), 1)
	if t.first != nil {
		slots = Add(slots, eachText(t.first, 2))
	}
	return slots
}

// builder builds one graph.
type builder struct {
	text
	spec *spec.Spec
	w    byName
	// fused is whether query, key and value are one array, as [Model] holds them.
	fused   bool
	product product
	// relevance is whether the graph is differentiated for relevance.
	relevance relevance
	// edits are the inputs of the edits of a layer, by tap; nil for none.
	edits map[trace.Tap]editNodes
	// turnings are made once for all layers that share a rotary embedding.
	turnings map[*spec.Rotary]*turning
	// ofTargetAlone is whether all targets are tokens of the target of a model of two stacks, as
	// after its prompt; then the layers of the encoder compute nothing.
	ofTargetAlone bool
}

func newBuilder(s *spec.Spec, w byName, t text) *builder {
	return &builder{text: t, spec: s, w: w, turnings: map[*spec.Rotary]*turning{}}
}

// cache is the keys and values of one layer, [B,G,S,E] each. Slots that hold no token yet have any
// finite numbers.
type cache struct{ key, value *Node }

// embed returns the residual stream before block 0, [B,N,D].
func (d *builder) embed() *Node { return d.embedded(d.rows()) }

// rows returns the rows of the embedding of the targets, [B,N,W].
func (d *builder) rows() *Node {
	ids := d.ids
	if d.boundary != nil {
		start := Scalar(ids.Graph(), dtypes.Int32, d.spec.TargetStart)
		ids = Where(Equal(ids, Scalar(ids.Graph(), dtypes.Int32, d.spec.Boundary())),
			BroadcastToShape(start, ids.Shape()), ids)
	}
	if d.spec.SourceVocab == 0 {
		return gathered(d.w("embedding"), ids)
	}
	source := AddScalar(ids, -d.spec.Vocab)
	ofSource := GreaterOrEqual(source, ZerosLike(source))
	rows := gathered(d.w("source-embedding"), Where(ofSource, source, ZerosLike(ids)))
	return Where(BroadcastToDims(InsertAxes(ofSource, -1), rows.Shape().Dimensions...), rows,
		gathered(d.w("embedding"), Where(ofSource, ZerosLike(ids), ids)))
}

// embedded turns rows of the embedding, [B,N,W], into the residual stream before block 0, [B,N,D]:
// scale, projection, positions, token types and norm, as far as the spec has them.
func (d *builder) embedded(x *Node) *Node {
	s := d.spec
	if s.EmbeddingScale != 0 {
		x = MulScalar(x, s.EmbeddingScale)
	}
	projected := s.Embedded() != s.Width
	if projected && s.ProjectTokens {
		x = d.product.with(x, d.w("embedding-projection.weight"), 0)
	}
	if s.Positions == spec.LearnedPositions {
		x = Add(x, d.learned())
	}
	if s.TokenTypes > 0 {
		if d.types == nil {
			x = Add(x, Reshape(SliceAxis(float(d.w("token-types")), 0, AxisRange(0, 1)), 1, 1, -1))
		} else {
			x = Add(x, gathered(d.w("token-types"), d.types))
		}
	}
	if s.EmbeddingNorm {
		x = d.byStack(x, d.norm(x, "embedding-norm."), func() *Node {
			return d.norm(x, "target-embedding-norm.")
		})
	}
	if projected && !s.ProjectTokens {
		x = d.product.with(x, d.w("embedding-projection.weight"), 0)
		x = Add(x, alignLast(d.w("embedding-projection.bias"), x))
	}
	return x
}

// learned returns the rows of the position table for the targets, [B or 1,N,W].
func (d *builder) learned() *Node {
	at := AddScalar(d.at(), d.spec.PositionOffset)
	// A padded target may lie beyond the table. Nobody reads its row, so any row will do.
	at = MinScalar(at, d.spec.Context+d.spec.PositionOffset-1)
	rows := gathered(d.w("positions"), at)
	return d.byStack(rows, rows, func() *Node { return gathered(d.w("target-positions"), at) })
}

// block builds layer l for targets x, [B,N,D], that see each other. It also returns their keys and
// values.
func (d *builder) block(l int, x *Node) (*Block, cache) {
	b, now := d.startBlock(l, x)
	b.sources = now
	d.attend(b)
	finish(b)
	return b, now
}

// tileBlock builds layer l for a tile of targets x, [1,N,D], from slot d.first on, over sources
// whose keys and values are known.
func (d *builder) tileBlock(l int, x *Node, sources cache) *Block {
	b, _ := d.startBlock(l, x)
	b.sources = sources
	d.attend(b)
	finish(b)
	return b
}

// stepBlock builds layer l for the one target of each text, x [B,1,D], of a decode step, in slot
// d.first of the cache past. What past holds in that slot is not read. It also returns the
// target's key and value, [B,G,1,E]. The block has no output yet; see [Block.finish].
func (d *builder) stepBlock(l int, x *Node, past cache) (*Block, cache) {
	b, now := d.startBlock(l, x)
	b.own = &ownSlot{cache: now, past: past, slot: d.first}
	b.sources = cache{
		key:   replaceSlot(past.key, now.key, d.first),
		value: replaceSlot(past.value, now.value, d.first),
	}
	d.attend(b)
	if b.idle { // nobody reads them
		now = cache{key: ZerosLike(now.key), value: ZerosLike(now.value)}
		b.sources = past
	}
	return b, now
}

// startBlock begins a block: its input, its query, and the keys and values of its targets.
func (d *builder) startBlock(l int, x *Node) (*Block, cache) {
	b := &Block{
		Input: x, layer: d.layer(l), first: d.first, turning: d.turning(l),
	}
	if after := normAfter(d.spec, l); after != "" {
		b.finalNorm = func(x *Node) *Node { return norm(d.spec, x, d.w.in(after)) }
	}
	u := x
	if d.spec.Order != spec.PostNorm {
		u = b.layer.norm(x, "attention-norm")
	}
	if d.spec.Stack(l) == spec.Crossing {
		source := x
		if d.spec.MemoryNorm {
			source = b.layer.norm(x, "memory-norm")
		}
		queries := u
		u = d.byStack(x, source, func() *Node { return queries })
	}
	b.active = d.active(l, x.Shape().Dimensions[1])
	b.idle = d.ofTargetAlone && d.spec.Stack(l) == spec.Encoding
	p := b.layer.project(u, d.fused)
	whole := splitHeads(p.query, d.spec.Heads)
	b.query = b.layer.edited(trace.QueryVector, b.turned(whole, whole, "query"))
	b.queryContent = func() *Node {
		return b.turned(splitHeads(p.queryContent, d.spec.Heads), whole, "query")
	}
	b.queryBias = func() *Node {
		bias := Reshape(p.queryBias, 1, d.spec.Heads, 1, d.spec.HeadWidth)
		return b.turned(BroadcastToShape(bias, whole.Shape()), whole, "query")
	}
	key := splitHeads(p.key, d.spec.Groups())
	return b, cache{
		key:   b.layer.edited(trace.KeyVector, b.turned(key, key, "key")),
		value: b.layer.edited(trace.Value, splitHeads(p.value, d.spec.Groups())),
	}
}

// attend computes the attention of a block whose sources are set.
func (d *builder) attend(b *Block) {
	sources, x := b.sources.key.Shape().Dimensions[2], b.query
	b.visible = d.visible(b.layer.number, sources, x.Shape().Dimensions[2])
	if d.spec.Positions == spec.ALiBi {
		b.alibi = d.alibi(sources)
	}
	if d.spec.Relative != nil {
		b.alibi = d.disentangled(b)
	}
	if d.spec.RelativeBuckets > 0 && d.spec.Stack(b.layer.number) != spec.Crossing {
		back := distance(x.Graph(), d.first, x.Shape().Dimensions[2], sources)
		rows := gathered(b.layer.w("relative-bias"),
			bucketOf(d.spec, back, d.spec.Stack(b.layer.number) != spec.Decoding)) // [B or 1,1,N,S,H]
		b.alibi = TransposeAllAxes(Squeeze(rows, 1), 0, 3, 1, 2)
	}
	b.attend()
}

// turning returns how layer l turns queries and keys, nil if it does not.
func (d *builder) turning(l int) *turning {
	r := d.spec.RotaryOf(l)
	if r == nil {
		return nil
	}
	if d.turnings[r] == nil {
		t := newTurning(r, d.at(), d.length)
		d.turnings[r] = &t
	}
	return d.turnings[r]
}

// visible is 1 where a target may see a source and 0 elsewhere, [B or 1,1,N,S]. A decoder's target
// sees the real sources up to its own slot and within the window, if there is one; an encoder's
// target sees every real source.
func (d *builder) visible(l, sources, targets int) *Node {
	stack := d.spec.Stack(l)
	v := visible(d.length.Graph(), d.first, d.length, targets, sources, d.spec.Window(l),
		d.spec.Bidirectional || stack == spec.Encoding || stack == spec.Crossing)
	if stack != spec.OneStack {
		slots := Iota(v.Graph(), shapes.Make(dtypes.Int32, 1, 1, 1, sources), 3)
		ofSource := LessThan(slots, eachText(d.boundary, 4))
		if stack == spec.Decoding {
			ofSource = LogicalNot(ofSource)
		}
		v = Mul(Mul(v, ConvertDType(ofSource, dtypes.Float32)), InsertAxes(d.active(l, targets), 1))
	}
	if d.real != nil {
		v = Mul(v, InsertAxes(d.real, 1, 1))
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

// visible is the part of [builder.visible] that does not depend on padding, [B or 1,1,N,S].
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
func (d *builder) alibi(sources int) *Node {
	table := Const(d.ids.Graph(), alibiBias(d.spec, sources)) // [H·S]
	if d.positions == nil {
		return Reshape(table, 1, d.spec.Heads, 1, sources)
	}
	rows := Transpose(Reshape(table, d.spec.Heads, sources), 0, 1)               // [S,H]
	return InsertAxes(TransposeAllAxes(gathered(rows, d.positions), 0, 2, 1), 2) // [B,H,1,S]
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

// final applies the final norm and the projection back to the width of the embedding to x [...,D],
// if the spec has them, and returns [...,D or W].
func (d *builder) final(x *Node) *Node {
	if !d.spec.NoFinalNorm {
		x = d.norm(x, finalNorm)
	}
	if d.spec.ProjectsOut() {
		x = d.product.with(x, d.w("head-projection.weight"), 0)
	}
	return x
}

// norm is the norm whose weights have a prefix.
func (d *builder) norm(x *Node, prefix string) *Node {
	return d.relevance.norm(d.spec, x, d.w.in(prefix))
}
