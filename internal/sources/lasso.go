package sources

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Lasso returns weights w, [d], and an intercept b that minimise
//
//	1/(2n) Σ_i (y_i - b - Σ_j z_ij u_j)² + λ Σ_j |u_j|,  z_ij = (x_ij - mean x_j)/deviation x_j
//
// with w_j = u_j/deviation x_j, so that b + Σ_j w_j x_ij predicts y_i for the columns as they are.
// A column that is constant has the weight 0. This is the scaling and the objective of the code of
// ContextCite, which uses scikit-learn.
//
// x is [n,d] and y is [n], n ≥ 1. Lasso takes one weight after another to its optimum, in index
// order (coordinate descent, Friedman et al. 2010, §2), until no weight moves by more than 1e-12 of
// the deviation of y, at most 100,000 times. It costs n·d multiplications each time. It panics if
// the lengths of rows differ, if there are none, or if lambda is negative. NaN and infinity
// propagate. Thousands of rows and columns that are hardly independent take minutes; it returns the
// error of ctx as soon as ctx is done.
func Lasso(ctx context.Context, x [][]float64, y []float64, lambda float64) (
	w []float64, b float64, err error,
) {
	n := len(x)
	if n == 0 || len(y) != n || lambda < 0 {
		panic(fmt.Sprintf("sources: lasso of %d rows and %d values with λ %v", n, len(y), lambda))
	}
	d := len(x[0])
	columns, means, deviations := standardized(x, d)
	rest, middle := centred(y) // y - Zu
	tolerance := 1e-12 * math.Sqrt(rowmath.Dot(rest, rest)/float64(n))
	u := make([]float64, d)
	for range 100_000 {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		moved := 0.0
		for j, z := range columns {
			if deviations[j] == 0 {
				continue
			}
			old := u[j]
			u[j] = shrunk(old+rowmath.Dot(z, rest)/float64(n), lambda)
			if change := u[j] - old; change != 0 {
				for i, v := range z {
					rest[i] -= change * v
				}
				moved = max(moved, math.Abs(change))
			}
		}
		if !(moved > tolerance) {
			break
		}
	}
	w, b = make([]float64, d), middle
	for j, v := range u {
		if deviations[j] > 0 {
			w[j] = v / deviations[j]
			b -= w[j] * means[j]
		}
	}
	return w, b, nil
}

// shrunk returns the value nearest to 0 that is at most lambda from v.
func shrunk(v, lambda float64) float64 {
	return math.Copysign(max(math.Abs(v)-lambda, 0), v)
}

// standardized returns the columns of x, [d,n], each with mean 0 and deviation 1, and the means and
// deviations that they had. A constant column is 0.
func standardized(x [][]float64, d int) (columns [][]float64, means, deviations []float64) {
	for j := range d {
		column := make([]float64, len(x))
		for i, row := range x {
			if len(row) != d {
				panic(fmt.Sprintf("sources: lasso of rows of %d and %d numbers", d, len(row)))
			}
			column[i] = row[j]
		}
		constant := slices.Min(column) == slices.Max(column) // rounding of the mean hides it below
		column, mean := centred(column)
		deviation := math.Sqrt(rowmath.Dot(column, column) / float64(len(x)))
		if constant {
			deviation = 0
		} else {
			for i := range column {
				column[i] /= deviation
			}
		}
		columns = append(columns, column)
		means, deviations = append(means, mean), append(deviations, deviation)
	}
	return columns, means, deviations
}

// centred returns values minus their mean, and the mean.
func centred(values []float64) (out []float64, mean float64) {
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	for _, v := range values {
		out = append(out, v-mean)
	}
	return out, mean
}
