package evaluate

import (
	"cmp"
	"fmt"
	"slices"

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

// falling returns the tokens, nil for all, ordered by falling score; among equal scores, the
// earlier token comes first.
func falling(scores []float64, tokens []int) []int {
	order := slices.Clone(tokens)
	if tokens == nil {
		for j := range scores {
			order = append(order, j)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return order
}
