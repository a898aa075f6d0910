package transformer

import (
	"context"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// tiledPrompt runs a long prompt with a cache of keys and values: one layer after another, and in
// each layer one tile of targets after another over the sources before them. It returns the same as
// [pass], up to rounding. It holds some arrays [T,D] and the scores of one tile, and where a mixing
// is asked for the rows of all targets, those.
type tiledPrompt struct {
	pass
	// streams, if not nil, keeps the residual stream before every layer; see [Session.KeepStreams].
	streams *streams
	// x is the residual stream of all targets before the next layer, [n,D].
	x []float32
}

// output checks that the pass fits the memory, executes it, and returns what the head says.
func (p *tiledPrompt) output(ctx context.Context, progress func(trace.Progress)) (*Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("transformer: stopped before the prompt: %w", err)
	}
	if err := p.begin(p.m.promptNeed(len(p.ids), p.slots, p.asks, p.latest != nil,
		p.streams != nil)); err != nil {
		return nil, err
	}
	out, err := p.run(ctx, progress)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s prompt of %d tokens: %w", p.m.Spec.Family,
			len(p.ids), err)
	}
	return out, nil
}

func (p *tiledPrompt) run(ctx context.Context, progress func(trace.Progress)) (*Output, error) {
	inputs := p.m.textInputs(p.ids, p.types, p.m.padded(len(p.ids)))
	embedded, err := inputs.embed()
	if err != nil {
		return nil, err
	}
	p.x, err = floats(embedded)
	free(embedded)
	if err != nil {
		return nil, err
	}
	p.x = p.x[:len(p.ids)*p.m.Spec.Width] // without padding
	out := &Output{Rows: p.emptyRows()}
	for l := range p.m.Spec.Layers {
		if progress != nil {
			progress(trace.Progress{
				Stage: "reading the prompt", Unit: "layer", Done: l + 1, Total: p.m.Spec.Layers,
			})
		}
		if err := p.layer(ctx, inputs, l, out.Rows, progress); err != nil {
			return nil, fmt.Errorf("layer %d: %w", l, err)
		}
	}
	logits, err := p.logits(inputs)
	if err != nil {
		return nil, err
	}
	out.Logits = logits
	return out, nil
}

// logits are the scores of the head after the last token, [V].
func (p *tiledPrompt) logits(inputs *inputs) ([]float32, error) {
	width := p.m.Spec.Width
	last, err := p.m.filled([]int{1, 1, width}, func(data []float32) {
		copy(data, p.x[len(p.x)-width:])
	})
	if err != nil {
		return nil, err
	}
	r := &Reading{inputs: inputs, length: 1, x: last}
	defer r.Close()
	logits, err := r.Logits(0)
	if err != nil {
		return nil, err
	}
	return logits[0], nil
}

// layer runs layer l on all targets, keeps its keys and values, and fills in its rows.
func (p *tiledPrompt) layer(ctx context.Context, inputs *inputs, l int, all []trace.Rows,
	progress func(trace.Progress),
) error {
	if p.streams != nil {
		p.streams.keep(l, p.x)
	}
	t, err := p.sources(inputs, l)
	if err != nil {
		return err
	}
	defer t.free()
	if err := p.lastTarget(t, all); err != nil {
		return fmt.Errorf("the last target: %w", err)
	}
	if err := p.pairs(ctx, t, all, progress); err != nil {
		return err
	}
	// The stream of the next layer: other graphs may still read this one.
	next := make([]float32, 0, len(p.x))
	program := p.tileProgram(l)
	err = t.each(ctx, p.m.tileOf(p.slots), func(at, n int, in []*tensors.Tensor) error {
		out, err := p.m.execute(program, in...)
		if err != nil {
			return err
		}
		defer free(out...)
		if err := read(out[0], func(data []float32) {
			next = append(next, data[:n*p.m.Spec.Width]...)
		}); err != nil {
			return err
		}
		return p.putTiles(all, l, at, n, out[1:])
	})
	p.x = next
	return err
}

// sources computes the keys and values of layer l for all targets and keeps them in the cache.
func (p *tiledPrompt) sources(inputs *inputs, l int) (*tiledLayer, error) {
	padded := inputs.tensors[0].Shape().Dimensions[1]
	x, err := p.m.filled([]int{1, padded, p.m.Spec.Width}, func(data []float32) {
		copy(data, p.x)
	})
	if err != nil {
		return nil, err
	}
	defer free(x)
	out, err := inputs.run("keys and values "+layerKind(p.m.Spec, l), ofLayer(l),
		func(d *builder, in []*Node) []*Node {
			_, now := d.startBlock(l, in[0])
			return []*Node{now.key, now.value}
		}, x)
	if err != nil {
		return nil, err
	}
	defer free(out...)
	if err := p.keep(l, out[0], out[1]); err != nil {
		return nil, err
	}
	t := &tiledLayer{m: p.m, l: l, n: len(p.ids), x: p.x}
	if t.key, err = floats(out[0]); err != nil {
		return nil, err
	}
	t.value, err = floats(out[1])
	return t, err
}

// whole reports whether a tile has rows of mixing i: those of all targets are wanted, and they cost
// no pass for each pair.
func (p *tiledPrompt) whole(i int) bool { return p.asks[i].AllRows && !p.mixes[i].PerPair() }

// tileProgram is the graph of a tile of layer l: it returns the residual stream after the layer,
// [1,N,D], and the rows of the mixings of which all are wanted, [1,1,(H,)N,S].
func (p *tiledPrompt) tileProgram(l int) program {
	// The graph is kept with the model, so nothing else of this pass may stay in it.
	model, asks, mixes := p.m, []trace.MixingAsk(nil), []Mixing(nil)
	for i := range p.asks {
		if p.whole(i) {
			asks, mixes = append(asks, p.asks[i]), append(mixes, p.mixes[i])
		}
	}
	return program{
		fmt.Sprintf("prompt tile %s %s", layerKind(model.Spec, l), describe(asks)), ofLayer(l),
		func(w byName, in []*Node) []*Node {
			b := model.blockOfTile(w, l, in)
			out := []*Node{b.Output}
			for i, mix := range mixes {
				out = append(out, InsertAxes(visibleRows(b, mix, asks[i]), 0))
			}
			return out
		},
	}
}

// putTiles copies the rows of a tile of n targets from position at on.
func (p *tiledPrompt) putTiles(all []trace.Rows, l, at, n int, tiles []*tensors.Tensor) error {
	for i := range all {
		if !p.whole(i) {
			continue
		}
		if err := putTile(&all[i], l, tiles[0], at, n); err != nil {
			return err
		}
		tiles = tiles[1:]
	}
	return nil
}

// lastTarget computes what is wanted of the last target alone: its rows, and what
// [Session.Terms] reads.
func (p *tiledPrompt) lastTarget(t *tiledLayer, all []trace.Rows) error {
	// The graph is kept with the model, so nothing else of this pass may stay in it.
	model, l, terms := p.m, t.l, p.latest != nil
	var asks []trace.MixingAsk
	var mixes []Mixing
	for i, mix := range p.mixes {
		if !mix.PerPair() && !p.asks[i].AllRows {
			asks, mixes = append(asks, p.asks[i]), append(mixes, mix)
		}
	}
	if len(asks) == 0 && !terms {
		return nil
	}
	last := program{
		fmt.Sprintf("last target %s %sterms=%v", layerKind(model.Spec, l), describe(asks), terms),
		ofLayer(l),
		func(w byName, in []*Node) []*Node {
			b := model.blockOfTile(w, l, in)
			var out []*Node
			for i, mix := range mixes {
				out = append(out, InsertAxes(visibleRows(b, mix, asks[i]), 0))
			}
			if terms {
				out = append(out, keptAt(b, nil)...)
			}
			return out
		},
	}
	return t.tile(t.n-1, 1, func(in []*tensors.Tensor) error {
		out, err := p.m.execute(last, in...)
		if err != nil {
			return err
		}
		rows := out[:len(asks)]
		defer free(rows...)
		if terms {
			if err := p.latest.addFirst(p.m, out[len(asks):], t.n, p.slots); err != nil {
				return err
			}
		}
		for i, mix := range p.mixes {
			if !mix.PerPair() && !p.asks[i].AllRows {
				if err := putTile(&all[i], l, rows[0], t.n-1, 1); err != nil {
					return err
				}
				rows = rows[1:]
			}
		}
		return nil
	})
}

// pairs fills in the rows of mixings that cost a pass for each pair of target and source.
func (p *tiledPrompt) pairs(ctx context.Context, t *tiledLayer, all []trace.Rows,
	progress func(trace.Progress),
) error {
	a := &pairLayer{p: &p.pass, l: t.l, x: t.x, key: t.key, value: t.value}
	defer a.free()
	for i, ask := range p.asks {
		if !p.mixes[i].PerPair() {
			continue
		}
		if progress != nil && all[i].N > 1 {
			progress(trace.Progress{
				Stage: "preparing prompt rows", Unit: "layer", Done: t.l + 1,
				Total: p.m.Spec.Layers,
			})
		}
		if err := a.rows(ctx, ask, p.mixes[i], &all[i]); err != nil {
			return fmt.Errorf("%s: %w", ask.Name, err)
		}
	}
	return nil
}

// promptNeed is what a prompt of n tokens in tiles needs.
func (m *Model) promptNeed(n, slots int, asks []trace.MixingAsk, terms, streams bool) need {
	return need{
		Tokens: n, Asks: asks, Slots: slots, Terms: terms, Tile: m.tileOf(slots),
		Streams: streams,
	}
}

// PromptBytes returns about how many bytes [Session.Prompt] needs for n tokens besides the weights.
func (s *Session) PromptBytes(n int) int64 {
	slots := s.slotsFor(n)
	need := s.m.promptNeed(n, slots, s.asks, s.terms, s.streams != nil)
	if s.streams == nil && !s.m.inTiles(n) {
		need.Tile = 0
	}
	return s.m.estimate(need)
}
