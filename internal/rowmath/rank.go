package rowmath

import (
	"cmp"
	"math"
	"slices"
)

// RankCorrelation returns Spearman's rank correlation of two rows of equal length: the linear
// correlation of their ranks, where equal values have the mean of their ranks. ok is false if one
// row is constant, has fewer than two values or contains NaN.
func RankCorrelation(x, y []float64) (rho float64, ok bool) {
	if slices.ContainsFunc(x, math.IsNaN) || slices.ContainsFunc(y, math.IsNaN) {
		return 0, false
	}
	a, b := ranks(x), ranks(y)
	// The mean of ranks 0..n-1, with ties or without.
	mean := float64(len(x)-1) / 2
	var ab, aa, bb float64
	for i := range a {
		p, q := a[i]-mean, b[i]-mean
		ab, aa, bb = ab+p*q, aa+p*p, bb+q*q
	}
	if aa == 0 || bb == 0 {
		return 0, false
	}
	return ab / math.Sqrt(aa*bb), true
}

// ranks returns the rank of each value, from 0; equal values have the mean of their ranks.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	out := make([]float64, len(x))
	for first := 0; first < len(order); {
		end := first + 1
		for end < len(order) && x[order[end]] == x[order[first]] {
			end++
		}
		for _, i := range order[first:end] {
			out[i] = float64(first+end-1) / 2
		}
		first = end
	}
	return out
}
