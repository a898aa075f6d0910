package evaluate_test

import (
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// logistic is a text whose log-odds are the sum of the weights of the tokens that are left.
func logistic(weights ...float64) text {
	x := additive(weights...)
	sum := x.value
	x.value = func(left []int) float64 { return 1 / (1 + math.Exp(-sum(left))) }
	return x
}

// Where log-odds add up, the weights predict every ablation, their negatives the opposite, and a
// constant row nothing. Tokens that are not given are never removed.
func TestAblations(t *testing.T) {
	weights := []float64{9, 2, -1, .5, .25}
	tokens := []int{1, 2, 3, 4}
	x := logistic(weights...)
	inner := x.value
	x.value = func(left []int) float64 {
		if len(left) == 0 || left[0] != 0 {
			t.Errorf("token 0 was removed: %v are left", left)
		}
		return inner(left)
	}
	a, err := evaluate.NewAblations(t.Context(), x, tokens, 40, 1)
	must(t, err)
	if lds, ok := a.LDS(weights); !ok || math.Abs(lds-1) > 1e-12 {
		t.Errorf("LDS of the weights is %v, want 1", lds)
	}
	if lds, ok := a.LDS([]float64{0, -2, 1, -.5, -.25}); !ok || math.Abs(lds+1) > 1e-12 {
		t.Errorf("LDS of their negatives is %v, want -1", lds)
	}
	if _, ok := a.LDS(make([]float64, 5)); ok {
		t.Error("a constant row has an LDS")
	}
	// Without tokens 1 and 3 the log-odds fall from 10.75 to 8.25.
	drop, err := a.Drop(t.Context(), weights, tokens, 2)
	want := math.Log(1+math.Exp(-8.25)) - math.Log(1+math.Exp(-10.75))
	if err != nil || math.Abs(drop-want) > 1e-12 {
		t.Errorf("drop of the top 2 is %v, want %v, error %v", drop, want, err)
	}
	b, err := evaluate.NewAblations(t.Context(), x, tokens, 40, 2)
	must(t, err)
	row := []float64{0, 1, 5, -2, 3}
	one, _ := a.LDS(row)
	if two, _ := b.LDS(row); one == two {
		t.Errorf("two seeds give equal ablations: LDS %v", one)
	}
}
