package render

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// scoredExample is the example with scorers: one of small values without parts, one whose parts
// leave a residue, one that explains a difference to another text, with the contrast " is", and a
// method that is not a scorer.
func scoredExample() *attribution.Explanation {
	e := example()
	e.Order = []string{"small", "parts", "way", "rollout"}
	unit := map[string]string{
		"small": "change of the logit", "parts": "part of the logit",
		"way": "change of the probability",
	}
	base := []float64{-1.5, 0.25, 4, -0.002, 0, 0.5, -3.25} // sum -0.002
	for name, size := range map[string]float64{"small": 1e-3, "parts": 1, "way": 0.1} {
		r := &attribution.Result{
			Unit: unit[name], Layers: []int{5}, Shape: [3]int{3, 7, 1},
			Explained: []float64{8.5637, 7, -2.25},
			Options: map[string]string{
				"scorer": name, "quantity": "logit", "contrast": " is",
				"row": "prediction",
			},
			Facts: attribution.Facts{
				Evidence: trace.Traced,
				Scorer:   true, Combined: true, AddsUp: true, Explains: trace.Logit,
				Contrast: " is",
			},
		}
		for t := range 3 {
			row := make([]float64, 7)
			for j := range row {
				row[j] = size * base[(j+2*t)%7]
			}
			r.Rows = append(r.Rows, row)
			r.OtherMass = append(r.OtherMass, 0)
		}
		e.Methods[name] = r
	}
	e.Methods["parts"].OtherMass = []float64{8, 7.002, -2}
	e.Methods["parts"].Residue = []float64{0.5657, 0, -0.248}
	e.Methods["way"].Residue = []float64{0.9, 0.5, 1e-9}
	e.Methods["way"].Options["quantity"] = "probability"
	e.Methods["way"].Explains = trace.Probability
	e.Methods["way"].Explained = []float64{0.9312, 0.4, 0.9991}
	return e
}

// groupedExample is the example by words, of which "cabinet" is two tokens.
func groupedExample(t *testing.T, by string) *attribution.Explanation {
	t.Helper()
	e := example()
	e.Prompt.Offsets = [][2]int{{0, 0}, {0, 3}, {3, 8}, {8, 11}, {11, 15}, {15, 19}, {19, 23}}
	for name, aggregation := range map[string]string{
		"rollout": "rollout", "flow": "flow",
		"value-zeroing": "layer",
	} {
		r := e.Methods[name]
		r.Options["aggregation"] = aggregation
		r.Combined, r.AddsUp = aggregation != "layer", aggregation != "flow"
		r.TopOnly = aggregation == "flow"
	}
	d, err := units.ParseGrouping(by)
	must(t, err)
	g, err := e.Group(d)
	must(t, err)
	return g
}

func TestScored(t *testing.T) {
	h := Heatmap{Explanation: scoredExample()}
	t.Run("text", func(t *testing.T) { golden(t, asText(h)) })
	t.Run("narrow", func(t *testing.T) { golden(t, asText(h, Terminal{Width: 60})) })
	t.Run("top", func(t *testing.T) {
		strongest := h
		strongest.Top = 2
		golden(t, asText(strongest))
	})
	t.Run("notebook", func(t *testing.T) { golden(t, h) })
}

func TestGroupedPicture(t *testing.T) {
	t.Run("text", func(t *testing.T) {
		golden(t, asText(Heatmap{Explanation: groupedExample(t, "word")}))
	})
	t.Run("notebook", func(t *testing.T) {
		golden(t, Heatmap{Explanation: groupedExample(t, "0:8,12:23")})
	})
}

// What a row of a scorer says, derived by hand.
func TestScoredRows(t *testing.T) {
	p := Heatmap{Explanation: scoredExample()}.picture(true)
	for i, want := range []struct{ layer, first, last string }{
		{"whole model", "are rather than is: logit difference 8.56", ". rather than is: logit difference -2.25"},
		// -0.002 + 8 = 7.998, and 0.5657 more is what is explained
		{"whole model", "are rather than is: logit difference 8.56, parts add up to 8.00", ". rather than is: logit difference -2.25, parts add up to -2.00"},
		// -0.0002 of a way of 0.8998, which is not the 0.9312 explained
		{"whole model", "are rather than is: probability difference 0.931, parts add up to -0.0002 of 0.900", ". rather than is: probability difference 0.999, parts add up to -0.0002 of -0.0002"},
		{"layer 5", "", ""},
	} {
		v := &p.views[i]
		if v.layer(0) != want.layer || p.scored(v, 0) != want.first || p.scored(v, 2) != want.last {
			t.Errorf("%s: %q, %q, %q; want %q, %q, %q", v.name, v.layer(0), p.scored(v, 0),
				p.scored(v, 2), want.layer, want.first, want.last)
		}
	}
	e := scoredExample()
	e.Methods["parts"].Explained, e.Methods["parts"].Residue = nil, nil // of another program
	e.Methods["small"].Contrast = ""
	for _, r := range e.Methods {
		r.OtherMass = nil
	}
	p = Heatmap{Explanation: e}.picture(true)
	for i, want := range []string{"logit 8.56", "are rather than is", "are rather than is: " +
		"probability difference 0.931"} {
		if got := p.scored(&p.views[i], 0); got != want {
			t.Errorf("%s says %q, want %q", p.views[i].name, got, want)
		}
	}
	e.Methods["small"].Foils = 5
	want := "logit 8.56 above the mean of the next 5"
	if got := p.scored(&p.views[0], 0); got != want {
		t.Errorf("with foils it says %q, want %q", got, want)
	}
}

// The sentence on a signed row names what speaks for the prediction and what against it, without
// what has no colour.
func TestSaysOfSignedRow(t *testing.T) {
	p := Heatmap{Explanation: scoredExample(), Methods: []string{"parts"}}.picture(true)
	want := "“are” and not “is” came from keys | keys +4.00, cab +0.50 · for “is” " +
		"inet −3.25, <bos> −1.50 · part of the logit · whole model"
	if got := said(p, &p.views[0], 0); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	p = Heatmap{Explanation: example(), Methods: []string{"rollout"}}.picture(true)
	got := said(p, &p.views[0], 0)
	if !strings.HasPrefix(got, "“are” came ") || strings.Contains(got, "<bos>") {
		t.Errorf("it says %q, want the strongest tokens without the sink", got)
	}
}

func TestRanked(t *testing.T) {
	e := scoredExample()
	e.Methods["parts"].Rows[0][1] = math.NaN()
	p := Heatmap{
		Explanation: e, Methods: []string{"parts", "rollout"},
		Filter: attribution.Filter{"to"},
	}.picture(true)
	if got := p.views[0].ranked(0, 3, p.hidden[:7]); len(got) != 3 || got[0] != 2 || got[1] != 6 ||
		got[2] != 0 {
		t.Errorf("ranked %v, want keys, inet and <bos>", got)
	}
	// without what is no number and what is hidden
	if got := p.views[0].ranked(0, 99, p.hidden[:7]); len(got) != 5 {
		t.Errorf("%d ranked of all, want 5", len(got))
	}
	// without the sink and what is hidden
	if got := p.views[1].ranked(0, 99, p.hidden[:7]); len(got) != 5 {
		t.Errorf("%d ranked of rollout, want 5", len(got))
	}
}

// A sentence is not cut as a token is, words of a span are not joined, and the picture speaks of
// spans.
func TestGroupedNames(t *testing.T) {
	e := groupedExample(t, "0:8,12:23")
	markup := written(t, Heatmap{Explanation: e})
	for _, want := range []string{
		">the keys", ">the cabinet", "4 spans of the prompt, ",
		"spans of the prompt (sources)", "by 0:8,12:23", "spans sum of tokens", "spans highest of tokens",
	} {
		if !strings.Contains(markup, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(markup, "prompt tokens") {
		t.Error("a page of spans speaks of prompt tokens")
	}
	_, text, _ := strings.Cut(written(t, Heatmap{
		Explanation: groupedExample(t, "0:8,12:23"),
	}), `<div class="hm-prose">`)
	if text = text[:strings.Index(text, "</div>")]; !regexp.MustCompile(
		`the keys</span> <span[^>]*>to</span> <span[^>]*>the cabinet</span>`).MatchString(text) {
		t.Errorf("spans are joined, or not in order:\n%s", text)
	}
	if got := written(t,
		asText(Heatmap{Explanation: groupedExample(t, "word")})); strings.Contains(
		got, "‿") || !strings.Contains(got, "cabinet") {
		t.Errorf("words are shown as parts of words:\n%s", got)
	}
	e.Prompt.Texts[1] = strings.Repeat("a long sentence ", 100)
	for inside, want := range map[string]string{
		"":                       "a long sentence a long…",
		"long":                   "a long sentence a long…", // which it begins with
		"keys":                   "a long sentence a… keys",
		"a word of many letters": "a long… a word of…",
	} {
		e.Prompt.Strongest = []string{"", inside, "", ""}
		if got := (Heatmap{Explanation: e}).picture(true).short(1); got != want {
			t.Errorf("short name with %q inside: %q, want %q", inside, got, want)
		}
		head := (Heatmap{Explanation: e}).picture(true).shortIn(1, headColumns)
		if Width(head) > headColumns+2 {
			t.Errorf("%q above a column", head)
		}
	}
}

// The text of a contrast is as hostile as a token.
func TestHostileContrast(t *testing.T) {
	const script = `<script>alert("1")</script>'&` + "\x00\x1b[31m\u202e\u200b\xe2\x82\n\t"
	for name, contrast := range map[string]string{
		"script": script,
		"huge":   strings.Repeat("x", 10_000),
	} {
		e := scoredExample()
		for _, r := range e.Methods {
			if r.Contrast != "" {
				r.Contrast, r.Explains, r.By = contrast, trace.Quantity(contrast), contrast
				for _, option := range []string{"contrast", "quantity", "by", "spans"} {
					r.Options[option] = contrast
				}
			}
		}
		markup := written(t, Heatmap{Explanation: e})
		survives(t, markup)
		for what, s := range map[string]string{
			"HTML": markup, "text": written(t, asText(Heatmap{Explanation: e})),
			"top": written(t, asText(Heatmap{Explanation: e, Top: 3})),
		} {
			if !strings.Contains(s, "rather than ") {
				t.Errorf("%s of %s does not name the contrast", what, name)
			}
			for i, r := range s {
				if r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar {
					t.Fatalf("%s of %s: rune %U at byte %d acts", what, name, r, i)
				}
			}
			if what == "HTML" && strings.Contains(untrusted(t, s), "<script") ||
				strings.Contains(s, strings.Repeat("x", 100)) {
				t.Errorf("%s of %s has the contrast as it is", what, name)
			}
		}
	}
}

// Any number of strongest tokens is all of them.
func TestTopOfAll(t *testing.T) {
	e := scoredExample()
	want := strings.ReplaceAll(written(t, asText(Heatmap{Explanation: e, Top: 1000})),
		"1000", "N")
	got := written(t, asText(Heatmap{Explanation: e, Top: math.MaxInt}))
	if got = strings.ReplaceAll(got, strconv.Itoa(math.MaxInt),
		"N"); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("the largest number shows\n%s\nwant\n%s", got, want)
	}
}

// Lines of scorers and of spans keep to the width.
func TestWidthOfScored(t *testing.T) {
	for _, width := range []int{60, 72, 100} {
		for _, top := range []int{0, 3} {
			for _, e := range []*attribution.Explanation{
				scoredExample(), groupedExample(t, "word"),
				groupedExample(t, "0:8,12:23"),
			} {
				got := asText(Heatmap{Explanation: e, Top: top}, Terminal{Width: width})
				for _, line := range strings.Split(written(t, got), "\n") {
					if Width(line) > width || strings.TrimRight(line, " ") != line {
						t.Errorf("width %d: line of %d columns: %q", width, Width(line), line)
					}
				}
			}
		}
	}
}

// Where all that speaks for a token is less than a quarter of what is explained, the sentence says
// so: single parts for a token hide it. By hand: 3, 1 and 0.9 of 4, whatever is against it.
func TestWrittenByOthers(t *testing.T) {
	for _, c := range []struct {
		supports float64
		evidence trace.Evidence
		want     string
		sum      string // in the facts
	}{
		{3, trace.Written, "", ""},
		{1, trace.Written, "", ""},
		{.9, trace.Written, "; other parts of the model wrote most of it", "−4.10"},
		{.9, trace.Traced, "; most of it belongs to no token", "−4.10"},
	} {
		e := &attribution.Explanation{
			Prompt: attribution.Prompt{
				Text: "a b c", Texts: []string{"a", " b", " c"}, Special: make([]bool, 3),
			},
			Steps: []attribution.GeneratedToken{{Text: " d", Probability: .5}},
			Order: []string{"direct"},
			Methods: map[string]*attribution.Result{"direct": {
				Unit: "part of the logit", Layers: []int{0}, Shape: [3]int{1, 3, 1},
				Rows: [][]float64{{0, c.supports, -5}}, OtherMass: []float64{0},
				Explained: []float64{4}, Residue: []float64{9 - c.supports},
				Facts: attribution.Facts{
					Evidence: c.evidence, Explains: trace.Logit, Scorer: true, Combined: true,
					AddsUp: true,
				},
			}},
		}
		d := drawingOf(e)
		say, facts := d.explainRow(&d.views[0], 0)
		_, got, found := strings.Cut(say.String(), " b")
		if !found || got != c.want {
			t.Errorf("%v %s: the sentence is %q, want %q at its end", c.supports, c.evidence, say,
				c.want)
		}
		if told := strings.Contains(facts.String(), "parts add up to "); told != (c.sum != "") ||
			told && !strings.Contains(facts.String(), "logit 4.00, parts add up to "+c.sum+" ·") {
			t.Errorf("%v %s: the facts are %q, want the sum %q", c.supports, c.evidence, facts,
				c.sum)
		}
	}
}

// A word that the text before a token has twice has its place where facts name it, and a piece of a
// word is named by its word. A word that comes again only after the token has none.
func TestFactsPlaces(t *testing.T) {
	e := chattedAbout("John", " met", " G", "ret", "a", " and", " John")
	r := e.Methods["raw"]
	clear(r.Rows[1])
	r.Rows[1][18], r.Rows[1][14], r.Rows[1][16], r.Rows[1][13] = .5, .2, .15, .1
	e.Steps = append(e.Steps, attribution.GeneratedToken{Text: " met", Probability: .5})
	d := drawingOf(e)
	_, facts := d.explainRow(&d.views[0], 1)
	const want = "<b>John</b> (18) 50.0 %, <b>G</b>reta (14) 20.0 %, Gret<b>a</b> (16) 15.0 %, <b>met</b> 10.0 %"
	if got := facts.html(); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
