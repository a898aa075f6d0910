package figure

import (
	"math/rand/v2"
	"testing"
)

// Names stay between the borders, in their order and apart from each other, and where there is room
// they stay where they belong.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		const apart, low, high = 5.0, 10.0, 210.0
		wanted := make([]float64, 1+r.IntN(40))
		at := low
		for i := range wanted {
			at = min(at+r.ExpFloat64()*4, high)
			wanted[i] = at
		}
		got := spread(wanted, apart, low, high)
		free := true
		for i, x := range got {
			if x < low-1e-9 || x > high+1e-9 || i > 0 && x-got[i-1] < apart-1e-9 {
				t.Fatalf("the names at %v are placed at %v", wanted, got)
			}
			free = free && (i == 0 || wanted[i]-wanted[i-1] >= apart)
		}
		for i, x := range got {
			if free && x != wanted[i] && x-wanted[i] > 1e-9 {
				t.Fatalf("there is room for the names at %v, but they are placed at %v", wanted, got)
			}
		}
	}
	if got := spread([]float64{20, 21, 22}, 5, 0, 100); got[0] != 16 || got[1] != 21 || got[2] != 26 {
		t.Errorf("three neighbours are placed at %v, want 16, 21, 26", got)
	}
}
