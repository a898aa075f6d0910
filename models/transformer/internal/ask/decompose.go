package ask

import (
	"context"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// Decompose implements [transformer.Model.Decompose].
func Decompose(
	ctx context.Context, m *run.Model, t *PartedText, q trace.Query,
) (parts []float64, rest float64, err error) {
	if err := checkParted(m.Spec, q); err != nil {
		return nil, 0, err
	}
	p := &partedPass{m: m, q: q, length: len(q.IDs), owners: len(q.IDs)}
	if m.Spec.Causal() {
		p.owners = targetOf(m.Spec, q) + 1
	}
	n, pass := keptParts(m, t, q), p.run
	if n.KeptParts == 0 {
		n = run.Need{Tokens: len(q.IDs), Parts: true}
	}
	if err := m.CheckMemory(n); err != nil {
		return nil, 0, err
	}
	switch {
	case n.KeptParts == 0:
		t.Free()
	case t.cut(q):
		p.text, pass = t, p.goOn
	default:
		p.text = t
		p.text.begin(m, q.IDs[:p.owners])
		p.q.IDs, p.length = q.IDs[:p.owners], p.owners // no target sees the others
	}
	if parts, rest, err = pass(ctx); err != nil {
		p.text.Free()
		return nil, 0, pkg.Errorf("%s parts of every token of %d: %w", m.Spec.Family,
			len(q.IDs), err)
	}
	return append(parts, make([]float64, len(q.IDs)-len(parts))...), rest, nil
}

// partedPass carries the parts of every token through the layers.
type partedPass struct {
	m *run.Model
	q trace.Query
	// text is where the parts of the values are kept, nil if they are not.
	text   *PartedText
	length int
	// Targets from first on and before owners are followed; all tokens before owners, K, have
	// parts.
	first, owners int
	// parts are those of the residual stream at the targets, [K-first,K,D].
	parts []float32
}

// run carries the parts of a whole text.
func (p *partedPass) run(ctx context.Context) (parts []float64, rest float64, err error) {
	b := batchOf(p.m, []trace.Query{p.q}, []int{0}, Batching{Texts: 1})
	x, err := b.embed()
	if err != nil {
		return nil, 0, err
	}
	if err := host.Read(x, p.embedded); err != nil {
		host.Free(x)
		return nil, 0, err
	}
	keysAndValues := func(_ *graph.Builder, _ *graph.Block, now graph.Cache, _ []*Node) []*Node {
		return []*Node{now.Key, now.Value}
	}
	for step, err := range b.inputs.Layers(ctx, x, "keys and values", keysAndValues) {
		if err != nil {
			return nil, 0, err
		}
		if p.text != nil {
			if err := run.AddLayer(p.text.Session, step.Collected, p.owners); err != nil {
				return nil, 0, err
			}
		}
		if err := p.layer(ctx, step, step.Collected); err != nil {
			return nil, 0, fmt.Errorf("layer %d: %w", step.Layer, err)
		}
		x = step.Out
	}
	defer host.Free(x)
	return p.head(b.inputs, x, targetOf(p.m.Spec, p.q))
}

// embedded gives every target its own row of the embedded text x, [K-first,D] with padding.
func (p *partedPass) embedded(x []float32) {
	k, d := p.owners, p.m.Spec.Width
	p.parts = make([]float32, (k-p.first)*k*d)
	for i := range k - p.first {
		copy(p.parts[(i*k+p.first+i)*d:], x[i*d:(i+1)*d])
	}
}

// layer carries the parts through a layer with these keys and values, [1,G,·,E] each. After the
// last layer only those of the target are needed.
func (p *partedPass) layer(ctx context.Context, step *run.LayerStep,
	past []*tensors.Tensor,
) (err error) {
	s := &partedLayer{p: p, TiledLayer: &run.TiledLayer{
		Model: p.m, Layer: step.Layer, IDs: p.q.IDs, Tokens: p.length,
	}}
	defer s.Free()
	if err := s.Read(past); err != nil {
		return err
	}
	s.Stream = make([]float32, p.length*p.m.Spec.Width)
	own := s.Stream[p.first*p.m.Spec.Width:]
	if err := host.Read(step.In, func(x []float32) { copy(own, x) }); err != nil {
		return err
	}
	if s.values, err = p.values(s.Layer); err != nil {
		return err
	}
	if p.text == nil {
		defer host.Free(s.values)
	}
	first, last := p.first, p.owners
	if err := s.tiles(ctx, first, last, s.valueTile); err != nil {
		return err
	}
	if s.Layer == p.m.Spec.Layers-1 {
		first = targetOf(p.m.Spec, p.q)
		last = first + 1
	}
	defer func() { host.Free(s.ownSources) }()
	return s.tiles(ctx, first, last, s.tile)
}

// values returns the tensor that gets the parts of the values of layer l, [G,slots,slots,E]:
// sources by owners.
func (p *partedPass) values(l int) (*tensors.Tensor, error) {
	slots, spec := p.slots(p.owners), p.m.Spec
	if p.text == nil {
		return p.m.Machine.Zeros(spec.Groups(), slots, slots, spec.ValueWidth())
	}
	return p.text.valuesOf(p.m, l, slots)
}

// slots is how many owners a graph has for so many tokens: rounded up where shapes are compiled.
func (p *partedPass) slots(owners int) int {
	if p.m.Machine.PromptStep == 1 {
		return owners
	}
	return host.Bucket(owners)
}

// partedLayer is one layer of the pass.
type partedLayer struct {
	*run.TiledLayer
	p *partedPass
	// values are the parts of the values, [G,slots,slots,E], and ownSources those of the first
	// sources, as the last tile read them if it did not read all.
	values, ownSources *tensors.Tensor
}

// tiles calls do for tiles of the targets from first to last-1: n targets from position at on, of
// which the first seen tokens have parts.
func (s *partedLayer) tiles(ctx context.Context, first, last int,
	do func(at, n, seen int) error,
) error {
	step := run.PartsTile(s.Model.Spec, s.p.owners)
	for at := first; at < last; at += step {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at target %d: %w", at, err)
		}
		n := min(step, last-at)
		seen := at + n
		if !s.Model.Spec.Causal() {
			seen = s.p.owners
		}
		if err := do(at, n, seen); err != nil {
			return fmt.Errorf("targets %d to %d: %w", at, at+n-1, err)
		}
	}
	return nil
}

// targets is how many targets the graph of a tile of n has: one size for all tiles of several.
func (s *partedLayer) targets(n int) int {
	if n == 1 || s.Model.Machine.PromptStep == 1 {
		return n
	}
	return run.PartsTile(s.Model.Spec, s.p.owners)
}

// run executes the graph of a tile, whose inputs are those of [run.TiledLayer.Over], the parts of
// the targets, [1,targets,owners,D], and more, and calls use with what it returns.
func (s *partedLayer) run(of program.Program, at, n, seen int, use func(tile *tensors.Tensor) error,
	more ...*tensors.Tensor,
) error {
	targets, owners := s.targets(n), s.p.slots(seen)
	d, row := s.Model.Spec.Width, s.p.owners*s.Model.Spec.Width
	parts, err := s.Model.Machine.Filled([]int{1, targets, owners, d}, func(data []float32) {
		host.CopySlots(data[:n*owners*d], s.rows(at, n, row), n, seen*d)
	})
	if err != nil {
		return err
	}
	defer host.Free(parts)
	return s.Over(owners, at, targets, func(in []*tensors.Tensor) error {
		in = slices.Concat(in, []*tensors.Tensor{parts}, more)
		out, err := s.Model.Machine.Execute(of, in...)
		if err != nil {
			return err
		}
		defer host.Free(out...)
		return use(out[0])
	})
}

// rows are the parts of n targets, each a row of so many numbers.
func (s *partedLayer) rows(at, n, row int) []float32 {
	return s.p.parts[(at-s.p.first)*row : (at-s.p.first+n)*row]
}

// valueTile fills in the parts of the values of n sources.
func (s *partedLayer) valueTile(at, n, seen int) error {
	m, l := s.Model, s.Layer
	kind := graph.LayerKind(m.Spec, l)
	return s.run(program.New("value parts "+kind, codes.OfLayer(l),
		func(w codes.Weights, in []*Node) []*Node {
			d := m.Builder(w, graph.Text{Length: in[2]})
			b := d.Layer(l)
			return []*Node{logit.ValueParts(b, logit.Parted{Whole: in[0], Parts: in[5]})}
		}), at, n, seen, func(tile *tensors.Tensor) error {
		dims, slots := tile.Shape().Dimensions, s.values.Shape().Dimensions[1] // [G,N,owners,E]
		return host.WriteFrom(tile, s.values, func(to, from []float32) {
			for g := range dims[0] {
				host.CopySlots(to[(g*slots+at)*slots*dims[3]:][:n*slots*dims[3]],
					from[g*dims[1]*dims[2]*dims[3]:][:n*dims[2]*dims[3]], n, seen*dims[3])
			}
		})
	})
}

// tile carries the parts of n targets through the layer.
func (s *partedLayer) tile(at, n, seen int) error {
	m, l := s.Model, s.Layer
	sources, err := s.sourceParts(s.p.slots(seen))
	if err != nil {
		return err
	}
	return s.run(program.New("parts "+graph.LayerKind(m.Spec, l), codes.OfLayer(l),
		func(w codes.Weights, in []*Node) []*Node {
			x := logit.Parted{Whole: in[0], Parts: in[5]}
			b := run.BlockOfTile(m, w, l, in)
			return []*Node{logit.AfterParts(b, logit.AttentionParts(b, in[6]), x)}
		}), at, n, seen, func(tile *tensors.Tensor) error {
		owners, d := tile.Shape().Dimensions[2], m.Spec.Width
		return host.Read(tile, func(data []float32) {
			host.CopySlots(s.rows(at, n, s.p.owners*d), data[:n*owners*d], n, seen*d)
		})
	}, sources)
}

// sourceParts returns the parts of the values of the first sources, [G,owners,owners,E]. Sources
// that a tile cannot see do no harm, because their attention is 0.
func (s *partedLayer) sourceParts(owners int) (*tensors.Tensor, error) {
	if s.values.Shape().Dimensions[1] == owners {
		return s.values, nil
	}
	if s.ownSources == nil || s.ownSources.Shape().Dimensions[1] != owners {
		host.Free(s.ownSources)
		var err error
		if s.ownSources, err = resizedParts(s.Model, s.values, owners); err != nil {
			return nil, err
		}
	}
	return s.ownSources, nil
}

// head carries the target's parts through the head, given the residual stream x after the last
// layer, [1,N,D], in which the target is at that place.
func (p *partedPass) head(inputs *run.Inputs, x *tensors.Tensor,
	at int,
) (parts []float64, rest float64, err error) {
	k, d := p.owners, p.m.Spec.Width
	owners := p.slots(k)
	own, err := p.m.Machine.Filled([]int{1, 1, owners, d},
		func(data []float32) { copy(data, p.parts[at*k*d:(at+1)*k*d]) })
	if err != nil {
		return nil, 0, err
	}
	defer host.Free(own)
	ids, weights := logit.AskedScores(p.m.Spec, p.q.Objective)
	out, err := inputs.End(x, "parts", func(d *graph.Builder, x *Node, in []*Node) []*Node {
		x = graph.OneRow(x, in[0])
		scores := Reshape(d.Head(x), -1)
		wanted := Gather(scores, InsertAxes(in[1], -1)) // [2]
		return []*Node{wanted, logit.ScoreParts(d, logit.Parted{Whole: x, Parts: in[2]}, in[1])}
	}, tensors.FromScalar(int32(at)), tensors.FromFlatDataAndDimensions(ids, len(ids)), own)
	if err != nil {
		return nil, 0, err
	}
	defer host.Free(out...)
	scores, err := host.Floats(out[0])
	if err != nil {
		return nil, 0, err
	}
	parts = make([]float64, p.length)
	for i, w := range weights {
		rest += float64(w) * float64(scores[i])
	}
	return parts, rest, host.Read(out[1], func(data []float32) {
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
