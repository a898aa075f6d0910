package aggregation

import (
	"cmp"
	"slices"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Normalization turns the rows C of a mixing into Â = rownorm((1-r)C + rI). Before that it applies
// the options DropSink, Discard and LocalLift to C, in this order.
type Normalization struct {
	// Residual is r, in [0,1].
	Residual float64
	// Measured reports whether each target and layer has its own residual weight, which comes with
	// the rows.
	Measured bool
	// Scaled reports whether C has a unit of its own, so its rows are divided by their sums first.
	Scaled          bool
	DropSink, Local bool
	Discard         float64
	// Whole reports whether discard uses the whole map for decoders too. All their rows then come
	// in one call.
	Whole bool
}

// Apply returns Â and the places of rows that stay all zero, which are zero in C with r = 0. Unless
// the rule is scaled, the identity is added before rows are divided by their sums. That matters for
// heads fused by maximum or minimum, whose rows do not sum to 1. For measured residuals, ratios has
// 1-r of target t in column t of its row. The arguments are not modified.
func (r Normalization) Apply(c Rows, ratios *Rows, cfg Config) (Rows, []Place) {
	zeros := r.applyTo(&c, &c.Data, ratios, cfg)
	if c.Top != nil {
		zeros = append(zeros, r.applyTo(&c, &c.Top, ratios, cfg)...)
	}
	return c, zeros
}

// Place names a row of a mixing: its layer, counted from the plan's first, and its target.
type Place struct{ Layer, Target int }

// applyTo replaces *data, [L,N,T], by a normalised copy and returns the places of rows that are all
// zero.
func (r Normalization) applyTo(c *Rows, data *[]float64, ratios *Rows, cfg Config) (zeros []Place) {
	out := slices.Clone(*data)
	size := c.N * c.T()
	for l := range c.L {
		r.prepare(out[l*size:(l+1)*size], c, cfg)
		for n := range c.N {
			t, residual := c.First+n, r.Residual
			if r.Measured {
				residual = 1 - ratios.Row(l, n)[t]
			}
			if !rowmath.Normalize(rowmath.At(out, l*c.N+n, c.T()), t, residual) {
				zeros = append(zeros, Place{l, t})
			}
		}
	}
	*data = out
	return zeros
}

// prepare applies, to the rows of one layer, [N,T], all that comes before the residual is added.
func (r Normalization) prepare(data []float64, c *Rows, cfg Config) {
	each := func(change func(x []float64, visible int)) {
		for n := range c.N {
			change(rowmath.At(data, n, c.T()), cfg.Width(c.First+n, c.T()))
		}
	}
	if r.Scaled {
		each(func(x []float64, _ int) { rowmath.DivideBySum(x) })
	}
	each(func(x []float64, visible int) {
		if r.dropsSink(visible) {
			x[0] = 0
			rowmath.DivideBySum(x)
		}
	})
	switch {
	case r.Discard == 0:
	case cfg.Prefix >= c.T() || r.Whole:
		discardLowest(data, r.Discard, func(i int) bool {
			return i%c.T() == 0 && r.dropsSink(cfg.Width(c.First+i/c.T(), c.T()))
		})
	default:
		each(func(x []float64, visible int) {
			discardLowest(x[:visible], r.Discard,
				func(i int) bool { return i == 0 && r.dropsSink(visible) })
		})
	}
	if r.Local {
		each(localLift)
	}
}

// dropsSink reports whether the first source of a row is set to 0, and the rest divided by its sum.
// A target that sees only the first source keeps it.
func (r Normalization) dropsSink(visible int) bool { return r.DropSink && visible > 1 }

// localLift divides a row by the value that uniform attention gives to each source:
//
//	C'[t,j] = C[t,j]·(t+1)
//
// in a decoder. This is one factor for the whole row, so its only effect is another weight of the
// residual: 1/(t+2) instead of ½.
func localLift(x []float64, visible int) {
	for s := range x {
		x[s] *= float64(visible)
	}
}

// discardLowest sets the lowest ⌊ρn⌋ of n entries to 0; among equal entries, the earlier ones.
// Those that are removed do not count. Entry 0 always stays.
func discardLowest(x []float64, ratio float64, removed func(i int) bool) {
	order := make([]int, 0, len(x))
	for i := range x {
		if !removed(i) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	for _, i := range order[:int(ratio*float64(len(order)))] {
		if i > 0 {
			x[i] = 0
		}
	}
}

// Uniform returns the rows of uniform attention, 1/visible for each visible source, in the shape of
// like.
func Uniform(like Rows, cfg Config) Rows {
	u := Rows{First: like.First, L: like.L, N: like.N, Skip: like.Skip}
	u.Data = make([]float64, len(like.Data))
	for l := range u.L {
		for n := range u.N {
			w := cfg.Width(u.First+n, u.T())
			for s := range w {
				u.Row(l, n)[s] = 1 / float64(w)
			}
		}
	}
	return u
}
