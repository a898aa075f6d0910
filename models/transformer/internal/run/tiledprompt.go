package run

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
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
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
	embedded, err := inputs.Embed()
	if err != nil {
		return nil, err
	}
	p.x, err = host.Floats(embedded)
	host.Free(embedded)
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
	last, err := p.m.Machine.Filled([]int{1, 1, p.m.Spec.Width}, func(data []float32) {
		copy(data, p.x[len(p.x)-len(data):])
	})
	if err != nil {
		return nil, err
	}
	defer host.Free(last)
	return out, inputs.ScoresAt(last, []int{0}, func(_ int, scores []float32) {
		out[0].Logits = slices.Clone(scores)
	})
}

// layer runs layer l on all targets, keeps its keys and values, and fills in its rows.
func (p *tiledPrompt) layer(ctx context.Context, inputs *Inputs, l int, all []trace.Rows,
	progress func(trace.Progress),
) error {
	if p.streams != nil {
		p.streams.keep(l, p.x)
	}
	t, err := p.sources(inputs, l)
	if err != nil {
		return err
	}
	defer t.Free()
	if err := p.lastTarget(t, all); err != nil {
		return fmt.Errorf("the last target: %w", err)
	}
	pairs := pairLayer{TiledLayer: t, p: p.pass}
	if err := pairs.all(ctx, all, progress); err != nil {
		return err
	}
	// The stream of the next layer: other graphs may still read this one.
	next := make([]float32, 0, len(p.x))
	whole := func(ask graph.Asked) bool { return ask.AllRows }
	program := p.rowsProgram(l, "prompt tile", whole, func(b *graph.Block) []*Node {
		return []*Node{b.Output}
	})
	err = t.each(ctx, p.m.TileOf(p.slots), func(at, n int, in []*tensors.Tensor) error {
		out, err := p.m.Machine.Execute(program, in...)
		if err != nil {
			return err
		}
		defer host.Free(out...)
		if err := host.Read(out[0], func(data []float32) {
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
func (p *tiledPrompt) sources(inputs *Inputs, l int) (*TiledLayer, error) {
	padded := inputs.tensors[0].Shape().Dimensions[1]
	x, err := p.m.Machine.Filled([]int{1, padded, p.m.Spec.Width}, func(data []float32) {
		copy(data, p.x)
	})
	if err != nil {
		return nil, err
	}
	defer host.Free(x)
	out, err := inputs.Run("keys and values "+graph.LayerKind(p.m.Spec, l), codes.OfLayer(l),
		func(d *graph.Builder, in []*Node) []*Node {
			_, now := d.StartBlock(l, in[0])
			return []*Node{now.Key, now.Value}
		}, x)
	if err != nil {
		return nil, err
	}
	defer host.Free(out...)
	if err := p.keep(l, out); err != nil {
		return nil, err
	}
	t := &TiledLayer{Model: p.m, Layer: l, Tokens: p.length(), Stream: p.x}
	return t, t.Read(out)
}

// rowsProgram is the graph of a tile of layer l, which returns what also gives and the rows,
// [1,(H,)N,S], of those mixings that cost no pass for each pair and are wanted. what tells apart
// what also gives.
func (p *tiledPrompt) rowsProgram(l int, what string, wanted func(ask graph.Asked) bool,
	also func(b *graph.Block) []*Node,
) program.Program {
	// The graph is kept with the model, so nothing else of this pass may stay in it.
	model, asks := p.m, slices.DeleteFunc(slices.Clone(p.asks), func(ask graph.Asked) bool {
		return ask.PerPair() || !wanted(ask)
	})
	return program.New(
		fmt.Sprintf("%s %s %s", what, graph.LayerKind(model.Spec, l), graph.Describe(asks...)),
		codes.OfLayer(l),
		func(w codes.Weights, in []*Node) []*Node {
			b := BlockOfTile(model, w, l, in)
			out := also(b)
			for _, ask := range asks {
				out = append(out, graph.VisibleRows(b, ask))
			}
			return out
		},
	)
}

// putTiles copies those rows of a tile of n targets from position at on.
func (p *tiledPrompt) putTiles(all []trace.Rows, l int, wanted func(ask graph.Asked) bool, at,
	n int,
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
func (p *tiledPrompt) lastTarget(t *TiledLayer, all []trace.Rows) error {
	last := func(ask graph.Asked) bool { return !ask.AllRows }
	terms := p.latest != nil
	if !terms && !slices.ContainsFunc(p.asks, func(ask graph.Asked) bool {
		return last(ask) && !ask.PerPair()
	}) {
		return nil
	}
	what := fmt.Sprintf("last target terms=%v", terms)
	program := p.rowsProgram(t.Layer, what, last, func(b *graph.Block) []*Node {
		if !terms {
			return nil
		}
		return graph.KeptAt(b, nil)
	})
	return t.tile(t.Tokens-1, 1, func(in []*tensors.Tensor) error {
		out, err := p.m.Machine.Execute(program, in...)
		if err != nil {
			return err
		}
		defer host.Free(out...)
		rows := out
		if terms {
			n := graph.LastTensors(p.m.Spec, t.Layer)
			rows = out[n:]
			if err := p.latest.addPrompt(p.m, out[:n], p.slots); err != nil {
				return err
			}
		}
		return p.putTiles(all, t.Layer, last, t.Tokens-1, 1, rows)
	})
}
