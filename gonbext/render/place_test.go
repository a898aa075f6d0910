package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPlaces: a sentence says in which part of the text a source stands, by who says it, by what a
// line calls itself, or by what stands around it, and nothing where a reader sees it at once.
func TestPlaces(t *testing.T) {
	more := strings.Repeat("| and", 40)
	for _, c := range []struct{ message, word, answer, want string }{
		{"The| cat| slept|.", " cat", " dog", "dog came from cat"},
		{"The| cat| slept|.", " cat", " cat", "cat came from cat in the prompt"},
		{"The| cat| slept|.| A| cat| ran|.", " cat", " dog", "dog came from “The cat slept”"},
		{"Passage| 1|:| The| cat|.|\n|Passage| 2|:| The| dog|.", " dog", " pig", "pig came from dog in passage 2"},
		{"It| slept|.|\n|Question|:| Which| cat|?", " cat", " dog", "dog came from cat in the question"},
		{"Then:| the| cat| slept|.", " cat", " dog", "dog came from cat"}, // is no label
		{"The| old| grey| cat| of| the| house| slept|." + more, " cat", " dog", "dog came from “The old grey cat”"},
		{"Now| the| very| old| grey| and| fat| cat| of| Rome| slept| and| ate|." + more, " cat", " dog",
			"dog came from “grey and fat cat of Rome”"},
		{"def| f|(|x|):|\n|  |    return| x|\n|  |    print|(y|)" + more, " x", " z", "z came from “return x”"},
		{"It| began| in| Mar|mal|ade| Town|." + more, "mal", " dog", "dog came from “It began in Marmalade Town”"},
	} {
		e := chattedAbout(strings.Split(c.message, "|")...)
		for _, row := range e.Methods["raw"].Rows {
			clear(row)
		}
		at := slices.Index(e.Prompt.Texts[12:], c.word)
		e.Methods["raw"].Rows[0][12+at] = .9
		e.Steps[0].Text = c.answer
		d := drawingOf(e)
		if say, _ := d.explainRow(&d.views[0], 0); say.String() != c.want {
			t.Errorf("%.40s: the sentence is %q, want %q", c.message, say.String(), c.want)
		}
	}
	// In the system's message, in the answer, and in one of several messages.
	e := chatted()
	e.Steps[0].Text = "Rome"
	raw := e.Methods["raw"]
	for at, want := range map[int]string{
		5: "Rome came from terse in the system prompt", 20: "No single word stands out for Rome",
	} {
		clear(raw.Rows[0])
		raw.Rows[0][at] = .9
		d := drawingOf(e)
		if say, _ := d.explainRow(&d.views[0], 0); say.String() != want {
			t.Errorf("%q, want %q", say.String(), want)
		}
	}
	clear(raw.Rows[1])
	raw.Rows[1][len(e.Prompt.Texts)] = .9
	e.Steps[1].Text = " Paris"
	d := drawingOf(e)
	say, _ := d.explainRow(&d.views[0], 1)
	if say.String() != "Paris came from Rome in the answer" {
		t.Errorf("%q", say.String())
	}
	e.Prompt.Parts[1].Role = "user" // says two things
	clear(raw.Rows[0])
	raw.Rows[0][14] = .9
	d = drawingOf(e)
	const want = "Rome came from “the” in the user's second message"
	if say, _ := d.explainRow(&d.views[0], 0); say.String() != want {
		t.Errorf("%q, want %q", say.String(), want)
	}
}

// TestNamesTexts: equal words are named once, and function words and punctuation beside another
// word are not.
func TestNamesTexts(t *testing.T) {
	e := chattedAbout("A", " cat", ",", " a", " cat", " and", " the", " dog", ".")
	e.Steps[0].Text = " pig"
	row := e.Methods["raw"].Rows[0]
	for at, want := range map[string]string{
		"13:.9 16:.9":       "pig came from cat (twice)",
		"13:.9 19:.8":       "pig came from “A cat, a cat” and dog",
		"19:.9 18:.8 14:.8": "pig came from dog",
		"18:.9":             "pig came from “the”",
		"14:.9":             "No single word stands out for pig",
		"19:.2 14:.9":       "pig came partly from dog",
	} {
		clear(row)
		for pair := range strings.FieldsSeq(at) {
			var j int
			var x float64
			if _, err := fmt.Sscanf(pair, "%d:%g", &j, &x); err != nil {
				t.Fatal(err)
			}
			row[j] = x
		}
		d := drawingOf(e)
		if say, _ := d.explainRow(&d.views[0], 0); say.String() != want {
			t.Errorf("%s: %q, want %q", at, say.String(), want)
		}
	}
}
