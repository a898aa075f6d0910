package evaluate

import "fmt"

// Cues is how well a row of scores points at tokens that are known to matter.
type Cues struct {
	// Dot is the share of the scores' sum that lies on the cues; NaN if a score is negative or all
	// are zero.
	Dot Value `json:"dot"`
	// AveragePrecision is the mean over the cues of how many of the tokens down to each in the
	// ranking are cues.
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
// (Mohebbi et al. 2023, §5). Equal scores are taken in every order, and each measure is its mean
// over them: a constant row has the chance level, whatever the order of the tokens. It panics if
// the lengths differ or no token is a cue.
func Align(scores []float64, cue []bool) Cues {
	if len(scores) != len(cue) {
		panic(fmt.Sprintf("evaluate: %d scores for %d tokens", len(scores), len(cue)))
	}
	all := make([]int, len(scores))
	for i := range all {
		all[i] = i
	}
	order := falling(scores, all)
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

// Chance is what scores that say nothing get on average: k cues among n tokens.
func Chance(n, k int) Cues {
	cue := make([]bool, n)
	for i := range k {
		cue[i] = true
	}
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = 1
	}
	return Align(scores, cue)
}

// dot returns the share of scores on cues, NaN if they are no shares.
func dot(scores []float64, cue []bool) Value {
	on, sum := 0.0, 0.0
	for i, s := range scores {
		if s < 0 {
			return nothing
		}
		sum += s
		if cue[i] {
			on += s
		}
	}
	if sum == 0 {
		return nothing
	}
	return Value(on / sum)
}

// expectedPrecision is the mean over all orders of n equal tokens, k of them cues, of Σ precision
// at the cues, where before tokens with so many cues come first (McSherry and Najork 2008, §4).
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

// expectedReciprocal is the mean over all orders of n equal tokens, k of them cues, of 1 over the
// rank of the first cue behind before others.
func expectedReciprocal(n, k, before int) float64 {
	sum, none := 0.0, 1.0 // none is the probability that no cue has come
	for i := 1; i <= n-k+1; i++ {
		hit := float64(k) / float64(n-i+1)
		sum += none * hit / float64(before+i)
		none *= 1 - hit
	}
	return sum
}
