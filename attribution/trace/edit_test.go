package trace_test

import (
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestEditFrom: an edit takes the numbers at its places, in its order. What has none, or fewer than
// its shape says, is refused, also where an axis without numbers hides a huge one.
func TestEditFrom(t *testing.T) {
	e := trace.Edit{Tap: trace.Hidden, Layers: []int{1}, Positions: []int{-1, 0},
		Change: trace.SetValue}
	numbers := []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	got, err := e.From(trace.Tensor{Shape: []int{2, 3, 2}, Data: numbers})
	if err != nil || !slices.Equal(got.Shape, []int{1, 2, 2}) ||
		!slices.Equal(got.Value, []float32{10, 11, 6, 7}) {
		t.Errorf("shape %v, value %v, error %v", got.Shape, got.Value, err)
	}
	e.Layers = nil
	for _, shape := range [][]int{{1 << 60, 0, 2}, {2, 3, 3}, {-1, -6, 2}, {12}} {
		data := numbers
		if slices.Contains(shape, 0) {
			data = nil
		}
		if _, err := e.From(trace.Tensor{Shape: shape, Data: data}); err == nil {
			t.Errorf("shape %v with %d numbers: no error", shape, len(data))
		}
	}
}

// TestMoveEdits: edits follow their tokens into another text, with the numbers of those that are
// still there, also where a mean is taken over an axis before theirs.
func TestMoveEdits(t *testing.T) {
	without1 := func(p int) int { // and before it nothing moves
		switch {
		case p == 1:
			return -1
		case p > 1:
			return p - 1
		}
		return p
	}
	for name, c := range map[string]struct {
		edit      trace.Edit
		positions []int // nil if the edit is left out
		sources   []int
		shape     []int
		value     []float32
	}{
		"a number each": {
			edit:      trace.Edit{Positions: []int{3, 1, 0}, Shape: []int{3, 2}, Value: ints(6)},
			positions: []int{2, 0}, shape: []int{2, 2}, value: []float32{0, 1, 4, 5},
		},
		"layers before": {
			edit:      trace.Edit{Positions: []int{1, 2}, Shape: []int{2, 2, 1}, Value: ints(4)},
			positions: []int{1}, shape: []int{2, 1, 1}, value: []float32{1, 3},
		},
		"one number for all": {
			edit:      trace.Edit{Positions: []int{1, 2}, Shape: []int{1, 2}, Value: ints(2)},
			positions: []int{1}, shape: []int{1, 2}, value: []float32{0, 1},
		},
		"a mean over two": {
			edit: trace.Edit{Change: trace.SetMean, Positions: []int{1, 2}, Shape: []int{2, 3},
				Value: ints(6)},
			positions: []int{1}, shape: []int{2, 3}, value: ints(6),
		},
		"sources": {
			edit: trace.Edit{Tap: trace.Attention, Positions: []int{4}, Sources: []int{0, 1, 2},
				Shape: []int{1, 3}, Value: ints(3)},
			positions: []int{3}, sources: []int{0, 1}, shape: []int{1, 2}, value: []float32{0, 2},
		},
		"gone": {edit: trace.Edit{Positions: []int{1}}},
		"no source left": {
			edit: trace.Edit{Tap: trace.Attention, Positions: []int{4}, Sources: []int{1}},
		},
		"not of its shape": {
			edit:      trace.Edit{Positions: []int{1, 2}, Shape: []int{2, 9}, Value: ints(3)},
			positions: []int{1}, shape: []int{2, 9}, value: ints(3),
		},
	} {
		before := slices.Clone(c.edit.Value)
		got := trace.MoveEdits([]trace.Edit{c.edit}, without1)
		if len(got) != min(1, len(c.positions)) {
			t.Errorf("%s: %d edits", name, len(got))
			continue
		}
		if !slices.Equal(c.edit.Value, before) {
			t.Errorf("%s: the value of the edit was changed", name)
		}
		for _, e := range got {
			if !slices.Equal(e.Positions, c.positions) || !slices.Equal(e.Sources, c.sources) ||
				!slices.Equal(e.Shape, c.shape) || !slices.Equal(e.Value, c.value) {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	everywhere := []trace.Edit{{Tap: trace.Hidden, Change: trace.SetZero}}
	if got := trace.MoveEdits(everywhere, without1); len(got) != 1 || got[0].Positions != nil {
		t.Errorf("everywhere: %+v", got)
	}
}

// ints are 0..n-1.
func ints(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

// TestEditsInWords: places and changes are named, and of many edits the first three.
func TestEditsInWords(t *testing.T) {
	zero := trace.Edit{Tap: trace.HeadOutput, Layers: []int{3}, Heads: []int{1},
		Change: trace.SetZero}
	steer := trace.Edit{Tap: trace.Hidden, Layers: []int{2, 3}, Positions: []int{-1},
		Change: trace.AddValue, Factor: 2}
	half := trace.Edit{Tap: trace.Router, Change: trace.Scale, Factor: 0.5}
	for want, edits := range map[string][]trace.Edit{
		"": nil,
		"under 1 edit: head-output of head 3.1 set to zero": {zero},
		"under 4 edits: head-output of head 3.1 set to zero; hidden of layers 2, 3, position -1 " +
			"plus 2 times given numbers; router everywhere times 0.5; and 1 more": {
			zero, steer, half, zero,
		},
	} {
		if got := trace.EditsInWords(edits); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestCheckEdits: an edit that would change nothing is refused, one that changes something at any
// of its places is not. The text of two stacks is a source of 3 tokens and the target, which may
// grow.
func TestCheckEdits(t *testing.T) {
	decoder, encoder := trace.Info{Layers: 2}, trace.Info{Layers: 2, Bidirectional: true}
	stacks := trace.Info{Layers: 6, EncoderLayers: 2, Vocab: 9}
	at := func(tap trace.Tap, layers, positions, sources []int) trace.Edit {
		return trace.Edit{
			Tap: tap, Layers: layers, Positions: positions, Sources: sources, Change: trace.SetZero,
		}
	}
	l := func(all ...int) []int { return all }
	for _, c := range []struct {
		info    trace.Info
		edit    trace.Edit
		changes bool
	}{
		{decoder, at(trace.Attention, nil, l(1), l(2)), false},
		{decoder, at(trace.Attention, nil, l(1, 2), l(3, 2)), true},
		{decoder, at(trace.Attention, nil, l(1), l(-1)), false},
		{decoder, at(trace.Attention, nil, nil, l(3)), true},
		{decoder, at(trace.Attention, nil, l(1), nil), true},
		{decoder, at(trace.KeyVector, l(0), l(1), nil), true},
		{encoder, at(trace.Attention, nil, l(1), l(2)), true},
		{stacks, at(trace.Attention, l(0), l(1), l(2)), true},
		{stacks, at(trace.Attention, l(0), l(1), l(3)), false},
		{stacks, at(trace.Attention, l(2), l(4), l(3)), true},
		{stacks, at(trace.Attention, l(2), l(3), l(4)), false},
		{stacks, at(trace.Attention, l(2), l(4), l(2)), false},
		{stacks, at(trace.Attention, l(3), l(9), l(2)), true},
		{stacks, at(trace.Attention, l(3), l(9), l(4)), false},
		{stacks, at(trace.Context, l(1), l(3), nil), false},
		{stacks, at(trace.Context, l(1), l(3, 0), nil), true},
		{stacks, at(trace.Context, l(5, 1), l(3), nil), true},
		{stacks, at(trace.Context, l(3), l(0), nil), false},
		{stacks, at(trace.Value, l(3), l(0), nil), true},
		{stacks, at(trace.Value, l(3), l(-1), nil), false},
		{stacks, at(trace.Value, l(4), l(-1), nil), true},
		{stacks, at(trace.FeedForwardOutput, l(2, 4), nil, nil), false},
		{stacks, at(trace.FeedForwardOutput, l(2, 3), nil, nil), true},
		{stacks, at(trace.FeedForwardOutput, nil, l(0), nil), true},
		{stacks, at(trace.Hidden, l(6), l(0), nil), true},
	} {
		err := c.info.CheckEdits([]trace.Edit{c.edit}, []int{5, 6, 7, 9, 8})
		if (err == nil) != c.changes {
			t.Errorf("%s, %d encoder layers: %v", c.edit, c.info.EncoderLayers, err)
		}
	}
	scale := trace.Edit{Tap: trace.Hidden, Change: trace.Scale}
	if scale.Check() == nil {
		t.Error("a change without its factor is taken")
	}
}

// TestSharing: consecutive heads have one key and value, each its own unless the model says else.
func TestSharing(t *testing.T) {
	for groups, want := range map[int][]int{0: {3}, 6: {3}, 3: {2, 3}, 2: {3, 4, 5}, 1: {
		0, 1, 2, 3, 4, 5,
	}} {
		got := trace.Info{Heads: 6, KeyValueHeads: groups}.Sharing(3)
		if !slices.Equal(got, want) {
			t.Errorf("%d groups: heads %v share, want %v", groups, got, want)
		}
	}
}
