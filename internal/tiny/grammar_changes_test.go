package tiny

import (
	"slices"
	"strings"
	"testing"
)

// Every word has changes, and the answer after a change is the one that the parser of the tests
// finds in the changed text.
func TestChanges(t *testing.T) {
	for _, k := range Kinds() {
		forms := 0
		for _, d := range New(HeldOut).Test(k, 360, 11) {
			a := d.Answers[0]
			changes := d.Changes(a)
			if len(changes) != a.Word {
				t.Fatalf("%d changes before word %d of %q", len(changes), a.Word, d.Text())
			}
			for i, c := range changes {
				if c.Word != i || len(c.With) == 0 {
					t.Fatalf("%q: change %d is %+v", d.Text(), i, c)
				}
				is := slices.ContainsFunc(a.Evidence, func(e Evidence) bool { return e.Word == i })
				if c.Form {
					forms++
					if is {
						t.Fatalf("%q: evidence %q is of form", d.Text(), d.Words[i])
					}
				}
				for _, s := range c.With {
					if s.Word == d.Words[i] {
						t.Fatalf("%q: %q stands for itself", d.Text(), s.Word)
					}
					if !c.Form {
						checkChange(t, d, a, i, s, is)
					}
				}
			}
		}
		if forms == 0 {
			t.Errorf("%v: no word of form", k)
		}
	}
}

// checkChange reads the text with the substitute for word i.
func checkChange(t *testing.T, d Document, a Answer, i int, s Substitute, evidence bool) {
	t.Helper()
	right := d.Words[a.Word]
	if d.Kind == Copying { // the repetition does not fit a changed list, so no parser reads it
		if want := map[bool]string{true: s.Word}[evidence]; s.Answer != want ||
			slices.Contains(d.Words, s.Word) {
			t.Fatalf("%q: %q for word %d makes %q right, want %q", d.Text(), s.Word, i, s.Answer,
				want)
		}
		return
	}
	words := slices.Clone(d.Words)
	words[i] = s.Word
	if s.Answer != "" {
		right = s.Answer
	}
	words[a.Word] = right
	text := strings.Join(words, " ")
	p, err := parse(d.Kind, text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if evidence != (s.Answer != "") && (!evidence || d.Kind != Recall) {
		t.Fatalf("%q: %q for word %d makes %q right", d.Text(), s.Word, i, s.Answer)
	}
	at := slices.IndexFunc(p.answers, func(e expected) bool { return e.word == a.Word })
	switch {
	case at < 0:
		t.Fatalf("%q has no answer at %d", text, a.Word)
	case d.Kind != Recall: // the parser has held the answer to its subject or person
	case evidence && s.Answer == "":
		// No fact fits the question, or two do.
		if e := p.answers[at]; len(e.sources) == 1 && len(e.queries) == 1 {
			t.Fatalf("%q: %q is right, and the change says that nothing is", text,
				words[e.sources[0]])
		}
	default:
		if e := p.answers[at]; len(e.sources) != 1 || words[e.sources[0]] != right {
			t.Fatalf("%q: sources %v, want %q", text, e.sources, right)
		}
	}
}

// The expected changes are written by hand.
func TestKnownChanges(t *testing.T) {
	d := Document{
		Kind: Recall,
		Words: strings.Fields("mary has the red key . john has the blue lamp . who has the lamp " +
			"? john ."),
		Answers: []Answer{{
			Word: 17, Alternatives: []string{"mary"},
			Evidence: []Evidence{{6, Source}, {10, Cue}, {15, Query}},
		}},
	}
	changes := d.Changes(d.Answers[0])
	if got := changes[15].With; len(got) != 1 || got[0] != (Substitute{"key", "mary"}) {
		t.Errorf("the question asks for %+v, want the key and mary", got)
	}
	if s := changes[6].With[0]; s.Answer != s.Word || !slices.Contains(males, s.Word) ||
		s.Word == "john" {
		t.Errorf("john becomes %+v", s)
	}
	if s := changes[10].With[0]; s.Answer != "" || s.Word == "key" || s.Word == "lamp" {
		t.Errorf("the lamp becomes %+v", s)
	}
	if !changes[16].Form || changes[0].Form || changes[0].With[0].Answer != "" {
		t.Errorf("the question mark %+v, mary %+v", changes[16], changes[0])
	}
	d = Document{
		Kind: Agreement, Words: strings.Fields("the keys to the cabinet are here ."),
		Answers: []Answer{
			{Word: 5, Alternatives: []string{"is"}, Evidence: []Evidence{{1, Source}}},
		},
	}
	changes = d.Changes(d.Answers[0])
	if got := changes[1].With; len(got) != 1 || got[0] != (Substitute{"key", "is"}) {
		t.Errorf("the subject becomes %+v", got)
	}
	if s := changes[4].With[0]; s != (Substitute{"cabinets", ""}) {
		t.Errorf("the other noun becomes %+v first", s)
	}
}
