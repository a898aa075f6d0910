package fakemodel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// SharpAttention returns L random layers [L,T,T] whose rows sum to 1, most of it on few sources.
func SharpAttention(seed uint64, L, T int, bidirectional bool) []float64 {
	rng := rand.New(rand.NewPCG(seed, 11))
	data := make([]float64, L*T*T)
	for l := range L {
		for i := range T {
			row, sum := data[(l*T+i)*T:][:T], 0.0
			for j := range row {
				if bidirectional || j <= i {
					row[j] = math.Exp(4 * rng.NormFloat64())
					sum += row[j]
				}
			}
			for j := range row {
				row[j] /= sum
			}
		}
	}
	return data
}

// SharpRows returns SharpAttention with ½ residual.
func SharpRows(seed uint64, L, T int, bidirectional bool) []float64 {
	data := SharpAttention(seed, L, T, bidirectional)
	for i := range data {
		data[i] /= 2
		if i%T == i/T%T {
			data[i] += 0.5
		}
	}
	return data
}

// Float32 rounds data to float32, as a model would have computed it.
func Float32(data []float64) []float32 {
	out := make([]float32, len(data))
	for i, x := range data {
		out[i] = float32(x)
	}
	return out
}

// Identity is attention to the target itself.
func Identity(t, s int) float64 { return On(s == t) }

// ToFirst is attention to the first token.
func ToFirst(_, s int) float64 { return On(s == 0) }

// Previous is attention to the token before the target; the first token attends to itself.
func Previous(t, s int) float64 { return On(s == max(t-1, 0)) }

// Causal is uniform attention to the target and every token before it.
func Causal(t, s int) float64 { return On(s <= t) / float64(t+1) }

// Evenly is 1/(t+1) for each source, also for those after the target.
func Evenly(t, _ int) float64 { return 1 / float64(t+1) }

// On returns 1 for true and 0 for false.
func On(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Entry returns [l,i,j] of data, [L,T,T].
func Entry(data []float64, T, l, i, j int) float64 { return data[(l*T+i)*T+j] }

// Near fails if got and want differ by more than tol anywhere.
func Near(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Errorf("%s = %v, want %v", what, got, want)
			return
		}
	}
}
