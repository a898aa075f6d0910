package cli

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/message"
)

// activations are the names that other programs give a tap in one layer, %d, which is the number of
// the layer plus shift. byToken reports whether the axis of heads is after that of tokens.
var activations = []struct {
	tap     trace.Tap
	name    string
	shift   int
	byToken bool
}{
	// TransformerLens: a batch of [T,D], [T,H,E] or [H,T,S].
	{trace.Hidden, "blocks.%d.hook_resid_pre", 0, false},
	{trace.Hidden, "blocks.%d.hook_resid_post", -1, false},
	{trace.HiddenAfterAttention, "blocks.%d.hook_resid_mid", 0, false},
	{trace.AttentionOutput, "blocks.%d.hook_attn_out", 0, false},
	{trace.FeedForwardOutput, "blocks.%d.hook_mlp_out", 0, false},
	{trace.Attention, "blocks.%d.attn.hook_pattern", 0, false},
	{trace.QueryVector, "blocks.%d.attn.hook_rot_q", 0, true},
	{trace.QueryVector, "blocks.%d.attn.hook_q", 0, true},
	{trace.KeyVector, "blocks.%d.attn.hook_rot_k", 0, true},
	{trace.KeyVector, "blocks.%d.attn.hook_k", 0, true},
	{trace.Value, "blocks.%d.attn.hook_v", 0, true},
	{trace.Context, "blocks.%d.attn.hook_z", 0, true},
	{trace.HeadOutput, "blocks.%d.attn.hook_result", 0, true},
	// Outputs of the modules of transformers, by their paths, as nnsight and hooks have them.
	{trace.Hidden, "model.layers.%d", -1, false},
	{trace.AttentionOutput, "model.layers.%d.self_attn", 0, false},
	{trace.FeedForwardOutput, "model.layers.%d.mlp", 0, false},
	{trace.Hidden, "transformer.h.%d", -1, false},
	{trace.AttentionOutput, "transformer.h.%d.attn", 0, false},
	{trace.AttentionOutput, "transformer.h.%d.self_attention.dense", 0, false},
	{trace.FeedForwardOutput, "transformer.h.%d.mlp.dense_4h_to_h", 0, false},
	{trace.FeedForwardOutput, "transformer.h.%d.mlp", 0, false},
}

// heldInstead returns what a tensor of a name in [activations] holds in some models in place of the
// tap, "" if it holds the tap.
func heldInstead(name string, info trace.Info) string {
	is := func(form string) bool {
		var l int
		n, _ := fmt.Sscanf(name, form, &l)
		return n == 1 && name == fmt.Sprintf(form, l)
	}
	switch {
	case info.NormsAfter && (is("blocks.%d.hook_attn_out") || is("blocks.%d.hook_mlp_out")):
		return "TransformerLens has it after the norm that follows, and the tap is before it; " +
			"save the output of the module, such as model.layers.0.self_attn or " +
			"model.layers.0.mlp"
	case info.Family == "bloom" && is("transformer.h.%d.mlp"):
		return "this module of BLOOM adds the residual stream to what it puts out; save the " +
			"output of its last one, transformer.h.0.mlp.dense_4h_to_h"
	}
	return ""
}

// fromActivations returns an edit with the numbers that a file of another program has at its
// places, a tensor for each layer. held is how many bytes of values the memory has already.
func fromActivations(
	f *checkpoint.File, e trace.Edit, held float64, info trace.Info, memory trace.Memory,
) (trace.Edit, error) {
	if (e.Tap == trace.KeyVector || e.Tap == trace.Value) && len(e.Heads) > 0 {
		return e, Usagef("%s: heads of keys and values may be shared, so take all of them: leave "+
			"heads out, or write them with headwater trace", e)
	}
	layers := e.Layers
	for l := 0; len(e.Layers) == 0 && findActivation(f, e.Tap, l) != nil; l++ {
		layers = append(layers, l)
	}
	if len(layers) == 0 {
		layers = []int{0} // which is missing
	}
	var all trace.Tensor
	for i, l := range layers {
		if i == len(f.Names()) || slices.Contains(layers[:i], l) {
			return e, Usagef("%s: layer %d is named twice, or more are than there are", e, l)
		}
		found := findActivation(f, e.Tap, l)
		if found == nil {
			return e, unknownActivation(f, e.Tap, l)
		}
		if instead := heldInstead(found.Name, info); instead != "" {
			return e, Usagef("%s: tensor %q is not the tap %s of %s: %s", f.Name(), found.Name,
				e.Tap, info.Name, instead)
		}
		if i > 0 && !slices.Equal(all.Shape[1:], found.Shape) {
			return e, Usagef("%s: tensor %q is of %v, and that of another layer of %v", f.Name(),
				found.Name, found.Shape, all.Shape[1:])
		}
		// Of the layers before it there are the numbers, and what the edit takes out of them.
		t, err := readTensor(f, found.Name, held+2*4*float64(len(all.Data)), memory)
		if err != nil {
			return e, err
		}
		all.Shape = append([]int{i + 1}, found.Shape...)
		if found.Axes == "THE" {
			all.Data = append(all.Data, headsFirst(t.Data, found.Shape)...)
		} else {
			all.Data = append(all.Data, t.Data...)
		}
	}
	places := e.Layers
	e.Layers = nil // all of those that were found
	e, err := e.From(all)
	e.Layers = places
	return e, err
}

// findActivation returns a tensor that a file has of a tap in a layer, without data and without the
// axis of a batch of one text; nil if it has none. With the axes THE, [H,T,E] is its shape when
// heads come first.
func findActivation(f *checkpoint.File, tap trace.Tap, l int) *trace.Tensor {
	for _, a := range activations {
		name := fmt.Sprintf(a.name, l+a.shift)
		shape, err := f.Shape(name)
		if a.tap != tap || err != nil {
			continue
		}
		t := &trace.Tensor{Name: name, Shape: slices.Clone(shape)}
		axes := 2
		if a.tap == trace.Attention || a.byToken {
			axes = 3
		}
		if len(shape) == axes+1 && shape[0] == 1 {
			t.Shape = t.Shape[1:]
		}
		if a.byToken && len(t.Shape) == axes {
			t.Axes = "THE"
			t.Shape[0], t.Shape[1] = t.Shape[1], t.Shape[0]
		}
		return t
	}
	return nil
}

// headsFirst returns the numbers of [T,H,E] as [H,T,E], the shape.
func headsFirst(data []float32, shape []int) []float32 {
	H, T, E := shape[0], shape[1], shape[2]
	moved := make([]float32, 0, len(data))
	for h := range H {
		for t := range T {
			moved = append(moved, data[(t*H+h)*E:][:E]...)
		}
	}
	return moved
}

// unknownActivation returns an error that lists the names of a tap in a layer, and those in a file.
func unknownActivation(f *checkpoint.File, tap trace.Tap, l int) error {
	known := []string{string(tap)}
	for _, a := range activations {
		if a.tap == tap && l+a.shift >= 0 {
			known = append(known, fmt.Sprintf(a.name, l+a.shift))
		}
	}
	return Usagef("%s has no tensor for %s of layer %d, which is known as %s; it has %s. A tensor "+
		"of any name is taken by its key", f.Name(), tap, l, message.List(known),
		message.Some(f.Names(), 5))
}
