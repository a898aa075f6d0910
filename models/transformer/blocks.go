package transformer

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
)

// extendBlock builds layer l for several tokens x, [B,N,D], from slot d.first on, after a cache past.
// Those before slot end are tokens, the others padding. It also returns their keys and values.
func (d *builder) extendBlock(l int, x *Node, past cache, end *Node) (*Block, cache) {
	b, now := d.startBlock(l, x)
	b.sources = cache{
		key:   replaceSlots(past.key, now.key, d.first, end),
		value: replaceSlots(past.value, now.value, d.first, end),
	}
	d.attend(b)
	finish(b)
	return b, now
}

// replaceSlots returns old [B,G,S,E] with the slots from first on and before end replaced by the
// first entries of now [B,G,N,E].
func replaceSlots(old, now, first, end *Node) *Node {
	g, n, dims := old.Graph(), now.Shape().Dimensions[2], old.Shape().Dimensions
	slots := Iota(g, shapes.Make(dtypes.Int32, dims[2]), 0) // [S]
	of := MaxScalar(MinScalar(Sub(slots, first), n-1), 0)
	placed := Gather(TransposeAllAxes(now, 2, 0, 1, 3), InsertAxes(of, -1)) // [S,B,G,E]
	placed = TransposeAllAxes(placed, 1, 2, 0, 3)                           // [B,G,S,E]
	is := And(GreaterOrEqual(slots, first), LessThan(slots, end))
	return Where(BroadcastToDims(Reshape(is, 1, 1, dims[2], 1), dims...), placed, old)
}

// blockWithoutValue builds layer l for x, [1,T,D], with the value of one source set to zero in
// every head; -1 zeroes none.
func (d *builder) blockWithoutValue(l int, x, source *Node) *Block {
	b, _ := d.block(l, x)
	slots := Iota(x.Graph(), shapes.Make(dtypes.Int32, 1, 1, x.Shape().Dimensions[1], 1), 2)
	// Queries and keys stay, so the scores do not change. No slot has the number -1.
	others := ConvertDType(NotEqual(slots, source), dtypes.Float32) // [1,1,T,1]
	b.sources.value = Mul(b.sources.value, others)
	b.attend()
	// The block has been computed with all values; this computes it again from the attention on.
	b.Output = nil
	finish(b)
	return b
}

// blockOfSources is layer l with sources alone.
func (d *builder) blockOfSources(l int, sources cache) *Block {
	return &Block{layer: d.layer(l), sources: sources}
}

// knownBlock is layer l for targets of which its input, attention output and attention are known;
// see [Block]. value are those of the sources.
func (d *builder) knownBlock(l int, input, attentionOutput, attention, value *Node) *Block {
	return &Block{
		Input: input, AttentionOutput: attentionOutput, Attention: attention,
		sources: cache{value: value}, layer: d.layer(l),
	}
}

// replaced gives a block what is known of its attention and output; nothing that was made on the
// way to other ones is read.
func replaced(b *Block, attention, attentionOutput, output *Node) {
	b.Attention, b.AttentionOutput, b.Output, b.inner = attention, attentionOutput, output, nil
}

// project lets a block read what [projectSources] gives for the sources that it has and more.
func project(b *Block, all []*Node) {
	sources := b.sources.key.Shape().Dimensions[2]
	projected := slices.Clone(all)
	for i, rows := range projected {
		projected[i] = SliceAxis(rows, 0, AxisRange(0, 1+sources))
	}
	b.projected = &projectedSources{output: projected[0], inputs: projected[1:]}
}

// layerOf is the layer of a block, sourcesOf are its keys and values, and visibleTo is 1 where its
// targets may see a source and 0 elsewhere, [B or 1,1,N,S].
func layerOf(b *Block) *Layer { return b.layer }

func sourcesOf(b *Block) cache { return b.sources }

func visibleTo(b *Block) *Node { return b.visible }
