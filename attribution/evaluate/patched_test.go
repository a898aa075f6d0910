package evaluate_test

import (
	"context"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// either is a model that answers with the letters after "=", of which one suffices: R has the logit
// 8 wherever it is, and every other letter 4. With all, R needs two places.
type either struct {
	letters
	all bool
}

func (m either) logit(ids []int, token int) float64 {
	n := 0
	for j, id := range ids[:len(ids)-1] {
		if id == '=' && ids[j+1] == token {
			n++
		}
	}
	switch {
	case n == 0 || m.all && token == 'R' && n < 2:
		return 0
	case token == 'R':
		return 8
	}
	return 4
}

func (m either) choice(ids []int) int {
	best := int('0')
	for id := range 128 {
		if m.logit(ids, id) > m.logit(ids, best) {
			best = id
		}
	}
	return best
}

func (m either) Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	if len(ask.Continuation) == 0 {
		ask.Continuation = []int{m.choice(ids)}
	}
	return m.letters.Steps(ctx, ids, ask)
}

func (m either) Predict(_ context.Context, queries []trace.Query) (out []float64, err error) {
	for _, q := range queries {
		value := m.logit(q.IDs, q.Token)
		switch {
		case q.Quantity == trace.Margin && m.choice(q.IDs) != q.Token:
			value = -value
		case q.Contrast != nil:
			value -= m.logit(q.IDs, *q.Contrast)
		}
		out = append(out, value)
	}
	return out, nil
}

// TestOneSuffices: where one of two pieces suffices, the first in a ranking is all that counts;
// where both are needed, both count. The measures of patches see both.
func TestOneSuffices(t *testing.T) {
	const prompt, counterfactual = "PQ=RS=R?", "PQ=TS=T?"
	for _, c := range []struct {
		name     string
		all      bool
		suffices []bool
		// early and late are the precision of the lines by position: the pieces are 4th and 7th of
		// eight letters from the left, 2nd and 5th from the right.
		early, late float64
		// drop and restored are those of both lines. The top 3 from the left have no piece, from
		// the right the last one. d(x) is 8 and d(x') -4. With one R of two, d is 8-4 if that
		// suffices, and else 0-4.
		drop, restored [2]float64
	}{
		{"one suffices", false, []bool{true, true}, 1. / 4, 1. / 2,
			[2]float64{0, 1. / 3}, [2]float64{0, 2. / 3}},
		{"both are needed", true, []bool{false, false}, (1./4 + 2./7) / 2, (1./2 + 2./5) / 2,
			[2]float64{0, 1}, [2]float64{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got *evaluate.Result
			report, err := evaluate.Run(t.Context(), either{letters{"S"}, c.all}, []evaluate.Case{{
				Group: "g", Prompt: prompt, Counterfactual: counterfactual, Continuation: "R",
				Contrast: "T", Evidence: [][2]int{{3, 4}, {6, 7}}, Question: [][2]int{{7, 8}},
			}}, evaluate.Options{Methods: []string{"raw"}, OnResult: func(r *evaluate.Result) error {
				got = r
				return nil
			}})
			must(t, err)
			if !got.Proof.Proven() || !slices.Equal(got.Proof.Suffices, c.suffices) {
				t.Fatalf("proof %+v, want pieces that suffice: %v", got.Proof, c.suffices)
			}
			check := func(line, measure string, want float64) {
				t.Helper()
				if s, ok := report.At("g", line, measure); !ok || math.Abs(s.Mean-want) > 1e-12 {
					t.Errorf("%s of %s is %v, want %v", measure, line, s.Mean, want)
				}
			}
			for _, measure := range []string{"average precision", "average precision by value"} {
				check(evaluate.EarliestLine, measure, c.early)
				check(evaluate.LatestLine, measure, c.late)
			}
			for k, line := range []string{evaluate.EarliestLine, evaluate.LatestLine} {
				check(line, "drop by patching the top 3", c.drop[k])
				check(line, "restored by the top 3", c.restored[k])
			}
		})
	}
}
