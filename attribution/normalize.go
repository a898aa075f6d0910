package attribution

import (
	"cmp"
	"slices"
)

// rule is how the rows C of a mixing become Â = rownorm((1-r)C + rI). What it does to C before
// that, in this order, are the options DropSink, Discard and LocalLift.
type rule struct {
	residual float64
	// measured says that the residual weights come with the rows instead.
	measured bool
	// scaled says that C has a unit of its own and is divided by its sums first.
	scaled          bool
	dropSink, local bool
	discard         float64
	// whole says that discard takes the whole map of a decoder, whose rows then come all at once.
	whole bool
}

// apply returns Â and the rows that stay all zero: those of C where r is 0. C need not be
// normalised: the identity is added before the division, which matters for heads fused by maximum
// or minimum, whose rows do not sum to 1, unless it has a unit of its own. ratios has, for measured
// residuals, 1-r of target t in column t of its row. The arguments are not modified.
func (r rule) apply(c Mixed, ratios *Mixed, cfg Config) (Mixed, []place) {
	zeros := r.applyTo(&c, &c.Data, ratios, cfg)
	if c.Top != nil {
		zeros = append(zeros, r.applyTo(&c, &c.Top, ratios, cfg)...)
	}
	return c, zeros
}

// place is a row of a mixing.
type place struct{ layer, target int }

// applyTo replaces *data, [L,N,T], by its normalised copy and returns the rows that are all zero.
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
			if !normalizeRow(row(out, l*c.N+n, c.T()), t, residual) {
				zeros = append(zeros, place{l, t})
			}
		}
	}
	*data = out
	return zeros
}

// prepare does to the rows of one layer, [N,T], what comes before the residual is added.
func (r rule) prepare(data []float64, c *Mixed, cfg Config) {
	each := func(change func(x []float64, visible int)) {
		for n := range c.N {
			change(row(data, n, c.T()), cfg.width(c.First+n, c.T()))
		}
	}
	if r.scaled {
		each(func(x []float64, _ int) { divideBySum(x) })
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

// dropSink takes the first source out of a row and divides the rest by its sum. A target that sees
// nothing else keeps it.
func dropSink(x []float64, visible int) {
	if visible > 1 {
		x[0] = 0
		divideBySum(x)
	}
}

// localLift divides a row by what uniform attention gives each source that the target sees:
//
//	C'[t,j] = C[t,j]·(t+1)
//
// in a decoder. It is one factor for the whole row, so that it acts only as another weight of the
// residual: 1/(t+2) instead of ½.
func localLift(x []float64, visible int) {
	for s := range x {
		x[s] *= float64(visible)
	}
}

// discardLowest sets the lowest ⌊ρn⌋ of n entries to 0, the first ones among equals, and never the
// first of all.
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

// normalizeRow turns row c of a target into Â in place. It returns false if the row is all zero and
// stays so.
func normalizeRow(c []float64, target int, residual float64) bool {
	if residual != 0 {
		for s := range c {
			c[s] *= 1 - residual
		}
		c[target] += residual
	}
	return divideBySum(c)
}

// divideBySum makes a row sum to 1 and returns whether it could: a row of zeros stays as it is.
func divideBySum(c []float64) bool {
	sum := 0.0
	for _, x := range c {
		sum += x
	}
	if sum == 0 {
		return false
	}
	for s := range c {
		c[s] /= sum
	}
	return true
}

// uniform returns the rows C of attention that is spread evenly over the visible sources, in the
// shape of like.
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
