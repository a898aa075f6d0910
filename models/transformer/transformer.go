// Package transformer is the graph of a transformer. Attention, norms, positions and the
// feed-forward part exist here once, and a [spec.Spec] says how a model uses them; a model family
// is data in another package. A [Model] is such a graph with weights.
//
//	m, err := transformer.New(backend, s, dtypes.Float32, load) // load reads one array at a time
//	if err != nil {
//		return err
//	}
//	taps, err := m.Trace(ctx, []int{5, 3, 8}, []trace.Tap{trace.Attention, trace.Logits})
//	if err != nil {
//		return err
//	}
//	fmt.Println(taps[0].Shape, taps[1].Shape) // [L,H,3,3] and [3,V]
//
// # Parts
//
//   - [Model.Trace] and [Model.Forward] record tensors.
//   - [Model.Read] reads a whole text. [Model.NewSession] generates, with a cache of keys and
//     values. Both return the rows of mixings.
//   - [Model.Predict] and [Model.Gradients] answer queries about the scores of the head.
//   - [Model.LogitTerms] and [Model.Decompose] take a logit apart.
//   - [Model.WithoutValue] zeroes one value vector: the definition of Value Zeroing.
//   - [Logits] and [Scores] build the graph for a training loop, without a model.
//
// A prompt has many targets and a decode step has one. Both build their blocks with the same
// function, and the same mixings read them.
//
// Sizes: B batch, L layers, H heads, G heads with keys and values, T targets (N of them in one
// step), S sources, D width of the residual stream, W width of the embedding, E width of a head, F
// width of the feed-forward part, V vocabulary, K classes. Shapes are written outermost axis
// first.
//
// # Mixings
//
// A [Mixing] is the way one layer mixes positions: graph code over one [Block] that returns a
// number C[t,s] ≥ 0 for every target and source. Built in are
//
//	attention                           the softmax of the scores
//	norms                               length of the vector that a target gets from a source
//	norms-residual                      the same with the residual
//	norms-residual-norm                 the same through the norm after the attention
//	globenc                             the same through the whole block
//	alti                                how much closer a source's vector brings the sum
//	value-zeroing                       how far the output turns without the value of a source
//	value-zeroing-euclidean             how far it moves
//	value-zeroing-final-norm            as value-zeroing, the last layer after the final norm
//	value-zeroing-euclidean-final-norm  as value-zeroing-euclidean, likewise
//
// # Writing a mixing
//
// First write a type with the three methods of [Mixing], and register it from init:
//
//	type valueNorms struct{}
//
//	func (valueNorms) Mix(b *transformer.Block, heads trace.Heads) *Node {
//		length := Sqrt(ReduceSum(Square(b.Values()), -1))                            // [B,H,S]
//		return transformer.FuseHeads(Mul(b.Attention, InsertAxes(length, 2)), heads) // [B,N,S]
//	}
//
//	func (valueNorms) Check(trace.Heads) error { return nil }
//
//	func (valueNorms) PerPair() bool { return false }
//
//	func init() { transformer.RegisterMixing("value-norms", valueNorms{}) }
//
// Then describe it under the same name with RegisterMixing of package attribution, which knows
// nothing of graphs; in a notebook, RegisterMixing of gonbext/local does both. After that
// "value-norms+rollout" is a method. The first test is modeltest.Mixing(t, "value-norms",
// valueNorms{}).
//
// A mixing reads the exported fields and methods of [Block] only. What else it may do depends on
// its methods:
//
//   - PerPair, which every mixing has. If it returns true, a prompt is computed layer by layer in
//     tiles of targets, so that an array [B,N,S,D] fits the memory. Only then may Mix call
//     [Block.Contributions].
//   - [SharesOutput], optional: Mix calls [Block.AfterEach] or [Block.OutputsWithoutSource] before
//     it reads [Block.Output], so a decode step computes the output together with the changed ones.
//   - [ZeroesSources], optional: Mix calls [Block.OutputsWithoutSource], so the targets of a prompt
//     share what each source adds. PerPair must then return true.
//   - [ReadsFinalNorm], optional: Mix may call [Block.FinalNorm]. PerPair must then return true.
//
// # Errors
//
//   - A [*spec.SpecError] from [New]: the spec contradicts itself.
//   - A [*trace.MemoryError]: the pass would need more memory than [Model.MaxBytes]. Nothing has
//     been computed. It names what would fit.
//   - An error that wraps ctx.Err(): the caller stopped the pass. It names the layer.
//   - An unknown mixing or tap: the error lists the known ones.
//   - An error that names a mixing after the pass: its graph code panicked, or returned nil or
//     another shape than [Mixing] says.
//
// GoMLX panics while a graph is built; [Model] turns that into an error. The package never prints,
// and asks neither the network nor the environment.
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
	b.finish()
	return b, now
}

// tileBlock builds layer l for a tile of targets x, [1,N,D], from slot d.first on, over sources
// whose keys and values are known.
func (d *builder) tileBlock(l int, x *Node, sources cache) *Block {
	b, _ := d.startBlock(l, x)
	b.sources = sources
	d.attend(b)
	b.finish()
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
		Input: x, spec: d.spec, layer: l, first: d.first, product: d.product,
		relevance: d.relevance, w: d.w.in(ofLayer(l)), turning: d.turning(l), edits: d.edits,
	}
	if after := normAfter(d.spec, l); after != "" {
		b.finalNorm = func(x *Node) *Node { return norm(d.spec, x, d.w.in(after)) }
	}
	u := x
	if d.spec.Order != spec.PostNorm {
		u = b.norm(x, "attention-norm")
	}
	if d.spec.Stack(l) == spec.Crossing {
		source := x
		if d.spec.MemoryNorm {
			source = b.norm(x, "memory-norm")
		}
		queries := u
		u = d.byStack(x, source, func() *Node { return queries })
	}
	b.active = d.active(l, x.Shape().Dimensions[1])
	b.idle = d.ofTargetAlone && d.spec.Stack(l) == spec.Encoding
	p := b.project(u, d.fused)
	whole := b.heads(p.query, d.spec.Heads)
	b.query = b.edited(trace.QueryVector, b.turned(whole, whole, "query"))
	b.queryContent = func() *Node {
		return b.turned(b.heads(p.queryContent, d.spec.Heads), whole, "query")
	}
	b.queryBias = func() *Node {
		bias := Reshape(p.queryBias, 1, d.spec.Heads, 1, d.spec.HeadWidth)
		return b.turned(BroadcastToShape(bias, whole.Shape()), whole, "query")
	}
	key := b.heads(p.key, d.spec.Groups())
	return b, cache{
		key:   b.edited(trace.KeyVector, b.turned(key, key, "key")),
		value: b.edited(trace.Value, b.heads(p.value, d.spec.Groups())),
	}
}

// attend computes the attention of a block whose sources are set.
func (d *builder) attend(b *Block) {
	sources, x := b.sources.key.Shape().Dimensions[2], b.query
	b.visible = d.visible(b.layer, sources, x.Shape().Dimensions[2])
	if d.spec.Positions == spec.ALiBi {
		b.alibi = d.alibi(sources)
	}
	if d.spec.Relative != nil {
		b.alibi = d.disentangled(b)
	}
	if d.spec.RelativeBuckets > 0 && d.spec.Stack(b.layer) != spec.Crossing {
		back := distance(x.Graph(), d.first, x.Shape().Dimensions[2], sources)
		rows := gathered(b.w("relative-bias"),
			bucketOf(d.spec, back, d.spec.Stack(b.layer) != spec.Decoding)) // [B or 1,1,N,S,H]
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

// norm normalises the last axis of x and multiplies it by the gain g, to which the spec may add an
// offset:
//
//	(x - mean x)/√(variance x + ε)·g + b,  or with RMS  x/√(mean x² + ε)·g
func norm(s *spec.Spec, x *Node, w byName) *Node {
	if !s.NormBias() {
		return normedPart(s, x, x, w)
	}
	gain := gain(s, x, w)
	return fusedOnGo(x, func() *Node {
		return BackendFusedLayerNorm(x, []int{-1}, s.NormEpsilon, Reshape(gain, -1),
			float(w("bias")))
	}, func() *Node {
		centred := Sub(x, ReduceAndKeep(x, ReduceMean, -1))
		variance := ReduceAndKeep(Square(centred), ReduceMean, -1)
		normal := Div(centred, Sqrt(AddScalar(variance, s.NormEpsilon)))
		return Add(Mul(normal, gain), alignLast(w("bias"), x))
	})
}

// inverseRMS returns 1/√(mean x² + ε) over the last axis, [...,1].
func inverseRMS(s *spec.Spec, x *Node) *Node {
	return Reciprocal(Sqrt(AddScalar(ReduceAndKeep(Square(x), ReduceMean, -1), s.NormEpsilon)))
}

// Logits builds the graph from ids [B,T] to the scores of the vocabulary at every position,
// [B,T,V], without a cache or taps. A training loop differentiates it. weights returns the node of
// the array with a name of [spec.Spec.Params]. It also returns the attention of each layer,
// [B,H,T,T], for losses that use it. It panics like all GoMLX graph code.
func Logits(spec *spec.Spec, weights func(name string) *Node, ids *Node) (
	logits *Node, attention []*Node,
) {
	return Scores(spec, weights, ids, nil)
}

// Scores is [Logits] for a model with any head and for texts with padding. It returns the scores of
// the head: [B,T,V], [B,K] for a class of the whole text, or [B,T,K] for a class of each token.
// real [B,T], in float32, is 1 for tokens and 0 for padding; nil means that there is no padding.
func Scores(spec *spec.Spec, weights func(name string) *Node, ids, real *Node) (
	scores *Node, attention []*Node,
) {
	of := text{ids: ids, real: real}
	of.length = Scalar(ids.Graph(), dtypes.Int32, ids.Shape().Dimensions[1])
	if spec.Encoder > 0 {
		start := Equal(ids, Scalar(ids.Graph(), dtypes.Int32, spec.Boundary()))
		of.boundary = ArgMax(ConvertDType(start, dtypes.Int32), -1, dtypes.Int32)
	}
	d := newBuilder(spec, weights, of)
	if onCPU(ids.Graph().Backend()) {
		first := Reshape(Slice(ids, AxisRange(0, 1), AxisRange(0, 1)))
		d.product = product{always: GreaterOrEqual(first, ZerosLike(first)), trained: true}
	}
	x := d.embed()
	for l := range spec.Layers {
		b, _ := d.block(l, x)
		attention = append(attention, b.Attention)
		x = b.Output
	}
	return d.head(x), attention
}
