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
