package run

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// store is the keys and values of texts, their KV cache. Text b has row b of every tensor, and its
// token t has slot t. Slots without a token hold finite numbers, because 0 times infinity, where a
// mask hides them, would be NaN. Where a backend computes in the memory of the host, a new token is
// written into its slot and nothing else moves; elsewhere a graph writes it.
type store struct {
	m     *Model
	slots int
	// all has the key and value of every layer in turn, 2L tensors [B,G,slots,E].
	all []*tensors.Tensor
	// projected is nil unless steps compute rows from it. It is of the same tokens, and ends where
	// the store grows or gets several tokens at once.
	projected *projectedCache
}

func (m *Model) newStore(slots int) *store { return &store{m: m, slots: slots} }

// emptyStore returns a store of zeros for so many texts, in which no slot holds a token yet.
func (m *Model) emptyStore(texts, slots int) (*store, error) {
	s := m.newStore(slots)
	for i := range 2 * m.Spec.Layers {
		width := []int{m.Spec.HeadWidth, m.Spec.ValueWidth()}[i%2]
		t, err := m.Machine.Zeros(texts, m.Spec.Groups(), slots, width)
		if err != nil {
			s.free()
			return nil, err
		}
		s.all = append(s.all, t)
	}
	return s, nil
}

// inPlace is whether the host may write into what the backend reads.
func (s *store) inPlace() bool { return s.m.Machine.OnHost }

// add appends a key or value, [1,G,T,E], of which the first n slots count.
func (s *store) add(kv *tensors.Tensor, n int) error {
	dims := kv.Shape().Dimensions
	if !s.inPlace() {
		return s.addGrown(kv)
	}
	t, err := s.m.Machine.FilledFrom(kv, []int{1, dims[1], s.slots, dims[3]},
		func(to, from []float32) {
			host.CopySlots(to, from, dims[1], n*dims[3])
		})
	if t != nil {
		s.all = append(s.all, t)
	}
	return err
}

// addLayer appends the key and value of the next layer, as add does, and what is kept beside them.
func (s *store) addLayer(now []*tensors.Tensor, n int) error {
	err := errors.Join(s.add(now[0], n), s.add(now[1], n))
	if err != nil || s.projected == nil {
		return err
	}
	return s.projected.add(s.all[len(s.all)-1])
}

// addGrown appends a key or value on the device, with zeros or without its last slots to fit the
// store.
func (s *store) addGrown(kv *tensors.Tensor) error {
	slots := s.slots // the graph is kept under its name, which has to say all that it depends on
	out, err := s.m.Machine.Run(fmt.Sprintf("grow to %d slots", slots), codes.NoWeights,
		func(_ codes.Weights, in []*Node) []*Node {
			return []*Node{withSlots(in[0], slots)}
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

// stretch are n tokens of the text at place from of a pass, which become those from slot first on
// of the text at place to of a store.
type stretch struct{ from, to, first, n int }

// put writes keys and values of layer l, [P,G,N,E] each with padding, into their slots. Outside the
// memory of the host, now is what a graph made of the layer's cache with them, [B,G,slots,E] each;
// put takes them in the place of the old ones and leaves nil in now.
func (s *store) put(l int, now []*tensors.Tensor, all ...stretch) error {
	if !s.inPlace() {
		host.Free(s.of(l)...)
		copy(s.of(l), now)
		clear(now)
		return nil
	}
	// In a tensor [B,G,slots,width] the numbers of group g of text b begin at
	// ((b·G + g)·slots + slot)·width.
	groups := s.m.Spec.Groups()
	for i, t := range now {
		padded, width := t.Shape().Dimensions[2], t.Shape().Dimensions[3]
		if err := host.WriteFrom(t, s.of(l)[i], func(to, from []float32) {
			for _, a := range all {
				for g := range groups {
					copy(to[((a.to*groups+g)*s.slots+a.first)*width:][:a.n*width],
						from[(a.from*groups+g)*padded*width:])
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// putTexts writes the keys and values of whole texts into layer l, [P,G,N,E] each: row i of them,
// of which the first lengths[i] slots are tokens, becomes row rows[i] of the store. On a device a
// graph returns new tensors, which costs a copy of the layer.
func (s *store) putTexts(l int, now []*tensors.Tensor, rows, lengths []int) error {
	if s.inPlace() {
		var all []stretch
		for i, row := range rows {
			all = append(all, stretch{from: i, to: row, n: lengths[i]})
		}
		return s.put(l, now, all...)
	}
	// from is which text of now becomes a row, and whether one does.
	texts := s.of(l)[0].Shape().Dimensions[0]
	from, is := make([]int32, texts), make([]bool, texts)
	for i, row := range rows {
		from[row], is[row] = int32(i), true
	}
	places := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(from, texts),
		tensors.FromFlatDataAndDimensions(is, texts),
	}
	defer host.Free(places...)
	slots := s.slots // the graph is kept under its name, which has to say all that it depends on
	out, err := s.m.Machine.Run(fmt.Sprintf("keep texts in %d slots", slots), codes.NoWeights,
		func(_ codes.Weights, in []*Node) []*Node {
			from, is := InsertAxes(in[4], -1), Reshape(in[5], -1, 1, 1, 1)
			var all []*Node
			for i, old := range in[:2] {
				shape := old.Shape()
				all = append(all, Where(
					BroadcastToShape(is, shapes.Make(dtypes.Bool, shape.Dimensions...)),
					Gather(withSlots(in[2+i], slots), from), old))
			}
			return all
		}, slices.Concat(s.of(l), now, places)...)
	if err != nil {
		return err
	}
	return s.put(l, out)
}

// withSlots is kv [B,G,N,E] with zeros or without its last slots, [B,G,slots,E]. A prompt may be
// padded to more rows than a store has slots.
func withSlots(kv *Node, slots int) *Node {
	if missing := slots - kv.Shape().Dimensions[2]; missing > 0 {
		return GrowRight(kv, 2, missing, 0)
	}
	return SliceAxis(kv, 2, AxisRange(0, slots))
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
	host.Free(s.all...)
}

// forget frees projected. A nil store has none.
func (s *store) forget() {
	if s == nil {
		return
	}
	s.projected.free()
	s.projected = nil
}
