// Package rowmath computes with rows: vectors of weights over sources, stored one after another in
// a flat slice.
package rowmath

import (
	"cmp"
	"math"
	"slices"
)

// At returns row i of a matrix whose rows have w entries. It aliases data.
func At(data []float64, i, w int) []float64 { return data[i*w : (i+1)*w : (i+1)*w] }

// Normalize adds the residual connection to row c of a target and divides the row by its sum, in
// place:
//
//	c ← ((1-r) c + r e_target) / Σ
//
// It returns false if all entries are 0, and then they stay 0.
func Normalize(c []float64, target int, residual float64) bool {
	if residual != 0 {
		for s := range c {
			c[s] *= 1 - residual
		}
		c[target] += residual
	}
	return DivideBySum(c)
}

// DivideBySum divides a row by its sum, in place. It returns false for a row of zeros, which does
// not change.
func DivideBySum(c []float64) bool {
	sum := Total(c)
	if sum == 0 {
		return false
	}
	for s := range c {
		c[s] /= sum
	}
	return true
}

// Total returns the sum of values in index order.
func Total(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum
}

// Dot returns Σ a·b of two rows of equal length, in index order.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// Pick returns the entries of a row at some positions.
func Pick(row []float64, positions []int) []float64 {
	out := make([]float64, len(positions))
	for i, p := range positions {
		out[i] = row[p]
	}
	return out
}

// Falling returns positions of a row, nil for all, in the order of its entries: the largest first,
// and equal ones as they are given.
func Falling(row []float64, positions []int) []int {
	order := slices.Clone(positions)
	if positions == nil {
		for i := range row {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(row[j], row[i]) })
	return order
}

// IndexInvalid returns the index of the first number that is negative, NaN or infinite, or -1 if
// there is none.
func IndexInvalid[F float32 | float64](row []F) int {
	for s, x := range row {
		if !(x >= 0) || math.IsInf(float64(x), 0) {
			return s
		}
	}
	return -1
}

// NotFinite reports whether a number is NaN or infinite.
func NotFinite[F float32 | float64](x F) bool {
	return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0)
}

// Fits reports whether the sizes of a shape are positive and their product is n. It divides,
// because a product could overflow.
func Fits(shape []int, n int) bool {
	for _, size := range shape {
		if size < 1 || n%size != 0 {
			return false
		}
		n /= size
	}
	return n == 1
}

// CopyAbove copies the entries of src that reach the threshold to dst, which holds zeros.
func CopyAbove(dst []float64, src []float32, threshold float64) {
	for s, x := range src {
		if float64(x) >= threshold {
			dst[s] = float64(x)
		}
	}
}

// Largest returns the index of the largest number of a row that is not empty, the first among
// equals.
func Largest(row []float64) int {
	at := 0
	for i, x := range row {
		if x > row[at] {
			at = i
		}
	}
	return at
}

// Outstanding returns mean + standard deviation, that of a sample, with n-1.
func Outstanding(all []float64) float64 {
	n, mean, squares := float64(len(all)), 0.0, 0.0
	for _, x := range all {
		mean += x / n
	}
	for _, x := range all {
		squares += (x - mean) * (x - mean)
	}
	return mean + math.Sqrt(squares/max(1, n-1))
}
