package scorer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// Occlusion of groups is the difference from the text without all of their tokens, by hand; its
// value stands at the first token of the group.
func TestOcclusionOfGroups(t *testing.T) {
	m := attributiontest.NewModel(6)
	q := ids(3, 8, 2, 8, 5)
	q.Quantity = trace.LogProbability
	predict := func(position int, of ...int) float64 {
		p := q
		p.IDs, p.Position = of, position
		f, err := m.Predict(context.Background(), []trace.Query{p})
		must(t, err)
		return f[0]
	}
	whole := predict(4, 3, 8, 2, 8, 5)
	for _, c := range []struct {
		kind   string
		groups [][]int
		want   []float64 // f of the texts without each source; whole where there is none
	}{
		{"delete", [][]int{{0, 1}, {2, 3}}, []float64{predict(2, 2, 8, 5), whole, predict(2, 3, 8, 5), whole, predict(3, 3, 8, 2, 8)}},
		{"delete", [][]int{{1, 4}}, []float64{ // not adjacent, and with the position that predicts
			predict(3, 8, 2, 8, 5), predict(2, 3, 2, 8), predict(3, 3, 8, 8, 5),
			predict(3, 3, 8, 2, 5), whole,
		}},
		{"delete", [][]int{{0, 1, 2, 3, 4}}, []float64{predict(0, 5), whole, whole, whole, whole}},
		{"w7", [][]int{{3, 4}, {0, 2}}, []float64{
			predict(4, 7, 8, 7, 8, 5), predict(4, 3, 7, 2, 8, 5), whole, predict(4, 3, 8, 2, 7, 7),
			whole,
		}},
	} {
		got := score(t, "occlusion", m, q, scorer.Options{Replacement: c.kind, Groups: c.groups})
		want := make([]float64, len(c.want))
		for j, f := range c.want {
			want[j] = whole - f
		}
		near(t, fmt.Sprint(c.kind, c.groups), got.Values, want, 0)
	}
}

// An encoder is asked at a position that stays when its group is deleted.
func TestOcclusionOfGroupsEncoder(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.About.Bidirectional, m.About.Head = true, trace.MaskedToken
	q := ids(1, 2, 3)
	q.Position = 1
	score(t, "occlusion", m, q, scorer.Options{Groups: [][]int{{1, 2}}})
	if got := fmt.Sprint(asked(m)); got != "[[2 3] 0 [] [1 2] 1 []]" {
		t.Errorf("asked about %s", got)
	}
}

// A group that is not in order, outside the text, or has a token twice, is refused by every scorer.
func TestGroupsRefused(t *testing.T) {
	m := attributiontest.NewModel(6)
	for _, groups := range [][][]int{{{1, 0}}, {{0, 5}}, {{-1}}, {{0, 1}, {1, 2}}, {{2, 2}}} {
		for _, name := range []string{"occlusion", "gradient", "reagent"} {
			s, err := scorer.Lookup(name)
			must(t, err)
			_, err = s.Score(context.Background(), m, ids(3, 8, 2), scorer.Options{Groups: groups})
			if !errors.Is(err, trace.ErrUsage) {
				t.Errorf("%s takes %v: %v", name, groups, err)
			}
		}
	}
}

// What either of two tokens says alone is lost only when both are other ones: single tokens find
// nothing there and a group all of it.
func TestTogether(t *testing.T) {
	m := newPlanted()
	m.Predicted = func(q trace.Query) float64 {
		return 0.2 + 0.7*fakemodel.On(q.IDs[1] == 5 || q.IDs[2] == 7)
	}
	q := ids(3, 5, 7, 8)
	for _, name := range []string{"occlusion", "interchange", "reagent"} {
		opts := scorer.Options{Replacement: "w2", Samples: 512}
		if name != "occlusion" {
			opts.Replacement = ""
		}
		alone := score(t, name, m, q, opts)
		opts.Groups = [][]int{{1, 2}}
		both := score(t, name, m, q, opts)
		if both.Values[2] != 0 {
			t.Errorf("%s: the second token of a group has %v", name, both.Values[2])
		}
		if name == "reagent" { // its log-odds; single tokens are in a set together at times
			near(t, "reagent together", both.Values[1:2], []float64{math.Log(1.7 / 0.3)}, 1e-12)
			if most := max(alone.Values[1], alone.Values[2]); !(most < both.Values[1]/2) {
				t.Errorf("reagent: %v alone", alone.Values)
			}
			continue
		}
		near(t, name+" alone", alone.Values, make([]float64, 4), 1e-12)
		near(t, name+" together", both.Values, []float64{0, 0.7, 0, 0}, 1e-12)
	}
}

// Interchange of a group by brute force: the i-th text has the i-th candidate of each of its
// tokens, and counts by the mean of their probabilities. A token with fewer candidates counts where
// it has one.
func TestInterchangeOfGroups(t *testing.T) {
	m := newPlanted()
	m.Predicted = func(q trace.Query) float64 { // differs for every text
		sum := 0.0
		for i, id := range q.IDs {
			sum += float64(id*id) / float64(i+3)
		}
		return sum
	}
	q := ids(9, 5, 21, 14)
	f := func(of ...int) float64 { return m.Predicted(trace.Query{IDs: of}) }
	whole := f(9, 5, 21, 14)
	// The model offers 5, 7, 11 and 20+j at j, all equally likely and in this order, without the
	// token that is there.
	offered := [][]int{nil, {7, 11, 21}, {5, 7, 11, 22}, {5, 7, 11, 23}}
	want := 0.0
	for i := range 4 {
		first, weight := offered[1][min(i, 2)], 1./4/2
		if i < 3 {
			weight += 1. / 3 / 2
		}
		want += weight * (whole - f(9, first, offered[2][i], 14))
	}
	last := 0.0
	for _, id := range offered[3] {
		last += 1. / 4 * (whole - f(9, 5, 21, id))
	}
	got := score(t, "interchange", m, q, scorer.Options{Groups: [][]int{{1, 2}}})
	near(t, "values", got.Values, []float64{0, want, 0, last}, 1e-9)
	// With the first token, which has no candidates, the value stands there.
	got = score(t, "interchange", m, q, scorer.Options{Groups: [][]int{{0, 1, 2}}})
	near(t, "with the first", got.Values, []float64{want, 0, 0, last}, 1e-9)
	if !slices.Equal(q.IDs, []int{9, 5, 21, 14}) {
		t.Error("the query was changed")
	}
}
