package transformer

import (
	"context"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// prompt builds the pass that feeds ids [1,T] and fills the cache. last is the position of the last real token, so that
// padding behind it is never read. It returns the logits [V], the cache padded to slots, the mixings, and the blocks.
func (d *decoder) prompt(ids, last *Node, slots int, rec recording) []*Node {
	x := d.embed(ids)
	mixed := make([][]*Node, len(rec.asks))
	var caches []*Node
	var blocks []*Block
	for l := range d.spec.Layers {
		b, now := d.block(l, x, nil)
		for _, kv := range []*Node{now.key, now.value} {
			if missing := slots - kv.Shape().Dimensions[2]; missing > 0 {
				kv = GrowRight(kv, 2, missing, 0)
			}
			caches = append(caches, kv)
		}
		rec.mix(b, mixed)
		blocks = append(blocks, b)
		x = b.Output
	}
	x = Reshape(Gather(Squeeze(x, 0), Reshape(last, 1, 1)), d.spec.Width) // [D]
	out := append([]*Node{d.logits(d.final(x))}, caches...)
	out = append(out, stackMixed(mixed)...)
	if rec.blocks {
		out = append(out, blockNodes(blocks)...)
	}
	return out
}

// step builds the pass that feeds one id [1,1] behind a cache, 2L nodes. It returns the logits [V], the new cache and the mixings.
func (d *decoder) step(id *Node, past []*Node, rec recording) []*Node {
	x := d.embed(id)
	mixed := make([][]*Node, len(rec.asks))
	var caches []*Node
	for l := range d.spec.Layers {
		b, now := d.block(l, x, &cache{key: past[2*l], value: past[2*l+1]})
		caches = append(caches, now.key, now.value)
		rec.mix(b, mixed)
		x = b.Output
	}
	out := append([]*Node{d.logits(d.final(Reshape(x, d.spec.Width)))}, caches...)
	return append(out, stackMixed(mixed)...)
}

// mix adds the block's rows of every mixing that belongs into this graph.
func (r recording) mix(b *Block, mixed [][]*Node) {
	for i, m := range r.mixes {
		if m.PerPair() && !r.perPairInside {
			continue
		}
		mixed[i] = append(mixed[i], Mul(m.Mix(b, r.asks[i].Heads), seen(b, r.asks[i].Heads)))
	}
}

// seen is the block's visibility shaped for the rows of a mixing.
func seen(b *Block, heads trace.Heads) *Node {
	if heads.Fusion == trace.EachHead {
		return b.visible
	}
	return b.Visible()
}

// stackMixed makes one node [L,1,...] of each mixing's layers and leaves out those without any.
func stackMixed(mixed [][]*Node) []*Node {
	var out []*Node
	for _, layers := range mixed {
		if len(layers) > 0 {
			out = append(out, Stack(layers, 0))
		}
	}
	return out
}

// blockArrays is how many arrays a blockRecord has.
const blockArrays = 5

// blockNodes returns what a mixing needs of every block, stacked over layers and without the batch axis: input, attention output
// and output [L,T,D], attention [L,H,T,T], value [L,H,T,E].
func blockNodes(blocks []*Block) []*Node {
	stack := func(of func(*Block) *Node) *Node {
		layers := make([]*Node, len(blocks))
		for i, b := range blocks {
			layers[i] = Squeeze(of(b), 0)
		}
		return Stack(layers, 0)
	}
	return []*Node{
		stack(func(b *Block) *Node { return b.Input }),
		stack(func(b *Block) *Node { return b.AttentionOutput }),
		stack(func(b *Block) *Node { return b.Output }),
		stack(func(b *Block) *Node { return b.Attention }),
		stack(func(b *Block) *Node { return b.Value }),
	}
}

// blockRecord is the blocks of a prompt on the host, so that a mixing can be computed for a few targets at a time.
type blockRecord struct {
	// length is how many tokens are real, fed how many rows the arrays have.
	length, fed int
	// input, attentionOutput and output are [L,fed,D], attention [L,H,fed,fed], value [L,H,fed,E].
	input, attentionOutput, output, attention, value []float32
}

// readBlocks copies what blockNodes returned.
func (m *Model) readBlocks(out []*tensors.Tensor, length, fed int) (*blockRecord, error) {
	r := &blockRecord{length: length, fed: fed}
	for i, into := range []*[]float32{&r.input, &r.attentionOutput, &r.output, &r.attention, &r.value} {
		data, err := floats(out[i])
		if err != nil {
			return nil, err
		}
		*into = data
	}
	return r, nil
}

// tileFloats limits the largest array of a tile, [N,S,F]: 64 MiB.
const tileFloats = 16 << 20

// pairRows computes a mixing that costs a pass per pair for targets first..length-1 of a prompt, a tile of targets after the
// other in every layer; a tile holds only the sources that its targets can see, so no array [T,S,D] is ever held whole.
func (m *Model) pairRows(ctx context.Context, r *blockRecord, ask trace.MixingAsk, first int, progress func(trace.Progress)) (trace.Rows, error) {
	mix, err := LookupMixing(ask.Name)
	if err != nil {
		return trace.Rows{}, err
	}
	spec := m.Spec
	rows := trace.Rows{First: first, L: spec.Layers, H: 1, N: r.length - first, S: r.length}
	rows.Data = make([]float32, rows.L*rows.N*rows.S)
	for l := range spec.Layers {
		if progress != nil && rows.N > 1 {
			progress(trace.Progress{Stage: "preparing prompt rows", Unit: "layer", Done: l + 1, Total: spec.Layers})
		}
		for at := first; at < r.length; {
			if err := ctx.Err(); err != nil {
				return trace.Rows{}, fmt.Errorf("transformer: stopped at layer %d of %s: %w", l, ask.Name, err)
			}
			n := min(m.tileRows(r.length), r.length-at)
			tile, sources, err := m.pairTile(r, mix, ask, l, at, n)
			if err != nil {
				return trace.Rows{}, fmt.Errorf("transformer: %s: layer %d, targets %d to %d: %w", ask.Name, l, at, at+n-1, err)
			}
			for t := range n {
				to := (l*rows.N + at + t - first) * rows.S
				copy(rows.Data[to:to+at+t+1], tile[t*sources:])
			}
			at += n
		}
	}
	return rows, nil
}

// tileRows returns how many targets fill a tile over so many sources.
func (m *Model) tileRows(sources int) int {
	return max(1, min(slotStep, tileFloats/(roundUp(sources, slotStep)*m.Spec.FeedForward)))
}

// pairTile computes n targets from position at on of layer l: [n,sources] and sources.
func (m *Model) pairTile(r *blockRecord, mix Mixing, ask trace.MixingAsk, l, at, n int) ([]float32, int, error) {
	spec := m.Spec
	targets, sources := n, at+n
	if m.promptStep > 1 { // round shapes up, so that few graphs are compiled
		sources = roundUp(at+n, m.promptStep)
		if n > 1 {
			targets = m.tileRows(r.length)
		}
	}
	heads := spec.Heads
	stream := func(from []float32) *tensors.Tensor { // [1,targets,D]
		data := make([]float32, targets*spec.Width)
		copy(data, from[(l*r.fed+at)*spec.Width:(l*r.fed+at+n)*spec.Width])
		return tensors.FromFlatDataAndDimensions(data, 1, targets, spec.Width)
	}
	attention := make([]float32, heads*targets*sources)
	value := make([]float32, heads*sources*spec.HeadWidth)
	for h := range heads {
		for t := range n {
			from := ((l*heads+h)*r.fed + at + t) * r.fed
			copy(attention[(h*targets+t)*sources:], r.attention[from:from+at+t+1])
		}
		from := (l*heads + h) * r.fed * spec.HeadWidth
		copy(value[h*sources*spec.HeadWidth:(h+1)*sources*spec.HeadWidth], r.value[from:from+min(sources, r.fed)*spec.HeadWidth])
	}
	prefix := fmt.Sprintf("blocks.%d.", l)
	out, err := m.run(fmt.Sprintf("tile %s/%s", ask.Name, ask.Heads), prefix, func(w Weights, in []*Node) []*Node {
		dims := in[4].Shape().Dimensions // one builder serves every layer and every shape of tile
		b := &Block{
			Input: in[1], AttentionOutput: in[2], Output: in[3], Attention: in[4], Value: in[5], spec: spec, w: w,
			visible: visible(in[4].Graph(), in[0], dims[2], dims[3]),
		}
		return []*Node{mix.Mix(b, ask.Heads)}
	}, tensors.FromScalar(int32(at)), stream(r.input), stream(r.attentionOutput), stream(r.output),
		tensors.FromFlatDataAndDimensions(attention, 1, heads, targets, sources),
		tensors.FromFlatDataAndDimensions(value, 1, heads, sources, spec.HeadWidth))
	if err != nil {
		return nil, 0, err
	}
	data, err := floats(out[0])
	return data, sources, err
}
