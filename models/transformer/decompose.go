package transformer

import (
	"context"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// Decompose returns the part of the query's logit, or difference of two logits, that comes from
// each token, [T], and the rest: the logit minus all parts. Every vector in every layer is the sum
// of T parts, one per token (DecompX, Modarressi et al. 2023, §3):
//
//	attention   Σ_h Σ_s α^h[t,s] x_{s,k} W_V^h W_O^h       α unchanged (eq. 4)
//	norms       (x_k - mean x_k)/σ(x)·g                    σ of the whole vector (eq. 8)
//	activation  f(x)/x·x_k                                 its limit at 0 (eq. 10)
//	biases      ω_k b, ω_k = |b·p_k| / Σ_j |b·p_j|         AbsDot, p what b is added to (eq. 5)
//
// It goes from the embedding, which with its position and norm belongs to its token, through all
// layers and the head (eq. 13); a cap of logits counts as an activation. As in the paper, but not
// in its programs, the bias of an attention is shared before the residual is added, and includes
// the bias of the values in every layer.
//
// Parts that the paper's encoders do not have are treated in the same way: RMS norms, norms after
// attention and feed-forward, parallel blocks; rotary positions and ALiBi are in α. A gate times
// another projection gives half to each, the Shapley value of a product. In a decoder, tokens
// after the target have the part 0.
//
// The rest is what no token gets: rounding, that of activations if weights are bfloat16, and
// biases at right angles to all parts. It costs about T passes, half as many in a decoder, and
// 4·T²·(D+2GE) bytes. Errors are those of [Model.LogitTerms].
func (m *Model) Decompose(ctx context.Context,
	q trace.Query,
) (parts []float64, rest float64, err error) {
	if err := m.checkParted(q); err != nil {
		return nil, 0, err
	}
	if m.Spec.Encoder > 0 {
		return nil, 0, pkg.Errorf("the %s model has two stacks, of which the parts of every token "+
			"are not computed", m.Spec.Family)
	}
	if err := m.checkMemory(need{Tokens: len(q.IDs), Parts: true}); err != nil {
		return nil, 0, err
	}
	p := &partedPass{m: m, q: q, length: len(q.IDs), owners: len(q.IDs)}
	if m.Spec.Causal() {
		p.owners = m.target(q) + 1
	}
	if parts, rest, err = p.run(ctx); err != nil {
		return nil, 0, pkg.Errorf("%s parts of every token of %d: %w", m.Spec.Family,
			len(q.IDs), err)
	}
	return parts, rest, nil
}

// partedPass carries the parts of every token through the layers.
type partedPass struct {
	m      *Model
	q      trace.Query
	length int
	// owners is how many tokens K have parts, and how many targets are followed.
	owners int
	// parts are those of the residual stream, [K,K,D], and values those of the value vectors,
	// [K,K,GE]: targets by owners.
	parts, values []float32
}

func (p *partedPass) run(ctx context.Context) (parts []float64, rest float64, err error) {
	b := p.m.queryBatch([]trace.Query{p.q}, []int{0}, Batching{Texts: 1})
	x, err := b.embed()
	if err != nil {
		return nil, 0, err
	}
	if err := read(x, p.begin); err != nil {
		free(x)
		return nil, 0, err
	}
	keysAndValues := func(_ *builder, _ *Block, now cache, _ []*Node) []*Node {
		return []*Node{now.key, now.value}
	}
	for step, err := range b.inputs.layers(ctx, x, "keys and values", keysAndValues) {
		if err != nil {
			return nil, 0, err
		}
		if err := p.layer(ctx, step); err != nil {
			return nil, 0, fmt.Errorf("layer %d: %w", step.layer, err)
		}
		x = step.out
	}
	defer free(x)
	return p.head(b.inputs, x)
}

// begin gives every token its own row of the embedded text x, [N,D].
func (p *partedPass) begin(x []float32) {
	k, d, spec := p.owners, p.m.Spec.Width, p.m.Spec
	p.parts, p.values = make([]float32, k*k*d), make([]float32, k*k*spec.Groups()*spec.ValueWidth())
	for t := range k {
		copy(p.parts[(t*k+t)*d:], x[t*d:(t+1)*d])
	}
}

// layer carries the parts through a layer. After the last one only those of the target are needed.
func (p *partedPass) layer(ctx context.Context, step *layerStep) (err error) {
	s := &partedLayer{p: p}
	defer func() { s.free(); free(s.sourceParts) }()
	if s.tiledLayer, err = p.m.tiledLayer(step, p.q.IDs); err != nil {
		return err
	}
	first, last := 0, p.owners
	if err := s.tiles(ctx, first, last, s.valueTile); err != nil {
		return err
	}
	if s.l == p.m.Spec.Layers-1 {
		first = p.m.target(p.q)
		last = first + 1
	}
	return s.tiles(ctx, first, last, s.tile)
}

// partedLayer is one layer of the pass.
type partedLayer struct {
	*tiledLayer
	p *partedPass
	// sourceParts is the parts of the values of the first sources, [owners,owners,GE], as the last
	// tile read them.
	sourceParts *tensors.Tensor
}

// partsTile is how many targets fill a tile if each has parts of so many tokens.
func partsTile(s *spec.Spec, tokens int) int {
	return max(1, min(slotStep, tileFloats/(bucket(tokens)*max(s.InnerWidth(),
		s.Heads*s.ValueWidth()))))
}

// tiles calls do for tiles of the targets from first to last-1: n targets from position at on, of
// which the first seen tokens have parts.
func (s *partedLayer) tiles(ctx context.Context, first, last int,
	do func(at, n, seen int) error,
) error {
	step := partsTile(s.m.Spec, s.p.owners)
	for at := first; at < last; at += step {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at target %d: %w", at, err)
		}
		n := min(step, last-at)
		seen := at + n
		if !s.m.Spec.Causal() {
			seen = s.p.owners
		}
		if err := do(at, n, seen); err != nil {
			return fmt.Errorf("targets %d to %d: %w", at, at+n-1, err)
		}
	}
	return nil
}

// sizes returns how many targets and owners the graph of a tile has, for n targets that see so
// many tokens: rounded up where shapes are compiled.
func (s *partedLayer) sizes(n, seen int) (targets, owners int) {
	if s.m.promptStep == 1 {
		return n, seen
	}
	if n > 1 {
		n = partsTile(s.m.Spec, s.p.owners)
	}
	return n, bucket(seen)
}

// run executes the graph of a tile, whose inputs are those of [tiledLayer.over], the parts of the
// targets, [1,targets,owners,D], and more, and copies the parts that it returns to dst.
func (s *partedLayer) run(of program, at, n, seen int, dst []float32,
	more ...*tensors.Tensor,
) error {
	targets, owners := s.sizes(n, seen)
	d, row := s.m.Spec.Width, s.p.owners*s.m.Spec.Width
	parts, err := s.m.filled([]int{1, targets, owners, d}, func(data []float32) {
		copySlots(data[:n*owners*d], s.p.parts[at*row:(at+n)*row], n, seen*d)
	})
	if err != nil {
		return err
	}
	defer free(parts)
	return s.over(owners, at, targets, func(in []*tensors.Tensor) error {
		out, err := s.m.execute(of, slices.Concat(in, []*tensors.Tensor{parts}, more)...)
		if err != nil {
			return err
		}
		defer free(out...)
		return s.put(dst, out[0], at, n, seen)
	})
}

// put copies a tile [1,targets,owners,width] to its place in dst, [K,K,width].
func (s *partedLayer) put(dst []float32, tile *tensors.Tensor, at, n, seen int) error {
	dims := tile.Shape().Dimensions
	owners, width := dims[2], dims[3]
	return read(tile, func(data []float32) {
		copySlots(dst[at*s.p.owners*width:(at+n)*s.p.owners*width], data[:n*owners*width], n,
			seen*width)
	})
}

// valueTile fills in the parts of the values of n sources.
func (s *partedLayer) valueTile(at, n, seen int) error {
	m, l := s.m, s.l
	kind := layerKind(m.Spec, l)
	return s.run(program{"value parts " + kind, ofLayer(l), func(w byName, in []*Node) []*Node {
		d := m.builder(w, text{length: in[2]})
		b := &Block{spec: d.spec, layer: l, product: d.product, w: w.in(ofLayer(l))}
		return []*Node{b.valueParts(parted{whole: in[0], parts: in[5]})}
	}}, at, n, seen, s.p.values)
}

// tile carries the parts of n targets through the layer.
func (s *partedLayer) tile(at, n, seen int) error {
	m, l := s.m, s.l
	_, owners := s.sizes(n, seen)
	if err := s.loadSourceParts(owners); err != nil {
		return err
	}
	return s.run(program{"parts " + layerKind(m.Spec, l), ofLayer(l),
		func(w byName, in []*Node) []*Node {
			x := parted{whole: in[0], parts: in[5]}
			b := m.blockOfTile(w, l, in)
			return []*Node{b.afterParts(b.attentionParts(in[6]), x).parts}
		}}, at, n, seen, s.p.parts, s.sourceParts)
}

// loadSourceParts makes the tensor of the parts of the values of the first sources, unless an
// earlier tile made it. Sources that a tile cannot see do no harm, because their attention is 0.
func (s *partedLayer) loadSourceParts(owners int) error {
	if s.sourceParts != nil && s.sourceParts.Shape().Dimensions[0] == owners {
		return nil
	}
	free(s.sourceParts)
	width, n := s.m.Spec.Groups()*s.m.Spec.ValueWidth(), min(owners, s.p.owners)
	var err error
	s.sourceParts, err = s.m.filled([]int{owners, owners, width}, func(data []float32) {
		copySlots(data[:n*owners*width], s.p.values[:n*s.p.owners*width], n, n*width)
	})
	return err
}

// head carries the target's parts through the head, given the residual stream x after the last
// layer, [1,N,D].
func (p *partedPass) head(inputs *inputs,
	x *tensors.Tensor,
) (parts []float64, rest float64, err error) {
	at, k, d := p.m.target(p.q), p.owners, p.m.Spec.Width
	owners := k
	if p.m.promptStep > 1 {
		owners = bucket(k)
	}
	own, err := p.m.filled([]int{1, 1, owners, d},
		func(data []float32) { copy(data, p.parts[at*k*d:(at+1)*k*d]) })
	if err != nil {
		return nil, 0, err
	}
	defer free(own)
	ids, weights := askedScores(p.m.Spec, p.q.Objective)
	out, err := inputs.end(x, "parts", func(d *builder, x *Node, in []*Node) []*Node {
		x = oneRow(x, in[0])
		scores := Reshape(d.head(x), -1)
		wanted := Gather(scores, InsertAxes(in[1], -1)) // [2]
		return []*Node{wanted, d.scoreParts(parted{whole: x, parts: in[2]}, in[1])}
	}, tensors.FromScalar(int32(at)), tensors.FromFlatDataAndDimensions(ids, len(ids)), own)
	if err != nil {
		return nil, 0, err
	}
	defer free(out...)
	scores, err := floats(out[0])
	if err != nil {
		return nil, 0, err
	}
	parts = make([]float64, p.length)
	for i, w := range weights {
		rest += float64(w) * float64(scores[i])
	}
	return parts, rest, read(out[1], func(data []float32) {
		for t := range k {
			// The sum of both scores, times 1 and -1 for a contrast, is what the parts should add
			// up to.
			for i, w := range weights {
				parts[t] += float64(w) * float64(data[i*owners+t])
			}
			rest -= parts[t]
		}
	})
}
