package aggregation

import (
	"context"

	"github.com/headwater-ml/headwater/internal/maxflow"
)

func init() { Register("flow", flow{}) }

// flow computes how much could flow from a target to an input token if attention weights were the
// capacities of pipes:
//
//	F_l[t,j] = max-flow from (l,t) to (0,j), edge (k,u)→(k-1,v) of capacity Â_k[u,v]
//
// (Abnar and Zuidema 2020, §3). It is exact. Each pair of tokens is a problem of its own, and the
// problems share pipes. So a row sums to 1 or more and is not a decomposition; the paper divides
// rows by their sums, as method flow-normalized does. With [Rows.Top], the edges of the target in
// the explained layer are those of one head. MinCut of package attribution returns the edges that
// limit a flow.
//
// R ≤ F ≤ min(1, Σ_k Â_1[k,j]), where R is rollout; the more layers, the nearer the values are to
// the upper limit. One row costs T max-flows a level; levels share some of the work. By default
// only the top level is computed. A state keeps 3·L·T²/2 numbers.
type flow struct{}

// Info describes the aggregation.
func (flow) Info() Info {
	return Info{
		Summary: "the most that could pass from each input token if attention weights were the " +
			"widths of pipes",
		Formula: "F_l[t,j] = max-flow (l,t)→(0,j) with capacities Â",
		Paper:   "Abnar and Zuidema 2020, §3",
		Cost: "T max-flow problems a token and level; the top level alone unless all levels " +
			"are asked for",
		AllRows:  true,
		Residual: 0.5,
		TopOnly:  true,
	}
}

// New returns the state of an empty text.
func (flow) New(cfg Config) State {
	return &flowState{cfg: cfg, graph: maxflow.New(cfg.Layers, cfg.Prefix)}
}

// flowState keeps the network of one text.
type flowState struct {
	cfg    Config
	graph  *maxflow.Graph
	levels []float64 // of one target, [K,T]
}

// Extend adds targets; see [State].
func (s *flowState) Extend(ctx context.Context, dst []float64, rows Rows) ([]float64, error) {
	s.cfg.check("flow", s.graph.Tokens(), rows)
	s.graph.Extend(rows.Data, rows.N)
	K, T := s.cfg.Levels(), rows.T()
	dst, added := grow(dst, K*(rows.N-rows.Skip)*T)
	for n := rows.Skip; n < rows.N; n++ {
		if err := s.row(ctx, rows, n); err != nil {
			return nil, pkg.Errorf("flow: row %d: %w", rows.First+n, err)
		}
		for k := range K {
			copy(added[(k*(rows.N-rows.Skip)+n-rows.Skip)*T:], s.levels[k*T:(k+1)*T])
		}
	}
	return dst, nil
}

// row computes the levels of one target, [K,T].
func (s *flowState) row(ctx context.Context, rows Rows, n int) (err error) {
	s.levels = s.levels[:0]
	if !s.cfg.TopOnly && rows.Top == nil {
		s.levels, err = s.graph.Levels(ctx, s.levels, rows.First+n)
		return err
	}
	for l := s.cfg.Layers - s.cfg.Levels(); l < s.cfg.Layers; l++ {
		var top []float64
		if rows.Top != nil {
			top = rows.TopRow(l, n)
		}
		if s.levels, err = s.graph.Row(ctx, s.levels, l, rows.First+n, top); err != nil {
			return err
		}
	}
	return nil
}
