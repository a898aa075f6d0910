package attribution_test

import (
	"math"
	"math/rand/v2"
)

// sharpAttention returns L random layers [L,T,T] whose rows sum to 1, most of it on few sources.
func sharpAttention(seed uint64, L, T int, bidirectional bool) []float64 {
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

// sharpRows returns sharpAttention with ½ residual.
func sharpRows(seed uint64, L, T int, bidirectional bool) []float64 {
	data := sharpAttention(seed, L, T, bidirectional)
	for i := range data {
		data[i] /= 2
		if i%T == i/T%T {
			data[i] += 0.5
		}
	}
	return data
}

// toFloat32 is what a model would have computed.
func toFloat32(data []float64) []float32 {
	out := make([]float32, len(data))
	for i, x := range data {
		out[i] = float32(x)
	}
	return out
}
