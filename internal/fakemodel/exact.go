package fakemodel

import "math/big"

// UniformCausal returns entry [i,j] of the rollout of L layers of [Causal] attention, exactly:
//
//	R_L[i,j] = C(i,j) Σ_m (-1)^m C(i-j,m) λ_{j+m}^L
//
// where λ_k = (k+2)/(2(k+1)), or 1/(k+1) without residual.
func UniformCausal(L, i, j int, residual bool) *big.Rat {
	sum := new(big.Rat)
	for m := range i - j + 1 {
		k := int64(j + m)
		lambda := big.NewRat(1, k+1)
		if residual {
			lambda = big.NewRat(k+2, 2*(k+1))
		}
		term := new(big.Rat).SetInt(new(big.Int).Binomial(int64(i-j), int64(m)))
		for range L {
			term.Mul(term, lambda)
		}
		if m%2 == 1 {
			term.Neg(term)
		}
		sum.Add(sum, term)
	}
	return sum.Mul(sum, new(big.Rat).SetInt(new(big.Int).Binomial(int64(i), int64(j))))
}
