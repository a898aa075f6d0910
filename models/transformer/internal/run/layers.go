package run

import (
	"context"
	"fmt"
	"iter"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// LayerStep is one layer of a pass, after it ran. The loop over [Model.Layers] owns the tensors
// for one turn: they are freed afterwards, except out and those that the body sets to nil to keep
// them.
type LayerStep struct {
	Layer int
	// In and Out are the residual streams before and after the layer, [B,N,D].
	In, Out *tensors.Tensor
	// Collected is what the pass collects in each layer besides.
	Collected []*tensors.Tensor
}

// idle reports whether the layer left the stream as it is, and no graph ran.
func (s *LayerStep) idle() bool { return s.In == s.Out }

// collector builds what a pass collects in a layer, from the block and from the keys and values of
// its targets, [B,G,N,E] each. more are the further inputs of the graph.
type collector func(d *graph.Builder, b *graph.Block, now graph.Cache, more []*Node) []*Node

// Layers runs all layers in order on x, the residual stream before layer 0, [B,N,D], and frees x.
// It is the one loop that every pass over the layers uses. run runs one layer in a graph of its
// own, so that only one layer's intermediate results exist at a time, and layers of one kind share
// a compiled graph: for SmolLM2, XLA then compiles a thirtieth of the nodes and takes 4 s less
// before the second token. It returns the stream after the layer and what is collected besides, or
// nothing for a layer that leaves the stream as it is; then in and out of the step are one tensor.
//
// edits, nil for none, change the stream on its way. in and out of a step are the changed ones.
//
// After an error, the last step, the loop ends. The caller owns the out of the last layer if the
// loop ran to its end; otherwise nothing is left to free.
func (m *Model) Layers(ctx context.Context, x *tensors.Tensor, edits *edit.Pass,
	run func(l int, x *tensors.Tensor) ([]*tensors.Tensor, error),
) iter.Seq2[*LayerStep, error] {
	return m.layerRange(ctx, 0, m.Spec.Layers, x, edits, run)
}

// layerRange is [Model.Layers] of the layers from first on that are before end. x is the stream
// before the first of them.
func (m *Model) layerRange(ctx context.Context, first, end int, x *tensors.Tensor, edits *edit.Pass,
	run func(l int, x *tensors.Tensor) ([]*tensors.Tensor, error),
) iter.Seq2[*LayerStep, error] {
	return func(yield func(*LayerStep, error) bool) {
		x, err := edits.Stream(first, x)
		if err != nil {
			yield(nil, err)
			return
		}
		for l := first; l < end; l++ {
			if err := ctx.Err(); err != nil {
				host.Free(x)
				yield(nil, fmt.Errorf("stopped at layer %d: %w", l, err))
				return
			}
			made, err := run(l, x)
			if err == nil && len(made) == 0 {
				if !yield(&LayerStep{Layer: l, In: x, Out: x}, nil) {
					host.Free(x)
					return
				}
				continue
			}
			if err == nil {
				made[0], err = edits.Stream(l+1, made[0])
			}
			if err != nil {
				host.Free(append(made, x)...)
				yield(nil, fmt.Errorf("layer %d: %w", l, err))
				return
			}
			step := &LayerStep{Layer: l, In: x, Out: made[0], Collected: made[1:]}
			x = step.Out
			goesOn := yield(step, nil)
			host.Free(step.In)
			host.Free(step.Collected...)
			if !goesOn {
				host.Free(x)
				return
			}
		}
	}
}

// Layers runs all layers on whole texts. what names the collector in the key of the graph, "" if
// collect is nil: two collectors with one name would share a graph. more are further inputs.
func (f *Inputs) Layers(ctx context.Context, x *tensors.Tensor, what string, collect collector,
	more ...*tensors.Tensor,
) iter.Seq2[*LayerStep, error] {
	return f.LayerRange(ctx, 0, f.m.Spec.Layers, x, what, collect, more...)
}

// LayerRange is [Inputs.Layers] of the layers from first on that are before end. x is the stream
// before the first of them.
func (f *Inputs) LayerRange(ctx context.Context, first, end int, x *tensors.Tensor, what string,
	collect collector, more ...*tensors.Tensor,
) iter.Seq2[*LayerStep, error] {
	run := func(l int, x *tensors.Tensor) ([]*tensors.Tensor, error) {
		edited, edits, err := f.Edits.Layer(l)
		if err != nil {
			return nil, err
		}
		defer host.Free(edits...)
		key := fmt.Sprintf("block %s %s%s", graph.LayerKind(f.m.Spec, l), what, edit.Key(edited))
		return f.Run(key, codes.OfLayer(l), func(d *graph.Builder, in []*Node) []*Node {
			in, d.Edits = graph.CutEdits(in, edited)
			b, now := d.Block(l, in[0])
			nodes := []*Node{b.Output}
			if collect != nil {
				nodes = append(nodes, collect(d, b, now, in[1:])...)
			}
			return nodes
		}, slices.Concat([]*tensors.Tensor{x}, more, edits)...)
	}
	return f.m.layerRange(ctx, first, end, x, f.Edits, run)
}

// LayersBack takes d, something about the residual stream after the last layer, back to the stream
// before layer 0: back returns for layer l what belongs to the layer's input. Each d is freed.
func (m *Model) LayersBack(ctx context.Context, d *tensors.Tensor,
	back func(l int, d *tensors.Tensor) (*tensors.Tensor, error),
) (*tensors.Tensor, error) {
	for l := m.Spec.Layers - 1; l >= 0; l-- {
		if err := ctx.Err(); err != nil {
			host.Free(d)
			return nil, fmt.Errorf("stopped at layer %d on the way back: %w", l, err)
		}
		before, err := back(l, d)
		host.Free(d)
		if err != nil {
			host.Free(before)
			return nil, fmt.Errorf("layer %d on the way back: %w", l, err)
		}
		d = before
	}
	return d, nil
}
