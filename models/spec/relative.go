package spec

import (
	"fmt"
	"math"
)

// Relative says how embeddings of distances add to the scores of encoders (DeBERTa). A distance
// is how many tokens a source is before its target, negative for a source after it.
type Relative struct {
	// Span is how many embeddings there are for each side: distances from -Span to Span-1 have one
	// of their own, and farther ones have that of the farthest.
	Span int
	// Distance, if above 0, makes distances above Span/2 share embeddings: they grow as powers, up
	// to Distance.
	Distance int
	// Keys multiplies queries by the embeddings as keys, Queries multiplies keys by them as
	// queries. There is one of them at least.
	Keys, Queries bool
	// Shared projects the embeddings as the tokens are projected. Otherwise they have projections
	// of their own.
	Shared bool
	// Norm normalises the embeddings. Each layer loads them, because the graph of a layer reads the
	// weights of that layer alone: 17 MB for DeBERTa v3 base.
	Norm bool
}

// Rows returns the rows of the embeddings for the distances -(n-1) to n-1, [2n-1].
func (r *Relative) Rows(n int) []int32 {
	rows := make([]int32, 2*n-1)
	for i := range rows {
		distance := r.bucket(i - (n - 1))
		rows[i] = int32(min(max(distance, -r.Span), r.Span-1) + r.Span)
	}
	return rows
}

// bucket returns the distance whose embedding counts, with the roundings of float32 of the
// reference implementation.
func (r *Relative) bucket(distance int) int {
	half, away := r.Span/2, max(distance, -distance)
	if r.Distance == 0 || away <= half {
		return distance
	}
	log := func(x float64) float32 { return float32(math.Log(float64(float32(x)))) }
	part := log(float64(away)/float64(half)) / log(float64(r.Distance-1)/float64(half))
	bucket := int(math.Ceil(float64(part*float32(half-1)))) + half
	if distance < 0 {
		return -bucket
	}
	return bucket
}

// check returns what is wrong with the numbers, or "".
func (r *Relative) check(s *Spec) string {
	switch {
	case r == nil:
		if s.Positions == NoPositions && s.RelativeBuckets == 0 {
			return "a model without positions needs embeddings of distances"
		}
	case r.Span < 2 || r.Span > maxVocab:
		return fmt.Sprintf("%d embeddings of distances for each side; it must be from 2 to %d",
			r.Span, maxVocab)
	case r.Distance != 0 && r.Distance <= r.Span/2+1:
		return fmt.Sprintf("embeddings of distances up to %d; with %d for each side they must go "+
			"further than half of these", r.Distance, r.Span)
	case !r.Keys && !r.Queries:
		return "embeddings of distances that nothing is multiplied by"
	case !s.Bidirectional || s.Groups() != s.Heads:
		return "embeddings of distances are for encoders that have keys and values in each head"
	}
	return ""
}
