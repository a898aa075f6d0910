package graph

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// Scores builds the graph from ids [B,T] to the scores of the head, without a cache or taps. A
// training loop differentiates it. weights has the arrays with the names of [spec.Spec.Params]. It
// also returns the attention of each layer, [B,H,T,T], for losses that use it. It panics like all
// GoMLX graph code. The scores are [B,T,V], [B,K] for a class of the whole text, or [B,T,K] for a
// class of each token. real [B,T], in float32, is 1 for tokens and 0 for padding; nil means that
// there is no padding.
func Scores(spec *spec.Spec, weights func(name string) *Node, ids, real *Node) (
	scores *Node, attention []*Node,
) {
	of := Text{IDs: ids, Real: real}
	of.Length = Scalar(ids.Graph(), dtypes.Int32, ids.Shape().Dimensions[1])
	if spec.Encoder > 0 {
		start := Equal(ids, Scalar(ids.Graph(), dtypes.Int32, spec.Boundary()))
		of.Boundary = ArgMax(ConvertDType(start, dtypes.Int32), -1, dtypes.Int32)
	}
	d := NewBuilder(spec, weights, of)
	if codes.OnCPU(ids.Graph().Backend()) {
		first := Reshape(Slice(ids, AxisRange(0, 1), AxisRange(0, 1)))
		d.Product = codes.Product{Always: GreaterOrEqual(first, ZerosLike(first)), Trained: true}
	}
	x := d.Embed()
	for l := range spec.Layers {
		b, _ := d.Block(l, x)
		attention = append(attention, b.Attention)
		x = b.Output
	}
	return d.Head(x), attention
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

// NewBuilder returns a builder of graphs over a text, with the weights of a model by name; see
// [spec.Spec.Params].
func NewBuilder(s *spec.Spec, w codes.Weights, t Text) *Builder {
	return &Builder{Text: t, Spec: s, W: w, turnings: map[*spec.Rotary]*turning{}}
}

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
	l := b.layer
	sources, x := b.sources.Key.Shape().Dimensions[2], b.query
	b.visible = d.visible(l.Number, sources, x.Shape().Dimensions[2])
	if d.Spec.Positions == spec.ALiBi {
		b.alibi = d.alibi(sources)
	}
	if d.Spec.Relative != nil {
		b.alibi = d.disentangled(b)
	}
	if d.Spec.RelativeBuckets > 0 && d.Spec.Stack(l.Number) != spec.Crossing {
		back := distance(x.Graph(), d.First, x.Shape().Dimensions[2], sources)
		rows := codes.Gathered(l.W("relative-bias"),
			// [B or 1,1,N,S,H]
			bucketOf(d.Spec, back, d.Spec.Stack(l.Number) != spec.Decoding))
		b.alibi = TransposeAllAxes(Squeeze(rows, 1), 0, 3, 1, 2)
	}
	b.attend()
}
