package transformer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
)

// tap is how one tensor is recorded: its axes, and what a block and the end of the model give; a tap with both has a layer more.
type tap struct {
	axes  string
	block func(b *Block) *Node            // [1,...] in each layer
	end   func(d *decoder, x *Node) *Node // [1,...] of the residual stream behind the last block
}

// taps are those that the graph of one pass returns. Value Zeroing is a mixing and computed in tiles.
var taps = map[trace.Tap]tap{
	trace.Scores:     {axes: "LHTS", block: (*Block).MaskedScores},
	trace.Terms:      {axes: "LH3TS", block: (*Block).Terms},
	trace.Attention:  {axes: "LHTS", block: func(b *Block) *Node { return b.Attention }},
	trace.Value:      {axes: "LHSE", block: func(b *Block) *Node { return b.Value }},
	trace.Context:    {axes: "LHTE", block: (*Block).Context},
	trace.HeadOutput: {axes: "LHTD", block: (*Block).HeadOutput},
	trace.Hidden:     {axes: "LTD", block: func(b *Block) *Node { return b.Input }, end: func(_ *decoder, x *Node) *Node { return x }},
	trace.Final:      {axes: "TD", end: (*decoder).final},
	trace.Logits:     {axes: "TV", end: func(d *decoder, x *Node) *Node { return d.logits(d.final(x)) }},
}

// Trace runs ids once, T tokens, and returns one tensor for each tap, in the order asked. Sources after their target are 0.
func (m *Model) Trace(ctx context.Context, ids []int, wanted []trace.Tap) ([]trace.Tensor, error) {
	if err := m.CheckIDs(ids); err != nil {
		return nil, err
	}
	var inGraph []trace.Tap
	for _, name := range wanted {
		if !slices.Contains(trace.Taps(), name) {
			return nil, unknownTap(name)
		}
		if _, ok := taps[name]; ok {
			inGraph = append(inGraph, name)
		}
	}
	recorded, err := m.record(ctx, ids, inGraph)
	if err != nil {
		return nil, err
	}
	out := make([]trace.Tensor, 0, len(wanted))
	for _, name := range wanted {
		if name != trace.ValueZeroing {
			out, recorded = append(out, recorded[0]), recorded[1:]
			continue
		}
		rows, err := m.mixingRows(ctx, ids, string(name))
		if err != nil {
			return nil, err
		}
		out = append(out, trace.Tensor{Name: string(name), Axes: "LTS", Shape: []int{rows.L, rows.N, rows.S}, Data: rows.Data})
	}
	return out, nil
}

func unknownTap(name trace.Tap) error {
	var known []string
	for _, t := range trace.Taps() {
		known = append(known, string(t))
	}
	return fmt.Errorf("transformer: tap %q is unknown; known are %s", name, strings.Join(known, ", "))
}

// record runs the graph of one pass that returns taps.
func (m *Model) record(ctx context.Context, ids []int, wanted []trace.Tap) ([]trace.Tensor, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("transformer: stopped before the pass: %w", err)
	}
	kept := 0
	for _, name := range wanted {
		switch name {
		case trace.Scores, trace.Attention:
			kept += m.Spec.Layers
		case trace.Terms:
			kept += 3 * m.Spec.Layers
		}
	}
	if err := m.checkMemory(len(ids), kept); err != nil {
		return nil, err
	}
	fed := m.fed(len(ids))
	out, err := m.run(fmt.Sprintf("trace %v", wanted), "", func(w Weights, in []*Node) []*Node {
		return (&decoder{spec: m.Spec, w: w}).trace(in[0], wanted)
	}, idTensor(ids, fed))
	if err != nil {
		return nil, fmt.Errorf("transformer: %s pass of %d tokens: %w", m.Spec.Family, len(ids), err)
	}
	tensors := make([]trace.Tensor, len(wanted))
	for i, name := range wanted {
		data, err := floats(out[i])
		if err != nil {
			return nil, err
		}
		tensors[i] = cutTensor(string(name), taps[name].axes, out[i].Shape().Dimensions, data, len(ids))
	}
	return tensors, nil
}

// trace builds the pass over ids [1,T] that returns taps, layers first.
func (d *decoder) trace(ids *Node, wanted []trace.Tap) []*Node {
	x := d.embed(ids)
	layers := make([][]*Node, len(wanted))
	for l := range d.spec.Layers {
		b, _ := d.block(l, x, nil)
		for i, name := range wanted {
			if of := taps[name].block; of != nil {
				layers[i] = append(layers[i], Squeeze(of(b), 0))
			}
		}
		x = b.Output
	}
	out := make([]*Node, len(wanted))
	for i, name := range wanted {
		of := taps[name]
		switch {
		case of.block == nil:
			out[i] = Squeeze(of.end(d, x), 0)
			continue
		case of.end != nil:
			layers[i] = append(layers[i], Squeeze(of.end(d, x), 0))
		}
		out[i] = Stack(layers[i], 0)
	}
	return out
}

// mixingRows returns the rows of a mixing for every target.
func (m *Model) mixingRows(ctx context.Context, ids []int, name string) (trace.Rows, error) {
	s, err := m.NewSession([]trace.MixingAsk{{Name: name, AllRows: true}})
	if err != nil {
		return trace.Rows{}, err
	}
	defer s.Close()
	out, err := s.Prompt(ctx, ids, nil)
	if err != nil {
		return trace.Rows{}, err
	}
	return out.Rows[0], nil
}

// fed is how many rows are computed for n tokens.
func (m *Model) fed(n int) int {
	fed := roundUp(n, m.promptStep)
	if m.Spec.Context > 0 {
		fed = max(n, min(fed, m.Spec.Context))
	}
	return fed
}

// cutTensor keeps the first n places of the axes T and S.
func cutTensor(name, axes string, dims []int, data []float32, n int) trace.Tensor {
	t := trace.Tensor{Name: name, Axes: axes, Shape: slices.Clone(dims)}
	for i, axis := range axes {
		if axis == 'T' || axis == 'S' {
			t.Shape[i] = n
		}
	}
	t.Data = cut(nil, data, dims, t.Shape)
	return t
}

// cut appends the first keep places of every axis of data, whose sizes are dims.
func cut(dst, data []float32, dims, keep []int) []float32 {
	if slices.Equal(dims, keep) {
		return append(dst, data...)
	}
	inner := len(data) / dims[0]
	for i := range keep[0] {
		dst = cut(dst, data[i*inner:(i+1)*inner], dims[1:], keep[1:])
	}
	return dst
}
