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

// emptyStore returns a store of zeros, in which no slot holds a token yet.
func (m *Model) emptyStore(slots int) (*store, error) {
	s := m.newStore(slots)
	for range 2 * m.Spec.Layers {
		t, err := m.zeros(1, m.Spec.Groups(), slots, m.Spec.HeadWidth)
		if err != nil {
			s.free()
			return nil, err
		}
		s.all = append(s.all, t)
	}
	return s, nil
}

// inPlace is whether the host may write into what the backend reads.
func (s *store) inPlace() bool { return s.m.onHost }

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

// of returns the key and value of layer l.
func (s *store) of(l int) []*tensors.Tensor { return s.all[2*l : 2*l+2] }

// put writes the key and value of one token, [1,G,1,E] each, into a slot of layer l. Outside the
// memory of the host a graph returns new tensors, which costs a copy of the layer's cache.
func (s *store) put(l int, key, value *tensors.Tensor, slot int) error {
	if s.inPlace() {
		for i, now := range []*tensors.Tensor{key, value} {
			if err := s.write(s.all[2*l+i], now, slot); err != nil {
				return err
			}
		}
		return nil
	}
	old := s.of(l)
	out, err := s.m.run("keep", noWeights, func(_ byName, in []*graph.Node) []*graph.Node {
		return []*graph.Node{replaceSlot(in[3], in[0], in[2]), replaceSlot(in[4], in[1], in[2])}
	}, key, value, tensors.FromScalar(int32(slot)), old[0], old[1])
	if err != nil {
		return err
	}
	free(old...)
	copy(old, out)
	return nil
}

// putAll writes the keys and values of n tokens, [1,G,N,E] each with padding, into the slots of
// layer l from first on. Outside the memory of the host it costs a copy, as put does.
func (s *store) putAll(l int, key, value *tensors.Tensor, first, n int) error {
	if s.inPlace() {
		for i, now := range []*tensors.Tensor{key, value} {
			if err := s.writeAll(s.all[2*l+i], now, first, n); err != nil {
				return err
			}
		}
		return nil
	}
	old := s.of(l)
	begin, end := tensors.FromScalar(int32(first)), tensors.FromScalar(int32(first+n))
	defer free(begin, end)
	out, err := s.m.run("keep all", noWeights, func(_ byName, in []*graph.Node) []*graph.Node {
		return []*graph.Node{
			replaceSlots(in[4], in[0], in[2], in[3]), replaceSlots(in[5], in[1], in[2], in[3]),
		}
	}, key, value, begin, end, old[0], old[1])
	if err != nil {
		return err
	}
	free(old...)
	copy(old, out)
	return nil
}

// writeAll copies the numbers of n tokens, [1,G,N,E] with padding, into the slots of to from first
// on.
func (s *store) writeAll(to, now *tensors.Tensor, first, n int) error {
	dims := now.Shape().Dimensions
	groups, padded, width := dims[1], dims[2], dims[3]
	return read(now, func(from []float32) {
		to.MustMutableFlatData(func(flat any) {
			data := flat.([]float32)
			for g := range groups {
				copy(data[(g*s.slots+first)*width:][:n*width], from[g*padded*width:])
			}
		})
	})
}

// write copies the numbers of one token, [1,G,1,E], into its slot of to. In a tensor [1,G,slots,E]
// the E numbers of group g begin at (g·slots + slot)·E.
func (s *store) write(to, now *tensors.Tensor, slot int) error {
	dims := to.Shape().Dimensions
	groups, width := dims[1], dims[3]
	return read(now, func(from []float32) {
		to.MustMutableFlatData(func(flat any) {
			data := flat.([]float32)
			for g := range groups {
				copy(data[(g*s.slots+slot)*width:][:width], from[g*width:])
			}
		})
	})
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
