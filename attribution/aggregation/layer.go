package aggregation

import "context"

func init() { Register("layer", layer{}) }

// layer does not combine layers: the result of level l is Â_l, unchanged.
//
// Over attention without residual this is raw attention (Abnar and Zuidema 2020, §2); over value
// zeroing it is the map of Mohebbi et al. 2023. It copies T numbers for each layer and token.
type layer struct{}

// Info describes the aggregation.
func (layer) Info() Info {
	return Info{
		Summary: "each layer alone: how much a target takes from each source in that layer",
		Formula: "Â_l",
		Paper:   "Abnar and Zuidema 2020, §2",
		Cost:    "nothing",
		Shares:  true,
		Single:  true,
	}
}

// New returns a state that keeps nothing, so the rows of a call need not follow those of the last
// one.
func (layer) New(cfg Config) State { return layerState{cfg} }

// layerState has only its configuration.
type layerState struct{ cfg Config }

// Extend appends the rows of every level asked for; see [State].
func (s layerState) Extend(ctx context.Context, dst []float64, rows Rows) ([]float64, error) {
	have := rows.First // any first row will do, except among tokens that see each other
	if have < s.cfg.Prefix {
		have = 0
	}
	s.cfg.check("layer", have, rows)
	T := rows.T()
	for l := s.cfg.Layers - s.cfg.Levels(); l < s.cfg.Layers; l++ {
		for n := rows.Skip; n < rows.N; n++ {
			w := s.cfg.Width(rows.First+n, T)
			dst = append(dst, rows.TopRow(l, n)[:w]...)
			dst = append(dst, make([]float64, T-w)...)
		}
	}
	return dst, ctx.Err()
}
