package transformer

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// store is the keys and values of a text, its KV cache. Where a backend computes in the memory of
// the host, a new token is written into its slot and nothing else moves; elsewhere a graph writes
// it.
type store struct {
	m     *Model
	slots int
	// all has the key and value of every layer in turn, 2L tensors [1,G,slots,E].
	all []*tensors.Tensor
}

func (m *Model) newStore(slots int) *store { return &store{m: m, slots: slots} }

// inPlace is whether the host may write into what the backend reads.
func (s *store) inPlace() bool { return s.m.backend.HasSharedBuffers() }

// add appends a key or value, [1,G,T,E], of which the first n slots count. Slots after them must
// hold finite numbers, because 0 times infinity, where a mask hides them, would be NaN.
func (s *store) add(kv *tensors.Tensor, n int) error {
	dims := kv.Shape().Dimensions
	if !s.inPlace() {
		return s.addGrown(kv)
	}
	t, err := s.m.zeros(1, dims[1], s.slots, dims[3])
	if err != nil {
		return err
	}
	s.all = append(s.all, t)
	return read(kv, func(from []float32) {
		err = t.MutableFlatData(func(flat any) {
			copySlots(flat.([]float32), from, dims[1], n*dims[3])
		})
	})
}

// addGrown appends a key or value on the device, with zeros or without its last slots to fit the
// store.
func (s *store) addGrown(kv *tensors.Tensor) error {
	// missing is negative if the prompt was padded to more rows than the store has slots.
	slots, missing := s.slots, s.slots-kv.Shape().Dimensions[2]
	out, err := s.m.run(fmt.Sprintf("grow by %d", missing), noWeights,
		func(_ byName, in []*graph.Node) []*graph.Node {
			if missing <= 0 {
				return []*graph.Node{graph.SliceAxis(in[0], 2, graph.AxisRange(0, slots))}
			}
			return []*graph.Node{graph.GrowRight(in[0], 2, missing, 0)}
		}, kv)
	if err != nil {
		return err
	}
	s.all = append(s.all, out[0])
	return nil
}

// put writes the key and value of one token into a slot; now is [2L,1,G,1,E]. Outside the memory of
// the host a graph returns new tensors, which costs a copy of the whole cache.
func (s *store) put(now *tensors.Tensor, slot int) error {
	if s.inPlace() {
		return read(now, func(data []float32) { s.write(data, slot) })
	}
	out, err := s.m.run("keep", noWeights, func(_ byName, in []*graph.Node) []*graph.Node {
		var all []*graph.Node
		for i, old := range in[2:] {
			one := graph.Squeeze(graph.SliceAxis(in[0], 0, graph.AxisRange(i, i+1)), 0)
			all = append(all, replaceSlot(old, one, in[1]))
		}
		return all
	}, append([]*tensors.Tensor{now, tensors.FromScalar(int32(slot))}, s.all...)...)
	if err != nil {
		return err
	}
	free(s.all...)
	s.all = out
	return nil
}

// write puts a token's numbers, [2L,G,E], into its slot. In a tensor [1,G,slots,E] the E numbers of
// group g begin at (g·slots + slot)·E.
func (s *store) write(data []float32, slot int) {
	for _, t := range s.all {
		dims := t.Shape().Dimensions
		groups, width := dims[1], dims[3]
		t.MustMutableFlatData(func(flat any) {
			to := flat.([]float32)
			for g := range groups {
				copy(to[(g*s.slots+slot)*width:][:width], data[g*width:])
			}
		})
		data = data[groups*width:]
	}
}

// grown returns a copy with more slots, of which n hold tokens. The store itself stays as it is, so
// a session can go on after an error.
func (s *store) grown(slots, n int) (*store, error) {
	larger := s.m.newStore(slots)
	for _, t := range s.all {
		if err := larger.add(t, n); err != nil {
			larger.free()
			return nil, err
		}
	}
	return larger, nil
}

func (s *store) free() { free(s.all...) }
