package aggregation

import (
	"cmp"
	"slices"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Normalization turns the rows C of a mixing into Â = rownorm((1-r)C + rI). Before that it applies
// the options DropSink and Discard to C, in this order. They are about the sources that a target
// sees in a layer; see [Config.Seen]. The sink is the first token, of two stacks that of the
// target.
type Normalization struct {
	// Residual is r, in [0,1].
	Residual float64
	// Scaled reports whether C has a unit of its own, so its rows are divided by their sums first.
	Scaled   bool
	DropSink bool
	Discard  float64
}

// Apply returns Â and the places of rows that stay all zero, which are zero in C with r = 0. Unless
// the rule is scaled, the identity is added before rows are divided by their sums. That matters for
// heads fused by maximum or minimum, whose rows do not sum to 1. The arguments are not modified.
func (r Normalization) Apply(c Rows, cfg Config) (Rows, []Place) {
	zeros := r.applyTo(&c, &c.Data, cfg)
	if c.Top != nil {
		zeros = append(zeros, r.applyTo(&c, &c.Top, cfg)...)
	}
	return c, zeros
}

// Place names a row of a mixing: its layer, counted from the plan's first, and its target.
type Place struct{ Layer, Target int }

// applyTo replaces *data, [L,N,T], by a normalised copy and returns the places of rows that are all
// zero.
func (r Normalization) applyTo(c *Rows, data *[]float64, cfg Config) (zeros []Place) {
	out := slices.Clone(*data)
	size := c.N * c.T()
	for l := range c.L {
		r.prepare(out[l*size:(l+1)*size], l, c, cfg)
		for n := range c.N {
			t := c.First + n
			if !rowmath.Normalize(rowmath.At(out, l*c.N+n, c.T()), t, r.Residual) {
				zeros = append(zeros, Place{l, t})
			}
		}
	}
	*data = out
	return zeros
}

// prepare applies, to the rows of layer l, [N,T], all that comes before the residual is added.
func (r Normalization) prepare(data []float64, l int, c *Rows, cfg Config) {
	sink := cfg.Prefix
	if sink >= c.T() { // an encoder
		sink = 0
	}
	drops := func(from, to int) bool { // what sees nothing else keeps it
		return r.DropSink && from <= sink && sink < to && to-from > 1
	}
	each := func(change func(x []float64, from, to int)) {
		for n := range c.N {
			from, to := cfg.Seen(l, c.First+n, c.T())
			change(rowmath.At(data, n, c.T()), from, to)
		}
	}
	if r.Scaled {
		each(func(x []float64, _, _ int) { rowmath.DivideBySum(x) })
	}
	each(func(x []float64, from, to int) {
		if drops(from, to) {
			x[sink] = 0
			rowmath.DivideBySum(x)
		}
	})
	switch {
	case r.Discard == 0:
	case cfg.Prefix >= c.T():
		discardLowest(data, r.Discard, func(i int) bool {
			return i%c.T() == sink && drops(cfg.Seen(l, c.First+i/c.T(), c.T()))
		})
	default:
		each(func(x []float64, from, to int) {
			discardLowest(x[from:to], r.Discard,
				func(i int) bool { return from+i == sink && drops(from, to) })
		})
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

// Uniform returns the rows of uniform attention, 1/n for each of the n sources that a target sees
// in a layer, in the shape of like.
func Uniform(like Rows, cfg Config) Rows {
	u := Rows{First: like.First, L: like.L, N: like.N, Skip: like.Skip}
	u.Data = make([]float64, len(like.Data))
	for l := range u.L {
		for n := range u.N {
			from, to := cfg.Seen(l, u.First+n, u.T())
			for s := from; s < to; s++ {
				u.Row(l, n)[s] = 1 / float64(to-from)
			}
		}
	}
	return u
}
