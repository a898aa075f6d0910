package sources_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headwater-ml/headwater/internal/sources"
)

// TestLassoByHand: all eight subsets of three sources are orthogonal once they are standardised, so
// a weight is the least-squares one, moved towards 0 by λ. y = 3x_0 + x_1 has the weights 1.5 and
// 0.5 of columns of deviation ½; λ = 0.2 leaves 1.3 and 0.3. Of the columns as they are these are
// 2.6 and 0.6, with an intercept of 2 - (2.6 + 0.6)/2.
func TestLassoByHand(t *testing.T) {
	var x [][]float64
	var y []float64
	for k := range 8 {
		row := []float64{float64(k & 1), float64(k >> 1 & 1), float64(k >> 2 & 1)}
		x, y = append(x, row), append(y, 3*row[0]+row[1])
	}
	w, b, _ := sources.Lasso(t.Context(), x, y, 0.2)
	near(t, "weights", w, []float64{2.6, 0.6, 0}, 1e-12)
	near(t, "intercept", []float64{b}, []float64{0.4}, 1e-12)
	w, b, _ = sources.Lasso(t.Context(), x, y, 2)
	near(t, "weights of a large λ", w, []float64{0, 0, 0}, 0)
	near(t, "intercept of a large λ", []float64{b}, []float64{2}, 1e-12)
}

// TestLassoConstantColumn: a source that every ablation keeps has the weight 0, also where the mean
// of its column is rounded.
func TestLassoConstantColumn(t *testing.T) {
	var x [][]float64
	var y []float64
	for k := range 7 {
		x, y = append(x, []float64{0.1, float64(k % 2)}), append(y, float64(k%2))
	}
	w, b, _ := sources.Lasso(t.Context(), x, y, 0)
	near(t, "weights", w, []float64{0, 1}, 1e-12)
	near(t, "intercept", []float64{b}, []float64{0}, 1e-12)
}

// TestLassoBruteForce compares with the best of all choices of which weights are positive, negative
// and zero: with given signs s the optimum solves Z'Z u = Z'y - nλs, and the objective is convex.
func TestLassoBruteForce(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 15))
		n, d := 12, 1+int(seed%4)
		x, y := make([][]float64, n), make([]float64, n)
		for i := range x {
			for range d {
				x[i] = append(x[i], float64(rng.IntN(2)))
			}
			y[i] = rng.NormFloat64()
			for j, v := range x[i] {
				y[i] += float64(j) * v
			}
		}
		lambda := []float64{0.001, 0.1, 0.5}[seed%3]
		w, b, _ := sources.Lasso(t.Context(), x, y, lambda)
		want, intercept, ok := bruteForce(x, y, lambda)
		if !ok {
			continue // a constant column
		}
		near(t, "weights", w, want, 1e-8)
		near(t, "intercept", []float64{b}, []float64{intercept}, 1e-8)
	}
}

// bruteForce returns the lasso by trying all signs. ok is false if a column is constant.
func bruteForce(x [][]float64, y []float64, lambda float64) (w []float64, b float64, ok bool) {
	n, d := len(x), len(x[0])
	mean := func(f func(i int) float64) float64 {
		sum := 0.0
		for i := range n {
			sum += f(i)
		}
		return sum / float64(n)
	}
	means, deviations := make([]float64, d), make([]float64, d)
	for j := range d {
		means[j] = mean(func(i int) float64 { return x[i][j] })
		deviations[j] = math.Sqrt(mean(func(i int) float64 {
			return (x[i][j] - means[j]) * (x[i][j] - means[j])
		}))
		if deviations[j] < 1e-9 {
			return nil, 0, false
		}
	}
	z := func(i, j int) float64 { return (x[i][j] - means[j]) / deviations[j] }
	middle := mean(func(i int) float64 { return y[i] })
	best := math.Inf(1)
	choices := 1
	for range d {
		choices *= 3
	}
	for c := range choices {
		signs := make([]float64, d)
		for j, rest := 0, c; j < d; j, rest = j+1, rest/3 {
			signs[j] = float64(rest%3 - 1)
		}
		// The equations of the weights that are not 0, and u_j = 0 for the others.
		a := make([][]float64, d)
		for j := range d {
			a[j] = make([]float64, d+1)
			if signs[j] == 0 {
				a[j][j] = 1
				continue
			}
			for k := range d {
				if signs[k] != 0 {
					a[j][k] = mean(func(i int) float64 { return z(i, j) * z(i, k) })
				}
			}
			a[j][d] = mean(func(i int) float64 { return z(i, j) * (y[i] - middle) }) -
				lambda*signs[j]
		}
		u, solved := solve(a)
		if !solved {
			continue
		}
		size := 0.0
		for j := range d {
			if u[j]*signs[j] < 0 {
				solved = false
			}
			size += math.Abs(u[j])
		}
		loss := lambda*size + mean(func(i int) float64 {
			off := y[i] - middle
			for j := range d {
				off -= z(i, j) * u[j]
			}
			return off * off / 2
		})
		if solved && loss < best {
			best, w, b = loss, make([]float64, d), middle
			for j := range d {
				w[j] = u[j] / deviations[j]
				b -= w[j] * means[j]
			}
		}
	}
	return w, b, true
}

// solve returns x of the equations a, [d,d+1], by elimination.
func solve(a [][]float64) (x []float64, ok bool) {
	d := len(a)
	for k := range d {
		pivot := k
		for i := k; i < d; i++ {
			if math.Abs(a[i][k]) > math.Abs(a[pivot][k]) {
				pivot = i
			}
		}
		a[k], a[pivot] = a[pivot], a[k]
		if math.Abs(a[k][k]) < 1e-9 {
			return nil, false
		}
		for i := range d {
			if i == k {
				continue
			}
			factor := a[i][k] / a[k][k]
			for j := k; j <= d; j++ {
				a[i][j] -= factor * a[k][j]
			}
		}
	}
	for k := range d {
		x = append(x, a[k][d]/a[k][k])
	}
	return x, true
}

// TestLassoOptimality: with more sources than ablations the conditions of an optimum hold: the
// correlation of a column with what is left is λ times the sign of its weight, and at most λ where
// the weight is 0.
func TestLassoOptimality(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 15))
	n, d, lambda := 24, 60, 0.05
	x, y := make([][]float64, n), make([]float64, n)
	for i := range x {
		for range d {
			x[i] = append(x[i], float64(rng.IntN(2)))
		}
		y[i] = 3*x[i][4] - 2*x[i][50] + rng.NormFloat64()
	}
	w, b, _ := sources.Lasso(t.Context(), x, y, lambda)
	used := 0
	for j := range d {
		mean, square, correlation := 0.0, 0.0, 0.0
		for i := range x {
			mean += x[i][j] / float64(n)
		}
		for i := range x {
			square += (x[i][j] - mean) * (x[i][j] - mean) / float64(n)
		}
		for i := range x {
			rest := y[i] - b
			for k, v := range x[i] {
				rest -= w[k] * v
			}
			correlation += (x[i][j] - mean) / math.Sqrt(square) * rest / float64(n)
		}
		switch {
		case w[j] == 0 && math.Abs(correlation) > lambda+1e-9:
			t.Errorf("weight %d is 0 and its correlation %v, want at most %v", j, correlation,
				lambda)
		case w[j] != 0 && math.Abs(correlation-math.Copysign(lambda, w[j])) > 1e-9:
			t.Errorf("weight %d is %v and its correlation %v, want ±%v", j, w[j], correlation,
				lambda)
		case w[j] != 0:
			used++
		}
	}
	if used == 0 || used == d {
		t.Errorf("%d of %d weights are not 0, so the test proves nothing", used, d)
	}
}

// near fails if got and want differ by more than tol.
func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Errorf("%s: %v, want %v within %g", what, got, want, tol)
			return
		}
	}
}
