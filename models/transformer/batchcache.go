package transformer

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// batchCache is the keys and values of the texts of a batch. Text b has row b of every tensor, and
// its token t has slot t. Slots without a token hold finite numbers, because 0 times infinity,
// where a mask hides them, would be NaN.
type batchCache struct {
	*store
	rows int
}

func (m *Model) newBatchCache(rows, slots int) (*batchCache, error) {
	s, err := m.emptyStore(rows, slots)
	if err != nil {
		return nil, err
	}
	return &batchCache{store: s, rows: rows}, nil
}

// prompts writes the keys and values of whole texts into layer l, [P,G,N,E] each: row i of them,
// of which the first lengths[i] slots are tokens, becomes row rows[i] of the cache.
func (c *batchCache) prompts(l int, now []*tensors.Tensor, rows, lengths []int) error {
	if !c.inPlace() {
		return c.replaceRows(l, now, rows)
	}
	return c.write(l, now, func(to, from []float32, n, width int) {
		groups := c.m.Spec.Groups()
		for i, row := range rows {
			for g := range groups {
				copy(to[(row*groups+g)*c.slots*width:][:lengths[i]*width],
					from[(i*groups+g)*n*width:])
			}
		}
	})
}

// tokens writes the keys and values of one token of each text into layer l, [B,G,1,E] each: those
// of text rows[i] into slot slots[rows[i]].
func (c *batchCache) tokens(l int, now []*tensors.Tensor, rows, slots []int) error {
	if !c.inPlace() {
		return c.replaceSlots(l, now, slots)
	}
	return c.write(l, now, func(to, from []float32, _, width int) {
		groups := c.m.Spec.Groups()
		for _, row := range rows {
			for g := row * groups; g < (row+1)*groups; g++ {
				copy(to[(g*c.slots+slots[row])*width:][:width], from[g*width:])
			}
		}
	})
}

// replaceRows is prompts on a device: a graph returns new tensors, which costs a copy of the layer.
func (c *batchCache) replaceRows(l int, now []*tensors.Tensor, rows []int) error {
	// from is which text of now becomes a row, and whether one does.
	from, is := make([]int32, c.rows), make([]bool, c.rows)
	for i, row := range rows {
		from[row], is[row] = int32(i), true
	}
	texts := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(from, c.rows),
		tensors.FromFlatDataAndDimensions(is, c.rows),
	}
	defer free(texts...)
	slots := c.slots
	return c.replace(l, fmt.Sprintf("keep texts in %d slots", slots),
		func(old, now *graph.Node, in []*graph.Node) *graph.Node {
			from, is := in[0], in[1]
			if missing := slots - now.Shape().Dimensions[2]; missing > 0 {
				now = graph.GrowRight(now, 2, missing, 0)
			}
			now = graph.SliceAxis(now, 2, graph.AxisRange(0, slots))
			dims := old.Shape().Dimensions
			return graph.Where(graph.BroadcastToShape(graph.Reshape(is, -1, 1, 1, 1),
				shapes.Make(dtypes.Bool, dims...)),
				graph.Gather(now, graph.InsertAxes(from, -1)), old)
		}, now[0], now[1], texts...)
}

// replaceSlots is tokens on a device. It writes into every row: a row without a text holds nothing
// that counts.
func (c *batchCache) replaceSlots(l int, now []*tensors.Tensor, slots []int) error {
	at := make([]int32, c.rows)
	for row, slot := range slots {
		at[row] = int32(slot)
	}
	places := tensors.FromFlatDataAndDimensions(at, c.rows)
	defer free(places)
	return c.putAt(l, now[0], now[1], places)
}
