package transformer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

const (
	// valueTol bounds a predicted number against the one computed in float64 from the tap of
	// logits, which another graph made.
	valueTol = 1e-5 // worst seen 6e-6, of logits
	// probabilityTol is the same of a probability.
	probabilityTol = 2e-6 // worst seen 6e-7
)

// eachHeaded runs do on every golden with a head.
func eachHeaded(t *testing.T, do func(t *testing.T, g *golden)) {
	eachGolden(t, func(t *testing.T, g *golden) {
		if g.model.Spec.Head == spec.NoHead {
			t.Skip("there is no head")
		}
		do(t, g)
	})
}

// reads returns what the head of a golden says of ids at a position, by the tap of logits.
func (g *golden) reads(t testing.TB, ids []int, position int) []float64 {
	t.Helper()
	ts, err := g.model.Trace(context.Background(), ids, []trace.Tap{trace.Logits})
	must(t, err)
	if len(ts[0].Shape) == 1 {
		return wide(ts[0].Data)
	}
	scores := wide(at(ts[0], position))
	if g.model.Spec.Discriminates() { // one score is that of the second class, the other's is 0
		return []float64{0, scores[0]}
	}
	return scores
}

// quantities are those that the head of a golden has.
func (g *golden) quantities() []trace.Quantity {
	if g.model.Spec.Scoring == spec.Quantity {
		return []trace.Quantity{trace.Logit}
	}
	return trace.Quantities()
}

// second is the second token or class, or the only class.
func (g *golden) second() int {
	if s := g.model.Spec; s.Classifies() && s.Classes == 1 && !s.Discriminates() {
		return 0
	}
	return 1
}

// anyOf reports whether the classes of a golden have probabilities of their own.
func (g *golden) anyOf() bool {
	s := g.model.Spec
	return s.Scoring == spec.AnyOf && s.Head == spec.ClassifierHead
}

// readsAt is where a classifier reads: the first token for an encoder, and in a decoder the
// last one that is not 0, the padding of the goldens.
func readsAt(s *spec.Spec, ids []int) int {
	if s.Bidirectional {
		return 0
	}
	at := 0
	for i, id := range ids {
		if id != 0 {
			at = i
		}
	}
	return at
}

// marginOf is the score of a class minus the largest of the others. A class that applies or not
// has no others.
func (g *golden) marginOf(scores []float64, token int) float64 {
	if g.anyOf() {
		return scores[token]
	}
	return scores[token] - slices.Max(slices.Concat(scores[:token], scores[token+1:]))
}

// asked is a quantity of scores by its definition.
func (g *golden) asked(scores []float64, q trace.Quantity, token int) float64 {
	if q == trace.Logit {
		return scores[token]
	}
	if g.anyOf() {
		scores, token = []float64{0, scores[token]}, 1
	}
	sum := 0.0
	for _, x := range scores {
		sum += math.Exp(x - scores[token])
	}
	if q == trace.Probability {
		return 1 / sum
	}
	return -math.Log(sum)
}

// questions are all quantities of some texts of different lengths, with a contrast and without, at
// two positions.
func (g *golden) questions(t testing.TB) (queries []trace.Query, want []float64) {
	t.Helper()
	for _, ids := range append(g.threeTexts(), g.ids[:1]) {
		for _, position := range slices.Compact([]int{len(ids) / 2, len(ids) - 1}) {
			scores := g.reads(t, ids, position)
			token, contrast := len(scores)/3, len(scores)-1
			for _, quantity := range g.quantities() {
				o := trace.Objective{Quantity: quantity, Position: position, Token: token}
				queries, want = append(queries, trace.Query{IDs: ids, Objective: o}), append(want,
					g.asked(scores, quantity, token))
				o.Contrast = &contrast
				queries, want = append(queries, trace.Query{IDs: ids, Objective: o}), append(want,
					g.asked(scores, quantity, token)-g.asked(scores, quantity, contrast))
			}
			if g.model.Spec.Scoring == spec.Quantity {
				continue
			}
			o := trace.Objective{Quantity: trace.Margin, Position: position, Token: token}
			queries = append(queries, trace.Query{IDs: ids, Objective: o})
			want = append(want, g.marginOf(scores, token))
		}
	}
	return queries, want
}

// TestPredict: each number is that of the text alone, for all heads, however the texts are shared
// out.
func TestPredict(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		queries, want := g.questions(t)
		for _, roundUp := range []bool{false, true} {
			if roundUp {
				g.model.RoundUp()
			}
			for _, texts := range []int{0, 5} {
				answered := 0
				got, err := g.model.PredictIn(context.Background(), queries,
					transformer.Batching{Texts: texts, Done: func(n int) {
						if n <= answered || texts > 0 && n > answered+texts {
							t.Errorf("%d queries are answered after %d", n, answered)
						}
						answered = n
					}})
				must(t, err)
				if answered != len(queries) {
					t.Errorf("%d queries of %d are answered", answered, len(queries))
				}
				for i, q := range queries {
					tol := valueTol
					if q.Quantity == trace.Probability {
						tol = probabilityTol
					}
					if d := math.Abs(got[i] - want[i]); !(d <= tol) {
						t.Errorf("roundUp=%v texts=%d %d tokens %+v: %v, want %v", roundUp, texts,
							len(q.IDs), q.Objective, got[i], want[i])
					}
				}
				again, err := g.model.PredictIn(context.Background(), queries,
					transformer.Batching{Texts: texts})
				must(t, err)
				if !slices.Equal(got, again) {
					t.Errorf("texts=%d: two runs differ", texts)
				}
			}
		}
	})
}

// TestEmbed: the rows are those of the table, and a text whose embeddings are given is predicted
// as the text is; another row changes the number as the other token does.
func TestEmbed(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		ctx, width, other := context.Background(), g.model.Spec.Embedded(), slices.Clone(g.ids)
		other[1] = other[0] + 1
		rows, err := g.model.Embed(ctx, g.ids)
		must(t, err)
		for i, id := range g.ids {
			check(t, fmt.Sprintf("row of token %d", i), rows[i*width:(i+1)*width],
				g.params["embedding"][id*width:(id+1)*width], 0)
		}
		if g.model.Spec.Head == spec.NoHead {
			return
		}
		others, err := g.model.Embed(ctx, other)
		must(t, err)
		o := trace.Objective{Quantity: trace.Logit, Position: len(g.ids) - 1, Token: g.second()}
		queries := []trace.Query{
			{IDs: g.ids, Objective: o},
			{IDs: g.ids, Embeddings: rows, Objective: o},
			{IDs: other, Objective: o},
			{IDs: g.ids, Embeddings: others, Objective: o},
		}
		before := slices.Clone(rows)
		v, err := g.model.Predict(ctx, queries)
		must(t, err)
		if math.Abs(v[0]-v[1]) > valueTol || math.Abs(v[2]-v[3]) > valueTol ||
			math.Abs(v[0]-v[2]) < 1e-3 {
			t.Errorf("of the text %v, of its embeddings %v; of another %v and %v", v[0], v[1], v[2],
				v[3])
		}
		check(t, "embeddings after the pass", rows, before, 0)
	})
}

func TestPredictRefusals(t *testing.T) {
	ctx := context.Background()
	logit := trace.Objective{Quantity: trace.Logit}
	with := func(change func(q *trace.Query)) trace.Query {
		q := trace.Query{IDs: []int{5, 6}, Objective: logit}
		change(&q)
		return q
	}
	far := 96
	for _, c := range []struct {
		name, golden string
		query        trace.Query
		want         string
	}{
		{"empty", "gpt2", with(func(q *trace.Query) { q.IDs = nil }), "query 1: transformer: there are no tokens"},
		{"id", "gpt2", with(func(q *trace.Query) { q.IDs[0] = 96 }), "id 96 of token 0 is outside the vocabulary of 96"},
		{"position", "gpt2", with(func(q *trace.Query) { q.Position = 2 }), "query 1: transformer: position 2 is not in 0..1"},
		{"negative position", "bert", with(func(q *trace.Query) { q.Position = -1 }), "position -1 is not in 0..1"},
		{"token", "gpt2", with(func(q *trace.Query) { q.Token = 96 }), "token 96 is not in 0..95, the vocabulary"},
		{"contrast", "gpt2", with(func(q *trace.Query) { q.Contrast = &far }), "contrast 96 is not in 0..95, the vocabulary"},
		{"class", "bert_cls", with(func(q *trace.Query) { q.Token = 3 }), "token 3 is not in 0..2, the classes"},
		{"discriminator", "electra_disc", with(func(q *trace.Query) { q.Token = 2 }), "token 2 is not in 0..1, the classes"},
		{
			"quantity", "gpt2", with(func(q *trace.Query) { q.Quantity = "odds" }),
			`quantity "odds" is unknown; known are logit, probability, log-probability`,
		},
		{"no head", "bert_bare", with(func(*trace.Query) {}), "the bert model has no head, so nothing is predicted"},
		{"short embeddings", "gpt2", with(func(q *trace.Query) {
			q.Embeddings = make([]float32, 33)
		}), "33 numbers of embedding for 2 tokens of width 32"},
		{"no number", "gpt2", with(func(q *trace.Query) {
			q.Embeddings = make([]float32, 64)
			q.Embeddings[40] = float32(math.NaN())
		}), "the embedding of token 1 has the number NaN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := openGolden(t, c.golden)
			queries := []trace.Query{with(func(*trace.Query) {}), c.query}
			if g.model.Spec.Head == spec.NoHead {
				queries = queries[1:]
			}
			_, err := g.model.Predict(ctx, queries)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	g := openGolden(t, "gpt2")
	one := []trace.Query{with(func(*trace.Query) {})}
	if _, err := g.model.PredictIn(ctx, one, transformer.Batching{Texts: -1}); err == nil ||
		!strings.Contains(err.Error(), "-1 texts at once") {
		t.Errorf("-1 texts: error %v", err)
	}
	if v, err := g.model.Predict(ctx, nil); err != nil || len(v) != 0 {
		t.Errorf("no queries: %v, %v", v, err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := g.model.Predict(stopped, one); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: error %v", err)
	}
}

// TestPredictMemory: fewer texts run at once where memory is short, and one that does not fit
// alone is refused.
func TestPredictMemory(t *testing.T) {
	g := openGolden(t, "gpt2")
	var queries []trace.Query
	for range 8 {
		queries = append(queries, trace.Query{
			IDs:       g.ids,
			Objective: trace.Objective{Quantity: trace.Logit, Token: 3},
		})
	}
	passes := func() (n int, err error) {
		_, err = g.model.PredictIn(context.Background(), queries,
			transformer.Batching{Done: func(int) { n++ }})
		return n, err
	}
	g.model.MaxBytes = g.model.Estimate(transformer.Need{Tokens: len(g.ids), Texts: 3, Head: true})
	if n, err := passes(); err != nil || n != 4 {
		t.Errorf("%d passes, error %v, with the memory of three texts, want 4", n, err)
	}
	g.model.MaxBytes = 1000
	_, err := passes()
	var refused *trace.MemoryError
	end := fmt.Sprintf(" for %d tokens", len(g.ids))
	if !errors.As(err, &refused) || !strings.HasSuffix(refused.What, end) {
		t.Errorf("error %v with 1000 bytes, want a MemoryError", err)
	}
}

// TestPredictMemoryOfCopies: where every size is compiled, a pass that is filled up with copies
// fits the memory with them.
func TestPredictMemoryOfCopies(t *testing.T) {
	m := openGolden(t, "gpt2").variant(t, func(*spec.Spec) {}).model
	m.RoundUp()
	texts := func(n int) transformer.Need {
		return transformer.Need{Tokens: 12, Texts: n, Head: true}
	}
	m.MaxBytes = m.Estimate(texts(5)) // 10 texts are too many; half of them run as 8
	queries := make([]trace.Query, 10)
	for i := range queries {
		queries[i] = trace.Query{
			IDs:       make([]int, 12),
			Objective: trace.Objective{Quantity: trace.Logit, Token: 3},
		}
	}
	first := 0
	_, err := m.PredictIn(context.Background(), queries,
		transformer.Batching{Texts: len(queries), Done: func(n int) {
			if first == 0 {
				first = n
			}
		}})
	must(t, err)
	if first != 2 {
		t.Errorf("%d texts run at once, want 2", first)
	}
}

// TestGenerateAfterPredict checks that passes which collect different things from the layers do not
// share a graph. A prediction collects nothing; a prompt without mixings collects keys and values.
func TestGenerateAfterPredict(t *testing.T) {
	g := openGolden(t, "gpt2")
	ctx := context.Background()
	query := trace.Query{IDs: g.ids, Objective: trace.Objective{
		Quantity: trace.Logit, Position: len(g.ids) - 1,
	}}
	if _, err := g.model.Predict(ctx, []trace.Query{query}); err != nil {
		t.Fatal(err)
	}
	session, err := g.model.NewSession(nil, 4)
	must(t, err)
	defer session.Close()
	out, err := session.Prompt(ctx, g.ids, nil)
	must(t, err)
	if want := g.model.Spec.Vocab; len(out.Logits) != want {
		t.Errorf("%d logits, want %d", len(out.Logits), want)
	}
}
