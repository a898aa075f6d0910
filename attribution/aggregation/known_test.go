package aggregation_test

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// The known answers below are closed forms and fractions; the numbers in the names are those of the
// project's list.

// knownTol is rounding over a dozen layers of products of numbers up to 1.
const knownTol = 1e-13

// rowsOf returns L equal layers [L,T,T] of attention(i,j) with ½ residual, which is added here, not
// by the code under test.
func rowsOf(L, T int, attention func(i, j int) float64) []float64 {
	data := make([]float64, 0, L*T*T)
	for range L {
		for i := range T {
			for j := range T {
				x := attention(i, j) / 2
				if i == j {
					x += 0.5
				}
				data = append(data, x)
			}
		}
	}
	return data
}

func TestKnown01Identity(t *testing.T) {
	const L, T = 5, 4
	want := rowsOf(L, T, fakemodel.Identity)
	for _, name := range []string{"layer", "rollout", "flow"} {
		near(t, name, aggregate(t, name, false, L, T, want), want, 0)
	}
}

func TestKnown02UniformEncoder(t *testing.T) {
	const L, T = 12, 6
	got := aggregate(t, "rollout", true, L, T, rowsOf(L, T, func(int, int) float64 {
		return 1.0 / T
	}))
	half := big.NewRat(1, 1)
	for l := range L {
		half.Mul(half, big.NewRat(1, 2)) // 2^{-L}
		off := new(big.Rat).Sub(big.NewRat(1, 1), half)
		off.Mul(off, big.NewRat(1, T)) // (1-2^{-L})/n
		want := make([]float64, T*T)
		for i := range T {
			for j := range T {
				x := new(big.Rat).Set(off)
				if i == j {
					x.Add(x, half)
				}
				want[i*T+j], _ = x.Float64()
			}
		}
		near(t, fmt.Sprintf("R_%d", l+1), got[l*T*T:(l+1)*T*T], want, knownTol)
	}
}

func TestKnown03UniformCausal(t *testing.T) {
	const L, T = 12, 24
	plain := make([]float64, 0, L*T*T)
	for range L {
		for i := range T {
			for j := range T {
				plain = append(plain, fakemodel.Causal(i, j))
			}
		}
	}
	for _, residual := range []bool{true, false} {
		data := plain
		if residual {
			data = rowsOf(L, T, fakemodel.Causal)
		}
		got := aggregate(t, "rollout", false, L, T, data)
		for l := range L {
			for i := range T {
				for j := range i + 1 {
					want, _ := fakemodel.UniformCausal(l+1, i, j, residual).Float64()
					if x := fakemodel.Entry(got, T, l, i, j); abs(x-want) > knownTol {
						t.Fatalf("residual %v: R_%d[%d,%d] = %v, want %v", residual, l+1, i,
							j, x, want)
					}
				}
			}
		}
	}
	// The same by hand, so that the formula is checked as well.
	got := aggregate(t, "rollout", false, L, T, rowsOf(L, T, fakemodel.Causal))
	for i, want := range [][]float64{
		{1},
		{7. / 16, 9. / 16},
		{23. / 72, 17. / 72, 4. / 9},
		{49. / 192, 37. / 192, 31. / 192, 25. / 64},
	} {
		near(t, fmt.Sprintf("R_2[%d]", i), got[(T+i)*T:][:i+1], want, knownTol)
	}
	for i, want := range []float64{1, .96832, .94435, .92454} {
		near(t, "first column of R_12", []float64{fakemodel.Entry(got, T, 11, i, 0)}, []float64{want}, 5e-6)
	}
	near(t, "last row of R_3 without residual",
		aggregate(t, "rollout", false, L, T, plain)[(2*T+3)*T:][:4],
		[]float64{415. / 576, 115. / 576, 37. / 576, 9. / 576}, knownTol)
}

func TestKnown04TwoTokens(t *testing.T) {
	for _, a := range [][]float64{{.5, .5, .5}, {.1, .7, .3}, {.9, .8, .6, .95}} {
		var data []float64
		product, sum, most := 1.0, 0.0, 0.0
		for _, x := range a {
			data = append(data, 1, 0, x/2, 1-x/2)
			product *= 1 - x/2
			sum += x
			most = max(most, x)
		}
		L := len(a)
		rollout, flow := aggregate(t, "rollout", false, L, 2, data), aggregate(t, "flow", false,
			L, 2, data)
		near(t, "rollout", rollout[4*L-2:], []float64{1 - product, product}, knownTol)
		near(t, "flow", flow[4*L-2:], []float64{min(1, sum/2), 1 - most/2}, knownTol)
	}
	data := rowsOf(3, 2, fakemodel.Causal)
	near(t, "rollout at a=½, L=3", aggregate(t, "rollout", false, 3, 2, data)[10:],
		[]float64{.578125, .421875}, knownTol)
	near(t, "flow at a=½, L=3", aggregate(t, "flow", false, 3, 2, data)[10:], []float64{.75, .75},
		knownTol)
}

func TestKnown05OneLayer(t *testing.T) {
	data := rowsOf(1, 5, fakemodel.Causal)
	near(t, "flow", aggregate(t, "flow", false, 1, 5, data), data, 0)
	near(t, "rollout", aggregate(t, "rollout", false, 1, 5, data), data, 0)
}

func TestKnown06FlowBounds(t *testing.T) {
	const L, T = 6, 20
	for seed := range uint64(6) {
		bidirectional := seed%2 == 1
		data := fakemodel.SharpRows(seed, L, T, bidirectional)
		R, F := aggregate(t, "rollout", bidirectional, L, T, data), aggregate(t, "flow",
			bidirectional, L, T, data)
		for l := range L {
			for i := range T {
				for j := range T {
					column := 0.0
					for k := range T {
						column += fakemodel.Entry(data, T, 0, k, j)
					}
					r, f := fakemodel.Entry(R, T, l, i, j), fakemodel.Entry(F, T, l, i, j)
					if r > f+knownTol || f > min(1, column)+knownTol {
						t.Fatalf("seed %d: level %d [%d,%d]: R %v ≤ F %v ≤ min(1,%v) does not hold",
							seed, l, i, j, r, f, column)
					}
				}
			}
		}
	}
}

func TestKnown07UniformEncoderFlow(t *testing.T) {
	const L, n = 6, 5
	got := aggregate(t, "flow", true, L, n, rowsOf(L, n, func(int, int) float64 { return 1.0 / n }))
	off := []float64{1. / (2 * n), .5, 1 - 1./(2*n), 1, 1, 1}
	for l := range L {
		diagonal := 1.0
		if l == 0 {
			diagonal = .5 + 1./(2*n)
		}
		for i := range n {
			for j := range n {
				want := off[l]
				if i == j {
					want = diagonal
				}
				near(t, fmt.Sprintf("F_%d[%d,%d]", l+1, i, j), []float64{fakemodel.Entry(got, n, l, i, j)},
					[]float64{want}, knownTol)
			}
		}
	}
}

func TestKnown08Sink(t *testing.T) {
	const L, T = 4, 5
	data := rowsOf(L, T, fakemodel.ToFirst)
	R, F := aggregate(t, "rollout", false, L, T, data), aggregate(t, "flow", false, L, T, data)
	half := 1.0
	for l := range L {
		half /= 2
		for i := 1; i < T; i++ {
			flow := 1.0
			if l == 0 {
				flow = .5
			}
			near(t, "rollout", []float64{fakemodel.Entry(R, T, l, i, 0), fakemodel.Entry(R, T, l, i, i)},
				[]float64{1 - half, half}, knownTol)
			near(t, "flow", []float64{fakemodel.Entry(F, T, l, i, 0), fakemodel.Entry(F, T, l, i, i)},
				[]float64{flow, .5}, knownTol)
		}
	}
}

func TestKnown09PreviousToken(t *testing.T) {
	const L, T = 6, 10
	got := aggregate(t, "rollout", false, L, T, rowsOf(L, T, fakemodel.Previous))
	for l := range L {
		for i := range T {
			want, rest := make([]float64, T), 1.0
			for k := range i { // k < i
				x, _ := new(big.Rat).SetFrac(new(big.Int).Binomial(int64(l+1), int64(k)),
					big.NewInt(1<<(l+1))).Float64()
				want[i-k] = x
				rest -= x
			}
			want[0] += rest
			near(t, fmt.Sprintf("R_%d[%d]", l+1, i), got[(l*T+i)*T:][:T], want, knownTol)
		}
	}
}

func TestKnown10Permutation(t *testing.T) {
	const L, T = 5, 4
	next := []int{2, 0, 3, 1}
	got := aggregate(t, "rollout", true, L, T, rowsOf(L, T, func(i, j int) float64 {
		return fakemodel.On(next[i] == j)
	}))
	for i := range T {
		want, at := make([]float64, T), i
		for k := range L + 1 {
			x, _ := new(big.Rat).SetFrac(new(big.Int).Binomial(L, int64(k)),
				big.NewInt(1<<L)).Float64()
			want[at] += x
			at = next[at]
		}
		near(t, fmt.Sprintf("R_5[%d]", i), got[((L-1)*T+i)*T:][:T], want, knownTol)
	}
}

func TestKnown11UniformCausalFlow(t *testing.T) {
	for _, c := range []struct {
		L, n int
		want []float64
	}{
		{1, 4, []float64{1. / 8, 1. / 8, 1. / 8, 5. / 8}},
		{2, 4, []float64{4. / 8, 3. / 8, 2. / 8, 5. / 8}},
		{3, 4, []float64{7. / 8, 5. / 8, 3. / 8, 5. / 8}},
		{4, 4, []float64{8. / 8, 7. / 8, 4. / 8, 5. / 8}},
		{4, 5, []float64{1, .9, .7, .4, .6}},
		{2, 3, []float64{1. / 2, 1. / 3, 2. / 3}},
	} {
		got := aggregate(t, "flow", false, c.L, c.n, rowsOf(c.L, c.n, fakemodel.Causal))
		near(t, fmt.Sprintf("L=%d n=%d last row", c.L, c.n), got[len(got)-c.n:], c.want, knownTol)
	}
}

// 22: over rows that contain the residual, rollout is the plain product; ½(I+sink) then gives the
// sums of test 8.
func TestKnown22PlainProduct(t *testing.T) {
	const L, T = 3, 4
	data := fakemodel.SharpRows(3, L, T, false)
	got := aggregate(t, "rollout", false, L, T, data)
	want := data[:T*T]
	for l := 1; l < L; l++ {
		next := make([]float64, T*T)
		for i := range T {
			for j := range T {
				for k := range T {
					next[i*T+j] += fakemodel.Entry(data, T, l, i, k) * want[k*T+j]
				}
			}
		}
		want = next
	}
	near(t, "C_3 C_2 C_1", got[(L-1)*T*T:], want, knownTol)
}

func abs(x float64) float64 { return max(x, -x) }
