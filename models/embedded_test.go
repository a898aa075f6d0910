package models_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
)

// TestBuiltin: the embedded models are the trained ones and then the circuits.
func TestBuiltin(t *testing.T) {
	want := append([]string{
		"tiny", "tiny-verb", "tiny-mlm", "tiny-sentiment", "tiny-alibi", "tiny-translation",
	}, planted.Names()...)
	if got := models.Builtin(); !slices.Equal(got, want) {
		t.Errorf("Builtin() = %v, want %v", got, want)
	}
}

// TestEmbeddedAnswers opens every trained embedded model by its name and compares the right with
// the wrong answer of a few held-out sentences of each kind. The reports say of how many thousands
// the models are right.
func TestEmbeddedAnswers(t *testing.T) {
	const n, least = 12, 9 // a guess is right in nine or more of twelve pairs once in 14 times
	for _, toy := range tiny.Models() {
		m, err := models.Open(toy.Name, models.Options{})
		must(t, err)
		info := m.Info()
		if info.Name != toy.Name || info.Note != toy.Note || len(info.Hash) != 64 {
			t.Errorf("%s: info %+v", toy.Name, info)
		}
		if !slices.Equal(m.Examples(), toy.Examples()) || m.UnknownWords("xyzzy") == nil {
			t.Errorf("%s: examples %q, unknown words %q", toy.Name, m.Examples(),
				m.UnknownWords("xyzzy"))
		}
		for _, kind := range toy.Kinds() {
			var queries []trace.Query
			for _, s := range toy.Sentences(tiny.HeldOut, kind, n, 11) {
				queries = append(queries, query(t, m, toy, s))
			}
			values, err := m.Predict(t.Context(), queries)
			must(t, err)
			right := 0
			for _, x := range values {
				if x > 0 {
					right++
				}
			}
			if right < least {
				t.Errorf("%s, %s: %d of %d pairs are right, want at least %d", toy.Name, kind,
					right, n, least)
			}
		}
	}
}

// query asks how much larger the logit of the right answer is than that of the wrong one.
func query(t *testing.T, m *models.Model, toy tiny.Model, s tiny.Sentence) trace.Query {
	t.Helper()
	tokens, err := m.Encode(s.Text(), trace.SpecialsAuto)
	must(t, err)
	q := trace.Query{Objective: trace.Objective{Quantity: trace.Logit}}
	for i, token := range tokens {
		q.IDs = append(q.IDs, token.ID)
		if token.Text == tiny.Mask || toy.Task == tiny.NextWord || toy.Task == tiny.Translation {
			q.Position = i
		}
	}
	pair := [2]int{}
	for i, answer := range []string{s.Right, s.Wrong} {
		if toy.Task == tiny.WholeText {
			pair[i], err = m.Class(answer)
		} else {
			pair[i] = firstToken(t, m, answer)
		}
		must(t, err)
	}
	q.Token, q.Contrast = pair[0], &pair[1]
	return q
}

// firstToken returns the id of the first token of a word within a text.
func firstToken(t *testing.T, m *models.Model, word string) int {
	t.Helper()
	tokens, err := m.Encode("the "+word, trace.SpecialsOff)
	must(t, err)
	if got := strings.TrimSpace(tokens[1].Text); !strings.HasPrefix(word, got) {
		t.Fatalf("the token of %q is %q", word, got)
	}
	return tokens[1].ID
}

// TestEncodersReadMarkedText: capital letters and punctuation are read as a user writes them, and a
// sentence beyond the trained positions is refused.
func TestEncodersReadMarkedText(t *testing.T) {
	m, err := models.Open(tiny.MaskedName, models.Options{})
	must(t, err)
	text := func(s string) string {
		tokens, err := m.Encode(s, trace.SpecialsAuto)
		must(t, err)
		var words []string
		for _, token := range tokens {
			words = append(words, strings.TrimSpace(token.Text))
		}
		return strings.Join(words, " ")
	}
	const want = "[CLS] mary convinced john of [MASK] love . [SEP]"
	if got := text("Mary convinced John of [MASK] love."); got != want {
		t.Errorf("tokens %q, want %q", got, want)
	}
	if got := m.UnknownWords("Mary convinced John of [MASK] love."); got != nil {
		t.Errorf("unknown words %q", got)
	}
	long := make([]int, m.Info().Context+1)
	_, err = m.Predict(t.Context(), []trace.Query{{IDs: long}})
	if err == nil || !strings.Contains(err.Error(), "more than the context of 18") {
		t.Errorf("a long text: error %v", err)
	}
}
