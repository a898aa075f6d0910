package methods

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// TestEstimatesOfNames measures, on SmolLM2 and the pairs of prompts of [TestNameMovers], how well
// attribution patching and AtP* fit the exact maps of heads, of queries and of keys. A pair takes a
// minute of processor time, so only -v takes more than one, every second of the 16, and heads, of
// which nothing is demanded; docs/measured/heads.md has what it prints then.
func TestEstimatesOfNames(t *testing.T) {
	m := nameModel(t)
	places := []patch.Place{patch.Queries, patch.Keys}
	if testing.Verbose() {
		places = append(places, patch.Heads)
	}
	for _, place := range places {
		var sizes [2][]float64 // correlations of sizes with those of the exact map
		var signed, found, foundStar []float64
		pair := 0
		eachNamePair(t, m, func(clean, corrupted []trace.Token, _ string) {
			pair++
			if pair%2 == 0 || pair > 1 && !testing.Verbose() {
				return
			}
			o := patch.Options{
				Clean: clean, Corrupted: corrupted, Place: place, Estimate: patch.Beside,
			}
			r, err := patch.Map(t.Context(), m, o)
			must(t, err)
			o.Estimate = patch.StarAlone
			star, err := patch.Map(t.Context(), m, o)
			must(t, err)
			exact, plain := absolute(r.Recovery), absolute(r.Estimate)
			signed = append(signed, *r.Correlation)
			sizes[0] = append(sizes[0], stat.Correlation(exact, plain, nil))
			sizes[1] = append(sizes[1], stat.Correlation(exact, star.Estimate, nil))
			found = append(found, overlap(exact, plain, 10))
			foundStar = append(foundStar, overlap(exact, star.Estimate, 10))
		})
		t.Logf("%s, %d pairs: attribution patching %.3f, of sizes %.3f, AtP* %.3f; of the ten "+
			"largest %.1f and %.1f are found", place, len(signed), stat.Mean(signed, nil),
			stat.Mean(sizes[0], nil), stat.Mean(sizes[1], nil), stat.Mean(found, nil),
			stat.Mean(foundStar, nil))
		if place != patch.Heads && stat.Mean(sizes[1], nil) < stat.Mean(sizes[0], nil) {
			t.Errorf("AtP* fits the %s worse", place)
		}
	}
}

// absolute are the sizes of numbers.
func absolute(x []float64) (sizes []float64) {
	for _, a := range x {
		sizes = append(sizes, math.Abs(a))
	}
	return sizes
}
