package scorer_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// planted is a model whose prediction depends on one token alone: its probability is 0.9 while
// token 7 stands at place 2, and 0.2 otherwise. Where it predicts, it offers w4 (id 5), w6 (id 7)
// and w10 (id 11), and a word for each place, id 20 + place.
type planted struct {
	fakemodel.Scored
	asks *[]string
}

func newPlanted() planted {
	p := planted{fakemodel.NewScored(1), new([]string)}
	p.Predicted = func(q trace.Query) float64 {
		return 0.2 + 0.7*fakemodel.On(len(q.IDs) > 2 && q.IDs[2] == 7)
	}
	p.Kinds = map[string]int{"mask": 30}
	return p
}

// Steps predicts what follows one token after another, or what is masked. It stops at the end of
// texts, id 29.
func (p planted) Steps(_ context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		*p.asks = append(*p.asks, fmt.Sprint(ids, ask.Continuation, ask.Positions))
		offer := func(at int) *trace.Prediction {
			next := &trace.Prediction{Position: at}
			for _, id := range []int{5, 7, 11, 20 + at} {
				next.Alternatives = append(next.Alternatives,
					trace.Alternative{Token: trace.Token{ID: id}, Probability: .25})
			}
			return next
		}
		for _, at := range ask.Positions {
			yield(trace.Step{Count: len(ids), Next: offer(at)}, nil)
			return
		}
		for i, id := range ask.Continuation {
			if !yield(trace.Step{First: i, Count: 1, Next: offer(len(ids) + i)}, nil) || id == 29 {
				return
			}
		}
	}
}

// replacedTokens returns how often each token of a text was another in what a model was asked, and
// what stood there.
func replacedTokens(text []int, p planted) (count []int, seen [][]int) {
	count, seen = make([]int, len(text)), make([][]int, len(text))
	for _, batch := range *p.Queries {
		for _, q := range batch {
			for j, id := range q.IDs {
				if id != text[j] {
					count[j]++
					seen[j] = append(seen[j], id)
				}
			}
		}
	}
	for j := range seen {
		slices.Sort(seen[j])
		seen[j] = slices.Compact(seen[j])
	}
	return count, seen
}

// The planted token has the log-odds of what its loss costs, ln(1.7/0.3), exactly and with any
// seed. Three tenths of four tokens are one, so others have E[u | j ∈ R] = 0 less
// E[u | j ∉ R] = ⅓u.
func TestReAGent(t *testing.T) {
	u := math.Log(1.7 / 0.3)
	for seed := range uint64(5) {
		m := newPlanted()
		text := []int{3, 4, 7, 8}
		got := score(t, "reagent", m, ids(text...), scorer.Options{Seed: seed, Samples: 4000})
		near(t, "value", []float64{got.Value}, []float64{0.9}, 1e-15)
		near(t, "the planted token", got.Values[2:3], []float64{u}, 1e-12)
		near(t, "others", []float64{got.Values[0], got.Values[1], got.Values[3]},
			[]float64{-u / 3, -u / 3, -u / 3}, 1e-12)
		count, seen := replacedTokens(text, m)
		if fmt.Sprint(count) != "[1000 1000 1000 1000]" {
			t.Errorf("tokens were replaced %v times, want each 1000 times", count)
		}
		seen[0] = seen[0][:1] // any of the vocabulary
		if fmt.Sprint(seen) != "[[0] [5 7 11 21] [5 11 22] [5 7 11 23]]" {
			t.Errorf("others that stood there: %v; want what the model offers, and never the "+
				"token itself", seen)
		}
	}
	// A difference of two probabilities changes by 2 at most: 1.2 counts as 0.6, whose log-odds are
	// ln(1.6/0.4). A change to the limit stops short of it.
	q := ids(3, 4, 7, 8)
	q.Contrast = new(int)
	for to, want := range map[float64]float64{
		-0.4: math.Log(4),
		-1.2: math.Log((2 - 1e-6) / 1e-6),
	} {
		m := newPlanted()
		m.Predicted = func(q trace.Query) float64 {
			return to + (0.8-to)*fakemodel.On(q.IDs[2] == 7)
		}
		got := score(t, "reagent", m, q, scorer.Options{Samples: 20})
		near(t, "the planted token", got.Values[2:3], []float64{want}, 1e-9)
	}
}

// Three of ten tokens are replaced at a time, and every token equally often: 30 times in 100 sets.
// In 101 sets three of them are replaced once more.
func TestReAGentReplacesThreeTenths(t *testing.T) {
	text := []int{3, 4, 7, 8, 9, 10, 12, 13, 14, 15}
	for samples, want := range map[int]string{
		100: "[30 30 30 30 30 30 30 30 30 30]",
		101: "[30 30 30 30 30 30 30 31 31 31]",
	} {
		m := newPlanted()
		score(t, "reagent", m, ids(text...), scorer.Options{Samples: samples})
		count, _ := replacedTokens(text, m)
		slices.Sort(count)
		if fmt.Sprint(count) != want {
			t.Errorf("%d sets replace the tokens %v times, want %s", samples, count, want)
		}
		for _, batch := range *m.Queries {
			for _, q := range batch {
				others := 0
				for j, id := range q.IDs {
					others += int(fakemodel.On(id != text[j]))
				}
				if others != 0 && others != 3 { // none in the text itself
					t.Errorf("%d of 10 tokens are replaced at once, want 3", others)
				}
			}
		}
	}
}

// A text is gone through in one run, and from the next token on where an end of texts stops it.
func TestReAGentStops(t *testing.T) {
	m := newPlanted()
	score(t, "reagent", m, ids(3, 29, 7, 8), scorer.Options{Samples: 1})
	if got := fmt.Sprint(*m.asks); got != "[[3] [29 7 8] [] [3 29] [7 8] []]" {
		t.Errorf("runs %s", got)
	}
}

// An encoder is asked about each token masked, but for the one that is explained, which stays.
func TestReAGentEncoder(t *testing.T) {
	m := newPlanted()
	m.About.Bidirectional, m.About.Head = true, trace.MaskedToken
	q := ids(3, 4, 7, 30)
	got := score(t, "reagent", m, q, scorer.Options{Samples: 60})
	if s := fmt.Sprint(*m.asks); s != "[[30 4 7 30] [] [0] [3 30 7 30] [] [1] [3 4 30 30] [] [2]]" {
		t.Errorf("runs %s", s)
	}
	count, _ := replacedTokens(q.IDs, m)
	if fmt.Sprint(count) != "[20 20 20 0]" || got.Values[3] != 0 {
		t.Errorf("replaced %v times, values %v; want the position explained to stay", count,
			got.Values)
	}
	near(t, "the planted token", got.Values[2:3], []float64{math.Log(1.7 / 0.3)}, 1e-12)
}

// A token for which there are no candidates stays, and so does a whole text.
func TestReAGentWithoutCandidates(t *testing.T) {
	m := newPlanted()
	m.About.Vocab = 0
	got := score(t, "reagent", m, ids(7), scorer.Options{})
	near(t, "values", append(got.Values, float64(len(asked(m.Scored)))), []float64{0, 0}, 0)
}
