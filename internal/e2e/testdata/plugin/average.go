package plugin

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/aggregation"
)

func init() { aggregation.Register("average", average{}) }

// average is the mean of the rows of the layers so far:
//
//	M_l[t,:] = (Â_1[t,:] + … + Â_l[t,:]) / l
type average struct{}

func (average) Info() aggregation.Info {
	return aggregation.Info{
		Summary: "the mean over the layers so far",
		Formula: "M_l = mean over k ≤ l of Â_k",
		Paper:   "none",
		Cost:    "L·T additions a token",
		Shares:  true,
	}
}

// New returns a state, which remembers nothing: a row needs no other targets' rows.
func (average) New(cfg aggregation.Config) aggregation.State { return averageState{cfg} }

type averageState struct{ cfg aggregation.Config }

func (s averageState) Extend(ctx context.Context, dst []float64, rows aggregation.Rows) ([]float64, error) {
	if rows.L != s.cfg.Layers {
		panic(fmt.Sprintf("plugin: average: rows of %d layers, state of %d", rows.L, s.cfg.Layers))
	}
	first := 0
	if s.cfg.TopOnly {
		first = rows.L - 1
	}
	for l := first; l < rows.L; l++ {
		for n := rows.Skip; n < rows.N; n++ {
			dst = append(dst, s.row(l, n, rows)...)
		}
	}
	return dst, ctx.Err()
}

// row is the result of level l for target First+n, [T]: the level explained by its own row, which may be that of one head, over merged
// layers below. Sources that the target cannot see stay 0.
func (s averageState) row(l, n int, rows aggregation.Rows) []float64 {
	out := make([]float64, rows.T())
	for source := range s.cfg.Width(rows.First+n, rows.T()) {
		sum := rows.TopRow(l, n)[source]
		for k := range l {
			sum += rows.Row(k, n)[source]
		}
		out[source] = sum / float64(l+1)
	}
	return out
}
