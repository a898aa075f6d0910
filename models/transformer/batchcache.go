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
	m           *Model
	rows, slots int
	// all has the key and value of every layer in turn, 2L tensors [B,G,slots,E].
	all []*tensors.Tensor
}

func (m *Model) newBatchCache(rows, slots int) (*batchCache, error) {
	c := &batchCache{m: m, rows: rows, slots: slots}
	for range 2 * m.Spec.Layers {
		t, err := m.zeros(rows, m.Spec.Groups(), slots, m.Spec.HeadWidth)
		if err != nil {
			c.free()
			return nil, err
		}
		c.all = append(c.all, t)
	}
	return c, nil
}

// of returns the keys and values of layer l.
func (c *batchCache) of(l int) []*tensors.Tensor { return c.all[2*l : 2*l+2] }

// value returns the values of layer l.
func (c *batchCache) value(l int) *tensors.Tensor { return c.all[2*l+1] }

// prompts writes the keys and values of whole texts into layer l, [P,G,N,E] each: row i of them,
// of which the first lengths[i] slots are tokens, becomes row rows[i] of the cache.
func (c *batchCache) prompts(l int, now []*tensors.Tensor, rows, lengths []int) error {
	if !c.m.onHost {
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
	if !c.m.onHost {
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

// write calls fill for the keys and for the values of layer l, where the host may write into what
// the backend reads. now is [·,G,n,width] each.
func (c *batchCache) write(
	l int, now []*tensors.Tensor, fill func(to, from []float32, n, width int),
) error {
	for i, t := range now {
		dims := t.Shape().Dimensions
		err := read(t, func(from []float32) {
			c.all[2*l+i].MustMutableFlatData(func(flat any) {
				fill(flat.([]float32), from, dims[2], dims[3])
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replaceRows is prompts on a device: a graph returns new tensors, which costs a copy of the layer.
func (c *batchCache) replaceRows(l int, now []*tensors.Tensor, rows []int) error {
	// from is which text of now becomes a row, and whether one does.
	from, is := make([]int32, c.rows), make([]bool, c.rows)
	for i, row := range rows {
		from[row], is[row] = int32(i), true
	}
	slots := c.slots
	return c.replace(l, fmt.Sprintf("keep texts in %d slots", slots),
		func(now, old, from, is *graph.Node) *graph.Node {
			if missing := slots - now.Shape().Dimensions[2]; missing > 0 {
				now = graph.GrowRight(now, 2, missing, 0)
			}
			now = graph.SliceAxis(now, 2, graph.AxisRange(0, slots))
			dims := old.Shape().Dimensions
			return graph.Where(graph.BroadcastToShape(graph.Reshape(is, -1, 1, 1, 1),
				shapes.Make(dtypes.Bool, dims...)),
				graph.Gather(now, graph.InsertAxes(from, -1)), old)
		}, now, tensors.FromFlatDataAndDimensions(from, c.rows),
		tensors.FromFlatDataAndDimensions(is, c.rows))
}

// replaceSlots is tokens on a device. It writes into every row: a row without a text holds nothing
// that counts.
func (c *batchCache) replaceSlots(l int, now []*tensors.Tensor, slots []int) error {
	at := make([]int32, c.rows)
	for row, slot := range slots {
		at[row] = int32(slot)
	}
	return c.replace(l, "keep tokens", func(now, old, at, _ *graph.Node) *graph.Node {
		return replaceSlot(old, now, at)
	}, now, tensors.FromFlatDataAndDimensions(at, c.rows), tensors.FromScalar(int32(0)))
}

// replace puts what a graph makes of new and old keys, and of new and old values, into layer l.
func (c *batchCache) replace(
	l int, what string, of func(now, old, a, b *graph.Node) *graph.Node,
	now []*tensors.Tensor, a, b *tensors.Tensor,
) error {
	defer free(a, b)
	old := c.of(l)
	out, err := c.m.run(what, noWeights, func(_ byName, in []*graph.Node) []*graph.Node {
		return []*graph.Node{of(in[0], in[2], in[4], in[5]), of(in[1], in[3], in[4], in[5])}
	}, now[0], now[1], old[0], old[1], a, b)
	if err != nil {
		return err
	}
	free(old...)
	copy(old, out)
	return nil
}

func (c *batchCache) free() { free(c.all...) }
