package graph

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
)

// HeadBlock is the attention of layer l for one text, in which the query, the key and the value of
// each head read streams of their own, [H,N,D] each. The heads are computed as the texts of a
// batch, of which each keeps its own head.
func (d *Builder) HeadBlock(l int, query, key, value *Node) *Block {
	edits := d.Edits
	d.Edits = nil // which are of one text and act once its heads are put together
	b, _ := d.StartBlock(l, query)
	_, keys := d.StartBlock(l, key)
	_, values := d.StartBlock(l, value)
	heads := d.Spec.Heads
	own := func(x *Node) *Node { // of [H,H or G,N,E]: [1,H,N,E]
		rows := x.Shape().Dimensions[1]
		is := make([][]float32, heads)
		for h := range is {
			is[h] = make([]float32, rows)
			is[h][h/(heads/rows)] = 1
		}
		return InsertAxes(ReduceSum(Mul(x, InsertAxes(Const(x.Graph(), is), -1, -1)), 1), 0)
	}
	edited := func(tap trace.Tap, x *Node) *Node {
		e, ok := edits[tap]
		if !ok {
			return x
		}
		if tap != trace.QueryVector { // the heads of a group read the same edit
			e = EditNodes{Keep: b.layer.PerHead(e.Keep), Value: b.layer.PerHead(e.Value)}
		}
		return e.Of(x)
	}
	b.layer.edits, b.query = edits, edited(trace.QueryVector, own(b.query))
	b.sources = Cache{
		Key:   edited(trace.KeyVector, own(keys.Key)),
		Value: edited(trace.Value, own(values.Value)),
	}
	apart := *d.Spec // every head has a key and a value of its own
	apart.KeyValueHeads = 0
	b.layer.Spec, b.Input = &apart, nil
	d.attend(b)
	return b
}
