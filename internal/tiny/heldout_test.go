package tiny

import (
	"fmt"
	"hash/fnv"
	"testing"
)

// The embedded weights were trained without these pairs, so the pairs must never change. The test
// checks one pair in eight and a sum over all held-out pairs. The fractions are exact because the
// pools are divided into equal classes, except that 60 nouns are in 8 classes of 7 or 8:
// (4·8²+4·7²)/60² = 0.1256.
func TestPartitionIsFixed(t *testing.T) {
	var verbs []string
	for _, f := range frames {
		verbs = append(verbs, f.verb)
	}
	h := fnv.New64a()
	for _, tt := range []struct {
		relation relation
		a, b     []string
		fraction float64
	}{
		{headAttractor, lemmas(nouns), lemmas(nouns), 0.1256},
		{nameFrame, names, verbs, 0.125},
		{nameObject, names, lemmas(objects), 0.125},
		{objectColor, lemmas(objects), colors, 0.125},
	} {
		held := 0
		for _, a := range tt.a {
			for _, b := range tt.b {
				if tt.relation.heldOut(a, b) != tt.relation.heldOut(b, a) {
					t.Errorf("relation %d is not symmetric in %s, %s", tt.relation, a, b)
				}
				if tt.relation.heldOut(a, b) {
					held++
					fmt.Fprintln(h, tt.relation, a, b)
				}
			}
		}
		got := float64(held) / float64(len(tt.a)*len(tt.b))
		if got < tt.fraction-0.0001 || got > tt.fraction+0.0001 {
			t.Errorf("relation %d holds out %.4f of its pairs, want %.4f", tt.relation, got,
				tt.fraction)
		}
	}
	if got, want := h.Sum64(), uint64(0xe0b48a3fd4a5aee4); got != want {
		t.Errorf("the held-out pairs have changed (sum %#x, want %#x): train the embedded model "+
			"again", got, want)
	}
}

func TestHeldOut(t *testing.T) {
	for _, tt := range []struct {
		name     string
		relation relation
		a, b     string
		want     bool
	}{
		{"documented sentence", headAttractor, "key", "cabinet", false},
		{"held-out example", headAttractor, "lamp", "cabinet", true},
		{"documented fact", nameObject, "mary", "key", false},
		{"documented foil", nameObject, "mary", "lamp", false},
		{"held-out fact", nameObject, "anna", "rope", true},
		{"class without held-out pairs", nameObject, "mary", "umbrella", false},
		{"noun with itself", headAttractor, "key", "key", true},
		{"plural counts as its lemma", neighbors, "lamps", "doors", true},
		{"unknown word", nameObject, "mary", "unicorn", false},
		{"two unknown words", nameObject, "", "", false},
	} {
		if got := tt.relation.heldOut(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: HeldOut(%s, %s) = %v, want %v", tt.name, tt.a, tt.b, got, tt.want)
		}
	}
}
