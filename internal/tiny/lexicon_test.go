package tiny

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The lexicon has exactly the words that documents have.
func TestWordsAreThoseOfTheDocuments(t *testing.T) {
	seen := make(map[string]bool)
	for _, d := range training(trainingDocuments) {
		for _, w := range d.Words {
			seen[w] = true
		}
	}
	var all []string
	for _, w := range Words() {
		all = append(all, w.Text)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(seen)), all); diff != "" {
		t.Errorf("words of 20,000 documents against Words() (-documents +lexicon):\n%s", diff)
	}
	if len(all) < 250 || len(all) > 350 {
		t.Errorf("%d words, want 250 to 350", len(all))
	}
}

func TestRareWords(t *testing.T) {
	rareNames, rareNouns := 0, 0
	for _, w := range Words() {
		if len(w.Pieces) == 0 {
			continue
		}
		if strings.Join(w.Pieces, "") != w.Text || len(w.Pieces) < 2 || len(w.Pieces) > 3 {
			t.Errorf("%q in pieces %q", w.Text, w.Pieces)
		}
		switch {
		case women[w.Text] || men[w.Text]:
			rareNames++
		case !pluralNouns[w.Text]:
			rareNouns++
		}
	}
	if rareNames != 12 || rareNouns != 15 {
		t.Errorf("%d rare names and %d rare nouns, want 12 and 15", rareNames, rareNouns)
	}
}

// A word that names a thing, a person or a color has no other role in the grammar.
func TestPoolsAreDisjoint(t *testing.T) {
	seen := make(map[string]bool)
	var verbs []string
	for _, f := range frames {
		verbs = append(verbs, f.verb)
	}
	pools := [][]string{
		names, colors, adjectives, verbs, connectives, moods, deeds, wishes,
		possessiveVerbs,
	}
	for _, n := range nouns {
		pools = append(pools, []string{n.singular, n.plural})
	}
	for _, v := range lexicalVerbs {
		pools = append(pools, []string{v.singular, v.plural})
	}
	for _, w := range slices.Concat(pools...) {
		if seen[w] {
			t.Errorf("%q is in two pools", w)
		}
		seen[w] = true
	}
}

func TestUnknownWords(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"in the grammar", "the keys to the cabinet are rusty .", nil},
		{"first prompt of a user", "The capital of France is", []string{"The", "capital", "of", "France"}},
		{"each once", "zebra the zebra ant zebra", []string{"zebra", "ant"}},
		{"point without space", "the keys are rusty.", []string{"rusty."}},
		{"any white space", "\tthe\n keys\u00a0here ", nil},
		{"not text", "\xff <script>", []string{"\xff", "<script>"}},
	} {
		got := UnknownWords(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: UnknownWords(%q) (-want +got):\n%s", tt.name, tt.text, diff)
		}
	}
}
