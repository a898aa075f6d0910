package aggregation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

// longRows are rows of T tokens with a residual of ½. sharp is how unlike the weights are.
func longRows(L, T int, sharp float64) Rows {
	random := rand.New(rand.NewPCG(uint64(T), uint64(10*sharp)))
	rows := Rows{L: L, N: T, Data: make([]float64, L*T*T)}
	for i := range L * T {
		row, sum := rows.Data[i*T:(i+1)*T], 0.0
		for s := range i%T + 1 {
			row[s] = math.Exp(sharp * random.NormFloat64())
			sum += row[s]
		}
		for s := range row {
			row[s] /= 2 * sum
		}
		row[i%T] += 0.5
	}
	return rows
}

// multiplyRows multiplies by rows that are stored.
func multiplyRows(rows Rows) Multiply {
	T := rows.T()
	return func(l, k int, left []float64, _ bool) ([]float64, error) {
		out := make([]float64, k*T)
		for i := range k {
			for u := range T {
				for s, x := range rows.Row(l, u) {
					out[i*T+s] += left[i*T+u] * x
				}
			}
		}
		return out, nil
	}
}

// TestBoundsOfFlow: the exact flow of every token is between the bounds, for smooth and sharp rows,
// a target at the end and within the text; and the values of the tokens that were kept are nearer
// to the flow than their rollout.
func TestBoundsOfFlow(t *testing.T) {
	const rounding = 1e-12
	for _, L := range []int{1, 2, 4} {
		for _, sharp := range []float64{0, 1, 4} {
			const T = 150 // three times what is kept
			rows := longRows(L, T, sharp)
			cfg := Config{Layers: L, TopOnly: true}
			exact, err := flow{}.New(cfg).Extend(context.Background(), nil, rows)
			must(t, err)
			for _, target := range []int{0, 30, T - 1} {
				name := fmt.Sprintf("%d layers, sharpness %v, target %d", L, sharp, target)
				b, err := flow{}.Bounds(context.Background(), cfg, target, T, multiplyRows(rows))
				must(t, err)
				want := min(target+1, keptTokens)
				if len(b.Kept) < want || len(b.Kept) == T {
					t.Errorf("%s: %d of %d tokens kept, want %d and some more", name,
						len(b.Kept), T, want)
				}
				if !slices.Contains(b.Kept, target) {
					t.Errorf("%s: the target is not among the kept", name)
				}
				for j := range T {
					f := exact[target*T+j]
					if b.Low[j] > f+rounding || b.High[j] < f-rounding {
						t.Errorf("%s: flow %v of token %d is not in [%v, %v]", name, f, j,
							b.Low[j], b.High[j])
					}
				}
			}
		}
	}
}

// TestBoundsOfWholeText: where every token is kept, both bounds are the flow.
func TestBoundsOfWholeText(t *testing.T) {
	const L, T = 3, keptTokens
	rows := longRows(L, T, 2)
	cfg := Config{Layers: L, TopOnly: true}
	exact, err := flow{}.New(cfg).Extend(context.Background(), nil, rows)
	must(t, err)
	b, err := flow{}.Bounds(context.Background(), cfg, T-1, T, multiplyRows(rows))
	must(t, err)
	for j := range T {
		f := exact[(T-1)*T+j]
		if math.Abs(b.Low[j]-f) > 1e-12 || math.Abs(b.High[j]-f) > 1e-12 {
			t.Errorf("token %d: bounds %v and %v, want %v", j, b.Low[j], b.High[j], f)
		}
	}
}

// TestBoundsByHand: four tokens, of which the first is joined with the second. All rows read both
// equally, so the low network loses them and the high network has their sum.
func TestBoundsByHand(t *testing.T) {
	n := joined([]int{2, 3}, 3)
	if !slices.Equal(n.of, []int{0, 0, 1, 2}) || !slices.Equal(n.single(), []int{1, 2}) {
		t.Fatalf("nodes %v, single %v", n.of, n.single())
	}
	rows := Rows{L: 2, N: 4, Data: slices.Concat(
		[]float64{1, 0, 0, 0, 0.5, 0.5, 0, 0, 0.25, 0.25, 0.5, 0, 0.125, 0.125, 0.25, 0.5},
		[]float64{1, 0, 0, 0, 0.5, 0.5, 0, 0, 0.25, 0.25, 0.5, 0, 0.125, 0.125, 0.25, 0.5},
	)}
	must(t, n.read(context.Background(), 2, 3, 4, multiplyRows(rows)))
	low, err := n.flows(context.Background(), 2, n.single())
	must(t, err)
	high, err := n.flows(context.Background(), 2, n.all())
	must(t, err)
	// To token 2: ½ to itself and on by ¼, and ¼ to token 2 and on by ½: ¼ + ¼.
	// To the run: ½ and on by ¼, ¼ and on by ½, and ¼ into the run, which passes it on.
	wantLow, wantHigh := []float64{0.5, 0.5}, []float64{0.75, 0.5, 0.5}
	for i := range wantLow {
		if math.Abs(low[i]-wantLow[i]) > 1e-14 {
			t.Errorf("low %v, want %v", low, wantLow)
		}
	}
	for i := range wantHigh {
		if math.Abs(high[i]-wantHigh[i]) > 1e-14 {
			t.Errorf("high %v, want %v", high, wantHigh)
		}
	}
}

// TestBoundsErrors: an error of a product ends it.
func TestBoundsErrors(t *testing.T) {
	broken := errors.New("broken")
	for after := range 6 {
		calls := 0
		rows := multiplyRows(longRows(3, 60, 1))
		_, err := flow{}.Bounds(context.Background(), Config{Layers: 3, TopOnly: true}, 59, 60,
			func(l, k int, left []float64, top bool) ([]float64, error) {
				if calls++; calls > after {
					return nil, broken
				}
				return rows(l, k, left, top)
			})
		if !errors.Is(err, broken) {
			t.Errorf("after %d products: error %v, want that of the product", after, err)
		}
	}
}

var must = testhelp.Must // ends a test at an error
