package evaluate

import (
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Cues has measures of how well a row of scores finds tokens that are known to matter, the cues.
type Cues struct {
	// Dot is the share of the scores' sum that lies on the cues; NaN if a score is negative or all
	// are zero.
	Dot Value `json:"dot"`
	// AveragePrecision is the mean over the cues of the part of cues among the tokens ranked as
	// high as the cue or higher.
	AveragePrecision float64 `json:"average_precision"`
	// ReciprocalRank is 1 over the rank of the first cue.
	ReciprocalRank float64 `json:"reciprocal_rank"`
	// Rank is the mean rank of the cues, from 1.
	Rank float64 `json:"rank"`
}

// Align compares scores with cues:
//
//	dot = S·ζ / ΣS      AP = 1/|ζ| Σ_{c∈ζ} |cues up to c| / rank(c)
//
// where S are the scores and ζ the cues (Mohebbi et al. 2023, §5). If scores are equal, each
// measure is its mean over all orders of their tokens, so a constant row has the level of chance.
// Align panics if the lengths differ, a score is NaN or no token is a cue.
func Align(scores []float64, cue []bool) Cues {
	if len(scores) != len(cue) {
		panic(fmt.Sprintf("evaluate: %d scores for %d tokens", len(scores), len(cue)))
	}
	if j := slices.IndexFunc(scores, math.IsNaN); j >= 0 {
		panic(fmt.Sprintf("evaluate: the score of token %d is NaN", j))
	}
	order := rowmath.Falling(scores, nil)
	c := Cues{Dot: dot(scores, cue)}
	cues, before := 0, 0 // cues found, tokens ranked
	for first := 0; first < len(order); {
		end, inGroup := first, 0
		for end < len(order) && scores[order[end]] == scores[order[first]] {
			if cue[order[end]] {
				inGroup++
			}
			end++
		}
		n := end - first
		c.AveragePrecision += expectedPrecision(n, inGroup, before, cues)
		c.Rank += float64(inGroup) * (float64(before) + float64(n+1)/2)
		if cues == 0 && inGroup > 0 {
			c.ReciprocalRank = expectedReciprocal(n, inGroup, before)
		}
		cues, before, first = cues+inGroup, before+n, end
	}
	if cues == 0 {
		panic("evaluate: no token is a cue")
	}
	c.AveragePrecision /= float64(cues)
	c.Rank /= float64(cues)
	return c
}

// chance returns the mean of the measures over all rankings of as many tokens and cues.
func chance(cue []bool) Cues { return Align(slices.Repeat([]float64{1}, len(cue)), cue) }

// dot returns the share of the scores' sum on cues; NaN if a score is negative or all are zero.
func dot(scores []float64, cue []bool) Value {
	on, sum := 0.0, 0.0
	for i, s := range scores {
		if s < 0 {
			return undefined
		}
		sum += s
		if cue[i] {
			on += s
		}
	}
	if sum == 0 {
		return undefined
	}
	return Value(on / sum)
}

// expectedPrecision returns the sum of the precision at the cues among n tokens of equal score, k
// of them cues, as its mean over all orders of these tokens. before tokens rank higher, with cues
// cues among them (McSherry and Najork 2008, §4).
func expectedPrecision(n, k, before, cues int) float64 {
	sum := 0.0
	for i := 1; i <= n && k > 0; i++ {
		others := 0.0 // cues expected among the i-1 before a cue at i
		if n > 1 {
			others = float64(i-1) * float64(k-1) / float64(n-1)
		}
		sum += float64(k) / float64(n) * (float64(cues) + 1 + others) / float64(before+i)
	}
	return sum
}

// expectedReciprocal returns 1 over the rank of the first cue among n tokens of equal score, k of
// them cues, as its mean over all orders of these tokens. before tokens rank higher, none of them a
// cue.
func expectedReciprocal(n, k, before int) float64 {
	sum, none := 0.0, 1.0 // none is the probability that no cue has come
	for i := 1; i <= n-k+1; i++ {
		hit := float64(k) / float64(n-i+1)
		sum += none * hit / float64(before+i)
		none *= 1 - hit
	}
	return sum
}
