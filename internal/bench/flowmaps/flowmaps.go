// Package flowmaps makes attention maps of the kinds by which flow is tested and measured: causal
// or bidirectional, ½ residual in them unless said otherwise, equal on every run.
package flowmaps

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Kinds are the names that [New] knows. The rows of gamma0.1, 0.4 and 2.0 are Dirichlet with that
// concentration: the smaller, the sharper. previous puts 70 % on the token before and sink90 90 %
// on the first token; the rest is Dirichlet of 0.3. In uniform all visible tokens get as much,
// which makes ties.
var Kinds = []string{"gamma0.1", "gamma0.4", "gamma2.0", "previous", "sink90", "uniform"}

// Maps is L layers of T rows over T sources.
type Maps struct {
	Name string
	L, T int
	// Prefix is how many tokens at the beginning see each other: none, or all of a bidirectional
	// map.
	Prefix int
	// Data is [L,T,T]. Rows sum to 1.
	Data []float64
}

// At returns row i, column j of layer l.
func (m Maps) At(l, i, j int) float64 { return m.Data[(l*m.T+i)*m.T+j] }

// New returns maps of a kind. It panics if the kind is unknown.
func New(kind string, L, T int, bidirectional bool, seed uint64) Maps {
	rng := rand.New(rand.NewPCG(seed, 1))
	concentration, share, favourite := 0.3, 0.0, before
	switch kind {
	case "gamma0.1":
		concentration = 0.1
	case "gamma0.4":
		concentration = 0.4
	case "gamma2.0":
		concentration = 2
	case "previous":
		share = 0.7
	case "sink90":
		share, favourite = 0.9, first
	case "uniform":
		return Fill(kind, L, T, bidirectional, true, func(int, int, []float64) {})
	default:
		panic(fmt.Sprintf("flowmaps: kind %q, want one of %q", kind, Kinds))
	}
	return Fill(kind, L, T, bidirectional, true, func(_, i int, row []float64) {
		for j := range row {
			row[j] = gamma(rng, concentration)
		}
		normalize(row, 1-share)
		row[favourite(i)] += share
	})
}

func before(i int) int { return max(i-1, 0) }
func first(int) int    { return 0 }

// Fill returns maps whose rows are what set makes of the visible part of a row of ones, divided by
// its sum; ½ residual is added if asked. Rows of zeros stay so.
func Fill(
	name string, L, T int, bidirectional, residual bool, set func(l, i int, row []float64),
) Maps {
	m := Maps{Name: name, L: L, T: T, Data: make([]float64, L*T*T)}
	if bidirectional {
		m.Prefix = T
	}
	for l := range L {
		for i := range T {
			row := m.Data[(l*T+i)*T:][:T]
			if !bidirectional {
				row = row[:i+1]
			}
			for j := range row {
				row[j] = 1
			}
			set(l, i, row)
			if !residual {
				normalize(row, 1)
				continue
			}
			normalize(row, 0.5)
			row[i] += 0.5
		}
	}
	return m
}

// normalize makes a row sum to a total. A row so small that this overflows stays as it is.
func normalize(row []float64, total float64) {
	sum := 0.0
	for _, x := range row {
		sum += x
	}
	for j := range row {
		if sum > 0 && !math.IsInf(total/sum, 0) {
			row[j] *= total / sum
		}
	}
}

// gamma returns a number of the gamma distribution of that shape, by the method of Marsaglia and
// Tsang (2000).
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(rng, shape+1) * math.Pow(rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	for {
		x := rng.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
