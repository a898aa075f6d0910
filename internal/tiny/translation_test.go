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

// TestTranslationChanges: with a change of evidence the wrong answer is right, and a change of
// another word leaves the answer as it is. Every word but articles and punctuation has a change.
func TestTranslationChanges(t *testing.T) {
	m, _ := Lookup(TranslationName)
	for _, kind := range m.Kinds() {
		for _, s := range m.Sentences(HeldOut, kind, 500, 4) {
			at := s.Sources()[0]
			changed := 0
			for _, c := range s.Changes {
				with := c.With[0]
				if with.Word == s.Words[c.Word] {
					t.Fatalf("%q: %q stays", s.Text(), with.Word)
				}
				noun, want := s.Words[at], ""
				if c.Word == at {
					noun, want = with.Word, s.Wrong
				}
				if got := articleOf(s, noun); with.Answer != want || c.Word == at && got != want ||
					c.Word != at && got != s.Right {
					t.Fatalf("%q with %q: the answer is %q, not %q", s.Text(), with.Word, got,
						with.Answer)
				}
				changed++
			}
			for _, w := range s.Words {
				if slices.Contains([]string{"the", ",", "."}, w) {
					changed++
				}
			}
			if changed != len(s.Words) {
				t.Fatalf("%q: %d words have a change or none", s.Text(), changed)
			}
		}
	}
}
