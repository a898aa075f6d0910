package transformer

import (
	"context"
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// pass runs a whole text at once and returns the rows of mixings.
type pass struct {
	m     *Model
	asks  []trace.MixingAsk
	mixes []Mixing
	ids   []int
	types []int // token types, nil for type 0
	// keep is called with the keys and values of every layer, [1,G,N,E] with padding; nil for an
	// encoder.
	keep func(l int, key, value *tensors.Tensor) error
	// slots is how many tokens they are kept for; 0 without keep.
	slots int
	// latest, if not nil, gets what the pass does to the last token.
	latest *latest
	// spare is how many bytes the pass leaves of what it may take. begins, if not nil, is called
	// once that is known, and takes from it what it needs.
	spare  int64
	begins func(p *pass)
}

// output executes the pass and returns what the head says at its end. The head reads the last token
// only: scores of all tokens would be [N,V].
func (p *pass) output(ctx context.Context, progress func(trace.Progress)) (*Output, error) {
	r, err := p.run(ctx, progress)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	logits, err := r.Logits(len(p.ids) - 1)
	if err != nil {
		return nil, err
	}
	return &Output{Logits: logits[0], Rows: r.Rows}, nil
}

// run checks that the pass fits the memory, and executes it.
func (p *pass) run(ctx context.Context, progress func(trace.Progress)) (*Reading, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("transformer: stopped before the prompt: %w", err)
	}
	if err := p.begin(need{
		Tokens: len(p.ids), Asks: p.asks, Slots: p.slots, Terms: p.latest != nil,
	}); err != nil {
		return nil, err
	}
	out, err := p.layers(ctx, progress)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s prompt of %d tokens: %w", p.m.Spec.Family,
			len(p.ids), err)
	}
	return out, nil
}

// begin checks that the pass fits the memory.
func (p *pass) begin(n need) error {
	if err := p.m.checkMemory(n); err != nil {
		return err
	}
	p.spare = p.m.limit() - p.m.estimate(n)
	if p.begins != nil {
		p.begins(p)
	}
	return nil
}

// longPrompt is how many tokens a prompt has for which progress is worth a report.
const longPrompt = 512

// layers sends the text through all layers, [1,N,D] each. A layer's graph also returns its keys and
// values, [1,G,N,E], and the rows of the mixings that need no tiles. Those that do are computed
// from the keys and values afterwards.
func (p *pass) layers(ctx context.Context, progress func(trace.Progress)) (*Reading, error) {
	layers := p.m.Spec.Layers
	inputs := p.m.textInputs(p.ids, p.types, p.m.padded(len(p.ids)))
	x, err := inputs.embed()
	if err != nil {
		return nil, err
	}
	out := &Reading{Rows: p.emptyRows(), inputs: inputs, length: len(p.ids)}
	// The graph is kept with the model, and the function below with it, so nothing else of this
	// pass may stay in it.
	asks, mixes, terms := p.asks, p.mixes, p.latest != nil
	rows := func(d *builder, b *Block, now cache, _ []*Node) []*Node {
		out := append([]*Node{now.key, now.value}, wholeRows(d, b, asks, mixes)...)
		if terms {
			out = append(out, keptAt(b, AddScalar(d.length, -1))...)
		}
		return out
	}
	what := fmt.Sprintf("keys, values and rows of %sterms=%v", describe(asks), terms)
	for step, err := range inputs.layers(ctx, x, what, rows) {
		if err != nil {
			return nil, err
		}
		if progress != nil && len(p.ids) >= longPrompt {
			progress(trace.Progress{
				Stage: "reading the prompt", Unit: "layer", Done: step.layer + 1, Total: layers,
			})
		}
		if err := p.layer(ctx, step, out.Rows, progress); err != nil {
			return nil, err
		}
		x = step.out
	}
	out.x = x
	return out, nil
}

// layer keeps the keys and values of a layer and fills in its rows.
func (p *pass) layer(ctx context.Context, step *layerStep, all []trace.Rows,
	progress func(trace.Progress),
) error {
	// The order is that of the collector: key, value, then one tensor for each mixing without
	// tiles.
	l, key, value, rows := step.layer, step.collected[0], step.collected[1], step.collected[2:]
	if p.keep != nil {
		if err := p.keep(l, key, value); err != nil {
			return err
		}
	}
	if p.latest != nil {
		kept := len(step.collected) - lastTensors
		own := step.collected[kept:]
		step.collected = step.collected[:kept]
		if err := p.latest.addFirst(p.m, own, len(p.ids), p.slots); err != nil {
			return err
		}
	}
	pairs := &pairLayer{p: p, l: l}
	defer pairs.free()
	for i, ask := range p.asks {
		if !p.mixes[i].PerPair() {
			if err := putRows(&all[i], l, rows[0]); err != nil {
				return err
			}
			rows = rows[1:]
			continue
		}
		if progress != nil && all[i].N > 1 {
			progress(trace.Progress{
				Stage: "preparing prompt rows", Unit: "layer", Done: l + 1, Total: p.m.Spec.Layers,
			})
		}
		// To the host, once for all mixings of this layer.
		if err := pairs.read(step.in, key, value); err != nil {
			return err
		}
		if err := pairs.rows(ctx, ask, p.mixes[i], &all[i]); err != nil {
			return fmt.Errorf("%s: %w", ask.Name, err)
		}
	}
	return nil
}

// emptyRows are the rows that the pass fills in.
func (p *pass) emptyRows() []trace.Rows {
	all := make([]trace.Rows, len(p.asks))
	for i, ask := range p.asks {
		all[i] = emptyRows(p.m.Spec, ask, len(p.ids))
	}
	return all
}

// emptyRows are rows of zeros for a text of n tokens, those of the last target only unless the
// mixing is asked for all.
func emptyRows(s *spec.Spec, ask trace.MixingAsk, n int) trace.Rows {
	r := trace.Rows{First: 0, L: s.Layers, H: 1, N: n, S: n}
	if !ask.AllRows {
		r.First, r.N = n-1, 1
	}
	if ask.Heads.Fusion == trace.EachHead {
		r.H = s.Heads
	}
	r.Data = make([]float32, r.L*r.H*r.N*r.S)
	return r
}

// putRows copies rows, [layers,1,n,s] or [layers,1,H,n,s], to layers l.. of r, without the padding
// at the end of targets and sources. n may be 1, the row of the last target, or all targets. Layers
// and heads are next to each other in both arrays, so k counts them together.
func putRows(r *trace.Rows, l int, rows *tensors.Tensor) error {
	dims := rows.Shape().Dimensions
	n, s := dims[len(dims)-2], dims[len(dims)-1]
	return read(rows, func(data []float32) {
		for k := range dims[0] * r.H {
			for t := range r.N {
				to := ((l*r.H+k)*r.N + t) * r.S
				copy(r.Data[to:to+r.S], data[(k*n+t)*s:])
			}
		}
	})
}

// describe writes asks as part of the key of a graph. Everything that wholeRows depends on is in
// it: two asks with the same text share a graph.
func describe(asks []trace.MixingAsk) string {
	var b strings.Builder
	for _, ask := range asks {
		fmt.Fprintf(&b, "%s/%s all=%v ", ask.Name, ask.Heads, ask.AllRows)
	}
	return b.String()
}

// wholeRows returns the rows of every mixing that is not computed in tiles, [1,1,(H,)N,S]. N is 1
// where only the last token's row is asked for. The axis in front is the layer, so that [putRows]
// reads them like the rows of a decode step, which has all layers in one tensor.
func wholeRows(d *builder, b *Block, asks []trace.MixingAsk, mixes []Mixing) []*Node {
	var all []*Node
	for i, m := range mixes {
		if m.PerPair() {
			continue
		}
		rows := visibleRows(b, m, asks[i])
		if !asks[i].AllRows {
			rows = oneRow(rows, AddScalar(d.length, -1))
		}
		all = append(all, InsertAxes(rows, 0))
	}
	return all
}

// visibleRows are the rows of a mixing, 0 where a target cannot see a source, [B,(H,)N,S]. Like
// all graph code it panics, here with the name of the mixing, if the mixing panics or returns
// another shape: numbers that fit by broadcasting would pass for rows.
func visibleRows(b *Block, m Mixing, ask trace.MixingAsk) *Node {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Errorf("mixing %s: %v", ask.Name, p))
		}
	}()
	seen, axes := b.visible, "[B,H,N,S]"
	want := b.Attention.Shape()
	if ask.Heads.Fusion != trace.EachHead {
		seen, axes = b.Visible(), "[B,N,S]"
		dims := want.Dimensions
		want = shapes.Make(want.DType, dims[0], dims[2], dims[3])
	}
	rows := m.Mix(b, ask.Heads)
	if rows == nil {
		panic(fmt.Errorf("Mix returns nil, want %s %v", axes, want))
	}
	if !rows.Shape().Equal(want) {
		panic(fmt.Errorf("Mix returns %v, want %v: %s, heads %s", rows.Shape(), want, axes,
			ask.Heads))
	}
	return Mul(rows, seen)
}

// oneRow returns row t of the last but one axis of x [...,N,S], [...,1,S]. t is known only when the
// graph runs, so it cannot be the bound of a slice. Instead the other rows are replaced by 0, and a
// sum over the rows is left with one term. t is a scalar, or [B] for another row of each text.
func oneRow(x, t *Node) *Node {
	targets := Iota(x.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions...), x.Rank()-2)
	at := Equal(targets, eachText(t, x.Rank()))
	return ReduceAndKeep(Where(at, x, ZerosLike(x)), ReduceSum, -2)
}
