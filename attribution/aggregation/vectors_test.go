package aggregation

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestRowOfRollout: the row of one target by products of vectors is that of the state, for every
// target, one level and all, with and without rows of their own for the explained layer.
func TestRowOfRollout(t *testing.T) {
	const L, T = 4, 9
	random := rand.New(rand.NewPCG(3, 4))
	draw := func() []float64 {
		data := make([]float64, L*T*T)
		for i := range L * T {
			row, sum := data[i*T:(i+1)*T], 0.0
			for s := range i%T + 1 {
				row[s] = random.Float64()
				sum += row[s]
			}
			for s := range row {
				row[s] /= sum
			}
		}
		return data
	}
	rows := Rows{L: L, N: T, Data: draw()}
	for _, top := range [][]float64{nil, draw()} {
		for _, topOnly := range []bool{false, true} {
			rows.Top = top
			cfg := Config{Layers: L, TopOnly: topOnly}
			whole, err := rollout{}.New(cfg).Extend(context.Background(), nil, rows)
			must(t, err)
			calls := 0
			multiply := func(l, k int, left []float64, top bool) ([]float64, error) {
				calls++
				out := make([]float64, k*T)
				for i := range k {
					for u := range T {
						row := rows.Row(l, u)
						if top {
							row = rows.TopRow(l, u)
						}
						for s, x := range row {
							out[i*T+s] += left[i*T+u] * x
						}
					}
				}
				return out, nil
			}
			for target := range T {
				got, err := rollout{}.Row(context.Background(), cfg, target, T, multiply)
				must(t, err)
				for k := range cfg.Levels() {
					for s := range T {
						want := whole[(k*T+target)*T+s]
						if math.Abs(got[k*T+s]-want) > 1e-14 {
							t.Errorf("level %d of %d, target %d, source %d: %v, want %v", k,
								cfg.Levels(), target, s, got[k*T+s], want)
						}
					}
				}
			}
			if most := T * 2 * L; calls > most {
				t.Errorf("%d products for %d rows, want at most %d", calls, T, most)
			}
		}
	}
}

// TestRowOfRolloutErrors: an error of a product is returned, and so is one of a wrong size.
func TestRowOfRolloutErrors(t *testing.T) {
	broken := errors.New("broken")
	cfg := Config{Layers: 3}
	for name, multiply := range map[string]Multiply{
		"at once": func(int, int, []float64, bool) ([]float64, error) { return nil, broken },
		"below": func(l, _ int, left []float64, _ bool) ([]float64, error) {
			if l == 0 {
				return nil, broken
			}
			return left, nil
		},
	} {
		_, err := (rollout{}).Row(context.Background(), cfg, 1, 4, multiply)
		if !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want that of the product", name, err)
		}
	}
	short := func(_, k int, left []float64, top bool) ([]float64, error) {
		if top {
			return left, nil
		}
		return left[:1], nil
	}
	if _, err := (rollout{}).Row(context.Background(), cfg, 1, 4, short); err == nil {
		t.Error("a product of the wrong size is no error")
	}
}

// TestMultiplyUniform: vectors times uniform attention with residual, by definition, worked out by
// hand for three tokens: rows (1), (1/4, 3/4), (1/6, 1/6, 2/3) at r = ½.
func TestMultiplyUniform(t *testing.T) {
	got := MultiplyUniform(2, 3, []float64{1, 2, 3, 0, 0, 6}, 0.5)
	want := []float64{1 + 0.5 + 0.5, 1.5 + 0.5, 2, 1, 1, 4}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-15 {
			t.Errorf("entry %d is %v, want %v", i, got[i], want[i])
		}
	}
}
