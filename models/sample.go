package models

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// checkSampling returns an error that names the setting that is out of range.
func checkSampling(s trace.Sampling) error {
	switch {
	case !(s.Temperature >= 0) || math.IsInf(s.Temperature, 1):
		return pkg.Errorf("temperature %v is not a number from 0", s.Temperature)
	case s.TopK < 0:
		return pkg.Errorf("top-k %d is negative", s.TopK)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return pkg.Errorf("top-p %v is not in [0,1]", s.TopP)
	case s.Beams < 0 || s.Beams > trace.MaxBeams:
		return pkg.Errorf("%d beams; want at most %d", s.Beams, trace.MaxBeams)
	case s.Beams > 1 && s.Temperature > 0:
		return pkg.Errorf("%d beams and a temperature of %v; a search draws no tokens", s.Beams,
			s.Temperature)
	}
	return nil
}

// softmax returns the probabilities of logits [V] in float64.
func softmax(logits []float32) []float64 { return softmaxInto(nil, logits) }

// softmaxInto is softmax into the memory of p, if that is large enough.
func softmaxInto(p []float64, logits []float32) []float64 {
	top := float64(slices.Max(logits))
	p = slices.Grow(p[:0], len(logits))[:len(logits)]
	sum := 0.0
	for i, x := range logits {
		p[i] = rowmath.Exp(float64(x) - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// scoresOf returns the scores of a token by the logits that predict it, [V].
func scoresOf(logits []float32, token int) *trace.TokenScores {
	entropy, surprisal, rank := rowmath.Scores(logits, token)
	return &trace.TokenScores{Entropy: entropy, Surprisal: surprisal, Rank: rank}
}

// choose returns a token. If the temperature is 0, it is the most probable token, and the one with
// the lowest id among equals. Otherwise it is random, with the temperature, top-k and top-p applied
// in this order.
func choose(p []float64, s trace.Sampling, rng *rand.Rand) int {
	if s.Temperature == 0 {
		return mostProbable(p, 1)[0]
	}
	order := mostProbable(p, len(p))
	if s.TopK > 0 {
		order = order[:min(s.TopK, len(order))]
	}
	weights := make([]float64, len(order))
	sum := 0.0
	for i, id := range order {
		weights[i] = math.Pow(p[id]/p[order[0]], 1/s.Temperature)
		sum += weights[i]
	}
	if s.TopP > 0 {
		kept := nucleus(weights, s.TopP*sum)
		order, weights = order[:kept], weights[:kept]
	}
	return order[draw(weights, rng)]
}

// nucleus returns how many of the first weights, which are in descending order, reach mass; at
// least one.
func nucleus(weights []float64, mass float64) int {
	sum := 0.0
	for i, w := range weights {
		if sum += w; sum >= mass {
			return i + 1
		}
	}
	return len(weights)
}

// draw returns a random index, with probabilities in proportion to the weights.
func draw(weights []float64, rng *rand.Rand) int {
	x := rng.Float64() * rowmath.Total(weights)
	for i, w := range weights {
		if x -= w; x < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// mostProbable returns the k most probable tokens in descending order, with lower ids first among
// equals.
func mostProbable(p []float64, k int) []int {
	k = min(k, len(p))
	if k <= 0 {
		return nil
	}
	if k == len(p) {
		return rowmath.Falling(p, nil)
	}
	top := make([]int, 0, k+1)
	for id, x := range p {
		if len(top) == k && x <= p[top[k-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, x, func(other int, x float64) int {
			if p[other] >= x {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, id)
		top = top[:min(k, len(top))]
	}
	return top
}
