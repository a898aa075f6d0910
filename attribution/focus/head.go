package focus

import (
	"math"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Term is one of the three parts of a score; see the package comment.
type Term int

// The terms, in the order in which the tensor terms has them.
const (
	Content   Term = iota // the document's "Attention"
	QueryBias             // the document's "Bias"
	ALiBi

	NumTerms // how many there are
)

// String returns the name of the term: content, query-bias, alibi.
func (k Term) String() string { return [...]string{"content", "query-bias", "alibi"}[k] }

// Head has the rows of one head in one layer, or of all heads together.
type Head struct {
	Layer int
	// Head is the number of the head, or [Together].
	Head             int
	Targets, Sources int
	// First is the position of target 0: S-T.
	First         int
	Bidirectional bool
	// Probability is the attention after the softmax, [T,S], whose rows sum to 1; 0 for sources
	// that a target does not see.
	Probability []float64
	// Terms are the three terms, [3,T,S], and Scores what the softmax takes, [T,S]: the sum of the
	// terms, unless the model caps it. Both are 0 for later sources, which a target does not see.
	// For sources outside a window they are what the tensors have: 0 in those of package models,
	// and -Inf in scores that say so. Terms is nil if they are not known, and Scores if neither is;
	// both are nil for [Together].
	Terms, Scores []float64
}

// Head returns the rows of head h, or of all heads together, in layer l. The probabilities are the
// tensor attention where it is known, otherwise the softmax of the scores over the sources that a
// target sees. It costs T·S exponentials and 8·5·T·S bytes, and for all heads together H times the
// time. It returns a usage error for a layer or head that does not exist.
func (t *Text) Head(l, h int) (*Head, error) {
	if err := t.checkHead(l, h); err != nil {
		return nil, err
	}
	x := &Head{
		Layer: l, Head: h, Targets: t.Targets, Sources: t.Sources, First: t.firstTarget(),
		Bidirectional: t.Bidirectional, Probability: make([]float64, t.Targets*t.Sources),
	}
	for i := range t.Targets {
		t.probability(x.Row(i), l, h, i)
	}
	if h == Together {
		return x, nil
	}
	if t.has(termsTensor) || t.has(scoresTensor) {
		x.Scores = make([]float64, t.Targets*t.Sources)
		for i := range t.Targets {
			t.score(x.Scores[i*t.Sources:][:t.Sources], l, h, i)
		}
	}
	if t.has(termsTensor) {
		x.Terms = make([]float64, int(NumTerms)*t.Targets*t.Sources)
		for k := range NumTerms {
			for i := range t.Targets {
				row := x.Terms[(int(k)*t.Targets+i)*t.Sources:]
				for j, s := range t.term(k, l, h, i).part(0, t.visible(i)).all() {
					row[j] = s
				}
			}
		}
	}
	return x, nil
}

// Row returns the probabilities of target i, [S]. It aliases Probability.
func (h *Head) Row(i int) []float64 {
	return h.Probability[i*h.Sources : (i+1)*h.Sources : (i+1)*h.Sources]
}

// Self returns the position of target i among the sources.
func (h *Head) Self(i int) int { return h.First + i }

// Visible returns how many of the first sources target i may see.
func (h *Head) Visible(i int) int {
	if h.Bidirectional {
		return h.Sources
	}
	return h.First + i + 1
}

// Top returns the source with the largest probability for target i, the first among equals: j*(i).
func (h *Head) Top(i int) int { return rowmath.Largest(h.Row(i)[:h.Visible(i)]) }

// Ranked returns the sources up to target i, of a bidirectional text all, by falling probability;
// among equals the earlier source comes first. The index of a source in the result is its rank.
// Sources that a window hides are there too, last, with probability 0.
func (h *Head) Ranked(i int) []int {
	return rowmath.Falling(h.Row(i)[:h.Visible(i)], nil)
}

// Point is one entry of a row with everything that is known about it.
type Point struct {
	// Target is the row and Source the position that it looks at; Self is the position of the
	// target.
	Target, Source, Self int
	// Rank is the number of sources with a larger probability in the row, 0 for the largest.
	// Among equals the earlier source has the lower rank.
	Rank        int
	Probability float64
	// Terms are content, query-bias and alibi, and Score what the softmax takes; all are NaN if
	// they are not known.
	Terms [NumTerms]float64
	Score float64
}

// point returns an entry of a row.
func (h *Head) point(i, j, rank int) Point {
	p := Point{
		Target: i, Source: j, Self: h.Self(i), Rank: rank, Probability: h.Row(i)[j],
		Score: math.NaN(),
	}
	for k := range NumTerms {
		p.Terms[k] = math.NaN()
		if h.Terms != nil {
			p.Terms[k] = h.Terms[(int(k)*h.Targets+i)*h.Sources+j]
		}
	}
	if h.Scores != nil {
		p.Score = h.Scores[i*h.Sources+j]
	}
	return p
}
