package transformer

import (
	"context"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// prompt builds the pass that feeds the targets of d at once and fills the cache. read is the position, an int32 scalar, at which
// the head looks; padding behind the text is never read. It returns the scores of the head ([V] or [K]; none without a head), the
// cache padded to slots, the mixings, and the blocks.
func (d *builder) prompt(read *Node, slots int, rec recording) []*Node {
	x := d.embed()
	mixed := make([][]*Node, len(rec.asks))
	var caches []*Node
	var blocks []*Block
	for l := range d.spec.Layers {
		b, now := d.block(l, x, nil)
		if !d.spec.Bidirectional {
			for _, kv := range []*Node{now.key, now.value} {
				if missing := slots - kv.Shape().Dimensions[2]; missing > 0 {
					kv = GrowRight(kv, 2, missing, 0)
				}
				caches = append(caches, kv)
			}
		}
		rec.mix(b, mixed)
		blocks = append(blocks, b)
		x = b.Output
	}
	var out []*Node
	if d.spec.Head != NoHead {
		if d.spec.Head != ClassifierHead { // which reads the first token itself
			x = InsertAxes(Gather(Squeeze(x, 0), Reshape(read, 1, 1)), 0) // [1,1,D]
		}
		out = append(out, Reshape(d.head(x), -1))
	}
	out = append(out, caches...)
	out = append(out, stackMixed(mixed)...)
	if rec.blocks {
		out = append(out, blockNodes(blocks)...)
	}
	return out
}

// step builds the pass that feeds one id behind a cache, 2L nodes. It returns the logits [V], the new cache and the mixings.
func (d *builder) step(past []*Node, rec recording) []*Node {
	x := d.embed()
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
		rows := Mul(m.Mix(b, r.asks[i].Heads), seen(b, r.asks[i].Heads))
		if r.last != nil && !r.asks[i].AllRows {
			rows = oneRow(rows, r.last)
		}
		mixed[i] = append(mixed[i], rows)
	}
}

// oneRow returns row t of the last two axes of x [...,N,S], [...,1,S].
func oneRow(x, t *Node) *Node {
	targets := Iota(x.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions...), x.Rank()-2)
	return ReduceAndKeep(Where(Equal(targets, t), x, ZerosLike(x)), ReduceSum, -2)
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
// and output [L,T,D], attention [L,H,T,T], value [L,G,T,E].
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
	// input, attentionOutput and output are [L,fed,D], attention [L,H,fed,fed], value [L,G,fed,E].
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
				copy(rows.Data[to:to+r.sources(spec, at+t+1)], tile[t*sources:])
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
	targets, sources := n, r.sources(spec, at+n)
	if m.promptStep > 1 { // round shapes up, so that few graphs are compiled
		sources = roundUp(sources, m.promptStep)
		if n > 1 {
			targets = m.tileRows(r.length)
		}
	}
	heads, groups := spec.Heads, spec.Groups()
	stream := func(from []float32) *tensors.Tensor { // [1,targets,D]
		data := make([]float32, targets*spec.Width)
		copy(data, from[(l*r.fed+at)*spec.Width:(l*r.fed+at+n)*spec.Width])
		return tensors.FromFlatDataAndDimensions(data, 1, targets, spec.Width)
	}
	attention := make([]float32, heads*targets*sources)
	for h := range heads {
		for t := range n {
			from := ((l*heads+h)*r.fed + at + t) * r.fed
			copy(attention[(h*targets+t)*sources:], r.attention[from:from+r.sources(spec, at+t+1)])
		}
	}
	value := make([]float32, groups*sources*spec.HeadWidth)
	for g := range groups {
		from := (l*groups + g) * r.fed * spec.HeadWidth
		copy(value[g*sources*spec.HeadWidth:(g+1)*sources*spec.HeadWidth], r.value[from:from+min(sources, r.fed)*spec.HeadWidth])
	}
	window := spec.Window(l)
	key := fmt.Sprintf("tile %s/%s window=%d", ask.Name, ask.Heads, window)
	out, err := m.run(key, fmt.Sprintf("blocks.%d.", l), func(w Weights, in []*Node) []*Node {
		dims := in[5].Shape().Dimensions // one builder serves every layer of its window and every shape of tile
		b := &Block{
			Input: in[2], AttentionOutput: in[3], Output: in[4], Attention: in[5], Value: in[6], spec: spec, w: w,
			visible: visible(in[5].Graph(), in[0], in[1], dims[2], dims[3], window, spec.Bidirectional),
		}
		return []*Node{mix.Mix(b, ask.Heads)}
	}, tensors.FromScalar(int32(at)), tensors.FromScalar(int32(r.length)), stream(r.input), stream(r.attentionOutput), stream(r.output),
		tensors.FromFlatDataAndDimensions(attention, 1, heads, targets, sources),
		tensors.FromFlatDataAndDimensions(value, 1, groups, sources, spec.HeadWidth))
	if err != nil {
		return nil, 0, err
	}
	data, err := floats(out[0])
	return data, sources, err
}

// sources is how many sources the targets before end may see.
func (r *blockRecord) sources(spec *Spec, end int) int {
	if spec.Bidirectional {
		return r.length
	}
	return end
}
