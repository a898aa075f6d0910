package figures_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/figures"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
)

// weighing is a decoder whose prediction is a sum over the tokens of the text, so that it is known
// what erasing one of them does.
type weighing struct{ *models.Model }

// weight is what a token adds.
func weight(id int) float64 { return float64(id%7) / 100 }

func (weighing) Predict(_ context.Context, queries []trace.Query) ([]float64, error) {
	var all []float64
	for _, q := range queries {
		sum := 0.0
		for _, id := range q.IDs {
			sum += weight(id)
		}
		if q.Position != len(q.IDs)-1 {
			sum = math.NaN()
		}
		all = append(all, sum)
	}
	return all, nil
}

// TestErase: if a prediction is a sum over the tokens, erasing one moves it by what it adds. Each
// generated token has the words of the prompt, without the one where it is read.
func TestErase(t *testing.T) {
	m := weighing{open(t, tiny.Name)}
	e, err := attribution.Explain(t.Context(), m.Model, "the keys to the cabinet",
		attribution.Options{Methods: []string{"raw"}, MaxTokens: 2})
	must(t, err)
	for step, want := range [][]int{{1, 2, 3, 4}, {1, 2, 3, 4, 5}} {
		words, importance, err := figures.Erase(t.Context(), m, e, step)
		must(t, err)
		if !slices.Equal(words, want) {
			t.Errorf("step %d erases %v, want %v", step, words, want)
		}
		for i, j := range words {
			if w := weight(e.Prompt.IDs[j]); math.Abs(importance[i]-w) > 1e-12 {
				t.Errorf("step %d: erasing token %d moves %g, want %g", step, j, importance[i], w)
			}
		}
	}
}

// english is a decoder that knows no toy grammar and reads each word as one token.
type english struct{ *models.Model }

func (english) Examples() []string { return nil }

func (english) Encode(text string, _ trace.Specials) ([]trace.Token, error) {
	var tokens []trace.Token
	for begin := 0; begin < len(text); {
		end := len(text)
		if i := strings.Index(text[begin+1:], " "); i >= 0 {
			end = begin + 1 + i
		}
		id := 0
		for _, b := range text[begin:end] {
			id = (31*id + int(b)) % 50
		}
		tokens = append(tokens, trace.Token{ID: id, Text: text[begin:end], Begin: begin, End: end})
		begin = end
	}
	return tokens, nil
}

// The word that decides has the number of the verb, and the sentence ends before it.
func TestNextSentences(t *testing.T) {
	toy, other := open(t, tiny.Name), english{open(t, tiny.Name)}
	for _, c := range []struct {
		model trace.Model
		words int // the largest number
	}{{toy, 100}, {other, 24}} {
		all, err := figures.NextSentences(c.model, 20, "agreement")
		must(t, err)
		if len(all) != 20 {
			t.Fatalf("%d sentences, want 20", len(all))
		}
		for _, s := range all {
			if len(s.Evidence) != 1 || strings.HasSuffix(s.Evidence[0], "s") != s.Other {
				t.Errorf("%q: the cue is %q, and plural is %v", s.Prompt, s.Evidence, s.Other)
			}
			words := strings.Fields(s.Prompt)
			last := words[len(words)-1] // of the other number, and a noun
			if strings.HasSuffix(last, "s") == s.Other || len(words) > c.words {
				t.Errorf("%q ends with %q, and plural is %v", s.Prompt, last, s.Other)
			}
			if c.words < 100 && !differInOneWord(s.Prompt, s.Swapped) {
				t.Errorf("%q and %q differ in more than the subject", s.Prompt, s.Swapped)
			}
			if s.Right == s.Wrong {
				t.Errorf("%q: right and wrong are the same token", s.Prompt)
			}
		}
	}
}

// differInOneWord reports whether two texts differ in one word, which is not the last one.
func differInOneWord(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	n := 0
	for i := range x {
		if x[i] != y[i] {
			n++
		}
	}
	return n == 1 && x[len(x)-1] == y[len(y)-1]
}

// A decoder that knows no toy grammar gets English sentences, and one that reads them as too many
// tokens is refused.
func TestNextWordInEnglish(t *testing.T) {
	for _, id := range []string{
		"s2-cue-decoder", "s2-faithfulness-decoder", "s2-probing-decoder",
	} {
		r, err := makeOne(t.Context(), t, id, english{open(t, tiny.Name)})
		must(t, err)
		note := ""
		if len(r.Notes) > 0 {
			note = r.Notes[len(r.Notes)-1]
		}
		if r.LeftOut != "" || len(r.Checks) < 2 ||
			!strings.Contains(note, " sentences are English") {
			t.Errorf("%s: %q, %d checks, note %q", id, r.LeftOut, len(r.Checks), note)
		}
	}
	for _, c := range []struct {
		model trace.Model
		want  string
	}{
		{open(t, tiny.MaskedName), "it needs a model that generates text"},
		{letters{open(t, tiny.Name)}, "it takes sentences of at most 24 tokens"},
	} {
		r, err := makeOne(t.Context(), t, "s2-cue-decoder", c.model)
		must(t, err)
		if !strings.Contains(r.LeftOut, c.want) {
			t.Errorf("it is left out for %q, want %q", r.LeftOut, c.want)
		}
	}
}

// letters reads each letter as a token.
type letters struct{ *models.Model }

func (letters) Examples() []string { return nil }

func (letters) Encode(text string, _ trace.Specials) ([]trace.Token, error) {
	var tokens []trace.Token
	for i := range text {
		tokens = append(tokens, trace.Token{
			ID: i % 7, Text: text[i : i+1], Begin: i, End: i + 1,
		})
	}
	return tokens, nil
}
