package evaluate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// text is a Remover whose value is a function of the tokens that are left.
type text struct {
	n     int
	value func(left []int) float64
	soft  func(keep []float64) float64
	asked *int
}

func (x text) Removable() []int {
	all := make([]int, x.n)
	for i := range all {
		all[i] = i
	}
	return all
}

func (x text) Predict(_ context.Context, sets [][]int) ([]float64, error) {
	if x.asked != nil {
		*x.asked += len(sets)
	}
	var out []float64
	for _, set := range sets {
		var left []int
		for i := range x.n {
			if !slices.Contains(set, i) {
				left = append(left, i)
			}
		}
		out = append(out, x.value(left))
	}
	return out, nil
}

func (x text) Soft(_ context.Context, keep []float64, _ int) (float64, error) {
	return x.soft(keep), nil
}

// additive is a text whose tokens each add their weight.
func additive(weights ...float64) text {
	return text{n: len(weights), value: func(left []int) float64 {
		sum := 0.
		for _, i := range left {
			sum += weights[i]
		}
		return sum
	}, soft: func(keep []float64) float64 {
		sum := 0.
		for i, k := range keep {
			sum += k * weights[i]
		}
		return sum
	}}
}

// By hand: weights .4, .3, .2, .1 and a ranking that is right.
func TestFaithful(t *testing.T) {
	f, err := evaluate.Faithful(t.Context(), additive(.4, .3, .2, .1), []float64{4, -3, 2, 1}, 1)
	must(t, err)
	for i, want := range []float64{1, .6, .3, .1, 0} {
		near(t, fmt.Sprint("deletion ", i), f.Deletion[i], want, 1e-15)
		near(t, fmt.Sprint("insertion ", i), f.Insertion[i], 1-want, 1e-15)
	}
	near(t, "AOPC", f.AOPC, 1-(.6+.3+.1)/4, 1e-15)
	near(t, "deletion area", f.DeletionArea, .4, 1e-15)
	// bins 1, 5, 10 and 20 % of 4 tokens are 1 token, 50 % are 2.
	near(t, "comprehensiveness", f.Comprehensiveness, (4*.4+.7)/5, 1e-15)
	near(t, "sufficiency", f.Sufficiency, (4*.6+.3)/5, 1e-15)
	near(t, "normalised comprehensiveness", float64(f.NormalizedComprehensiveness),
		(4*.4+.7)/5, 1e-15)
	near(t, "normalised sufficiency", float64(f.NormalizedSufficiency), (4*.4+.7)/5, 1e-15)
	// Sizes 4, 3, 2, 1 keep 1, ⅔, ⅓ and 0 of each token.
	near(t, "soft sufficiency", float64(f.SoftSufficiency), .4+.2+.2/3, 1e-15)
	near(t, "soft comprehensiveness", float64(f.SoftComprehensiveness), .4+.2+.2/3, 1e-15)
}

// What does as well without any token has no normalised measures.
func TestFaithfulConstant(t *testing.T) {
	f, err := evaluate.Faithful(t.Context(), additive(0, 0, 0), []float64{1, 2, 3}, 0)
	must(t, err)
	near(t, "NC", float64(f.NormalizedComprehensiveness), math.NaN(), 0)
	near(t, "soft", float64(f.SoftSufficiency), math.NaN(), 0)
	if _, err := evaluate.Faithful(t.Context(), text{}, nil, 0); err == nil {
		t.Error("a text without removable tokens gives no error")
	}
	nan := []float64{1, math.NaN(), 3}
	if _, err := evaluate.Faithful(t.Context(), additive(0, 0, 0), nan, 0); err == nil ||
		err.Error() != "evaluate: the score of token 1 is NaN" {
		t.Errorf("a score that is NaN: error %v", err)
	}
}

// The extremes of AOPC are those of all rankings, enumerated, for a value that is not a sum.
func TestNormalizeExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 5
	table := make([]float64, 1<<n)
	for i := range table {
		table[i] = rng.Float64()
	}
	x := text{n: n, value: func(left []int) float64 {
		set := 0
		for _, i := range left {
			set |= 1 << i
		}
		return table[set]
	}}
	low, high := math.Inf(1), math.Inf(-1)
	permutations(n, func(order []int) {
		scores := make([]float64, n)
		for rank, i := range order {
			scores[i] = float64(n - rank)
		}
		f, err := evaluate.Faithful(t.Context(), x, scores, 0)
		must(t, err)
		low, high = min(low, f.AOPC), max(high, f.AOPC)
	})
	f, err := evaluate.Faithful(t.Context(), x, []float64{5, 1, 4, 2, 3}, 0)
	must(t, err)
	exact, err := f.Normalize(t.Context(), x, 1)
	if err != nil || !exact {
		t.Fatalf("exact %v, %v", exact, err)
	}
	near(t, "NAOPC", float64(f.NAOPC), (f.AOPC-low)/(high-low), 1e-12)
}

// A beam finds the extremes of a sum, whose best ranking is greedy, without asking for every set.
func TestNormalizeBeam(t *testing.T) {
	var weights, right, wrong []float64
	for i := range 14 {
		w := float64((i*5)%14 + 1)
		weights, right, wrong = append(weights, w), append(right, w), append(wrong, 20-w)
	}
	x := additive(weights...)
	x.asked = new(int)
	for want, scores := range map[float64][]float64{1: right, 0: wrong} {
		f, err := evaluate.Faithful(t.Context(), x, scores, 0)
		must(t, err)
		exact, err := f.Normalize(t.Context(), x, 3)
		if err != nil || exact {
			t.Fatalf("exact %v, %v", exact, err)
		}
		near(t, "NAOPC", float64(f.NAOPC), want, 1e-12)
	}
	if *x.asked > 2000 {
		t.Errorf("%d texts, of 16384 sets", *x.asked)
	}
	if _, err := (&evaluate.Faithfulness{}).Normalize(t.Context(), x, 0); err == nil {
		t.Error("a beam of 0 gives no error")
	}
}
