package attribution

// normalized returns Â = rownorm((1-r)C + rI) of the rows C and the rows that stay all zero: those of C where r is 0.
// C need not be normalised: the identity is added before the division, which matters for heads fused by maximum or
// minimum, whose rows do not sum to 1. The argument is not modified.
func normalized(c Mixed, residual float64) (Mixed, []place) {
	zeros := normalizeAll(&c, &c.Data, residual)
	if c.Top != nil {
		zeros = append(zeros, normalizeAll(&c, &c.Top, residual)...)
	}
	return c, zeros
}

// place is a row of a mixing.
type place struct{ layer, target int }

// normalizeAll replaces *data, [L,N,T], by its normalised copy and returns the rows that are all zero.
func normalizeAll(c *Mixed, data *[]float64, residual float64) (zeros []place) {
	out := make([]float64, len(*data))
	copy(out, *data)
	for l := range c.L {
		for n := range c.N {
			if !normalizeRow(row(out, l*c.N+n, c.T()), c.First+n, residual) {
				zeros = append(zeros, place{l, c.First + n})
			}
		}
	}
	*data = out
	return zeros
}

// normalizeRow turns row c of a target into Â in place. It returns false if the row is all zero and stays so.
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

// uniform returns the rows Â of attention that is spread evenly over the visible sources, in the shape of like.
func uniform(like Mixed, residual float64, cfg Config) Mixed {
	u := Mixed{First: like.First, L: like.L, N: like.N, Skip: like.Skip}
	u.Data = make([]float64, len(like.Data))
	for l := range u.L {
		for n := range u.N {
			r := u.Row(l, n)
			for s := range cfg.width(u.First+n, u.T()) {
				r[s] = 1
			}
			divideBySum(r)
			normalizeRow(r, u.First+n, residual)
		}
	}
	return u
}
