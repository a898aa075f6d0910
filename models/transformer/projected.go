package transformer

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// projectedSources is what each source would add, through each head, before the feed-forward part,
// for a tile of targets:
//
//	in the attention output   v^h_s W_O^h               [1+S,H,D]
//	in an input matrix W      (v^h_s W_O^h - mean)⊙g W  [1+S,H,F]
//
// g is the gain of the norm between the two; a norm without a mean subtracts none. The first row is
// zero, for the whole. A norm is linear but for one factor, its spread. So the products by W of all
// pairs of target and source, D·F multiplications each, become H·F: α^h[t,s] times these rows, and
// the spread of the pair. The product after the activation stays.
type projectedSources struct {
	output *Node
	// inputs are those of the matrices of [inputMatrices].
	inputs []*Node
}

// inputMatrices are the first matrices of the feed-forward part.
func inputMatrices(s *spec.Spec) []string {
	if s.Gated {
		return []string{"gate", "up"}
	}
	return []string{"up"}
}

// normBeforeMLP is the norm that the sum of attention output and residual passes.
func (l *Layer) normBeforeMLP() string {
	if l.spec.Order == spec.PostNorm {
		return "attention-norm"
	}
	return "mlp-norm"
}

// scaledByGain is the linear part of [Block.normBeforeMLP]: x less its mean, times the gain.
func (l *Layer) scaledByGain(x *Node) *Node {
	if !l.spec.RMS {
		x = centred(x)
	}
	return Mul(x, gain(l.spec, x, l.w.in(l.normBeforeMLP()+".")))
}

// throughHeads is W_O^h, [H,E,D], and carried on through each matrix of [inputMatrices],
// (W_O^h - mean)⊙g W, [H,E,F]. Values times these are what [projectedSources] has.
func (l *Layer) throughHeads() []*Node {
	s := l.spec
	rows := Reshape(l.outputWeight(), s.Heads*s.ValueWidth(), s.Width)
	all := []*Node{rows}
	for _, name := range inputMatrices(l.spec) {
		all = append(all, l.linear(l.scaledByGain(rows), name))
	}
	for i, w := range all {
		all[i] = Reshape(w, s.Heads, s.ValueWidth(), -1)
	}
	return all
}

// projectSources returns the tensors of [projectedSources], output first, given those of
// [Block.throughHeads].
func projectSources(b *Block, through []*Node) []*Node {
	var all []*Node
	for _, w := range through {
		byHead := b.layer.einsum("hse,hed->hsd", Squeeze(b.Values(), 0), w)
		byHead = TransposeAllAxes(byHead, 1, 0, 2) // [S,H,·]
		none := ZerosLike(SliceAxis(byHead, 0, AxisRange(0, 1)))
		all = append(all, Concatenate([]*Node{none, byHead}, 0))
	}
	return all
}

// OutputsWithoutSource returns the residual streams after the block without the contribution of
// each source to the attention output, [B,N,S,D], for heads together or one head, and the stream
// with all of them, [B,N,D], computed in the same way. For each head apart the first is [B,N,HS,D].
// It costs a pass through the rest of the block for each pair of target and source, or, where many
// targets share what [projectedSources] or [projectedCache] has, the last product of that pass.
func (b *Block) OutputsWithoutSource(heads trace.Heads) (without, whole *Node) {
	switch {
	case heads.Fusion == trace.MeanHeads && b.projected != nil:
		return projectedOutputs(b)
	case heads.Fusion == trace.MeanHeads && b.cached != nil:
		return cachedOutputs(b)
	}
	without = b.AfterEach(b.WithoutSource(heads))
	return without, b.Output
}

// projectedOutputs is [Block.OutputsWithoutSource] for a tile, from its projected sources.
func projectedOutputs(b *Block) (without, whole *Node) {
	attention := TransposeAllAxes(Squeeze(b.Attention, 0), 2, 1, 0) // [S,N,H]
	none := ZerosLike(SliceAxis(attention, 0, AxisRange(0, 1)))
	attention = Concatenate([]*Node{none, attention}, 0)
	ofSource := func(rows *Node) *Node { return b.layer.einsum("snh,shd->snd", attention, rows) }

	sum, residual := Add(b.Input, b.AttentionOutput), b.layer.outputBias(b.Input) // [1,N,D]
	// Without its only source exactly nothing is left of a target's attention, as in
	// [Block.WithoutSource]: a difference would leave a rounding error.
	sole := Equal(ReduceAndKeep(attention, ReduceMin, -1), ScalarOne(b.Input.Graph(),
		b.Input.DType())) // [1+S,N,1]
	less := func(x, nothing, part *Node) *Node {
		return Where(BroadcastToShape(sole, part.Shape()), BroadcastToShape(nothing, part.Shape()),
			Sub(x, part))
	}
	z := less(sum, residual, ofSource(b.projected.output)) // [1+S,N,D]
	inverse := inverseSpread(b.layer.spec, z)              // [1+S,N,1]
	input := func(name string, rows *Node) *Node {         // [1+S,N,F]
		y := less(b.layer.linear(b.layer.scaledByGain(sum), name), b.layer.linear(b.layer.scaledByGain(residual), name),
			ofSource(rows))
		y = Mul(y, inverse)
		if bias := b.layer.biasThrough(name); bias != nil {
			y = Add(y, bias)
		}
		return b.layer.biased(y, name, b.layer.spec.MLPBias)
	}
	var inputs []*Node
	for i, name := range inputMatrices(b.layer.spec) {
		inputs = append(inputs, input(name, b.projected.inputs[i]))
	}
	inner := b.layer.innerOf(inputs)
	mlp := b.layer.mlpDense(inner, "down")                 // [1+S,N,D]
	z = TransposeAllAxes(b.layer.withMLP(z, mlp), 1, 0, 2) // [N,1+S,D]
	whole = Reshape(SliceAxis(z, 1, AxisRange(0, 1)), b.Input.Shape().Dimensions...)
	return InsertAxes(SliceAxis(z, 1, AxisRange(1)), 0), whole
}

// innerOf is what comes of the products with [inputMatrices].
func (l *Layer) innerOf(inputs []*Node) *Node {
	if l.spec.Gated {
		return l.gated(inputs[0], inputs[1])
	}
	return l.activated(inputs[0])
}

// withMLP is the stream after the block, [...,D], given the sum z of attention output and residual
// and what the feed-forward part puts out for it.
func (l *Layer) withMLP(z, mlp *Node) *Node {
	if l.spec.Order == spec.PostNorm {
		return l.norm(Add(l.norm(z, "attention-norm"), mlp), "mlp-norm")
	}
	return Add(z, mlp)
}

// biasThrough is the bias of [Block.normBeforeMLP] times a matrix, [1,1,F]; nil without one.
func (l *Layer) biasThrough(name string) *Node {
	if !l.spec.NormBias() {
		return nil
	}
	bias := l.w.in(l.normBeforeMLP() + ".")("bias")
	return l.linear(Reshape(float(bias), 1, 1, -1), name)
}

// projectedMost limits what [projectedSources] takes: 1 GiB.
const projectedMost = 1 << 30

// What [projectedSources] takes: so many copies, because one is made from another and each tile
// reads a copy of a part, and so many arrays [N,S,F] of a tile besides those that a tile has
// without it.
const projectedCopies, projectedInner = 2, 3

// canProject reports whether rows of a mixing can be computed from [projectedSources] or a
// [projectedCache].
func canProject(m *core, ask asked) bool {
	s := m.Spec
	return zeroesSources(ask.Mixing) && ask.PerPair() && ask.Heads.Fusion == trace.MeanHeads &&
		m.DType == dtypes.Float32 && s.Order != spec.Parallel && !s.NormAfter &&
		!s.NormedResidual && s.ResidualScale == 0 && s.Mixture == nil && s.Encoder == 0 &&
		s.ValueWidth() > 1 && s.Heads > 1 // see [Block.narrow]
}

// projects reports whether the rows of a mixing for so many targets of a text of n tokens are
// computed from [projectedSources]. Where the pass leaves too few bytes, every pair is computed
// apart.
func projects(m *core, ask asked, targets, n int, spare int64) bool {
	s := m.Spec
	if !canProject(m, ask) || projectedBytes(s, n) > float64(min(projectedMost, spare)) {
		return false
	}
	// Multiplications, in units of D and the width of the inputs together: those of W_O through
	// the matrices, of each source, and of each pair, against those that each pair is spared.
	pairs := float64(targets) * float64(n)
	if s.Causal() {
		pairs /= 2
	}
	width, heads := float64(s.Width), float64(s.Heads)
	costs := width*width + float64(n)*width + pairs*heads
	return m.projectAlways || pairs*width > 2*costs
}

// projectedBytes is what [projectedSources] takes for a text of n tokens.
func projectedBytes(s *spec.Spec, n int) float64 {
	sources := float64(1 + bucket(n))
	tile := float64(rowsOfTile(bucket(n)*s.FeedForward)) * sources * float64(innerWidth(s))
	return projectedCopies*sources*sourceBytes(s) + 4*projectedInner*tile
}

// sourceBytes is what the rows of one source in one layer take, and throughBytes what the tensors
// of [Block.throughHeads] of all layers take.
func sourceBytes(s *spec.Spec) float64 {
	return 4 * float64(s.Heads) * float64(s.Width+innerWidth(s))
}

func throughBytes(s *spec.Spec) float64 {
	return float64(s.Layers) * float64(s.ValueWidth()) * sourceBytes(s)
}

// innerWidth is how many numbers the matrices of [inputMatrices] return together.
func innerWidth(s *spec.Spec) int {
	if s.Gated {
		return 2 * s.FeedForward
	}
	return s.FeedForward
}

// zeroesSources reports whether a mixing calls [Block.OutputsWithoutSource].
func zeroesSources(mix Mixing) bool {
	_, ok := mix.(ZeroesSources)
	return ok
}

// throughProgram is the graph of [Block.throughHeads] in layer l, given a positive number. After
// its tensors come those of [Block.biasThrough], [1,1,F] each, where there are any.
func throughProgram(m *core, l int) program {
	return program{
		"projected heads " + layerKind(m.Spec, l), ofLayer(l),
		func(w byName, in []*Node) []*Node {
			b := blockOfSources(m, w, l, in[0], cache{})
			all := b.layer.throughHeads()
			for _, name := range inputMatrices(b.layer.spec) {
				if bias := b.layer.biasThrough(name); bias != nil {
					all = append(all, bias)
				}
			}
			return all
		},
	}
}

// projectProgram is the graph of [Block.projectSources] in layer l, given a positive number, the
// values of the sources, [1,G,S,E], and the tensors of [Model.throughProgram].
func projectProgram(m *core, l int) program {
	return program{
		"projected sources", noWeights,
		func(w byName, in []*Node) []*Node {
			return projectSources(blockOfSources(m, w, l, in[0], cache{value: in[1]}), in[2:])
		},
	}
}

// blockOfSources is a block that has sources and weights alone.
func blockOfSources(m *core, w byName, l int, positive *Node, sources cache) *Block {
	d := m.builder(w, text{length: positive})
	return &Block{layer: d.layer(l), sources: sources}
}

// projectedTile is the graph of [Model.tileProgram] with the tensors of [Model.projectProgram] as
// further inputs, for all sources of the text.
func projectedTile(m *core, l int, ask asked) program {
	kind, weights := kindOf(m.Spec, l, ask)
	return program{
		fmt.Sprintf("projected tile %s %s", kind, describe(ask)), weights,
		func(w byName, in []*Node) []*Node {
			const own = 5 // inputs of a tile
			b := blockOfTile(m, w, l, in[:own])
			sources := in[own-1].Shape().Dimensions[2]
			projected := slices.Clone(in[own:])
			for i, rows := range projected {
				projected[i] = SliceAxis(rows, 0, AxisRange(0, 1+sources))
			}
			b.projected = &projectedSources{output: projected[0], inputs: projected[1:]}
			return []*Node{visibleRows(b, ask)}
		},
	}
}

// project computes the tensors of [projectedSources] for all sources of the layer.
func (a *pairLayer) project() error {
	m, length := a.m, a.n
	sources := length
	if m.machine.promptStep > 1 {
		sources = bucket(length)
	}
	spec := m.Spec
	value, err := filled(m.machine.backend, []int{1, spec.Groups(), sources, spec.ValueWidth()},
		func(data []float32) {
			copySlots(data, a.value, spec.Groups(), length*spec.ValueWidth())
		})
	if err != nil {
		return err
	}
	defer free(value)
	t := m.through.acquire(spec.Layers, throughBytes(spec) <= float64(min(throughMost, a.p.spare/4)))
	defer m.through.release(t)
	a.projected, err = projectThrough(m, projectProgram(m, a.l), t, a.l, value)
	return err
}

// project runs [Model.projectProgram] or [Model.projectCacheProgram] for layer l.
func projectThrough(m *core, p program, t *throughHeads, l int, value *tensors.Tensor) (
	[]*tensors.Tensor, error,
) {
	through, err := t.of(m, l)
	if err != nil {
		return nil, err
	}
	positive := tensors.FromScalar(int32(1))
	defer free(positive)
	inputs := []*tensors.Tensor{positive, value}
	return m.machine.execute(p, append(inputs, through[:1+len(inputMatrices(m.Spec))]...)...)
}
