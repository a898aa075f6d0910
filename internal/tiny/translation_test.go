package tiny

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// translated returns the sentence of the model that translates with a text, from its training or
// from either kind of test.
func translated(t *testing.T, text string) Sentence {
	t.Helper()
	m, _ := Lookup(TranslationName)
	rng := rand.New(rand.NewPCG(8, 8))
	for range 200000 {
		if s := m.Training(rng); s.Text() == text {
			return s
		}
	}
	for _, kind := range m.Kinds() {
		for _, s := range m.Sentences(HeldOut, kind, 2000, 1) {
			if s.Text() == text {
				return s
			}
		}
	}
	t.Fatalf("no sentence %q", text)
	return Sentence{}
}

// TestTranslations compares translations and their links with some that were made by hand. A link
// is the target word, then the word that it translates, and in brackets what it agrees with.
func TestTranslations(t *testing.T) {
	for source, want := range map[string]string{
		"the old woman slept .": "la/the(woman) mujer/woman vieja/old(woman) durmió/slept(woman) ./.",
		"the dogs lost the map .": "los/the(dogs) perros/dogs perdieron/lost(dogs) el/the(map) " +
			"mapa/map ./.",
		"in the garden , the kings ran .": "los/the(kings) reyes/kings corrieron/ran(kings) " +
			"en/in el/the(garden) jardín/garden ./.",
		"the cold cows slept .": "las/the(cows) vacas/cows frías/cold(cows) durmieron/slept(cows) " +
			"./.",
	} {
		s := translated(t, source)
		var got []string
		for i, w := range s.Target {
			text := w
			for _, l := range s.Links {
				switch word := s.Words[l.Source]; {
				case l.Target != i:
				case l.Agreement:
					text += "(" + word + ")"
				default:
					text += "/" + word
				}
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q is\n%s, want\n%s", source, text, want)
		}
	}
}

// TestTranslationLinks: each word of a target translates one word of its source, which no other
// word does, every word of the source but a comma is translated, and "the" is linked to the "the"
// before its noun.
func TestTranslationLinks(t *testing.T) {
	m, _ := Lookup(TranslationName)
	rng := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		s := m.Training(rng)
		sources, targets := map[int]bool{}, map[int]bool{}
		for _, l := range s.Links {
			if l.Agreement {
				noun := strings.TrimSuffix(s.Words[l.Source], "s")
				if slices.Contains([]string{"the", ",", ".", "old", "saw", "with"}, noun) {
					t.Fatalf("%q: %q agrees with %q", s.Text(), s.Target[l.Target], noun)
				}
				continue
			}
			if sources[l.Source] || targets[l.Target] {
				t.Fatalf("%q: %v is linked twice", s.Text(), l)
			}
			sources[l.Source], targets[l.Target] = true, true
		}
		for i, w := range s.Words {
			if sources[i] == (w == ",") {
				t.Fatalf("%q: word %d is linked: %v", s.Text(), i, sources[i])
			}
		}
		if len(targets) != len(s.Target) {
			t.Fatalf("%q: %d of %d words have a link", s.Text(), len(targets), len(s.Target))
		}
	}
}

// TestTranslationsAreHeldOut: no noun of a training sentence has the adjective, and no subject the
// verb, that it has in a test sentence.
func TestTranslationsAreHeldOut(t *testing.T) {
	m, _ := Lookup(TranslationName)
	// pairs are the words of the source that agree in the target, with the noun they agree with.
	pairs := func(s Sentence) (found []string) {
		sure := map[int]string{}
		for _, l := range s.Links {
			if !l.Agreement {
				sure[l.Target] = s.Words[l.Source]
			}
		}
		for _, l := range s.Links {
			if l.Agreement && sure[l.Target] != "the" {
				found = append(found, sure[l.Target]+" "+s.Words[l.Source])
			}
		}
		return found
	}
	checkHeldOut(t, m, 2000, 20000, 120, pairs)
}

// translatedByRule translates a source word by word: a place in front goes last, an adjective
// follows its noun, and all agrees with the noun before it or, a verb, with the first one of the
// clause. It shares no code with what writes the sentences.
func translatedByRule(source []string) (target []string) {
	pools := map[string][]string{}
	for _, name := range []string{
		"beings", "goods", "qualities", "acts", "handlings", "relations",
	} {
		pools[name] = wordsOf(name)
	}
	find := func(word string, names ...string) []string { // the entry with a word of the source
		for _, name := range names {
			for _, entry := range pools[name] {
				p := strings.Split(entry, "/")
				if p[0] == word || len(p) == 5 && p[1] == word {
					return p
				}
			}
		}
		return nil
	}
	body := source[:len(source)-1]
	if at := slices.Index(body, ","); at >= 0 {
		body = slices.Concat(body[at+1:], body[:at])
	}
	subject := -1 // 1 for a plural
	for i, word := range body {
		if word == "the" {
			noun, adjective := body[i+1], ""
			if find(noun, "qualities") != nil {
				noun, adjective = body[i+2], noun
			}
			p := find(noun, "beings", "goods")
			plural := 0
			if p[1] == noun {
				plural = 1
			}
			if subject < 0 {
				subject = plural
			}
			target = append(target, map[string][]string{
				"m": {"el", "los"}, "f": {"la", "las"},
			}[p[4]][plural], p[2+plural])
			if q := find(adjective, "qualities"); q != nil {
				form := q[1]
				if p[4] == "f" {
					form = form[:len(form)-1] + "a"
				}
				target = append(target, form+[]string{"", "s"}[plural])
			}
		} else if p := find(word, "acts", "handlings"); p != nil {
			target = append(target, p[1+subject])
		} else if p := find(word, "relations"); p != nil {
			target = append(target, p[1])
		}
	}
	return append(target, ".")
}

// TestTranslationChanges: each word of a target but the full stop has one change of the source with
// an answer. With it, the translation begins with the same words and has the answer in the word's
// place. The changed word is the one that the target word translates, or the noun that an article
// agrees with. Every word of the source but articles and punctuation has a change.
func TestTranslationChanges(t *testing.T) {
	m, _ := Lookup(TranslationName)
	for _, kind := range m.Kinds() {
		for _, s := range m.Sentences(HeldOut, kind, 500, 4) {
			if got := translatedByRule(s.Words); !slices.Equal(got, s.Target) {
				t.Fatalf("%q is %q by the rule, not %q", s.Text(), got, s.Target)
			}
			if len(s.Changes) != len(s.Target) || s.Changes[len(s.Target)-1] != nil {
				t.Fatalf("%q: %d words have changes, of %d", s.Text(), len(s.Changes),
					len(s.Target))
			}
			for i, changes := range s.Changes[:len(s.Target)-1] {
				checkChanges(t, s, i, changes)
			}
			first := slices.IndexFunc(s.Changes[0], func(c Change) bool {
				return c.With[0].Answer != ""
			})
			if c := s.Changes[0][first]; c.Word != s.Sources()[0] || c.With[0].Answer != s.Wrong {
				t.Fatalf("%q: %v changes the first word, want %q", s.Text(), c, s.Wrong)
			}
		}
	}
}

// checkChanges checks the changes of word i of a target.
func checkChanges(t *testing.T, s Sentence, i int, changes []Change) {
	t.Helper()
	decides := -1
	for _, l := range s.Links {
		the := s.Words[l.Source] == "the"
		if l.Target == i && !the && (decides < 0 || !l.Agreement) {
			decides = l.Source
		}
	}
	seen := map[int]bool{}
	for _, c := range changes {
		source := slices.Clone(s.Words)
		source[c.Word] = c.With[0].Word
		if seen[c.Word] || source[c.Word] == s.Words[c.Word] {
			t.Fatalf("%q: %v changes nothing, or again", s.Text(), c)
		}
		seen[c.Word] = true
		answer := c.With[0].Answer
		if (answer != "") != (c.Word == decides) {
			t.Fatalf("%q: %q has %v, but word %d decides", s.Text(), s.Target[i], c, decides)
		}
		want := append(slices.Clone(s.Target[:i]), answer)
		if got := translatedByRule(source); answer != "" && (answer == s.Target[i] ||
			!slices.Equal(got[:i+1], want)) {
			t.Fatalf("%q is %q with %v, want %q", s.Text(), got, c, want)
		}
	}
	for word, w := range s.Words {
		if seen[word] == slices.Contains([]string{"the", ",", "."}, w) {
			t.Fatalf("%q: %q has a change: %v", s.Text(), w, seen[word])
		}
	}
}
