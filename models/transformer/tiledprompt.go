package transformer

import (
	"context"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// tiledPrompt runs a long prompt with a cache of keys and values: one layer after another, and in
// each layer one tile of targets after another over the sources before them. It returns the same as
// [pass], up to rounding. It holds some arrays [T,D] and the scores of one tile, and where a mixing
// is asked for the rows of all targets, those.
type tiledPrompt struct {
	*pass
	// streams, if not nil, keeps the residual stream before every layer; see [Session.KeepStreams].
	streams *streams
	// x is the residual stream of all targets before the next layer, [n,D].
	x []float32
}

// output executes the pass, and returns what the head says.
func (p *tiledPrompt) output(ctx context.Context, progress func(trace.Progress)) (
	[]*Output, error,
) {
	inputs := p.inputs()
	embedded, err := inputs.embed()
	if err != nil {
		return nil, err
	}
	p.x, err = floats(embedded)
	free(embedded)
	if err != nil {
		return nil, err
	}
	p.x = p.x[:p.length()*p.m.Spec.Width] // without padding
	out := p.emptyOutputs()
	for l := range p.m.Spec.Layers {
		if progress != nil {
			progress(trace.Progress{
				Stage: "reading the prompt", Unit: "layer", Done: l + 1, Total: p.m.Spec.Layers,
			})
		}
		if err := p.layer(ctx, inputs, l, out[0].Rows, progress); err != nil {
			return nil, fmt.Errorf("layer %d: %w", l, err)
		}
	}
	last, err := filled(p.m.machine.backend, []int{1, 1, p.m.Spec.Width}, func(data []float32) {
		copy(data, p.x[len(p.x)-len(data):])
	})
	if err != nil {
		return nil, err
	}
	defer free(last)
	return out, inputs.scoresAt(last, []int{0}, func(_ int, scores []float32) {
		out[0].Logits = slices.Clone(scores)
	})
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
	pairs := pairLayer{tiledLayer: t, p: p.pass}
	if err := pairs.all(ctx, all, progress); err != nil {
		return err
	}
	// The stream of the next layer: other graphs may still read this one.
	next := make([]float32, 0, len(p.x))
	whole := func(ask asked) bool { return ask.AllRows }
	program := p.rowsProgram(l, "prompt tile", whole, func(b *Block) []*Node {
		return []*Node{b.Output}
	})
	err = t.each(ctx, p.m.tileOf(p.slots), func(at, n int, in []*tensors.Tensor) error {
		out, err := p.m.machine.execute(program, in...)
		if err != nil {
			return err
		}
		defer free(out...)
		if err := read(out[0], func(data []float32) {
			next = append(next, data[:n*p.m.Spec.Width]...)
		}); err != nil {
			return err
		}
		return p.putTiles(all, l, whole, at, n, out[1:])
	})
	p.x = next
	return err
}

// sources computes the keys and values of layer l for all targets and keeps them in the cache.
func (p *tiledPrompt) sources(inputs *inputs, l int) (*tiledLayer, error) {
	padded := inputs.tensors[0].Shape().Dimensions[1]
	x, err := filled(p.m.machine.backend, []int{1, padded, p.m.Spec.Width}, func(data []float32) {
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
	if err := p.keep(l, out); err != nil {
		return nil, err
	}
	t := &tiledLayer{m: p.m, l: l, n: p.length(), x: p.x}
	return t, t.read(out)
}

// rowsProgram is the graph of a tile of layer l, which returns what also gives and the rows,
// [1,(H,)N,S], of those mixings that cost no pass for each pair and are wanted. what tells apart
// what also gives.
func (p *tiledPrompt) rowsProgram(l int, what string, wanted func(ask asked) bool,
	also func(b *Block) []*Node,
) program {
	// The graph is kept with the model, so nothing else of this pass may stay in it.
	model, asks := p.m, slices.DeleteFunc(slices.Clone(p.asks), func(ask asked) bool {
		return ask.PerPair() || !wanted(ask)
	})
	return program{
		fmt.Sprintf("%s %s %s", what, layerKind(model.Spec, l), describe(asks...)), ofLayer(l),
		func(w byName, in []*Node) []*Node {
			b := blockOfTile(model, w, l, in)
			out := also(b)
			for _, ask := range asks {
				out = append(out, visibleRows(b, ask))
			}
			return out
		},
	}
}

// putTiles copies those rows of a tile of n targets from position at on.
func (p *tiledPrompt) putTiles(all []trace.Rows, l int, wanted func(ask asked) bool, at, n int,
	tiles []*tensors.Tensor,
) error {
	for i, ask := range p.asks {
		if !wanted(ask) || ask.PerPair() {
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
	last := func(ask asked) bool { return !ask.AllRows }
	terms := p.latest != nil
	if !terms && !slices.ContainsFunc(p.asks, func(ask asked) bool {
		return last(ask) && !ask.PerPair()
	}) {
		return nil
	}
	what := fmt.Sprintf("last target terms=%v", terms)
	program := p.rowsProgram(t.l, what, last, func(b *Block) []*Node {
		if !terms {
			return nil
		}
		return keptAt(b, nil)
	})
	return t.tile(t.n-1, 1, func(in []*tensors.Tensor) error {
		out, err := p.m.machine.execute(program, in...)
		if err != nil {
			return err
		}
		defer free(out...)
		rows := out
		if terms {
			n := lastTensors(p.m.Spec, t.l)
			rows = out[n:]
			if err := p.latest.addPrompt(p.m, out[:n], p.slots); err != nil {
				return err
			}
		}
		return p.putTiles(all, t.l, last, t.n-1, 1, rows)
	})
}
