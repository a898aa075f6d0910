package scorer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// Occlusion equals the differences from running each text by hand.
func TestOcclusion(t *testing.T) {
	ctx := context.Background()
	m := attributiontest.NewModel(6)
	text := []int{3, 8, 2, 8}
	q := ids(text...)
	q.Quantity = trace.Probability
	e, _ := m.Embed(ctx, text)
	predict := func(q trace.Query) float64 {
		f, err := m.Predict(ctx, []trace.Query{q})
		must(t, err)
		return f[0]
	}
	for kind, without := range map[string]func(j int) trace.Query{
		"":        func(j int) trace.Query { return replaced(q, j, 0) }, // w0 is the mask
		"mask":    func(j int) trace.Query { return replaced(q, j, 0) },
		"unknown": func(j int) trace.Query { return replaced(q, j, 1) },
		"w7":      func(j int) trace.Query { return replaced(q, j, 7) },
		"delete": func(j int) trace.Query {
			p := q
			p.Position = 2
			p.IDs = [][]int{{8, 2, 8}, {3, 2, 8}, {3, 8, 8}, {3, 8, 2}}[j]
			return p
		},
		"zero": func(j int) trace.Query {
			p := q
			p.Embeddings = slices.Clone(e)
			clear(p.Embeddings[4*j : 4*j+4])
			return p
		},
	} {
		got := score(t, "occlusion", m, q, scorer.Options{Replacement: kind})
		want := make([]float64, len(text))
		for j := range want {
			want[j] = predict(q) - predict(without(j))
		}
		near(t, "without by "+kind, got.Values, want, 0)
		near(t, "value", []float64{got.Value}, []float64{predict(q)}, 0)
	}
}

// TestProgress: before each batch a caller learns how many passes are done, of one batch nothing.
func TestProgress(t *testing.T) {
	q := ids(3, 8, 2, 8)
	q.Quantity = trace.Probability
	for batch, want := range map[int][]int{2: {0, 2, 4}, 4: {0, 4}, 5: nil} {
		var done []int
		score(t, "occlusion", attributiontest.NewModel(6), q, scorer.Options{
			Batch: batch, Progress: func(at trace.Progress) {
				done = append(done, at.Done)
				if at.Stage != "occlusion" || at.Unit != "pass" || at.Total != 5 {
					t.Errorf("%+v, want 5 passes of occlusion", at)
				}
			},
		})
		if !slices.Equal(done, want) {
			t.Errorf("batches of %d: %v passes were done, want %v", batch, done, want)
		}
	}
}

// replaced returns q with another token at j.
func replaced(q trace.Query, j, id int) trace.Query {
	q.IDs = slices.Clone(q.IDs)
	q.IDs[j] = id
	return q
}

// asked lists the texts and positions that a model was asked about after the first.
func asked(a fakemodel.Scored) []string {
	var all []string
	for _, batch := range *a.Queries {
		for _, q := range batch {
			all = append(all, fmt.Sprint(q.IDs, q.Position, q.Embeddings))
		}
	}
	return all[1:]
}

// What is deleted moves the position; the last token of a text and the one at which an encoder is
// asked stay.
func TestOcclusionDeletes(t *testing.T) {
	embedded := ids(1, 2)
	embedded.Embeddings = []float32{1, 2, 3, 4}
	middle := ids(1, 2, 3)
	middle.Position = 1
	encoder, classifier := fakemodel.NewScored(1), fakemodel.NewScored(1)
	encoder.About.Bidirectional, classifier.About.Bidirectional = true, true
	encoder.About.Head, classifier.About.Head = trace.MaskedToken, trace.Classes
	first := ids(1, 2, 3)
	first.Position = 0
	for name, c := range map[string]struct {
		m    fakemodel.Scored
		q    trace.Query
		opts scorer.Options
		want string
	}{
		"decoder":    {fakemodel.NewScored(1), ids(1, 2, 3), scorer.Options{}, "[[2 3] 1 [] [1 3] 1 [] [1 2] 1 []]"},
		"encoder":    {encoder, middle, scorer.Options{}, "[[2 3] 0 [] [1 2] 1 []]"},
		"classifier": {classifier, first, scorer.Options{}, "[[2 3] 0 [] [1 3] 0 [] [1 2] 0 []]"},
		"one token":  {fakemodel.NewScored(1), ids(1), scorer.Options{}, "[]"},
		"embeddings": {fakemodel.NewScored(1), embedded, scorer.Options{}, "[[2] 0 [3 4] [1] 0 [1 2]]"},
		"embeddings replaced": {
			fakemodel.NewScored(1), embedded,
			scorer.Options{Replacement: "w4"},
			"[[1 2] 1 [5 1 3 4] [1 2] 1 [1 2 5 1]]",
		},
		"embeddings of zeros": {
			fakemodel.NewScored(1), embedded,
			scorer.Options{Replacement: "zero"},
			"[[1 2] 1 [0 0 3 4] [1 2] 1 [1 2 0 0]]",
		},
	} {
		got := score(t, "occlusion", c.m, c.q, c.opts)
		if texts := fmt.Sprint(asked(c.m)); texts != c.want {
			t.Errorf("%s: asked about %s, want %s", name, texts, c.want)
		}
		if len(got.Values) != len(c.q.IDs) {
			t.Errorf("%s: %d values", name, len(got.Values))
		}
	}
	// A value is that of its own token, also beside one that stays.
	encoder.Queries = new([][]trace.Query)
	encoder.Predicted = func(q trace.Query) float64 {
		sum := 0.0
		for _, id := range q.IDs {
			sum += float64(id)
		}
		return sum
	}
	near(t, "values beside one that stays", score(t, "occlusion", encoder, middle,
		scorer.Options{}).Values, []float64{1, 0, 3}, 0)
}

// spelt is a fake whose tokens have texts of their own.
type spelt struct {
	fakemodel.Scored
	texts map[int]string
}

func (s spelt) TokenText(id int) string { return s.texts[id] }

// The default replacement is named in the result, and is no token that ends texts, although
// checkpoints such as GPT-2 and SmolLM2 name that one as their unknown token.
func TestDefaultReplacement(t *testing.T) {
	unknown := map[string]int{"unknown": 9}
	for name, c := range map[string]struct {
		kinds map[string]int
		text  string
		want  string
		asked string // the text without its first token
	}{
		"a mask":                {map[string]int{"mask": 8, "unknown": 9}, "<unk>", "mask", "[8 2 3]"},
		"an unknown token":      {unknown, "<unk>", "unknown", "[9 2 3]"},
		"in capitals":           {unknown, "[UNK]", "unknown", "[9 2 3]"},
		"the end of a text":     {unknown, "<|endoftext|>", "delete", "[2 3]"},
		"the beginning of one":  {unknown, "</s>", "delete", "[2 3]"},
		"neither":               {nil, "", "delete", "[2 3]"},
		"the end beside a mask": {map[string]int{"mask": 8, "unknown": 9}, "</s>", "mask", "[8 2 3]"},
		"an end and no unknown": {map[string]int{"end": 9, "pad": 9}, "</s>", "delete", "[2 3]"},
	} {
		m := spelt{fakemodel.NewScored(1), map[int]string{9: c.text}}
		m.Kinds = c.kinds
		got := score(t, "occlusion", m, ids(1, 2, 3), scorer.Options{})
		if got.Replacement != c.want || !strings.HasPrefix(asked(m.Scored)[0], c.asked) {
			t.Errorf("%s: replacement %q, text %s; want %q, %s", name, got.Replacement,
				asked(m.Scored)[0], c.want, c.asked)
		}
	}
	// What is asked for is taken, and a model that does not say the texts of tokens is believed.
	m := spelt{fakemodel.NewScored(1), map[int]string{9: "<|endoftext|>"}}
	m.Kinds = unknown
	got := score(t, "occlusion", m, ids(1, 2, 3), scorer.Options{Replacement: "unknown"})
	if got.Replacement != "" || !strings.HasPrefix(asked(m.Scored)[0], "[9 2 3]") {
		t.Errorf("replacement %q, text %s; want the one asked for", got.Replacement,
			asked(m.Scored)[0])
	}
	if got := score(t, "occlusion", m.Scored, ids(1, 2, 3), scorer.Options{}); got.Replacement !=
		"unknown" {
		t.Errorf("replacement %q without texts, want unknown", got.Replacement)
	}
}
