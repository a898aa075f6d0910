package sources

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestLassoStops: a fit without a penalty, of as many columns as rows, takes seconds. It ends when
// its context does.
func TestLassoStops(t *testing.T) {
	const n = 64
	r := rand.New(rand.NewPCG(1, 1))
	x, y := make([][]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = make([]float64, n), r.NormFloat64()
		for j := range x[i] {
			x[i][j] = float64(r.IntN(2))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w, _, err := Lasso(ctx, x, y, 0); !errors.Is(err, context.Canceled) || w != nil {
		t.Errorf("error %v and %d weights, want that of the context and none", err, len(w))
	}
}
