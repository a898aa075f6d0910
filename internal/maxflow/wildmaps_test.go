package maxflow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headwater-ml/headwater/internal/bench/flowmaps"
)

// wild returns maps of a kind, size and scale that the seed decides: a softmax of logits with a
// standard deviation from 0.1 to 100, rows of one 1, equal entries and zeros, entries about as
// large as what rounding leaves of 1, and denormal ones. They are causal or bidirectional, with ½
// residual or without, and one in three is rounded to float32 before. most, 2 or more, is the
// largest T.
func wild(most int, seed uint64) flowmaps.Maps {
	rng := rand.New(rand.NewPCG(seed, 17))
	L, T := 3+rng.IntN(6), 2+rng.IntN(most-1)
	bidirectional, residual, rounded := rng.IntN(3) == 0, rng.IntN(2) == 0, rng.IntN(3) == 0
	kind, scale := rng.IntN(8), math.Pow(10, 3*rng.Float64()-1)
	name := []string{"one-hot", "equal", "dust", "denormal"}[min(kind, 3)]
	if kind > 3 {
		name = fmt.Sprintf("softmax of N(0,%.3g)", scale)
	}
	return flowmaps.Fill(name, L, T, bidirectional, residual, func(_, _ int, row []float64) {
		hot := rng.IntN(len(row))
		for j := range row {
			switch name {
			case "one-hot":
				row[j] = 0
			case "equal":
				row[j] = math.Ldexp(float64(rng.IntN(2)), -rng.IntN(4))
			case "dust":
				row[j] = math.Pow(10, -13-4*rng.Float64())
			case "denormal":
				row[j] = math.Ldexp(rng.Float64(), -1000-rng.IntN(80))
			default:
				row[j] = math.Exp(min(scale*rng.NormFloat64(), 690)) // no infinity
			}
		}
		if name == "one-hot" || name != "equal" && kind < 4 && rng.IntN(2) == 0 {
			row[hot] = 1
		}
		for j := range row {
			if rounded {
				row[j] = float64(float32(min(row[j], math.MaxFloat32)))
			}
		}
	})
}

// The wild maps are of all kinds, causal where they should be, and some are denormal.
func TestWildMaps(t *testing.T) {
	kinds, denormal := map[string]bool{}, false
	for seed := range uint64(200) {
		m := wild(12, seed)
		kinds[m.Name] = true
		if m.T < 2 || m.T > 12 || len(m.Data) != m.L*m.T*m.T {
			t.Fatalf("seed %d: %d layers, %d tokens, %d numbers", seed, m.L, m.T, len(m.Data))
		}
		for at, x := range m.Data {
			later := m.Prefix == 0 && at%m.T > at/m.T%m.T
			if !(x >= 0 && x <= 1+1e-12) || later && x != 0 {
				t.Fatalf("seed %d: %s: entry %d is %v", seed, m.Name, at, x)
			}
			denormal = denormal || x > 0 && x < 0x1p-1022
		}
	}
	for _, kind := range []string{"one-hot", "equal", "dust", "denormal"} {
		if !kinds[kind] {
			t.Errorf("no map of kind %s", kind)
		}
	}
	if !denormal {
		t.Error("no denormal entry")
	}
}
