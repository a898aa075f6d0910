package tiny

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// encoders are the embedded models that read sentences.
func encoders() []Model {
	return slices.DeleteFunc(Models(), func(m Model) bool { return m.Task == NextWord })
}

// TestSentences checks every kind of test sentence: its answer, its pair, its evidence, that
// conditions come equally often and that no two sentences are equal.
func TestSentences(t *testing.T) {
	for _, m := range encoders() {
		for _, kind := range m.Kinds() {
			for _, split := range []Split{HeldOut, Train} {
				all := m.Sentences(split, kind, 240, 3)
				if !cmp.Equal(all, m.Sentences(split, kind, 240, 3)) {
					t.Fatalf("%s: two draws of one seed differ", kind)
				}
				right, texts := map[string]int{}, map[string]bool{}
				for _, s := range all {
					checkSentence(t, m, s)
					right[s.Right]++
					texts[s.Text()] = true
				}
				if len(texts) != len(all) {
					t.Errorf("%s: %d different texts, want %d", kind, len(texts), len(all))
				}
				if m.Task == WholeText {
					for _, label := range m.Labels {
						if right[label] != len(all)/2 {
							t.Errorf("%s: %d of %d are %s, want half", kind, right[label],
								len(all), label)
						}
					}
				}
			}
		}
	}
}

func checkSentence(t *testing.T, m Model, s Sentence) {
	t.Helper()
	fail := func(reason string) { t.Fatalf("%s, %s: %q: %s", s.Kind, s.Form, s.Text(), reason) }
	if unknown := m.UnknownWords(s.Text() + " " + s.Filled(s.Right)); unknown != nil {
		fail(fmt.Sprintf("unknown words %q", unknown))
	}
	if s.Right == s.Wrong || (s.Nearest != s.Right && s.Nearest != s.Wrong) {
		fail(fmt.Sprintf("right %q, wrong %q, nearest %q", s.Right, s.Wrong, s.Nearest))
	}
	switch {
	case m.Task == WholeText && (s.Answer != -1 || !slices.Contains(m.Labels, s.Right)):
		fail("the answer is no class")
	case m.Task == MaskedWord && (s.Words[s.Answer] != Mask ||
		strings.Count(s.Text(), Mask) != 1 || strings.Contains(s.Filled(s.Right), Mask)):
		fail("the answer is not the one mask token")
	case m.Task == Translation && (s.Answer != len(s.Words) || s.Target[0] != s.Right):
		fail("the answer does not begin the translation")
	}
	if len(s.Sources()) == 0 {
		fail("nothing decides the answer")
	}
	for _, e := range s.Evidence {
		if e.Word == s.Answer || e.Word < 0 || e.Word >= len(s.Words) {
			fail(fmt.Sprintf("evidence %d", e.Word))
		}
		begin, end := s.Span(e.Word)
		if got := s.Text()[begin:end]; got != s.Words[e.Word] {
			fail(fmt.Sprintf("the span of word %d is %q", e.Word, got))
		}
	}
}

// TestEvidenceDecides reads the answer off the evidence by rules that share nothing with the
// grammar: endings of nouns, lists of names, and the polarity of words.
func TestEvidenceDecides(t *testing.T) {
	irregular := map[string]bool{
		"women": true, "men": true, "gentlemen": true, "knives": true, "wolves": true,
		"shelves": true,
	}
	singularS := map[string]bool{"actress": true, "waitress": true}
	plural := func(w string) bool {
		return irregular[w] || strings.HasSuffix(w, "s") && !singularS[w]
	}
	female := func(w string) bool {
		return slices.Contains(femaleNames, w) || slices.ContainsFunc(femaleNouns,
			func(f forms) bool { return f.singular == w || f.plural == w })
	}
	rules := map[string]func(s Sentence, word string) string{
		"verb number": func(_ Sentence, w string) string { return number(plural(w)) },
		"pronoun": func(_ Sentence, w string) string {
			return map[bool]string{true: "her", false: "his"}[female(w)]
		},
		"determiner": func(s Sentence, w string) string {
			many := slices.Contains([]string{"these", "those"}, s.Right)
			if plural(w) == many {
				return s.Right
			}
			return s.Wrong
		},
		"agreement": func(s Sentence, w string) string {
			many := slices.Contains([]string{"are", "were", "have"}, s.Right) ||
				!slices.Contains([]string{"is", "was", "has"}, s.Right) &&
					!strings.HasSuffix(s.Right, "s")
			if plural(w) == many {
				return s.Right
			}
			return s.Wrong
		},
		"anaphor": func(_ Sentence, w string) string {
			isName := slices.Contains(slices.Concat(femaleNames, maleNames), w)
			switch {
			case plural(w) && !isName:
				return "themselves"
			case female(w):
				return "herself"
			}
			return "himself"
		},
		"sentiment": func(s Sentence, w string) string {
			good := slices.Contains(positive, w) || slices.ContainsFunc(positiveFeelings,
				func(f forms) bool { return f.singular == w || f.plural == w })
			at := slices.Index(s.Words, w)
			for _, i := range s.Sources() { // a negation just before the word
				if slices.Contains(negations, s.Words[i]) && i < at &&
					!slices.Contains(s.Words[i:at], "and") {
					good = !good
				}
			}
			return label(good)
		},
		"gender": articleOf, "number": articleOf,
	}
	for _, m := range encoders() {
		for _, kind := range m.Kinds() {
			for _, s := range m.Sentences(HeldOut, kind, 300, 5) {
				for _, i := range s.Sources() {
					word := s.Words[i]
					if slices.Contains(negations, word) || kind == "sentiment" &&
						slices.Index(s.Words, word) != i {
						continue
					}
					if got := rules[kind](s, word); got != s.Right {
						t.Fatalf("%s: %q: %q says %q, the answer is %q", kind, s.Text(), word, got,
							s.Right)
					}
				}
			}
		}
	}
}

// articleOf is the article of the translation of a noun.
func articleOf(_ Sentence, w string) string {
	stem := strings.TrimSuffix(strings.TrimSuffix(w, "s"), "e")
	many := strings.HasSuffix(w, "s") || slices.Contains([]string{"men", "women"}, w)
	female := slices.Contains(strings.Fields("queen girl woman women cow sister aunt daughter hen"),
		stem)
	return map[[2]bool]string{
		{false, false}: "el", {true, false}: "la", {false, true}: "los", {true, true}: "las",
	}[[2]bool{female, many}]
}

// TestSentencesAreHeldOut: no subject of a training sentence is combined with a noun as in a test
// sentence.
func TestSentencesAreHeldOut(t *testing.T) {
	m, _ := Lookup(VerbName)
	pairs := func(s Sentence) []string {
		var found []string
		head := s.Words[s.Sources()[0]]
		for i, w := range s.Words {
			if i != s.Sources()[0] && isNoun(w) {
				found = append(found, singularOf(head)+" "+singularOf(w))
			}
		}
		return found
	}
	checkHeldOut(t, m, 1000, 5000, 500, pairs)
}

// checkHeldOut checks that no training sentence has a pair of words that a test sentence has. tests
// is how many of these there are of each kind, draws how many of training, and least the fewest
// pairs.
func checkHeldOut(
	t *testing.T, m Model, tests, draws, least int, pairs func(Sentence) []string,
) {
	t.Helper()
	heldOut := map[string]bool{}
	for _, kind := range m.Kinds() {
		for _, s := range m.Sentences(HeldOut, kind, tests, 1) {
			for _, p := range pairs(s) {
				heldOut[p] = true
			}
		}
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for range draws {
		s := m.Training(rng)
		for _, p := range pairs(s) {
			if heldOut[p] {
				t.Fatalf("training has %q with the pair %q, which is held out", s.Text(), p)
			}
		}
	}
	if len(heldOut) < least {
		t.Errorf("%d pairs are held out", len(heldOut))
	}
}

func isNoun(w string) bool {
	return slices.ContainsFunc(sentenceNouns,
		func(f forms) bool { return f.singular == w || f.plural == w })
}

func singularOf(w string) string {
	i := slices.IndexFunc(sentenceNouns,
		func(f forms) bool { return f.singular == w || f.plural == w })
	return sentenceNouns[i].singular
}

// TestTrainingSentences: training has every kind and every word that a model knows, and no other,
// and stays within the length that the encoders have positions for.
func TestTrainingSentences(t *testing.T) {
	for _, m := range encoders() {
		vocabulary := map[string]bool{}
		for _, w := range m.Words() {
			vocabulary[w.Text] = true
		}
		rng, kinds, words := rand.New(rand.NewPCG(4, 4)), map[string]bool{}, map[string]bool{}
		for range 10000 {
			s := m.Training(rng)
			kinds[s.Kind] = true
			if len(s.Words) > 16 {
				t.Fatalf("%s: %q has %d words, more than 16", m.Name, s.Text(), len(s.Words))
			}
			for _, w := range slices.Concat(s.Words, s.Target, []string{s.Right}) {
				words[w] = true
			}
		}
		for _, label := range append(m.Labels, Mask) {
			delete(words, label)
		}
		if diff := cmp.Diff(m.words(), slices.Sorted(maps.Keys(words))); diff != "" {
			t.Errorf("%s: words (-known +trained):\n%s", m.Name, diff)
		}
		for w := range words {
			if !vocabulary[w] {
				t.Errorf("%s: %q is not in the vocabulary", m.Name, w)
			}
		}
		if len(kinds) != len(m.Kinds()) {
			t.Errorf("%s: training has %d kinds, want %d", m.Name, len(kinds), len(m.Kinds()))
		}
	}
}

// The sentences are fixed, because the weights were trained on them and notebooks show them. Their
// changes are no part of either.
func TestSentencesAreFixed(t *testing.T) {
	h := fnv.New64a()
	for _, m := range Models() {
		for _, kind := range m.Kinds() {
			sentences := m.Sentences(HeldOut, kind, 50, 1)
			for i := range sentences {
				sentences[i].Changes = nil
			}
			fmt.Fprintln(h, sentences)
		}
	}
	if got, want := h.Sum64(), uint64(0xd7262855656336ea); got != want {
		t.Errorf("the sentences have changed (sum %#x, want %#x): train the models again", got, want)
	}
}

// TestDecoderSentences: a decoder's sentences are prompts with the next word as the answer.
func TestDecoderSentences(t *testing.T) {
	for _, name := range []string{Name, AlibiName} {
		m, _ := Lookup(name)
		for i, kind := range m.Kinds() {
			d := New(HeldOut).Test(Kind(i), 1, 1)[0]
			s := m.Sentences(HeldOut, kind, 1, 1)[0]
			if s.Text() != d.Prompt(d.Answers[0]) || s.Answer != len(s.Words) ||
				s.Right != d.Words[s.Answer] || s.Filled("word") != s.Text()+" word" {
				t.Errorf("%s, %s: %+v is not the prompt of %q", name, kind, s, d.Text())
			}
		}
	}
}

func TestSentencesRefuse(t *testing.T) {
	m, _ := Lookup(VerbName)
	for name, f := range map[string]func(){
		"kind":     func() { m.Sentences(HeldOut, "poems", 1, 1) },
		"too many": func() { m.Sentences(HeldOut, m.Kinds()[0], MaxSentences+1, 1) },
		"negative": func() { m.Sentences(HeldOut, m.Kinds()[0], -1, 1) },
		"decoder": func() {
			d, _ := Lookup(AlibiName)
			d.Training(rand.New(rand.NewPCG(1, 1)))
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestModels: every model is found by its name, knows the words of its examples, and names
// checkpoints that published work used, except the one whose original was never published.
func TestModels(t *testing.T) {
	if len(Names()) != 6 || Names()[0] != Name {
		t.Errorf("Names() = %v", Names())
	}
	for _, m := range Models() {
		if found, ok := Lookup(m.Name); !ok || found.Note != m.Note {
			t.Errorf("Lookup(%s) = %v, %v", m.Name, found.Name, ok)
		}
		if len(m.Examples()) == 0 {
			t.Errorf("%s has no examples", m.Name)
		}
		for _, e := range m.Examples() {
			if unknown := m.UnknownWords(e); unknown != nil {
				t.Errorf("%s does not know %q of its example %q", m.Name, unknown, e)
			}
		}
		if _, err := m.Files().Open("config.json"); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
	if _, ok := Lookup("tiny-poem"); ok {
		t.Error("a model that is not there is found")
	}
	masked, _ := Lookup(MaskedName)
	if got := masked.UnknownWords("Mary saw a Parrot [MASK]."); !slices.Equal(got,
		[]string{"a", "parrot"}) {
		t.Errorf("UnknownWords = %q", got)
	}
}
