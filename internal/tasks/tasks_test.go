package tasks

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// all returns n cases of a kind.
func all(t *testing.T, kind string, split Split, n int, seed uint64) []evaluate.Case {
	t.Helper()
	cases, err := Cases(kind, Options{Split: split, Seed: seed, N: n})
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// each runs a test on 200 cases of every kind and split.
func each(t *testing.T, test func(t *testing.T, kind string, split Split, c evaluate.Case)) {
	t.Helper()
	for _, split := range []Split{HeldOut, Dev} {
		for _, kind := range Kinds() {
			t.Run(string(split)+" "+kind, func(t *testing.T) {
				cases := all(t, kind, split, 200, 3)
				if len(cases) != 200 {
					t.Errorf("%d cases, want 200", len(cases))
				}
				for _, c := range cases {
					test(t, kind, split, c)
				}
			})
		}
	}
}

// The counterfactual differs from the prompt in the evidence alone. Evidence is one or more whole
// words, never at the beginning, and the question and the evidence share no byte.
func TestPairs(t *testing.T) {
	each(t, func(t *testing.T, kind string, _ Split, c evaluate.Case) {
		rest, end := c.Counterfactual, 0
		for _, e := range c.Evidence {
			if e[0] >= e[1] || e[1] > len(c.Prompt) || !strings.Contains(c.Prompt[:e[0]], " ") {
				t.Fatalf("%q: evidence %v", c.Prompt, e)
			}
			before := c.Prompt[end:e[0]]
			word, found := strings.CutPrefix(rest, before)
			if !found {
				t.Fatalf("%q and %q differ outside of the evidence", c.Prompt, c.Counterfactual)
			}
			n := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
			switch kind {
			case "greater-than":
				n = 1
			case "bracket":
				n = len(" (")
			}
			if n < 0 {
				n = len(word)
			}
			if word[:n] == c.Prompt[e[0]:e[1]] {
				t.Errorf("%q: the evidence %q is not replaced", c.Prompt, word[:n])
			}
			rest, end = word[n:], e[1]
			for _, q := range c.Question {
				if overlap(q, e) {
					t.Errorf("%q: the question %v has evidence %v", c.Prompt, q, e)
				}
			}
		}
		if rest != c.Prompt[end:] || len(c.Evidence) == 0 {
			t.Errorf("%q and %q differ outside of the evidence", c.Prompt, c.Counterfactual)
		}
		if c.Continuation != "" && c.Continuation == c.Contrast {
			t.Errorf("%q: answer and foil are %q", c.Prompt, c.Contrast)
		}
		if (c.Continuation == "") != (len(c.Answers) > 0) || c.Group != kind {
			t.Errorf("%+v", c)
		}
	})
}

// What decides an answer is read from the text by itself, without the templates.
func TestAnswers(t *testing.T) {
	each(t, func(t *testing.T, kind string, split Split, c evaluate.Case) {
		e := c.Evidence[0]
		word := c.Prompt[e[0]:e[1]]
		answer := strings.TrimSpace(c.Continuation)
		w := wordsOf(split)
		switch kind {
		case "facts", "indirect-object", "variable", "function":
			if word != answer || strings.Count(c.Prompt, answer) != len(c.Evidence) {
				t.Errorf("%q: the answer %q is not the evidence", c.Prompt, answer)
			}
		case "analogy":
			relation := slices.Concat(append(w.Relations, w.Lists["capitals"])...)
			if !slices.Contains(relation, word+" "+answer) {
				t.Errorf("%q: %q is no partner of %q", c.Prompt, answer, word)
			}
		case "induction":
			_, list, _ := strings.Cut(c.Prompt, ": ")
			said := strings.Fields(strings.ReplaceAll(list, ",", ""))
			last := said[len(said)-1]
			if at := slices.Index(said, last); said[at+1] != answer {
				t.Errorf("%q: %q comes after %q, not %q", c.Prompt, said[at+1], last, answer)
			}
		case "copying":
			tail := strings.Fields(c.Prompt[strings.LastIndex(c.Prompt, ": ")+2:])
			after := strings.Join(tail, " ") + " "
			first := strings.Index(c.Prompt, after)
			next := strings.FieldsFunc(c.Prompt[first+len(after):], func(r rune) bool {
				return !unicode.IsLetter(r)
			})
			if first < 0 || next[0] != answer {
				t.Errorf("%q: the sentence goes on with %q, not %q", c.Prompt, next[0], answer)
			}
		case "bracket":
			var open []rune
			for _, r := range c.Prompt {
				if at := strings.IndexRune("([{", r); at >= 0 {
					open = append(open, rune(")]}"[at]))
				}
				if len(open) > 0 && r == open[len(open)-1] {
					open = open[:len(open)-1]
				}
			}
			if len(open) != 2 || c.Answers[0] != string(open[1]) {
				t.Errorf("%q: %q is open, and the answers are %q", c.Prompt, open, c.Answers)
			}
		case "agreement":
			plural := slices.ContainsFunc(w.Lists["subjects"], func(p string) bool {
				return strings.HasSuffix(p, " "+word)
			})
			if plural != slices.Contains(c.Answers, " are") ||
				plural == slices.Contains(c.Foils, " are") {
				t.Errorf("%q: answers %q", c.Prompt, c.Answers)
			}
		case "greater-than":
			if c.Answers[0] != word || slices.Contains(c.Answers, string(word[0]-1)) {
				t.Errorf("%q: answers %q", c.Prompt, c.Answers)
			}
		}
	})
}

// Equal seeds give equal cases, and fewer cases are the first of more.
func TestDeterministic(t *testing.T) {
	for _, kind := range Kinds() {
		many := all(t, kind, HeldOut, 60, 7)
		if few := all(t, kind, "", 20, 7); !reflect.DeepEqual(few, many[:20]) {
			t.Errorf("%s: 20 cases are not the first of 60", kind)
		}
		if other := all(t, kind, HeldOut, 60, 8); reflect.DeepEqual(other, many) {
			t.Errorf("%s: two seeds give equal cases", kind)
		}
		seen := map[string]bool{}
		for _, c := range many {
			if seen[c.Prompt] {
				t.Errorf("%s: %q comes twice", kind, c.Prompt)
			}
			seen[c.Prompt] = true
		}
	}
}

// Evidence stands in the first and in the second third of many texts, so that no line by position
// finds it. What an analogy asks for, and the subject of a verb, is rarely early; an analogy's is
// often in the last third. A bracket is open until the end, so it is never early.
func TestPlaces(t *testing.T) {
	for _, split := range []Split{HeldOut, Dev} {
		for _, kind := range Kinds() {
			thirds := [3]int{}
			for _, c := range all(t, kind, split, 300, 1) {
				thirds[3*c.Evidence[0][0]/len(c.Prompt)]++
			}
			early := kind != "analogy" && kind != "agreement" && kind != "bracket"
			if early && thirds[0] < 30 || thirds[1] < 30 || kind == "analogy" && thirds[2] < 30 {
				t.Errorf("%s %s: of 300 texts, %v have their evidence in each third", split, kind,
					thirds)
			}
		}
	}
}

// The halves share no template and no word of a list.
func TestSplitsAreApart(t *testing.T) {
	for name, have := range texts.HeldOut.Lists {
		for _, word := range have {
			if slices.Contains(texts.Dev.Lists[name], word) {
				t.Errorf("%s: %q is in both halves", name, word)
			}
		}
	}
	other := slices.Concat(texts.Dev.Relations...)
	for _, pair := range slices.Concat(texts.HeldOut.Relations...) {
		if slices.Contains(other, pair) {
			t.Errorf("%q is in both halves", pair)
		}
	}
	for _, templates := range texts.Templates {
		held := (&source{split: HeldOut}).half(templates)
		dev := (&source{split: Dev}).half(templates)
		if len(held)+len(dev) != len(templates) || len(held) == 0 || len(dev) == 0 {
			t.Errorf("%d and %d of %d templates", len(held), len(dev), len(templates))
		}
	}
}

// spaced has a token for each word, with the space before it, for each digit and each mark.
type spaced struct{ trace.Model }

func (spaced) Encode(text string, _ trace.Specials) (tokens []trace.Token, err error) {
	ids := map[string]int{}
	begin := 0
	class := func(r byte) int {
		switch {
		case r >= '0' && r <= '9' || strings.ContainsRune(".,:;!=-", rune(r)):
			return -1 // a token of its own
		case r == ' ':
			return 0
		}
		return 1
	}
	for at := 1; at <= len(text); at++ {
		if at < len(text) && class(text[at]) == 1 && class(text[at-1]) >= 0 {
			continue
		}
		piece := text[begin:at]
		if _, ok := ids[piece]; !ok {
			id := 0
			for _, r := range piece {
				id = id*31 + int(r)
			}
			ids[piece] = id
		}
		tokens = append(tokens, trace.Token{ID: ids[piece], Text: piece, Begin: begin, End: at})
		begin = at
	}
	return tokens, nil
}

// Every word and mark outside of the evidence has a change, in its own sentence of filler or alone;
// only marks of code have none, because with others it would be no code.
func TestChanges(t *testing.T) {
	code := []string{"variable", "function", "bracket"}
	each(t, func(t *testing.T, kind string, _ Split, c evaluate.Case) {
		changes, err := Changes(spaced{}, c)
		if err != nil {
			t.Fatal(err)
		}
		answers := slices.Concat([]string{c.Continuation, c.Contrast}, c.Answers, c.Foils)
		for _, span := range spans(c.Prompt, c.Evidence) {
			n := 0
			for _, change := range changes {
				if overlap(change.Span, span) {
					n++
				}
			}
			word := []rune(c.Prompt[span[0]:span[1]])
			mark := !unicode.IsLetter(word[0]) && !unicode.IsDigit(word[0])
			if n < 1 && !(mark && slices.Contains(code, kind)) || n > maxSubstitutes {
				t.Errorf("%q: %q has %d changes", c.Prompt, c.Prompt[span[0]:span[1]], n)
			}
		}
		for _, change := range changes {
			old := c.Prompt[change.Span[0]:change.Span[1]]
			if change.Text == old || slices.Contains(answers, " "+change.Text) {
				t.Errorf("%q: %q for %q", c.Prompt, change.Text, old)
			}
			touches := func(e [2]int) bool { return overlap(e, change.Span) }
			if slices.ContainsFunc(c.Evidence, touches) {
				t.Errorf("%q: a change of evidence, %+v", c.Prompt, change)
			}
		}
	})
}

// Changes that a case has already stay, and nothing is added to their spans.
func TestChangesStay(t *testing.T) {
	c := evaluate.Case{
		Prompt: "we saw Rome", Evidence: [][2]int{{7, 11}},
		Changes: []evaluate.Change{{Span: [2]int{3, 6}, Text: "left"}},
	}
	got, err := Changes(spaced{}, c)
	if err != nil || got[0] != c.Changes[0] || len(got) != 1+maxSubstitutes {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, change := range got[1:] {
		if change.Span != [2]int{0, 2} {
			t.Errorf("%+v", change)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		kind string
		opts Options
		want string
	}{
		{"fact", Options{N: 1}, "did you mean facts?"},
		{"facts", Options{N: 0}, "want 1 to 2000"},
		{"facts", Options{N: 2001}, "want 1 to 2000"},
		{"facts", Options{N: 1, Split: "test"}, "it is held-out or dev"},
	} {
		_, err := Cases(c.kind, c.opts)
		var usage *trace.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want a usage error with %q", c.kind, c.opts, err, c.want)
		}
	}
}

// No word is twice in a list: a text would ask for one of two equal words.
func TestListsHaveNoRepeats(t *testing.T) {
	for _, w := range []*words{texts.HeldOut, texts.Dev} {
		lists := maps.Clone(w.Lists)
		lists["relations"] = slices.Concat(w.Relations...)
		for name, have := range lists {
			for k, word := range have {
				if slices.Contains(have[:k], word) {
					t.Errorf("%s: %q is there twice", name, word)
				}
			}
		}
	}
}
