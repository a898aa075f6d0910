package aggregation

import (
	"context"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() { Register("rollout", rollout{}) }

// rollout multiplies the rows of all layers, as if attention moved mass from sources to targets:
//
//	R_0 = I,  R_l[t,:] = Â_l[t,:] R_{l-1},  Â_l = rownorm((1-r) C_l + r I)
//
// (Abnar and Zuidema 2020, §3). r is ½ in the paper. It is 0 for mixings that contain the residual,
// as in Mohebbi et al. 2023 for Value Zeroing. With [Rows.Top], level l is Â_l^h R_{l-1}, one head
// over merged lower layers (appendix A.1).
//
// The result has every level R_1..R_L. If the rows sum to 1, so do those of the result, and a
// causal text stays causal. One more token costs L·T²/2 multiplications, a whole text L·T³/6. A
// state keeps (L-1)·T²/2 numbers.
type rollout struct{}

// Info describes the aggregation.
func (rollout) Info() Info {
	return Info{
		Summary: "mass followed down through all layers: how much of a target comes from each " +
			"input token",
		Formula:  "R_l = Â_l R_{l-1}, R_0 = I",
		Paper:    "Abnar and Zuidema 2020, §3",
		Cost:     "L·T² multiplications a token",
		AllRows:  true,
		Residual: 0.5,
		Shares:   true,
	}
}

// New returns the state of an empty text.
func (rollout) New(cfg Config) State {
	return &rolloutState{cfg: cfg, prefix: make([][][]float64, cfg.Layers-1)}
}

// rolloutState keeps row t of R_1..R_{L-1} for every target t: prefix[l][t] is [t+1], or as
// long as [Config.Width] says.
type rolloutState struct {
	cfg     Config
	prefix  [][][]float64
	targets int
}

// Extend adds targets; see [State].
func (s *rolloutState) Extend(ctx context.Context, dst []float64, rows Rows) ([]float64, error) {
	s.cfg.check("rollout", s.targets, rows)
	T, wanted := rows.T(), rows.N-rows.Skip
	base := s.cfg.Layers - s.cfg.Levels() // the first level of the result
	dst, out := grow(dst, s.cfg.Levels()*wanted*T)
	for l := range s.cfg.Layers {
		if err := ctx.Err(); err != nil {
			return nil, pkg.Errorf("rollout: layer %d of %d: %w", l, s.cfg.Layers, err)
		}
		s.extendLevel(l, rows)
		if l < base {
			continue
		}
		for n := rows.Skip; n < rows.N; n++ {
			s.level(rowmath.At(out, (l-base)*wanted+n-rows.Skip, T), l, rows, n)
		}
	}
	s.targets += rows.N
	return dst, nil
}

// extendLevel computes and keeps R_{l+1} of the new targets, which the layer above needs. The top
// layer has none above it, so nothing is kept for it.
func (s *rolloutState) extendLevel(l int, rows Rows) {
	if l == len(s.prefix) {
		return
	}
	have, T := len(s.prefix[l]), rows.T()
	s.prefix[l] = append(s.prefix[l], make([][]float64, rows.N)...)
	inParallel(rows.N, rows.N*T*T/2, func(n int) {
		w := s.cfg.Width(rows.First+n, T)
		r := make([]float64, w)
		s.product(r, l, rows.Row(l, n)[:w])
		s.prefix[l][have+n] = r
	})
}

// inParallel calls f for 0..n-1. It uses all processors if there are enough operations to be worth
// it.
func inParallel(n, operations int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if operations < 1<<20 {
		workers = 1
	}
	var wait sync.WaitGroup
	for k := range workers {
		work := func() {
			// Each worker takes every workers-th row, because later rows are longer.
			for i := k; i < n; i += workers {
				f(i)
			}
		}
		if k == workers-1 {
			work()
		} else {
			wait.Go(work)
		}
	}
	wait.Wait()
}

// level fills dst, [T] of zeros, with the result of level l for target First+n.
func (s *rolloutState) level(dst []float64, l int, rows Rows, n int) {
	t := rows.First + n
	if rows.Top == nil && l < len(s.prefix) {
		copy(dst, s.prefix[l][t])
		return
	}
	s.product(dst, l, rows.TopRow(l, n)[:s.cfg.Width(t, rows.T())])
}

// product sets dst, which must be zeros, to the row a times R_l; R_0 = I.
func (s *rolloutState) product(dst []float64, l int, a []float64) {
	if l == 0 {
		copy(dst, a)
		return
	}
	for k, x := range a {
		if x == 0 {
			continue
		}
		lower := s.prefix[l-1][k]
		floats.AddScaled(dst[:len(lower)], x, lower)
	}
}
