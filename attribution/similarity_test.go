package attribution

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// hiddenStates returns an input of hidden states.
func hiddenStates(shape []int, data ...float32) Input {
	return InMemory([]trace.Tensor{{Name: "hidden", Shape: shape, Data: data}})
}

// Three tokens of width 2 after two layers. After layer 0 the states are (3,4), (4,3), (-3,-4):
// the cosines are 24/25, -1 and -24/25. After layer 1 they are (2,0), (0,5), (1,1): 0, 1/√2 and
// 1/√2. The states before layer 0 are not shown.
func TestSimilarity(t *testing.T) {
	got, err := Similarity(t.Context(), hiddenStates([]int{3, 3, 2},
		0, 0, 1, 0, 0, 1,
		3, 4, 4, 3, -3, -4,
		2, 0, 0, 5, 1, 1))
	must(t, err)
	want := &Map{
		Options: map[string]string{"tensor": "hidden"},
		Facts:   Facts{Quantity: Cosine},
		Layers:  []int{0, 1}, Shape: [3]int{2, 3, 3}, Unit: "cosine of hidden states",
		Data: []float64{
			1, 0, 0, .96, 1, 0, -1, -.96, 1,
			1, 0, 0, 0, 1, 0, math.Sqrt2 / 2, math.Sqrt2 / 2, 1,
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-15)); diff != "" {
		t.Errorf("similarity (-want +got):\n%s", diff)
	}
	for _, x := range got.Data {
		if math.Abs(x) > 1 {
			t.Errorf("a cosine of %v", x)
		}
	}
}

// States that do not fit are errors that name the tensor, its shape or the number, and what is
// needed.
func TestSimilarityRefusals(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		want string
		in   Input
	}{
		{
			`tensor "hidden" has shape [1 2 2 1]; want [L+1,T,D]: the states before each layer and ` +
				"after the last, tokens, width, without an axis of the batch",
			hiddenStates([]int{1, 2, 2, 1}, 1, 1, 1, 1),
		},
		{"has shape [1 2 1]; want [L+1,T,D]", hiddenStates([]int{1, 2, 1}, 1, 1)},
		{"has shape [2 0 1]", hiddenStates([]int{2, 0, 1})},
		{"does not fit 3 numbers", hiddenStates([]int{2, 2, 1}, 1, 1, 1)},
		{`tensor "hidden": state 0 token 1 number 0 is NaN; want a finite number`, hiddenStates([]int{2, 2, 1}, 1, nan, 1, 1)},
		{`tensor "hidden": state 1 token 0 number 1 is -Inf`, hiddenStates([]int{2, 1, 2}, 1, 1, 1, inf)},
		{`tensor "hidden": state 1 of token 1 is zero, which has no direction`, hiddenStates([]int{2, 2, 1}, 0, 1, 1, 0)},
		{`there is no tensor "hidden"`, Input{}},
	} {
		_, err := Similarity(t.Context(), c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	in := Input{Memory: trace.Memory{Left: 1 << 20}, Tensors: []TensorReader{{
		Name: "hidden", Shape: []int{3, 1 << 20, 1},
		Read: func([]float32, int) error { t.Error("it was read"); return nil },
	}}}
	var memory *trace.MemoryError
	if _, err := Similarity(t.Context(), in); !errors.As(err, &memory) ||
		memory.Need != 8*2<<40+12<<20 {
		t.Errorf("error %v, want one of memory", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := Similarity(ctx, hiddenStates([]int{2, 1, 1}, 1, 1))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a context that ended", err)
	}
}
