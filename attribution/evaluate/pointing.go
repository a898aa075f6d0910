package evaluate

import (
	"fmt"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// topTokens is the k of the measure that looks for evidence among the k highest scores.
const topTokens = 3

// Pointing has measures of how well signed scores point at tokens that are known to speak for the
// prediction (Arras et al. 2025, §4). Unlike [Cues], whose ranks may be by size, they rank by
// value: a token that speaks against the prediction is not found.
type Pointing struct {
	// AveragePrecision is that of [Cues], for ranks by value.
	AveragePrecision float64
	// Mass is the share of the positive scores that lies on the cues (relevance mass accuracy,
	// RMA); 0 if no score is positive.
	Mass float64
	// Top is 1 if the highest score is a cue's (PTA), and TopK if one of the k highest is (PGk),
	// otherwise 0. If scores are equal, they are means over all orders of their tokens.
	Top, TopK float64
}

// point compares scores with cues, k being that of [Pointing.TopK]. It panics if the lengths
// differ, a score is NaN, no token is a cue or k is below 1.
func point(scores []float64, cue []bool, k int) Pointing {
	if k < 1 {
		panic(fmt.Sprintf("evaluate: the top %d tokens; want 1 or more", k))
	}
	p := Pointing{AveragePrecision: Align(scores, cue).AveragePrecision}
	on, sum := 0.0, 0.0
	for i, s := range scores {
		if s > 0 {
			sum += s
			if cue[i] {
				on += s
			}
		}
	}
	if sum > 0 {
		p.Mass = on / sum
	}
	p.Top, p.TopK = hit(scores, cue, 1), hit(scores, cue, k)
	return p
}

// hit returns the probability that a cue is among the k highest scores, if equal scores come in any
// order.
func hit(scores []float64, cue []bool, k int) float64 {
	order := rowmath.Falling(scores, nil)
	if k >= len(order) {
		return 1
	}
	last := scores[order[k-1]]
	left, equal, cues := k, 0, 0 // places left for the scores that equal the k-th
	for _, i := range order {
		switch {
		case scores[i] > last && cue[i]:
			return 1
		case scores[i] > last:
			left--
		case scores[i] == last:
			equal++
			if cue[i] {
				cues++
			}
		}
	}
	none := 1.0
	for i := range left {
		none *= max(0, float64(equal-cues-i)) / float64(equal-i)
	}
	return 1 - none
}

// pointingMeasures are the names of the measures of pairs.
func pointingMeasures() []Measure {
	return []Measure{
		{"average precision by value", false},
		{"positive share on evidence", false},
		{"top token is evidence", false},
		{fmt.Sprintf("evidence in the top %d", topTokens), false},
	}
}

// addTo adds the measures to m by their names; the share only if the scores are shares.
func (p Pointing) addTo(m map[string]Value, shares bool) {
	names := pointingMeasures()
	m[names[0].Name] = Value(p.AveragePrecision)
	if shares {
		m[names[1].Name] = Value(p.Mass)
	}
	m[names[2].Name], m[names[3].Name] = Value(p.Top), Value(p.TopK)
}
