package render

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// verdict returns the verdict on the word of row t of a method, nil if there is none, if the row is
// shown at another layer than the one tested, or if its sources are not those of a row.
func (d *drawing) verdict(v *view, t int) *verdict.Verdict {
	if d.comparison != nil || t < 0 || t >= len(d.e.Steps) || !v.has(t) ||
		v.level(t) != v.result.Level(t) {
		return nil
	}
	first, end := t, t+1
	if v.result.Contrast == "" {
		first, end = d.generatedWord(t)
	}
	for i := first; i < end; i++ {
		w := verdict.Of(d.e.Steps[i])
		if w == nil || w.Method != v.name || w.Reason == "" && w.Control == nil ||
			slices.ContainsFunc(w.Trials, func(t verdict.Trial) bool {
				return len(t.Sources) == 0 || slices.ContainsFunc(t.Sources, func(j int) bool {
					return d.columnOf(j) < 0
				})
			}) {
			continue
		}
		return w
	}
	return nil
}

// columnOf returns the column of a token of the text that was tested, where words are columns that
// of its word; -1 if there is none.
func (d *drawing) columnOf(token int) int {
	p := &d.e.Prompt
	if p.Tokens == nil {
		if token < 0 || token >= len(d.tokens) {
			return -1
		}
		return token
	}
	m := 0
	for j, tokens := range p.Tokens {
		if m += len(tokens); slices.Contains(tokens, token) {
			return j
		}
	}
	row := slices.IndexFunc(d.e.Steps, func(g attribution.GeneratedToken) bool {
		return g.Tokens[0] <= token-m && token-m < g.Tokens[1]
	})
	if row < 0 || d.e.Model.Reads() {
		return -1
	}
	return len(p.Texts) + row
}

// testLine is what a test says below the sentence, in one line: how probable the word is as the
// text stands and in one or two changed texts. Lead stands before it, "" if the test tells.
type testLine struct {
	lead string
	bars []testBar
}

// testBar is one probability, in [0,1], with its name, "without it".
type testBar struct {
	name, number string
	part         float64
}

// testOf returns what a test says of row t of a method, the zero value if there is none.
func (d *drawing) testOf(v *view, t int) (line testLine) {
	w := d.verdict(v, t)
	switch {
	case w == nil:
		return line
	case w.Reason != "":
		line.lead = "Not tested: " + Visible(w.Reason, 200)
		return line
	}
	add := func(name string, p float64) {
		line.bars = append(line.bars, testBar{name, chanceOf(p), max(0, min(p, 1))})
	}
	if !w.Tells {
		line.lead = "The test does not tell:"
	}
	name := "probability"
	if w.Contrast != "" {
		name += " over “" + v.contrast() + "”"
	}
	add(name, w.Whole)
	shown := w.Shown()
	for _, one := range shown {
		add(d.trialName(v, t, one, shown), one.P)
	}
	if len(shown) == 1 {
		add("without another word", w.Control.Mean)
	}
	return line
}

// chanceOf writes a probability in per cent, without decimals.
func chanceOf(p float64) string {
	if p < .01 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*min(p, 1))
}

// trialName names a change of the text among those of a line about row t.
func (d *drawing) trialName(v *view, t int, one verdict.Trial, shown []verdict.Trial) string {
	word := Visible(one.Text, nameLimit)
	first, _ := d.wordAround(d.columnOf(one.Sources[0]))
	switch {
	case one.Kind == verdict.Exchanged:
		return "with " + Visible(one.With, nameLimit) + " in place of " + word
	case one.Kind == verdict.Everywhere:
		return "without " + allOf(one.Places)
	case len(shown) > 1 && shown[1].Kind == verdict.Everywhere:
		return "without one"
	case len(shown) == 1 && d.namesAlone(v, t, first):
		return "without it"
	}
	place, _ := d.placeIn(first, v.sources(t), false)
	return "without " + word + place
}

// allOf returns "both", "all three", "all 11".
func allOf(n int) string {
	words := []string{"both", "all three", "all four", "all five", "all six", "all seven",
		"all eight", "all nine", "all ten"}
	if n < 2 || n-2 >= len(words) {
		return fmt.Sprintf("all %d", n)
	}
	return words[n-2]
}

// namesAlone reports whether the sentence of row t names one word alone, that with the first token
// first.
func (d *drawing) namesAlone(v *view, t, first int) bool {
	sources, _ := d.namedSources(v, t)
	return !slices.ContainsFunc(sources, func(j int) bool {
		begin, _ := d.wordAround(j)
		return begin != first
	})
}

// String returns the line as a text: "probability 70 % · without it <1 %".
func (l testLine) String() string {
	var parts []string
	for _, b := range l.bars {
		parts = append(parts, b.name+" "+b.number)
	}
	return strings.TrimSpace(l.lead + " " + strings.Join(parts, " · "))
}

// html returns the line as HTML, "" if there is none. Without a style sheet there are no bars.
func (l testLine) html() string {
	if l.lead == "" && l.bars == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<span class="hm-test" style="display:block;font-size:15px;margin-bottom:4px">`)
	if l.lead != "" {
		fmt.Fprintf(&b, "<span>%s</span> ", html.EscapeString(l.lead))
	}
	for i, bar := range l.bars {
		if i > 0 {
			b.WriteString(`<span class="hm-sep"> · </span>`)
		}
		fmt.Fprintf(&b, `<span class="hm-trial"><span>%s</span> <span class="hm-part">`+
			`<span style="width:%.1f%%"></span></span> <b style="white-space:nowrap">%s</b></span>`,
			html.EscapeString(bar.name), 100*bar.part, html.EscapeString(bar.number))
	}
	return b.String() + "</span>"
}

// testRows returns all numbers of the test of row t of a method, each with its text, nil if there
// is none.
func (d *drawing) testRows(v *view, t int) (rows [][2]string) {
	w := d.verdict(v, t)
	if w == nil || w.Reason != "" {
		return nil
	}
	add := func(name, number string) { rows = append(rows, [2]string{name, number}) }
	add("as it is", chanceOf(w.Whole))
	for _, one := range w.Trials {
		name := d.trialName(v, t, one, nil)
		switch {
		case one.Kind == verdict.Everywhere:
			name += " " + Visible(one.Text, nameLimit)
		case one.Kind == verdict.Rival:
			name += ", another answer"
		case one.Kind == verdict.Against && one.P > w.Whole:
			name += ", which is against it"
		}
		add(name, chanceOf(one.P))
	}
	c := w.Control
	add(fmt.Sprintf("without another word, mean of %d", c.Draws), chanceOf(c.Mean))
	between := func(x [2]float64) string { return chanceOf(x[0]) + " to " + chanceOf(x[1]) }
	add("two standard errors of that", between(c.Interval))
	add("lowest and highest of these", between(c.Range))
	if f := w.Faithfulness; len(f) == 3 {
		add("faithfulness", fmt.Sprintf("%.2f (%.2f to %.2f)", f[0], f[1], f[2]))
	}
	how := "words are deleted"
	if w.Replacement != "delete" {
		how = "words are replaced by " + message.Quote(Visible(w.Replacement, nameLimit))
	}
	add(how, "")
	return rows
}
