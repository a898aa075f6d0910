package aggregation

import (
	"context"
	"fmt"
)

// Vectors is an aggregation whose result for one target needs only products of vectors and layers,
// and no rows that are stored.
type Vectors interface {
	Aggregation
	// Row returns the result of [State.Extend] for target t alone, [K,T], in a causal text of T
	// tokens. multiply is asked for the products. The error is one of multiply or wraps ctx.Err().
	Row(ctx context.Context, cfg Config, t, T int, multiply Multiply) ([]float64, error)
}

// Multiply returns k vectors times the rows Â of a layer, left·Â, [k,T]; left is [k,T] too. top
// asks for the rows that explain the layer, those of [Rows.Top], where these are others.
type Multiply func(layer, k int, left []float64, top bool) ([]float64, error)

// Row computes row t of every level from the top layer down:
//
//	R_l[t,:] = ((e_t Â_l) Â_{l-1}) … Â_1
//
// Each level is one vector. The vectors of all levels go through a layer together, so each layer is
// asked once, and where the explained layer has rows of its own, once more for these. It costs
// L·T²/2 multiplications for each level above the layer, and keeps 2·K·T numbers.
func (rollout) Row(
	ctx context.Context, cfg Config, t, T int, multiply Multiply,
) ([]float64, error) {
	K, base := cfg.Levels(), cfg.Layers-cfg.Levels()
	rows := make([]float64, K*T)
	for l := cfg.Layers - 1; l >= 0; l-- {
		if err := ctx.Err(); err != nil {
			return nil, pkg.Errorf("rollout: layer %d of %d: %w", l, cfg.Layers, err)
		}
		if l >= base {
			// The target's own row of this layer.
			unit := make([]float64, T)
			unit[t] = 1
			first, err := multiply(l, 1, unit, true)
			if err != nil {
				return nil, err
			}
			if len(first) != T {
				return nil, fmt.Errorf("a product of %d numbers, want %d", len(first), T)
			}
			copy(rows[(l-base)*T:], first)
		}
		above := max(0, l+1-base) // the first level above this layer
		if above == K {
			continue
		}
		mixed, err := multiply(l, K-above, rows[above*T:], false)
		if err != nil {
			return nil, err
		}
		if len(mixed) != (K-above)*T {
			return nil, fmt.Errorf("a product of %d numbers, want %d", len(mixed), (K-above)*T)
		}
		copy(rows[above*T:], mixed)
	}
	return rows, nil
}

// MultiplyUniform returns k vectors, [k,T], times the rows of uniform attention in a causal text
// with residual weight r, [k,T]:
//
//	Â[t,s] = (1-r)/(t+1) + r·[s = t],  s ≤ t
//
// Entry s of a product is a sum over the targets from s on, so all of them take one way back
// through the text.
func MultiplyUniform(k, T int, left []float64, residual float64) []float64 {
	out := make([]float64, k*T)
	for i := range k {
		sum := 0.0
		for t := T - 1; t >= 0; t-- {
			x := left[i*T+t]
			sum += x / float64(t+1)
			out[i*T+t] = (1-residual)*sum + residual*x
		}
	}
	return out
}
