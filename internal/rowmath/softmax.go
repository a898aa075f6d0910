package rowmath

import (
	"math"
	"slices"
)

// SoftmaxSum returns the largest of some logits, and the sum of exp(logit - largest), which cannot
// overflow.
func SoftmaxSum(logits []float32) (top, sum float64) {
	top = float64(slices.Max(logits))
	for _, x := range logits {
		sum += Exp(float64(x) - top)
	}
	return top, sum
}

// Scores returns, of the distribution p = softmax(logits) of finite logits, [V], the entropy
// -Σ p ln p and the surprisal -ln p(token) in nats, and the rank of the token: 1 more than the
// number of logits above its own.
func Scores(logits []float32, token int) (entropy, surprisal float64, rank int) {
	top, own := float64(slices.Max(logits)), logits[token]
	sum, below := 0.0, 0.0 // of the weights, and of how far logits are below the largest
	for _, x := range logits {
		weight := Exp(float64(x) - top)
		sum += weight
		below += weight * (top - float64(x))
		if x > own {
			rank++
		}
	}
	return math.Log(sum) + below/sum, math.Log(sum) + top - float64(own), rank + 1
}

// Divergence returns KL(p‖q) = Σ p (ln p - ln q) in nats, where p and q are the softmax of finite
// logits, [V] each.
func Divergence(p, q []float32) float64 {
	top, sum := SoftmaxSum(p)
	topQ, sumQ := SoftmaxSum(q)
	nearer := 0.0 // the mean of the difference of logits
	for i, x := range p {
		nearer += Exp(float64(x)-top) * ((float64(x) - top) - (float64(q[i]) - topQ))
	}
	return max(0, nearer/sum-math.Log(sum)+math.Log(sumQ)) // rounding may leave less than 0
}
