package transformer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// tap is how one tensor is recorded: its axes, and what a block and the end of the model give; a tap with both has a layer more.
type tap struct {
	axes  string
	block func(b *Block) *Node            // [B,...] in each layer
	end   func(d *builder, x *Node) *Node // [B,...] of the residual stream behind the last block
}

// taps are those that the graph of one pass returns. Value Zeroing is a mixing and computed in tiles.
var taps = map[trace.Tap]tap{
	trace.Scores:     {axes: "LHTS", block: (*Block).MaskedScores},
	trace.Terms:      {axes: "LH3TS", block: (*Block).Terms},
	trace.Attention:  {axes: "LHTS", block: func(b *Block) *Node { return b.Attention }},
	trace.Value:      {axes: "LHSE", block: (*Block).Values},
	trace.Context:    {axes: "LHTE", block: (*Block).Context},
	trace.HeadOutput: {axes: "LHTD", block: (*Block).HeadOutput},
	trace.Hidden:     {axes: "LTD", block: func(b *Block) *Node { return b.Input }, end: func(_ *builder, x *Node) *Node { return x }},
	trace.Final:      {axes: "TD", end: (*builder).final},
	trace.Logits:     {axes: "TV", end: (*builder).head}, // TK or K of a classifier
}

// Batch is several texts for one pass; shorter ones are padded to the longest. Where a rotation changes with the length of the text
// (Phi-3's long models, dynamic scaling), that of the longest counts for all, as in the reference.
type Batch struct {
	IDs [][]int
	// Types are the token types of each text, nil for type 0 everywhere.
	Types [][]int
	// PadLeft puts the padding before a text and not behind it, as generation in batches needs. It changes no number.
	PadLeft bool
}

// Trace runs ids once, T tokens, and returns one tensor for each tap, in the order asked. Sources after their target are 0 in a
// decoder. The tap logits is [T,V], [T,K] of a token classifier and [K] of a classifier; an error without a head.
func (m *Model) Trace(ctx context.Context, ids []int, wanted []trace.Tap) ([]trace.Tensor, error) {
	texts, err := m.Forward(ctx, Batch{IDs: [][]int{ids}}, wanted)
	if err != nil {
		return nil, err
	}
	return texts[0], nil
}

// Forward runs a batch in one pass and returns for each text what [Model.Trace] does; padding is cut off. It returns an error for an
// empty batch, for ids that the model cannot take, for padding on the left of an encoder's texts, whose positions it would move, and
// for token types with the tap value-zeroing, which takes every token as type 0.
func (m *Model) Forward(ctx context.Context, batch Batch, wanted []trace.Tap) ([][]trace.Tensor, error) {
	if len(batch.IDs) == 0 {
		return nil, fmt.Errorf("transformer: the batch has no texts")
	}
	if batch.PadLeft && m.Spec.Bidirectional {
		return nil, fmt.Errorf("transformer: %s is an encoder: pad its texts on the right", m.Spec.Family)
	}
	for i, ids := range batch.IDs {
		if err := m.CheckIDs(ids); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	if err := m.checkTypes(batch); err != nil {
		return nil, err
	}
	if batch.Types != nil && slices.Contains(wanted, trace.ValueZeroing) {
		return nil, fmt.Errorf("transformer: value-zeroing takes every token as type 0; leave out the types or the tap")
	}
	inGraph, err := m.inGraph(wanted)
	if err != nil {
		return nil, err
	}
	recorded, err := m.record(ctx, batch, inGraph)
	if err != nil {
		return nil, err
	}
	out := make([][]trace.Tensor, len(batch.IDs))
	for i, ids := range batch.IDs {
		for _, name := range wanted {
			if name != trace.ValueZeroing {
				out[i], recorded[i] = append(out[i], recorded[i][0]), recorded[i][1:]
				continue
			}
			read, err := m.Read(ctx, ids, 0, []trace.MixingAsk{{Name: string(name)}}, nil)
			if err != nil {
				return nil, err
			}
			rows := read.Rows[0]
			out[i] = append(out[i], trace.Tensor{Name: string(name), Axes: "LTS", Shape: []int{rows.L, rows.N, rows.S}, Data: rows.Data})
		}
	}
	return out, nil
}

// checkTypes returns an error if token types do not fit the texts of a batch or the model.
func (m *Model) checkTypes(batch Batch) error {
	if batch.Types == nil {
		return nil
	}
	if len(batch.Types) != len(batch.IDs) {
		return fmt.Errorf("transformer: token types of %d texts for %d", len(batch.Types), len(batch.IDs))
	}
	for i, types := range batch.Types {
		if len(types) != len(batch.IDs[i]) {
			return fmt.Errorf("transformer: text %d: %d token types for %d tokens", i, len(types), len(batch.IDs[i]))
		}
		for t, k := range types {
			if k < 0 || k >= m.Spec.TokenTypes {
				return fmt.Errorf("transformer: text %d: type %d of token %d is not in 0..%d", i, k, t, m.Spec.TokenTypes-1)
			}
		}
	}
	return nil
}

// inGraph returns the taps that the graph of one pass records.
func (m *Model) inGraph(wanted []trace.Tap) ([]trace.Tap, error) {
	var in []trace.Tap
	for _, name := range wanted {
		if !slices.Contains(trace.Taps(), name) {
			return nil, unknownTap(name)
		}
		if name == trace.Logits && m.Spec.Head == NoHead {
			return nil, fmt.Errorf("transformer: the %s model has no head, so there are no logits; take final", m.Spec.Family)
		}
		if _, ok := taps[name]; ok {
			in = append(in, name)
		}
	}
	return in, nil
}

func unknownTap(name trace.Tap) error {
	var known []string
	for _, t := range trace.Taps() {
		known = append(known, string(t))
	}
	return fmt.Errorf("transformer: tap %q is unknown; known are %s", name, strings.Join(known, ", "))
}

// record runs the graph of one pass over a batch that returns taps, for each text one tensor for each tap.
func (m *Model) record(ctx context.Context, batch Batch, wanted []trace.Tap) ([][]trace.Tensor, error) {
	texts := make([][]trace.Tensor, len(batch.IDs))
	if len(wanted) == 0 {
		return texts, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("transformer: stopped before the pass: %w", err)
	}
	longest := 0
	for _, ids := range batch.IDs {
		longest = max(longest, len(ids))
	}
	if err := m.checkMemory(len(batch.IDs)*longest*longest, m.Spec.keptArrays(wanted)); err != nil {
		return nil, err
	}
	typed := batch.Types != nil // nothing else of the batch is kept in the graph
	inputs := m.batchInputs(batch, longest, m.fed(longest))
	key := fmt.Sprintf("trace %v typed=%v of %d inputs", wanted, typed, len(inputs))
	out, err := m.run(key, "", func(w Weights, in []*Node) []*Node {
		t := text{ids: in[0], length: in[1]}
		if in = in[2:]; typed {
			t.types, in = in[0], in[1:]
		}
		t.positions = optional(in)
		if len(in) > 1 {
			t.real = in[1]
		}
		return newBuilder(m.Spec, w, t).trace(wanted)
	}, inputs...)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s pass of %d texts of up to %d tokens: %w", m.Spec.Family, len(texts), longest, err)
	}
	for k, name := range wanted {
		data, err := floats(out[k])
		if err != nil {
			return nil, err
		}
		dims := out[k].Shape().Dimensions
		size := len(data) / dims[0]
		for i, ids := range batch.IDs {
			begin := batch.begin(i, longest)
			texts[i] = append(texts[i], m.cutTensor(name, dims[1:], data[i*size:(i+1)*size], begin, begin+len(ids)))
		}
	}
	return texts, nil
}

// keptArrays is how many arrays [H,T,T] a pass that records taps returns.
func (s *Spec) keptArrays(wanted []trace.Tap) int {
	kept := 0
	for _, name := range wanted {
		switch name {
		case trace.Scores, trace.Attention:
			kept += s.Layers
		case trace.Terms:
			kept += 3 * s.Layers
		}
	}
	return kept
}

// begin is the slot of the first token of text i.
func (b Batch) begin(i, longest int) int {
	if !b.PadLeft {
		return 0
	}
	return longest - len(b.IDs[i])
}

// batchInputs are ids [B,fed], the length of the longest text and, where they do not follow from these, types, positions and 1 for
// every slot that holds a token, [B,fed] each.
func (m *Model) batchInputs(batch Batch, longest, fed int) []*tensors.Tensor {
	n := len(batch.IDs)
	ids, types, positions, real := make([]int32, n*fed), make([]int32, n*fed), make([]int32, n*fed), make([]float32, n*fed)
	for i, text := range batch.IDs {
		at := i*fed + batch.begin(i, longest)
		copy(positions[at:], m.Spec.positions(text, len(text)))
		for t, id := range text {
			ids[at+t], real[at+t] = int32(id), 1
			if batch.Types != nil {
				types[at+t] = int32(batch.Types[i][t])
			}
		}
	}
	in := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(ids, n, fed), tensors.FromScalar(int32(longest))}
	if batch.Types != nil {
		in = append(in, tensors.FromFlatDataAndDimensions(types, n, fed))
	}
	if n > 1 || m.Spec.SkipPosition {
		in = append(in, tensors.FromFlatDataAndDimensions(positions, n, fed))
	}
	if n > 1 {
		in = append(in, tensors.FromFlatDataAndDimensions(real, n, fed))
	}
	return in
}

// trace builds the pass that returns taps, [B,L,...] or [B,...].
func (d *builder) trace(wanted []trace.Tap) []*Node {
	x := d.embed()
	layers := make([][]*Node, len(wanted))
	for l := range d.spec.Layers {
		b, _ := d.block(l, x, nil)
		for i, name := range wanted {
			if of := taps[name].block; of != nil {
				layers[i] = append(layers[i], of(b))
			}
		}
		x = b.Output
	}
	out := make([]*Node, len(wanted))
	for i, name := range wanted {
		of := taps[name]
		switch {
		case of.block == nil:
			out[i] = of.end(d, x)
			continue
		case of.end != nil:
			layers[i] = append(layers[i], of.end(d, x))
		}
		out[i] = Stack(layers[i], 1)
	}
	return out
}

// fed is how many rows are computed for n tokens.
func (m *Model) fed(n int) int {
	fed := n
	if m.promptStep > 1 {
		fed = bucket(n)
	}
	if m.Spec.Context > 0 {
		fed = max(n, min(fed, m.Spec.Context))
	}
	return fed
}

// cutTensor makes a tensor of data, whose sizes are dims, and keeps the places begin..end-1 of the axes T and S.
func (m *Model) cutTensor(name trace.Tap, dims []int, data []float32, begin, end int) trace.Tensor {
	axes := taps[name].axes
	if name == trace.Logits {
		axes = map[Head]string{LanguageHead: "TV", TokenHead: "TK", ClassifierHead: "K"}[m.Spec.Head]
	}
	t := trace.Tensor{Name: string(name), Axes: axes, Shape: slices.Clone(dims)}
	from := make([]int, len(dims))
	for i, axis := range axes {
		if axis == 'T' || axis == 'S' {
			from[i], t.Shape[i] = begin, end-begin
		}
	}
	t.Data = cut(nil, data, dims, from, t.Shape)
	return t
}

// cut appends the places from..from+keep-1 of every axis of data, whose sizes are dims.
func cut(dst, data []float32, dims, from, keep []int) []float32 {
	if slices.Equal(dims, keep) {
		return append(dst, data...)
	}
	inner := len(data) / dims[0]
	for i := range keep[0] {
		at := (from[0] + i) * inner
		dst = cut(dst, data[at:at+inner], dims[1:], from[1:], keep[1:])
	}
	return dst
}
