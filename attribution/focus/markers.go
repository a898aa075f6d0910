package focus

import (
	"cmp"
	"slices"
)

// The rule of [Head.Markers].
const (
	markedMass = 0.5 // sources are marked until their probabilities add up to this
	maxMarked  = 11  // of one row
)

// Markers returns the marked sources of Figure 1, row by row and in the order of their ranks: the
// sources of largest probability until these add up to at least ½, and at most 11. A source with
// probability 0, such as one that a window hides, is never marked. It costs T·S·log S comparisons.
func (h *Head) Markers() []Point {
	var all []Point
	for i := range h.Targets {
		sum := 0.0
		for rank, j := range h.Ranked(i) {
			if rank == maxMarked || sum >= markedMass || h.Row(i)[j] == 0 {
				break
			}
			all = append(all, h.point(i, j, rank))
			sum += h.Row(i)[j]
		}
	}
	return all
}

// Kind returns the relation of the source to its target, as the legend of Figure 1 names it: Zero
// for the first token of the text, also where it is the target itself; Self for the target; Other.
func (p Point) Kind() string {
	switch p.Source {
	case 0:
		return "Zero"
	case p.Self:
		return "Self"
	}
	return "Other"
}

// Breakdown is the terms of the sources of largest probability, as shares of a triangle: Figure 2.
type Breakdown struct {
	// Points are ordered by rank, then by target. Those of rank 0 are shown first; the others are
	// the document's sort_idx.
	Points []Point
	// Minimum is the smallest content, query-bias and alibi of all points.
	Minimum [NumTerms]float64
}

// Breakdown returns the points of Figure 2: for each target the sources of the first ranks, fewer
// where a target sees fewer. A source with probability 0 is left out: the target does not see it,
// or its score is so far below the others that rounding leaves nothing. The coordinates of a point
// are its terms minus their minima over all points; see [Breakdown.Coordinates]. It costs T·S·log S
// comparisons. It returns an error if the terms are not known or ranks is not positive.
func (h *Head) Breakdown(ranks int) (*Breakdown, error) {
	if h.Terms == nil {
		return nil, pkg.Errorf("the breakdown of scores needs terms [L,H,3,T,S] and one head")
	}
	if ranks < 1 {
		return nil, usagef("%d ranks; want 1 or more", ranks)
	}
	b := &Breakdown{}
	for i := range h.Targets {
		for rank, j := range h.Ranked(i) {
			if rank == ranks || h.Row(i)[j] == 0 {
				break
			}
			b.Points = append(b.Points, h.point(i, j, rank))
		}
	}
	slices.SortStableFunc(b.Points, func(x, y Point) int { return cmp.Compare(x.Rank, y.Rank) })
	b.Minimum = b.Points[0].Terms
	for _, p := range b.Points {
		for k, x := range p.Terms {
			b.Minimum[k] = min(b.Minimum[k], x)
		}
	}
	return b, nil
}

// Coordinates returns the terms of a point minus their minima, none of which is negative: content,
// query-bias, alibi. A ternary plot divides them by their sum, which is 0 for a point that has all
// three minima.
func (b *Breakdown) Coordinates(p Point) [NumTerms]float64 {
	for k := range p.Terms {
		p.Terms[k] -= b.Minimum[k]
	}
	return p.Terms
}

// Bias is the part of a score that does not depend on the content of the target: Figure 3. Only
// differences between sources mean something.
type Bias struct {
	Source    int     `json:"source"`
	QueryBias float64 `json:"query_bias"`
	ALiBi     float64 `json:"alibi"`
}

// Biases returns the biases of selected entries, such as those of [Head.Markers], by source; equal
// ones once. With rotary positions the bias of a source depends on the target too, so a source may
// have several. It returns nil if the terms are not known.
func Biases(selected []Point) []Bias {
	var all []Bias
	for _, p := range selected {
		if p.Terms[QueryBias] == p.Terms[QueryBias] { // not NaN
			all = append(all, Bias{p.Source, p.Terms[QueryBias], p.Terms[ALiBi]})
		}
	}
	slices.SortFunc(all, func(a, b Bias) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.QueryBias, b.QueryBias),
			cmp.Compare(a.ALiBi, b.ALiBi))
	})
	return slices.Compact(all)
}
