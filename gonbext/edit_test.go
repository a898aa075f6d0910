package gonbext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
)

// TestRecordingEdit: an edit has what a run had at its places, less what others had there, and
// changes neither run; a tap that was not recorded and other numbers of places are refused.
func TestRecordingEdit(t *testing.T) {
	run := func(tokens int, factor float32) *gonbext.Recording {
		x := trace.Tensor{Name: "hidden", Shape: []int{2, tokens, 2}}
		for i := range 2 * tokens * 2 {
			x.Data = append(x.Data, factor*float32(i))
		}
		return &gonbext.Recording{Tensors: []trace.Tensor{x}}
	}
	e := gonbext.Edit{Tap: "hidden", Layers: []int{1}, Positions: []int{-1}, Change: "add", Factor: 1}
	a, b := run(3, 1), run(2, 10)
	got, err := a.TryEdit(e, b)
	if err != nil || !slices.Equal(got.Shape, []int{1, 1, 2}) ||
		!slices.Equal(got.Value, []float32{10 - 60, 11 - 70}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
	if a.Tensors[0].Data[10] != 10 || b.Tensors[0].Data[6] != 60 {
		t.Error("a recording was changed")
	}
	for want, of := range map[string]gonbext.Edit{
		`gonbext: the recording has no tensor "context"`:          {Tap: "context"},
		"gonbext: edit of hidden of layer 7":                      {Tap: "hidden", Layers: []int{7}},
		"one run has [2 3 2] numbers there and the other [2 2 2]": {Tap: "hidden"},
	} {
		if _, err := a.TryEdit(of, b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
