package compare

import (
	"math"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Agreement is how far the rows of A and B of one token agree.
type Agreement struct {
	// Correlation is Spearman's rank correlation of both rows, of their sizes if those are
	// compared; NaN if it is not defined, as for a constant row.
	Correlation float64
	// Same reports whether the strongest source, that of the largest size, is the same on both
	// sides. NearTie reports whether it is another one and on one side the other side's is nearly
	// as strong: within 5 % of it, or for shares within one percentage point and 10 %, as one point
	// of a share below 10 % is much.
	Same, NearTie bool
}

// Agreements are the agreement of all rows of a comparison.
type Agreements struct {
	Rows []Agreement // [R]
	// Correlated is the number of rows whose correlation is defined, Mean, Low and High are of it.
	Correlated      int
	Mean, Low, High float64
	// Same and NearTies count rows.
	Same, NearTies int
}

// Agree returns how far the rows agree that have a difference. of returns the sources of row t that
// count, which sinks should not.
func (c *Comparison) Agree(of func(t int) []int) Agreements {
	all := Agreements{Low: math.Inf(1), High: math.Inf(-1)}
	for t := range c.Results[Difference].Shape[0] {
		row := c.agree(t, of(t))
		all.Rows = append(all.Rows, row)
		if rho := row.Correlation; !math.IsNaN(rho) {
			all.Mean, all.Correlated = all.Mean+rho, all.Correlated+1
			all.Low, all.High = min(all.Low, rho), max(all.High, rho)
		}
		switch {
		case row.Same:
			all.Same++
		case row.NearTie:
			all.NearTies++
		}
	}
	all.Mean /= float64(all.Correlated)
	return all
}

// agree returns how far the rows of token t agree over some sources.
func (c *Comparison) agree(t int, sources []int) Agreement {
	a, b := c.Results[0], c.Results[1]
	var x, y []float64
	for _, j := range sources {
		x = append(x, c.compared(a.Rows[t][j]))
		y = append(y, c.compared(b.Rows[t][j]))
	}
	row := Agreement{Correlation: math.NaN()}
	if rho, ok := rowmath.RankCorrelation(x, y); ok {
		row.Correlation = rho
	}
	one, other := strongest(x), strongest(y)
	row.Same = one >= 0 && one == other && x[one]*y[other] > 0 // and not one for and one against
	row.NearTie = !row.Same && one >= 0 && other >= 0 &&
		(nearTie(x[one], x[other], a.Quantity) || nearTie(y[other], y[one], b.Quantity))
	return row
}

// nearTie reports whether the second of two values is nearly as large as the largest.
func nearTie(largest, second float64, of attribution.Quantity) bool {
	const rounding = 1e-6
	largest = math.Abs(largest)
	within := 0.05 * largest
	if of == attribution.Share {
		within = max(within, min(0.01, 0.1*largest))
	}
	return largest-math.Abs(second) <= within*(1+rounding)
}

// strongest returns the index of the value with the largest size, the first of several; -1 if there
// is none.
func strongest(values []float64) int {
	best := -1
	for j, x := range values {
		if size := math.Abs(x); size > 0 && (best < 0 || size > math.Abs(values[best])) {
			best = j
		}
	}
	return best
}
