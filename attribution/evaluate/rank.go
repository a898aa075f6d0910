package evaluate

import (
	"fmt"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Spearman returns the rank correlation of two rows of equal length: the linear correlation of
// their ranks, where equal values have the mean of their ranks. ok is false if one row is constant,
// has fewer than two values or contains NaN. It panics if the lengths differ.
//
//	Spearman([1 1 2], [1 2 3]) = √3/2
func Spearman(x, y []float64) (rho float64, ok bool) {
	if len(x) != len(y) {
		panic(fmt.Sprintf("evaluate: correlation of %d and %d values", len(x), len(y)))
	}
	return rowmath.RankCorrelation(x, y)
}
