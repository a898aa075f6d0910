package compare

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// TestNearTie: the strongest sources differ, but on one side both are nearly as strong.
func TestNearTie(t *testing.T) {
	for _, c := range []struct {
		largest, second float64
		of              attribution.Quantity
		want            bool
	}{
		{0.40, 0.391, attribution.Share, true},    // 0.9 points
		{0.15, 0.1405, attribution.Share, true},   // 0.95 points, 6.3 %
		{0.15, 0.139, attribution.Share, false},   // 1.1 points
		{0.50, 0.48, attribution.Share, true},     // 4 %
		{0.01, 0.002, attribution.Share, false},   // 0.8 points are most of it
		{-2, 1.9, attribution.Amount, true},       // 5 % of the size
		{2, 1.8, attribution.Amount, false},       // 10 %
		{0.15, 0.1405, attribution.Amount, false}, // points are for shares
	} {
		if got := nearTie(c.largest, c.second, c.of); got != c.want {
			t.Errorf("%v and %v, %v: %t, want %t", c.largest, c.second, c.of, got, c.want)
		}
	}
}
