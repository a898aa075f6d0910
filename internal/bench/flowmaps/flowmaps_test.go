package flowmaps_test

import (
	"math"
	"testing"

	"github.com/headwater-ml/headwater/internal/bench/flowmaps"
)

func TestNew(t *testing.T) {
	for _, kind := range flowmaps.Kinds {
		for _, bidirectional := range []bool{false, true} {
			m := flowmaps.New(kind, 2, 30, bidirectional, 1)
			for l := range m.L {
				for i := range m.T {
					sum := 0.0
					for j := range m.T {
						sum += m.At(l, i, j)
						if !bidirectional && j > i && m.At(l, i, j) != 0 {
							t.Fatalf("%s: target %d sees source %d", kind, i, j)
						}
					}
					if math.Abs(sum-1) > 1e-12 || m.At(l, i, i) < 0.5 {
						t.Fatalf("%s: row %d sums to %v with %v of its own", kind, i, sum,
							m.At(l, i, i))
					}
				}
			}
		}
	}
	if got := flowmaps.New("sink90", 1, 30, false, 1).At(0, 29, 0); got < 0.45 {
		t.Errorf("sink90: %v on token 0, want 0.45 and more", got)
	}
	if got := flowmaps.New("previous", 1, 30, false, 1).At(0, 29, 28); got < 0.35 {
		t.Errorf("previous: %v on the token before, want 0.35 and more", got)
	}
}

func TestWild(t *testing.T) {
	kinds, denormal := map[string]bool{}, false
	for seed := range uint64(200) {
		m := flowmaps.Wild(12, seed)
		kinds[m.Name] = true
		if m.T < 2 || m.T > 12 || len(m.Data) != m.L*m.T*m.T {
			t.Fatalf("seed %d: %d layers, %d tokens, %d numbers", seed, m.L, m.T, len(m.Data))
		}
		for at, x := range m.Data {
			later := !m.Bidirectional && at%m.T > at/m.T%m.T
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
