package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// The words of a verdict stand below the sentence in a text, a page and a figure, the same in all,
// and a picture that the test does not bear out says so first.
func TestVerdictWords(t *testing.T) {
	for _, c := range []struct {
		name    string
		verdict verdict.Verdict
		want    string
		first   bool // the sentence begins with the finding
	}{
		{"holds", verdict.Verdict{
			Sources: []int{16, 15, 17}, Replacement: "delete", Whole: .92, Without: .03, Others: .91,
			Draws: 20, Holds: true, Faithfulness: []float64{.97, .96, .98},
		}, "test, the probability of Rome with words deleted:\n– without Colosseum: 92.0 → 3.0 %\n" +
			"– without another word: 92.0 → 91.0 % (20 draws)", false},
		{"disagrees", verdict.Verdict{
			Sources: []int{16, 12}, Replacement: "[MASK]", Whole: .5, Without: .5, Others: .4,
			Draws: 1,
		}, "test, the probability of Rome with words replaced by \"[MASK]\":\n" +
			"– without Colosseum and “Where”: 50.0 → 50.0 %\n" +
			"– without 2 other words: 50.0 → 40.0 % (1 draw)", true},
		{"too few draws to tell", verdict.Verdict{
			Sources: []int{16}, Replacement: "delete", Whole: .96, Without: 4e-6, Others: .07,
			Draws: 2, Interval: [2]float64{-.02, .16}, Range: [2]float64{.02, .12},
		}, "test, the probability of Rome with words deleted:\n– without Colosseum: 96.0 → 0.0 %\n" +
			"– without another word: 96.0 → 7.0 % (2 draws)", false},
		{"of another word", verdict.Verdict{
			Sources: []int{13}, Replacement: "delete", Draws: 20, Holds: true,
		}, "test, the probability of Rome with words deleted:\n" +
			"– not taken away: Colosseum, which cannot be\n" +
			"– without “is”: 0.0 → 0.0 %\n– without another word: 0.0 → 0.0 % (20 draws)", false},
		{"opposed", verdict.Verdict{
			Sources: []int{16}, Replacement: "delete", Whole: .92, Without: .03, Others: .91,
			Draws: 10, Holds: true,
			Opposed: &verdict.Opposed{Sources: []int{12}, Without: .81},
		}, "test, the probability of Rome with words deleted:\n– without Colosseum: 92.0 → 3.0 %\n" +
			"– without another word: 92.0 → 91.0 % (10 draws)\n" +
			"– without “Where”, which is against it: 92.0 → 81.0 %, so without this the answer is no " +
			"more probable", false},
		{"opposed, rightly", verdict.Verdict{
			Sources: []int{16}, Replacement: "delete", Draws: 10, Holds: true,
			Opposed: &verdict.Opposed{Sources: []int{12, 18}, Without: .9},
		}, "test, the probability of Rome with words deleted:\n– without Colosseum: 0.0 → 0.0 %\n" +
			"– without another word: 0.0 → 0.0 % (10 draws)\n" +
			"– without “Where” and “?”, which are against it: 0.0 → 90.0 %, so without this the answer " +
			"is more probable", false},
		{"opposed, needed", verdict.Verdict{
			Sources: []int{16}, Replacement: "delete", Whole: .904, Without: .03, Others: .91,
			Draws: 10, Holds: true,
			Opposed: &verdict.Opposed{Sources: []int{12}, Without: .452},
		}, "test, the probability of Rome with words deleted:\n– without Colosseum: 90.4 → 3.0 %\n" +
			"– without another word: 90.4 → 91.0 % (10 draws)\n" +
			"– without “Where”, which is against it: 90.4 → 45.2 %, so the answer needs it, too",
			false},
		{"opposed, both needed", verdict.Verdict{
			Sources: []int{16}, Replacement: "delete", Whole: .565, Without: .03, Others: .91,
			Draws: 10, Holds: true,
			Opposed: &verdict.Opposed{Sources: []int{12, 18}},
		}, "test, the probability of Rome with words deleted:\n– without Colosseum: 56.5 → 3.0 %\n" +
			"– without another word: 56.5 → 91.0 % (10 draws)\n" +
			"– without “Where” and “?”, which are against it: 56.5 → 0.0 %, so the answer needs " +
			"them, too", false},
		{"opposed, needed in place of it", verdict.Verdict{
			Sources: []int{16}, Replacement: "delete", Whole: .9, Without: .9, Others: .9,
			Draws: 10, Opposed: &verdict.Opposed{Sources: []int{12}, Without: .1},
		}, "test, the probability of Rome with words deleted:\n– without Colosseum: 90.0 → 90.0 %\n" +
			"– without another word: 90.0 → 90.0 % (10 draws)\n" +
			"– without “Where”, which is against it: 90.0 → 10.0 %, so the answer needs it", true},
		{"repeated", verdict.Verdict{
			Sources: []int{16}, Replacement: "delete", Whole: .9, Without: .9, Others: .9,
			Draws: 10, Range: [2]float64{.88, .92},
			Repeated: &verdict.Repeated{Sources: []int{5, 12}, Without: .2},
		}, "test, the probability of Rome with words deleted:\n– without Colosseum: 90.0 → 90.0 %\n" +
			"– without another word: 90.0 → 90.0 % (10 draws)\n" +
			"– without Colosseum at 2 other places, too: 90.0 → 20.0 %", false},
		{"of a contrast that turns over", verdict.Verdict{
			Sources: []int{12}, Replacement: "delete", Quantity: trace.Logit, Contrast: " Paris",
			Whole: 3.14, Without: 2.9, Others: 2.96, Draws: 5, Holds: true,
			Opposed: &verdict.Opposed{Sources: []int{16}, Without: -.2},
		}, "test, the log-odds of “In” over “Paris” with words deleted:\n" +
			"– without “Where”: 3.1 → 2.9\n– without another word: 3.1 → 3.0 (5 draws)\n" +
			"– without Colosseum, which is for “Paris”: 3.1 → −0.2, so “Paris” is then more " +
			"probable", false},
		{"of a contrast that is halved", verdict.Verdict{
			Sources: []int{12}, Replacement: "delete", Quantity: trace.Logit, Contrast: " Paris",
			Whole: 3.14, Without: 2.9, Others: 2.96, Draws: 5, Holds: true,
			Opposed: &verdict.Opposed{Sources: []int{16}, Without: 1.5},
		}, "test, the log-odds of “In” over “Paris” with words deleted:\n" +
			"– without “Where”: 3.1 → 2.9\n– without another word: 3.1 → 3.0 (5 draws)\n" +
			"– without Colosseum, which is for “Paris”: 3.1 → 1.5, so the answer needs it, too",
			false},
		{"of a contrast", verdict.Verdict{
			Sources: []int{12}, Replacement: "delete", Quantity: trace.Logit, Contrast: " Paris",
			Whole: 3.14, Without: -.42, Others: 2.96, Draws: 5, Holds: true,
			Opposed: &verdict.Opposed{Sources: []int{16}, Without: 3.5},
		}, "test, the log-odds of “In” over “Paris” with words deleted:\n" +
			"– without “Where”: 3.1 → −0.4, so “Paris” is then more probable\n" +
			"– without another word: 3.1 → 3.0 (5 draws)\n" +
			"– without Colosseum, which is for “Paris”: 3.1 → 3.5, so without this the log-odds " +
			"are larger", false},
		{"untested", verdict.Verdict{Reason: "there are not as many other words to take away"},
			"not tested: there are not as many other words to take away", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := chatted()
			v := c.verdict
			v.Method = e.Order[0]
			e.Methods[v.Method].Contrast = v.Contrast
			d := drawingOf(e)
			say, _ := d.explainRow(&d.views[0], d.chosen)
			if strings.Contains(say.String(), "test") {
				t.Errorf("a picture without a verdict: %s", say)
			}
			e.Steps[d.chosen].Studies.Set(verdict.Name, &v)
			d = drawingOf(e)
			if d.lead != 0 {
				t.Fatalf("the picture opens with method %d", d.lead)
			}
			if got := plain(d.tested(&d.views[0], d.chosen).String()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			say, facts := d.explainRow(&d.views[0], d.chosen)
			if strings.HasPrefix(say.String(), "A test disagrees. ") != c.first {
				t.Errorf("the sentence is %s", say)
			}
			if got := plain(facts.String()); !strings.HasPrefix(got, c.want+"\n") {
				t.Errorf("the facts are %s", got)
			}
			lines := strings.Count(facts.html(), "<br>")
			if lines != 1+strings.Count(c.want, "\n") {
				t.Errorf("the page has %d lines: %s", lines, facts.html())
			}
			var text bytes.Buffer
			err := Text(&text, Heatmap{Explanation: e}, Terminal{Width: 1000})
			must(t, err)
			if want := strings.ReplaceAll(c.want, "\n", "\n  "); !strings.Contains(
				plain(text.String()), "\n"+want+"\n") {
				t.Errorf("the text lacks %s:\n%s", c.want, text.String())
			}
			drawn, err := Heatmap{Explanation: e}.Drawn(e.Order[0])
			must(t, err)
			note := strings.Replace(strings.ReplaceAll(c.want, "\n–", ";"), ":;", ":", 1) + "."
			if !strings.Contains(strings.Join(drawn.Notes, "\n"), note) {
				t.Errorf("the notes of a figure are %v", drawn.Notes)
			}
			rest := d.rest(&d.views[0], d.chosen)
			if strings.Contains(rest, "faithfulness 0.97 (0.96 to 0.98)") != (c.name == "holds") {
				t.Errorf("the details say %s", rest)
			}
		})
	}
}

// A picture opens at the only token that was tested, and one whose test was too long says how to
// ask for it.
func TestVerdictOpens(t *testing.T) {
	e := chatted()
	if at := (Show{}).Opening(e); at != 1 {
		t.Fatalf("opens at %d", at)
	}
	e.Steps[0].Studies.Set(verdict.Name, &verdict.Verdict{
		Method: "raw", Sources: []int{12}, Read: 470, Reason: "it would read 470 tokens again",
	})
	if at := (Show{}).Opening(e); at != 0 {
		t.Errorf("opens at %d and not at the token tested", at)
	}
	if at := (Show{Token: new(1)}).Opening(e); at != 1 {
		t.Errorf("opens at %d and not at the token asked for", at)
	}
	d := drawingOf(e)
	want := "not tested: it would read 470 tokens again; ask for it with --prove opening, or in a " +
		"cell with Studies{\"prove\": \"opening\"} of the options"
	if got := plain(d.tested(&d.views[0], 0).String()); got != want {
		t.Errorf("got %s", got)
	}
	e.Steps[1].Studies.Set(verdict.Name, &verdict.Verdict{Method: "raw", Sources: []int{16}})
	if at := (Show{}).Opening(e); at != 1 {
		t.Errorf("with two verdicts it opens at %d", at)
	}
}

// By default pictures of tokens are tested, and those that show no verdict are not.
func TestProveByDefault(t *testing.T) {
	layer := 0
	for _, c := range []struct {
		show Show
		opts attribution.Options
		want string
	}{
		{Show{}, attribution.Options{}, "auto"},
		{Show{Kind: KindText}, attribution.Options{}, "auto"},
		{Show{}, attribution.Options{Studies: attribution.Studies{"prove": "off"}}, "off"},
		{Show{Layer: &layer}, attribution.Options{Studies: attribution.Studies{"prove": "off"}}, "off"},
		{Show{}, attribution.Options{Studies: attribution.Studies{"prove": "all"}}, "all"},
		{Show{By: "word"}, attribution.Options{}, ""},
		{Show{Layer: &layer}, attribution.Options{}, ""},
		{Show{}, attribution.Options{Target: "answer"}, ""},
		{Show{Kind: KindCompare}, attribution.Options{}, ""},
		{Show{Kind: KindLens}, attribution.Options{}, ""},
	} {
		must(t, c.show.SetMethod(&c.opts))
		if c.opts.Studies["prove"] != c.want {
			t.Errorf("%+v: prove %q, want %q", c.show, c.opts.Studies["prove"], c.want)
		}
	}
}

// TestVerdictRefused: a verdict of a damaged file, and one on another layer than the one shown, is
// none.
func TestVerdictRefused(t *testing.T) {
	for name, c := range map[string]struct {
		sources []int
		none    bool
	}{
		"of the text":        {[]int{16}, false},
		"below the text":     {[]int{-1}, true},
		"after the text":     {[]int{1 << 40}, true},
		"more than named":    {[]int{1, 2, 3, 4}, true},
		"– without a source": {nil, true},
	} {
		e := chatted()
		d := drawingOf(e)
		e.Steps[d.chosen].Studies.Set(verdict.Name, &verdict.Verdict{
			Method: e.Order[0], Sources: c.sources, Draws: 20,
		})
		d = drawingOf(e)
		if say := d.tested(&d.views[0], d.chosen); (say == nil) != c.none {
			t.Errorf("%s: %s", name, say)
		}
	}
	e := example()
	r := e.Methods[e.Order[0]]
	e.Steps[0].Studies.Set(verdict.Name, &verdict.Verdict{Method: e.Order[0], Sources: []int{1}, Draws: 20})
	for k, layer := range r.Layers {
		d := newDrawing(Heatmap{Explanation: e, Layer: &layer}.picture(true), nil)
		if got := d.verdict(&d.views[0], 0) != nil; got != (k == r.Level(0)) {
			t.Errorf("layer %d has a verdict: %v; layer %d was tested", layer, got,
				r.Layer(0, r.Level(0)))
		}
	}
}

// What is against a token and was tested stands apart from what was not.
func TestUntestedFacts(t *testing.T) {
	e := chatted()
	r := e.Methods["raw"]
	r.Evidence, r.Scorer, r.Rows[1][12], r.Rows[1][18] = trace.Written, true, -.3, -.2
	e.Steps[1].Studies.Set(verdict.Name, &verdict.Verdict{
		Method: "raw", Sources: []int{16}, Draws: 20, Replacement: "delete",
		Opposed: &verdict.Opposed{Sources: []int{12}},
	})
	d := drawingOf(e)
	facts := d.facts(&d.views[0], 1).String()
	want := " · written against it Where −30.0 % · not tested: “?” −20.0 % · "
	if !strings.Contains(facts, want) {
		t.Errorf("the facts are %q, want %q in them", facts, want)
	}
	e.Steps[1].Studies = nil
	d = drawingOf(e)
	facts = d.facts(&d.views[0], 1).String()
	want = " · written against it Where −30.0 %, “?” −20.0 % · "
	if !strings.Contains(facts, want) {
		t.Errorf("the facts are %q, want %q in them", facts, want)
	}
}

// What is against a token and cannot be taken away has its reason, and a row that was not tested
// says nothing of a test.
func TestUntestedWhy(t *testing.T) {
	e := chatted()
	m := len(e.Prompt.Texts)
	r := e.Methods["raw"]
	r.Evidence, r.Scorer, r.Rows[1][12], r.Rows[1][m] = trace.Written, true, -.3, -.2
	e.Steps[0].Text = ":"
	e.Steps[1].Studies.Set(verdict.Name, &verdict.Verdict{
		Method: "raw", Sources: []int{16}, Draws: 20, Replacement: "delete",
		Opposed: &verdict.Opposed{Sources: []int{12}},
	})
	d := drawingOf(e)
	facts := d.facts(&d.views[0], 1).String()
	want := " · not tested: “:” −20.0 % (where the prediction is read) · "
	if !strings.Contains(facts, want) {
		t.Errorf("the facts are %q, want %q in them", facts, want)
	}
}

// A number of a piece of a word names the piece.
func TestVerdictOfPiece(t *testing.T) {
	e := chatted()
	e.Steps[0].Text, e.Steps[1].Text = " Hen", "rik"
	for row, want := range []string{
		"test, the probability of “Hen” in Henrik with words deleted:",
		"test, the probability of “rik” in Henrik with words deleted:",
	} {
		e.Steps[row].Studies.Set(verdict.Name, &verdict.Verdict{
			Method: "raw", Sources: []int{12}, Draws: 5, Replacement: "delete",
		})
		d := drawingOf(e)
		got, _, _ := strings.Cut(plain(d.tested(&d.views[0], row).String()), "\n")
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
