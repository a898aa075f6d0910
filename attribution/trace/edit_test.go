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
