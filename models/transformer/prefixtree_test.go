package transformer_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// withoutEach are a text, the text without each of its tokens, and with another token in the place
// of each, of a vocabulary.
func withoutEach(ids []int, vocab int) [][]int {
	texts := [][]int{ids}
	for j := range ids {
		other := slices.Clone(ids)
		other[j] = (ids[j] + 1) % vocab
		texts = append(texts, slices.Delete(slices.Clone(ids), j, j+1), other)
	}
	return texts
}

// TestPredictPrefixes: a text without some of its tokens gets the number that it gets alone, also
// where the beginning that it shares with others runs once, and each beginning of a decoder's texts
// does.
func TestPredictPrefixes(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		s, ctx := g.model.Spec, context.Background()
		if s.Encoder > 0 {
			t.Skip("its texts need the boundary")
		}
		texts := withoutEach(g.threeTexts()[1], s.Vocab)
		var queries []trace.Query
		var want []float64
		for _, ids := range texts {
			at := len(ids) - 1
			if len(queries)%5 == 4 {
				at /= 2
			}
			scores := g.reads(t, ids, at)
			queries = append(queries, trace.Query{IDs: ids, Objective: trace.Objective{
				Quantity: trace.Logit, Position: at, Token: len(scores) / 3,
			}})
			want = append(want, scores[len(scores)/3])
		}
		beginnings := map[string]bool{} // that have to be read
		for _, q := range queries {
			for n := range q.Position + 1 {
				beginnings[fmt.Sprint(q.IDs[:n+1])] = true
			}
		}
		all := transformer.Batching{Texts: len(queries)}
		rows := len(beginnings)
		if s.Bidirectional || s.Head != spec.LanguageHead || s.SkipPosition {
			rows = 0
		}
		if got := g.model.TreeRows(queries, all); got != rows {
			t.Errorf("%d rows are read of texts with %d beginnings", got, rows)
		}
		for _, roundUp := range []bool{false, true} {
			if roundUp {
				g.model.RoundUp()
			}
			for _, how := range []transformer.Batching{{}, {Texts: 7}, all} {
				got, err := g.model.PredictIn(ctx, queries, how)
				must(t, err)
				for i := range queries {
					if d := math.Abs(got[i] - want[i]); !(d <= valueTol) {
						t.Errorf("roundUp=%v %+v text %d: %v, alone %v", roundUp, how, i, got[i],
							want[i])
					}
				}
			}
		}
	})
}

// TestPredictApart: texts that share little, and queries with embeddings or edits of their own, run
// as they are.
func TestPredictApart(t *testing.T) {
	g := openGolden(t, "llama")
	objective := trace.Objective{Quantity: trace.Logit, Position: 2, Token: 1}
	query := func(ids ...int) trace.Query { return trace.Query{IDs: ids, Objective: objective} }
	rows, err := g.model.Embed(t.Context(), []int{1, 2, 3})
	must(t, err)
	given, edited := query(1, 2, 3), query(1, 2, 3)
	given.Embeddings = rows
	edited.Edits = []trace.Edit{{Tap: trace.Hidden, Change: trace.SetZero}}
	for name, queries := range map[string][]trace.Query{
		"others": {query(1, 2, 3), query(4, 2, 3)}, "one": {query(1, 2, 3)}, "none": nil,
		"embeddings": {query(1, 2, 3), given}, "edits": {query(1, 2, 3), edited},
	} {
		if got := g.model.TreeRows(queries, transformer.Batching{}); got != 0 {
			t.Errorf("%s: %d rows are read as a tree", name, got)
		}
	}
	if got := g.model.TreeRows([]trace.Query{query(1, 2, 3), query(1, 2, 3)},
		transformer.Batching{}); got != 3 {
		t.Errorf("one text twice: %d rows, want 3", got)
	}
}
