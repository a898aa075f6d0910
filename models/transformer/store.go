package transformer

import (
	"errors"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// store is the keys and values of a text, its KV cache; see [batchCache] for several texts. Where a
// backend computes in the memory of the host, a new token is written into its slot and nothing else
// moves; elsewhere a graph writes it.
type store struct {
	m     *Model
	slots int
	// all has the key and value of every layer in turn, 2L tensors [B,G,slots,E]. B is 1 for a text
	// alone.
	all []*tensors.Tensor
	// projected is nil unless steps compute rows from it. It is of the same tokens, and ends where
	// the store grows or gets several tokens at once.
	projected *projectedCache
}

func (m *Model) newStore(slots int) *store { return &store{m: m, slots: slots} }

// emptyStore returns a store of zeros for so many texts, in which no slot holds a token yet.
func (m *Model) emptyStore(texts, slots int) (*store, error) {
	s := m.newStore(slots)
	for range 2 * m.Spec.Layers {
		t, err := m.zeros(texts, m.Spec.Groups(), slots, m.Spec.HeadWidth)
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
	t, err := s.m.filledFrom(kv, []int{1, dims[1], s.slots, dims[3]}, func(to, from []float32) {
		copySlots(to, from, dims[1], n*dims[3])
	})
	if t != nil {
		s.all = append(s.all, t)
	}
	return err
}

// addLayer appends the key and value of the next layer, as add does, and what is kept beside them.
func (s *store) addLayer(key, value *tensors.Tensor, n int) error {
	err := errors.Join(s.add(key, n), s.add(value, n))
	if err != nil || s.projected == nil {
		return err
	}
	return s.projected.add(s.all[len(s.all)-1])
}

// addGrown appends a key or value on the device, with zeros or without its last slots to fit the
// store.
func (s *store) addGrown(kv *tensors.Tensor) error {
	slots := s.slots // the graph is kept under its name, which has to say all that it depends on
	out, err := s.m.run(fmt.Sprintf("grow to %d slots", slots), noWeights,
		func(_ byName, in []*graph.Node) []*graph.Node {
			missing := slots - in[0].Shape().Dimensions[2]
			if missing <= 0 { // the prompt was padded to more rows than the store has slots
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

// value returns the value of layer l.
func (s *store) value(l int) *tensors.Tensor { return s.all[2*l+1] }

// put writes the key and value of one token, [1,G,1,E] each, into a slot of layer l. Outside the
// memory of the host, now is what the graph of the step made of the layer's cache with that token,
// [1,G,slots,E] each; put takes them in the place of the old ones and leaves nil in now.
func (s *store) put(l int, now []*tensors.Tensor, slot int) error {
	if s.inPlace() {
		return s.putAll(l, now[0], now[1], slot, 1)
	}
	free(s.of(l)...)
	copy(s.of(l), now)
	clear(now)
	return nil
}

// putAt writes the keys and values of one token of each text, [B,G,1,E] each, into the slots of
// layer l outside the memory of the host; slots is [B].
func (s *store) putAt(l int, key, value, slots *tensors.Tensor) error {
	return s.replace(l, "keep", func(old, now *graph.Node, in []*graph.Node) *graph.Node {
		return replaceSlot(old, now, in[0])
	}, key, value, slots)
}

// putAll writes the keys and values of n tokens, [1,G,N,E] each with padding, into the slots of
// layer l from first on. Outside the memory of the host it costs a copy, as put does.
func (s *store) putAll(l int, key, value *tensors.Tensor, first, n int) error {
	if s.inPlace() {
		now := []*tensors.Tensor{key, value}
		return s.write(l, now, func(to, from []float32, padded, width int) {
			for g := range s.m.Spec.Groups() {
				copy(to[(g*s.slots+first)*width:][:n*width], from[g*padded*width:])
			}
		})
	}
	begin, end := tensors.FromScalar(int32(first)), tensors.FromScalar(int32(first+n))
	defer free(begin, end)
	return s.replace(l, "keep all", func(old, now *graph.Node, in []*graph.Node) *graph.Node {
		return replaceSlots(old, now, in[0], in[1])
	}, key, value, begin, end)
}

// replace puts what a graph makes of the old and the new keys, and of the old and the new values,
// in the place of the old ones of layer l. what names the graph in its key, and more are its
// further inputs.
func (s *store) replace(
	l int, what string, of func(old, now *graph.Node, more []*graph.Node) *graph.Node,
	key, value *tensors.Tensor, more ...*tensors.Tensor,
) error {
	old := s.of(l)
	out, err := s.m.run(what, noWeights, func(_ byName, in []*graph.Node) []*graph.Node {
		return []*graph.Node{of(in[0], in[2], in[4:]), of(in[1], in[3], in[4:])}
	}, append([]*tensors.Tensor{old[0], old[1], key, value}, more...)...)
	if err != nil {
		return err
	}
	free(old...)
	copy(old, out)
	return nil
}

// write calls fill for the keys and for the values of layer l, where the host may write into what
// the backend reads. now is [·,G,n,width] each. In a tensor [B,G,slots,width] the numbers of group
// g of text b begin at ((b·G + g)·slots + slot)·width.
func (s *store) write(
	l int, now []*tensors.Tensor, fill func(to, from []float32, n, width int),
) error {
	for i, t := range now {
		dims := t.Shape().Dimensions
		if err := writeFrom(t, s.all[2*l+i], func(to, from []float32) {
			fill(to, from, dims[2], dims[3])
		}); err != nil {
			return err
		}
	}
	return nil
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

func (s *store) free() {
	s.forget()
	free(s.all...)
}

// forget frees projected. A nil store has none.
func (s *store) forget() {
	if s == nil {
		return
	}
	s.projected.free()
	s.projected = nil
}
