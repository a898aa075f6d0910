package evaluate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// near fails if a number is not the one wanted; NaN is wanted by NaN.
func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(want) != math.IsNaN(got) || math.Abs(got-want) > tol {
		t.Errorf("%s = %.10g, want %.10g", what, got, want)
	}
}

// 24: equal values have the mean of their ranks, neither the lowest nor none of their own.
func TestKnown24Spearman(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
		ok   bool
	}{
		{[]float64{1, 1, 2}, []float64{1, 2, 3}, math.Sqrt(3) / 2, true},
		{[]float64{1, 2, 2, 3}, []float64{1, 3, 2, 4}, 4.5 / math.Sqrt(4.5*5), true},
		{[]float64{1, 2, 3}, []float64{9, 4, 1}, -1, true},
		{[]float64{5, 5, 5}, []float64{1, 2, 3}, 0, false},
		{[]float64{1}, []float64{2}, 0, false},
		{nil, nil, 0, false},
		{[]float64{1, math.NaN(), 3}, []float64{1, 2, 3}, 0, false},
		{[]float64{1, 2, 3}, []float64{math.NaN(), math.NaN(), 3}, 0, false},
	} {
		rho, ok := evaluate.Spearman(c.x, c.y)
		near(t, fmt.Sprint("Spearman", c.x, c.y), rho, c.want, 1e-15)
		if ok != c.ok {
			t.Errorf("Spearman(%v, %v) ok = %v", c.x, c.y, ok)
		}
	}
	near(t, "the figure of the specification", 4.5/math.Sqrt(4.5*5), .948683, 5e-7)
}

// 27: cue metrics.
func TestKnown27Cues(t *testing.T) {
	one := evaluate.Align([]float64{0, 1, 0}, []bool{false, true, false})
	near(t, "dot", float64(one.Dot), 1, 0)
	near(t, "AP", one.AveragePrecision, 1, 0)
	third := evaluate.Align([]float64{4, 3, 2, 1}, []bool{false, false, true, false})
	near(t, "AP of rank 3", third.AveragePrecision, 1./3, 1e-15)
	near(t, "MRR of rank 3", third.ReciprocalRank, 1./3, 1e-15)
	near(t, "rank", third.Rank, 3, 0)
	uniform := evaluate.Align([]float64{1, 1, 1, 1, 1}, []bool{true, false, true, false, false})
	near(t, "dot of uniform scores", float64(uniform.Dot), 2./5, 1e-15)
	two := evaluate.Align([]float64{4, 3, 2, 1}, []bool{true, false, true, false})
	near(t, "AP of ranks 1 and 3", two.AveragePrecision, (1+2./3)/2, 1e-15)
	near(t, "a negative score is no share",
		float64(evaluate.Align([]float64{-1, 2}, []bool{true, false}).Dot), math.NaN(), 0)
	near(t, "nor is nothing", float64(evaluate.Align([]float64{0, 0}, []bool{true, false}).Dot),
		math.NaN(), 0)
}

// Equal scores give the mean over all their orders, counted out.
func TestAlignTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		n := 2 + rng.IntN(5)
		scores, cue := make([]float64, n), make([]bool, n)
		for i := range n {
			scores[i], cue[i] = float64(rng.IntN(3)), rng.IntN(2) == 0
		}
		cue[rng.IntN(n)] = true
		var want evaluate.Cues
		orders := 0
		permutations(n, func(order []int) {
			for i := 1; i < n; i++ {
				if scores[order[i-1]] < scores[order[i]] {
					return
				}
			}
			orders++
			found, sum := 0, 0.
			for i, j := range order {
				if !cue[j] {
					continue
				}
				found++
				if found == 1 {
					want.ReciprocalRank += 1 / float64(i+1)
				}
				sum += float64(found) / float64(i+1)
				want.Rank += float64(i+1) / float64(count(cue))
			}
			want.AveragePrecision += sum / float64(found)
		})
		got := evaluate.Align(scores, cue)
		what := fmt.Sprint(scores, cue)
		near(t, "AP of "+what, got.AveragePrecision, want.AveragePrecision/float64(orders), 1e-12)
		near(t, "MRR of "+what, got.ReciprocalRank, want.ReciprocalRank/float64(orders), 1e-12)
		near(t, "rank of "+what, got.Rank, want.Rank/float64(orders), 1e-12)
	}
}

func count(cue []bool) (n int) {
	for _, is := range cue {
		if is {
			n++
		}
	}
	return n
}

// permutations calls f with every order of 0..n-1.
func permutations(n int, f func([]int)) {
	var walk func(order []int)
	walk = func(order []int) {
		if len(order) == n {
			f(order)
			return
		}
		for i := range n {
			if !slices.Contains(order, i) {
				walk(append(order[:len(order):len(order)], i))
			}
		}
	}
	walk(nil)
}

// A summary counts what it skips, and its interval holds the mean.
func TestSummarize(t *testing.T) {
	s := evaluate.Summarize([]float64{1, math.NaN(), 3, 2, 2})
	near(t, "mean", s.Mean, 2, 0)
	near(t, "sd", s.SD, math.Sqrt(2./3), 1e-15)
	if s.N != 4 || s.Skipped != 1 || !(s.Low >= 1 && s.Low < 2 && s.High > 2 && s.High <= 3) {
		t.Errorf("summary %+v", s)
	}
	if s := evaluate.Summarize([]float64{math.NaN()}); s.N != 0 || s.Skipped != 1 {
		t.Errorf("summary of nothing %+v", s)
	}
	infinite := evaluate.Summarize([]float64{2, math.Inf(1), math.Inf(-1)})
	if infinite.Mean != 2 || infinite.N != 1 || infinite.Skipped != 2 {
		t.Errorf("summary with infinities %+v", infinite)
	}
	many := make([]float64, 400)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range many {
		many[i] = rng.NormFloat64()
	}
	s = evaluate.Summarize(many)
	half := 1.96 * s.SD / 20
	near(t, "low", s.Low, s.Mean-half, half/4)
	near(t, "high", s.High, s.Mean+half, half/4)
}

// Every value can be written as JSON: what is not finite, such as the logarithm of a probability
// that is rounded to 0, is null.
func TestValueJSON(t *testing.T) {
	for x, want := range map[float64]string{
		0.5: "0.5", math.Inf(1): "null", math.Inf(-1): "null", math.NaN(): "null",
	} {
		got, err := json.Marshal(evaluate.Value(x))
		if err != nil || string(got) != want {
			t.Errorf("%g is %s, error %v; want %s", x, got, err, want)
		}
	}
}

// TestRankPanics: numbers that cannot be ranked panic with what is wrong; they neither hang nor
// fail at an index.
func TestRankPanics(t *testing.T) {
	cue := []bool{true, false}
	for want, call := range map[string]func(){
		"the score of token 0 is NaN":   func() { evaluate.Align([]float64{math.NaN(), 2}, cue) },
		"the score of token 1 is NaN":   func() { evaluate.Point([]float64{2, math.NaN()}, cue, 1) },
		"the top -1 tokens":             func() { evaluate.Point([]float64{2, 1}, cue, -1) },
		"scores of 1 and 0 predictions": func() { evaluate.Correlations([][]float64{{1}}, nil) },
		"2 methods, and scores of 1":    func() { evaluate.Agree([]string{"a", "b"}, [][][]float64{{}}) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			call()
		}()
	}
}
