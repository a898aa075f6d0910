package graph

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
)

// TileBlock builds layer l for a tile of targets x, [1,N,D], from slot d.First on, over sources
// whose keys and values are known.
func (d *Builder) TileBlock(l int, x *Node, sources Cache) *Block {
	b, _ := d.StartBlock(l, x)
	b.sources = sources
	d.attend(b)
	Finish(b)
	return b
}

// StepBlock builds layer l for the one target of each text, x [B,1,D], of a decode step, in slot
// d.First of the cache past. What past holds in that slot is not read. It also returns the
// target's key and value, [B,G,1,E]. The block has no output yet; see [Finish].
func (d *Builder) StepBlock(l int, x *Node, past Cache) (*Block, Cache) {
	b, now := d.StartBlock(l, x)
	b.own = &ownSlot{Cache: now, past: past, slot: d.First}
	b.sources = Cache{
		Key:   replaceSlot(past.Key, now.Key, d.First),
		Value: replaceSlot(past.Value, now.Value, d.First),
	}
	d.attend(b)
	if b.idle { // nobody reads them
		now = Cache{Key: ZerosLike(now.Key), Value: ZerosLike(now.Value)}
		b.sources = past
	}
	return b, now
}

// ownSlot holds the key and value of each text's one target in a decode step apart from the cache.
// The graph then reads the cache where it is and never copies it.
type ownSlot struct {
	Cache       // of the target, [B,G,1,E]
	past  Cache // [B,G,S,E]; the slot of the target holds any finite numbers
	slot  *Node // of the target, an int32 scalar or [B]
}

// at is 1 in the target's slot and 0 elsewhere, [B or 1,1,1,S].
func (o *ownSlot) at() *Node {
	sources := o.past.Key.Shape().Dimensions[2]
	slots := Iota(o.slot.Graph(), shapes.Make(dtypes.Int32, 1, 1, 1, sources), 3)
	return ConvertDType(Equal(slots, eachText(o.slot, 4)), dtypes.Float32)
}

// replaceSlot returns old [B,G,S,E] with one slot, a scalar or [B], replaced by now [B,G,1,E].
func replaceSlot(old, now, slot *Node) *Node {
	slots := Iota(old.Graph(), shapes.Make(dtypes.Int32, 1, 1, old.Shape().Dimensions[2], 1), 2)
	return Where(BroadcastToShape(Equal(slots, eachText(slot, 4)),
		shapes.Make(dtypes.Bool, old.Shape().Dimensions...)),
		BroadcastToDims(now, old.Shape().Dimensions...), old)
}

// ExtendBlock builds layer l for several tokens x, [B,N,D], from slot d.First on, after a cache
// past. Those before slot end are tokens, the others padding. It also returns their keys and
// values.
func (d *Builder) ExtendBlock(l int, x *Node, past Cache, end *Node) (*Block, Cache) {
	b, now := d.StartBlock(l, x)
	b.sources = Cache{
		Key:   replaceSlots(past.Key, now.Key, d.First, end),
		Value: replaceSlots(past.Value, now.Value, d.First, end),
	}
	d.attend(b)
	Finish(b)
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

// BlockWithoutValue builds layer l for x, [1,T,D], with the value of one source set to zero in
// every head; -1 zeroes none.
func (d *Builder) BlockWithoutValue(l int, x, source *Node) *Block {
	b, _ := d.Block(l, x)
	slots := Iota(x.Graph(), shapes.Make(dtypes.Int32, 1, 1, x.Shape().Dimensions[1], 1), 2)
	// Queries and keys stay, so the scores do not change. No slot has the number -1.
	others := ConvertDType(NotEqual(slots, source), dtypes.Float32) // [1,1,T,1]
	b.sources.Value = Mul(b.sources.Value, others)
	b.attend()
	// The block has been computed with all values; this computes it again from the attention on.
	b.Output = nil
	Finish(b)
	return b
}

// BlockOfSources is layer l with sources alone.
func (d *Builder) BlockOfSources(l int, sources Cache) *Block {
	return &Block{layer: d.Layer(l), sources: sources}
}

// KnownBlock is layer l for targets of which its input, attention output and attention are known;
// see [Block]. value are those of the sources.
func (d *Builder) KnownBlock(l int, input, attentionOutput, attention, value *Node) *Block {
	return &Block{
		Input: input, AttentionOutput: attentionOutput, Attention: attention,
		sources: Cache{Value: value}, layer: d.Layer(l),
	}
}

// Replaced gives a block what is known of its attention and output; nothing that was made on the
// way to other ones is read.
func Replaced(b *Block, attention, attentionOutput, output *Node) {
	b.Attention, b.AttentionOutput, b.Output, b.inner = attention, attentionOutput, output, nil
}

// Project lets a block read what [ProjectSources] gives for the sources that it has and more.
func Project(b *Block, all []*Node) {
	sources := b.sources.Key.Shape().Dimensions[2]
	projected := slices.Clone(all)
	for i, rows := range projected {
		projected[i] = SliceAxis(rows, 0, AxisRange(0, 1+sources))
	}
	b.projected = &projectedSources{output: projected[0], inputs: projected[1:]}
}

// LayerOf is the layer of a block.
func LayerOf(b *Block) *Layer { return b.layer }

// SourcesOf are the keys and values that a block reads.
func SourcesOf(b *Block) Cache { return b.sources }

// VisibleTo is 1 where a target of the block may see a source and 0 elsewhere, [B or 1,1,N,S].
func VisibleTo(b *Block) *Node { return b.visible }
