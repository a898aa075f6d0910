package attribution

import (
	"cmp"
	"slices"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// rule turns the rows C of a mixing into Â = rownorm((1-r)C + rI). Before that it applies the
// options DropSink, Discard and LocalLift to C, in this order.
type rule struct {
	// residual is r, in [0,1].
	residual float64
	// measured says that each target and layer has its own residual weight, which comes with the
	// rows.
	measured bool
	// scaled says that C has a unit of its own, so its rows are divided by their sums first.
	scaled          bool
	dropSink, local bool
	discard         float64
	// whole says that discard uses the whole map of a decoder, whose rows then come all at once.
	whole bool
}

// apply returns Â and the places of rows that stay all zero, which are zero in C with r = 0. Unless
// the rule is scaled, the identity is added before rows are divided by their sums. That matters for
// heads fused by maximum or minimum, whose rows do not sum to 1. For measured residuals, ratios has
// 1-r of target t in column t of its row. The arguments are not modified.
func (r rule) apply(c Mixed, ratios *Mixed, cfg Config) (Mixed, []place) {
	zeros := r.applyTo(&c, &c.Data, ratios, cfg)
	if c.Top != nil {
		zeros = append(zeros, r.applyTo(&c, &c.Top, ratios, cfg)...)
	}
	return c, zeros
}

// place names a row of a mixing: its layer, counted from the plan's first, and its target.
type place struct{ layer, target int }

// applyTo replaces *data, [L,N,T], by a normalised copy and returns the places of rows that are all
// zero.
func (r rule) applyTo(c *Mixed, data *[]float64, ratios *Mixed, cfg Config) (zeros []place) {
	out := slices.Clone(*data)
	size := c.N * c.T()
	for l := range c.L {
		r.prepare(out[l*size:(l+1)*size], c, cfg)
		for n := range c.N {
			t, residual := c.First+n, r.residual
			if r.measured {
				residual = 1 - ratios.Row(l, n)[t]
			}
			if !rowmath.Normalize(rowmath.At(out, l*c.N+n, c.T()), t, residual) {
				zeros = append(zeros, place{l, t})
			}
		}
	}
	*data = out
	return zeros
}

// prepare applies, to the rows of one layer, [N,T], all that comes before the residual is added.
func (r rule) prepare(data []float64, c *Mixed, cfg Config) {
	each := func(change func(x []float64, visible int)) {
		for n := range c.N {
			change(rowmath.At(data, n, c.T()), cfg.width(c.First+n, c.T()))
		}
	}
	if r.scaled {
		each(func(x []float64, _ int) { rowmath.DivideBySum(x) })
	}
	if r.dropSink {
		each(dropSink)
	}
	switch {
	case r.discard == 0:
	case cfg.Bidirectional || r.whole:
		discardLowest(data, r.discard)
	default:
		each(func(x []float64, visible int) { discardLowest(x[:visible], r.discard) })
	}
	if r.local {
		each(localLift)
	}
}

// dropSink sets the first source of a row to 0 and divides the rest by its sum. A target that sees
// only the first source keeps it.
func dropSink(x []float64, visible int) {
	if visible > 1 {
		x[0] = 0
		rowmath.DivideBySum(x)
	}
}

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
// Entry 0 always stays.
func discardLowest(x []float64, ratio float64) {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	for _, i := range order[:int(ratio*float64(len(x)))] {
		if i > 0 {
			x[i] = 0
		}
	}
}

// uniform returns the rows of uniform attention, 1/visible for each visible source, in the shape of
// like.
func uniform(like Mixed, cfg Config) Mixed {
	u := Mixed{First: like.First, L: like.L, N: like.N, Skip: like.Skip}
	u.Data = make([]float64, len(like.Data))
	for l := range u.L {
		for n := range u.N {
			w := cfg.width(u.First+n, u.T())
			for s := range w {
				u.Row(l, n)[s] = 1 / float64(w)
			}
		}
	}
	return u
}
