package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// tested returns a verdict of a test that tells.
func tested(trials ...verdict.Trial) verdict.Verdict {
	return verdict.Verdict{
		Method: "raw", Rows: [2]int{1, 2}, Replacement: "delete", Whole: .7, Trials: trials,
		Tells: true,
		Control: &verdict.Control{
			Draws: 8, Mean: .684, Interval: [2]float64{.6, .75}, Range: [2]float64{.11, .83},
		},
		Faithfulness: []float64{.97, .96, .98},
	}
}

// trial is a trial at the word Colosseum of [chatted], or at tokens given.
func trial(kind verdict.Kind, text string, p float64, tokens ...int) verdict.Trial {
	if tokens == nil {
		tokens = []int{15, 16, 17}
	}
	return verdict.Trial{Kind: kind, Text: text, P: p, Sources: tokens}
}

// A test is one line with at most three bars, the same in a text, a page and a figure.
func TestVerdictLine(t *testing.T) {
	everywhere := trial(verdict.Everywhere, "Colosseum", .02)
	everywhere.Places = 3
	exchanged := trial(verdict.Exchanged, "Tom", .08)
	exchanged.With = "Anna"
	untold := tested(trial(verdict.Without, "Colosseum", .751))
	untold.Tells = false
	contrast := tested(trial(verdict.Without, "Colosseum", .0004))
	contrast.Contrast, contrast.Whole = " Paris", .958
	for _, c := range []struct {
		name    string
		verdict verdict.Verdict
		want    string
	}{
		{"tells", tested(trial(verdict.Without, "Colosseum", .002)),
			"probability 70 % · without it <1 % · without another word 68 %"},
		{"does not tell", untold, "The test does not tell: probability 70 % · " +
			"without it 75 % · without another word 68 %"},
		{"another word", tested(trial(verdict.Without, "is", .01, 13)),
			"probability 70 % · without is 1 % · without another word 68 %"},
		{"two", tested(trial(verdict.Without, "Colosseum", .1),
			trial(verdict.Without, "is", .2, 13), trial(verdict.Against, "the", .9, 14)),
			"probability 70 % · without Colosseum 10 % · without is 20 %"},
		{"a rival", tested(trial(verdict.Without, "Colosseum", 0),
			trial(verdict.Rival, "is", .82, 13)),
			"probability 70 % · without Colosseum <1 % · without is 82 %"},
		{"three places", tested(trial(verdict.Without, "Colosseum", .65), everywhere),
			"probability 70 % · without one 65 % · without all three 2 %"},
		{"one of three", tested(trial(verdict.Without, "Colosseum", .3), everywhere),
			"probability 70 % · without it 30 % · without another word 68 %"},
		{"exchanged", tested(exchanged, trial(verdict.Without, "Tom", .6)),
			"probability 70 % · with Anna in place of Tom 8 % · without another word 68 %"},
		{"of a contrast", contrast,
			"probability over “Paris” 96 % · without it <1 % · without another word 68 %"},
		{"asked for in vain", verdict.Verdict{Method: "raw", Reason: "there is too little memory"},
			"Not tested: there is too little memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := chatted()
			v := c.verdict
			e.Methods["raw"].Contrast = v.Contrast
			if got := drawingOf(e).testOf(&drawingOf(e).views[0], 1); got.String() != "" ||
				got.html() != "" || got.bars != nil {
				t.Errorf("a picture without a verdict: %+v", got)
			}
			e.Steps[1].Studies.Set(verdict.Name, &v)
			d := drawingOf(e)
			line := d.testOf(&d.views[0], 1)
			if got := plain(line.String()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for _, bar := range line.bars {
				if bar.part < 0 || bar.part > 1 {
					t.Errorf("bar %+v", bar)
				}
			}
			var text bytes.Buffer
			must(t, Text(&text, Heatmap{Explanation: e}, Terminal{Width: 1000}))
			if strings.Count(plain(text.String()), "\n"+c.want+"\n") != 1 {
				t.Errorf("the text lacks %s:\n%s", c.want, text.String())
			}
			drawn, err := Heatmap{Explanation: e}.Drawn("raw")
			must(t, err)
			if !strings.Contains(strings.Join(drawn.Notes, "\n"), c.want+".") {
				t.Errorf("the notes of a figure are %v", drawn.Notes)
			}
			page := written(t, Heatmap{Explanation: e})
			if !strings.Contains(page, line.html()) {
				t.Errorf("the page lacks %s", line.html())
			}
		})
	}
}

// The details have every number of a test.
func TestVerdictRows(t *testing.T) {
	v := tested(trial(verdict.Without, "Colosseum", .002), trial(verdict.Rival, "is", .82, 13),
		trial(verdict.Against, "the", .9, 14))
	v.Replacement = "[MASK]"
	e := chatted()
	e.Steps[1].Studies.Set(verdict.Name, &v)
	d := drawingOf(e)
	var got []string
	for _, row := range d.testRows(&d.views[0], 1) {
		got = append(got, plain(row[0]+": "+row[1]))
	}
	want := `as it is: 70 %
without Colosseum: <1 %
without is, another answer: 82 %
without the, which is against it: 90 %
without another word, mean of 8: 68 %
two standard errors of that: 60 % to 75 %
lowest and highest of these: 11 % to 83 %
faithfulness: 0.97 (0.96 to 0.98)
words are replaced by "[MASK]": `
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	v.Trials[2].P = .69 // the probability falls
	if got := d.testRows(&d.views[0], 1)[3][0]; got != "without the" {
		t.Errorf("a word that the answer needs: %s", got)
	}
}

// A picture opens at the only token that was tested.
func TestVerdictOpens(t *testing.T) {
	e := chatted()
	if at := (Show{}).Opening(e); at != 1 {
		t.Fatalf("opens at %d", at)
	}
	v := tested(trial(verdict.Without, "Where", .1, 12))
	v.Rows = [2]int{0, 1}
	e.Steps[0].Studies.Set(verdict.Name, &v)
	if at := (Show{}).Opening(e); at != 0 {
		t.Errorf("opens at %d and not at the token tested", at)
	}
	if at := (Show{Token: new(1)}).Opening(e); at != 1 {
		t.Errorf("opens at %d and not at the token asked for", at)
	}
	v = tested(trial(verdict.Without, "Colosseum", .1))
	e.Steps[1].Studies.Set(verdict.Name, &v)
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
		control bool
		none    bool
	}{
		"of the text":      {[]int{16}, true, false},
		"below the text":   {[]int{-1}, true, true},
		"after the text":   {[]int{1 << 40}, true, true},
		"without a source": {nil, true, true},
		"without others":   {[]int{16}, false, true},
	} {
		e := chatted()
		v := tested(verdict.Trial{Kind: verdict.Without, Sources: c.sources, P: -1e300})
		if !c.control {
			v.Control = nil
		}
		e.Steps[1].Studies.Set(verdict.Name, &v)
		d := drawingOf(e)
		if got := d.testOf(&d.views[0], 1); (got.bars == nil) != c.none {
			t.Errorf("%s: %+v", name, got)
		}
	}
	e := example()
	r := e.Methods[e.Order[0]]
	v := tested(trial(verdict.Without, "x", .1, 1))
	v.Method = e.Order[0]
	e.Steps[0].Studies.Set(verdict.Name, &v)
	for k, layer := range r.Layers {
		d := newDrawing(Heatmap{Explanation: e, Layer: &layer}.picture(true), nil)
		if got := d.verdict(&d.views[0], 0) != nil; got != (k == r.Level(0)) {
			t.Errorf("layer %d has a verdict: %v; layer %d was tested", layer, got,
				r.Layer(0, r.Level(0)))
		}
	}
}

// What is written against a token stands by itself in the facts.
func TestAgainstFacts(t *testing.T) {
	e := chatted()
	r := e.Methods["raw"]
	r.Evidence, r.Scorer, r.Rows[1][12], r.Rows[1][18] = trace.Written, true, -.3, -.2
	d := drawingOf(e)
	facts := d.facts(&d.views[0], 1).String()
	want := " · written against it Where −30.0 %, “?” −20.0 % · "
	if !strings.Contains(facts, want) {
		t.Errorf("the facts are %q, want %q in them", facts, want)
	}
}

// Every row of a word has the test of the word.
func TestVerdictOfPiece(t *testing.T) {
	e := chatted()
	e.Steps[0].Text, e.Steps[1].Text = " Hen", "rik"
	v := tested(trial(verdict.Without, "Where", .1, 12))
	v.Rows = [2]int{0, 2}
	e.Steps[0].Studies.Set(verdict.Name, &v)
	d := drawingOf(e)
	for row := range e.Steps {
		if d.verdict(&d.views[0], row) != &v {
			t.Errorf("row %d has no test", row)
		}
	}
}
