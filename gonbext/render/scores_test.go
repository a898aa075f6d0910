package render

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// scored is chatted with scores: a part of the prompt mattered for the first of its two tokens, of
// which a picture without them opens with the second.
func scored() *attribution.Explanation {
	e := chatted()
	e.Without = &attribution.Without{Part: "documents", Name: "the documents", Threshold: 1}
	e.Steps[0].Scores = &attribution.TokenScores{
		TokenScores: trace.TokenScores{Entropy: 0.5, Surprisal: 2, Rank: 3},
		KL:          new(1.5), Gain: new(2.25), Sensitive: true,
	}
	e.Steps[1].Scores = &attribution.TokenScores{
		TokenScores: trace.TokenScores{Entropy: 1, Surprisal: 4, Rank: 1},
		KL:          new(0.375), Gain: new(-0.125),
	}
	e.Prompt.Scores = make([]*trace.TokenScores, len(e.Prompt.Texts))
	e.Prompt.Scores[0] = &trace.TokenScores{Entropy: 1, Surprisal: 9, Rank: 9} // a control token
	e.Prompt.Scores[12] = &trace.TokenScores{Entropy: 2, Surprisal: 8, Rank: 5}
	e.Prompt.Scores[13] = &trace.TokenScores{Surprisal: 1, Rank: 1}
	return e
}

// TestScores: a picture opens with the token that a part of the prompt mattered most for, tells for
// which it did, and has the numbers of each token.
func TestScores(t *testing.T) {
	e := scored()
	d, m := drawingOf(e), len(e.Prompt.Texts)
	if plain := drawingOf(chatted()); plain.chosen != 1 || d.chosen != 0 {
		t.Errorf("pictures open with %d and, scored, with %d; want 1 and 0", plain.chosen, d.chosen)
	}
	want := []string{
		"In · surprisal 2.00 nats · entropy 0.50 · rank 3 · without it: KL 1.50, ln p −2.25",
		"the documents mattered for 1 of 2 tokens: In",
		"most surprising in the prompt (nats): Where 8.00, is 1.00",
	}
	var got []string
	for _, line := range d.scoreLines(0) {
		got = append(got, plain(line))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	data := d.scores()
	if len(data.Kinds) != 3 || data.Opens != 2 {
		t.Fatalf("%+v, want three kinds and the last one shown", data)
	}
	for i, c := range []struct {
		name, most string
		parts      map[int]float64
	}{
		{"surprisal", "9.00 nats", map[int]float64{0: 1, 1: -1, 12: .889, 13: .111, m: .222}},
		{"entropy", "2.00 nats", map[int]float64{0: .5, 12: 1, 13: 0, m: .25, m + 1: .5}},
		{"KL", "1.50 nats", map[int]float64{0: -1, 12: -1, m: 1, m + 1: .25}},
	} {
		bars := data.Kinds[i]
		if bars.Name != c.name || bars.Most != c.most || len(bars.Parts) != len(d.tokens) {
			t.Errorf("bars %+v, want those of %s up to %s", bars, c.name, c.most)
		}
		for j, want := range c.parts {
			if bars.Parts[j] != want {
				t.Errorf("%s of token %d is %v, want %v", c.name, j, bars.Parts[j], want)
			}
		}
	}
	if s := data.Kinds[2].Sensitive; !slices.Equal(s, []int{m}) || data.Notes[1] != "" {
		t.Errorf("sensitive %v, want %d; token 1 has the note %q", s, m, data.Notes[1])
	}
	var page, text bytes.Buffer
	must(t, Page(&page, Heatmap{Explanation: e}))
	must(t, Text(&text, Heatmap{Explanation: e}, Terminal{Width: 1000}))
	if !strings.Contains(plain(page.String()), ">"+want[1]+"<") ||
		!strings.Contains(plain(text.String()), "\n"+strings.Join(want, "\n")+"\n") {
		t.Errorf("the page or the text lacks what mattered:\n%s", text.String())
	}
}

// TestScoresOfOthers: nothing is said of an explanation without scores, of one whose scores nobody
// asked for, and of lists that do not fit the text; that a part mattered for none is said.
func TestScoresOfOthers(t *testing.T) {
	if d := drawingOf(chatted()); d.scores() != nil || d.scoreLines(0) != nil {
		t.Error("an explanation without scores has some")
	}
	e := scored()
	e.Without, e.Prompt.Scores = nil, nil
	if d := drawingOf(e); d.scoreLines(0) != nil || d.scores() == nil || d.scores().Opens != -1 ||
		d.chosen != 1 {
		t.Error("scores that nobody asked for are shown")
	}
	e = scored()
	e.Prompt.Scores = append(e.Prompt.Scores[:3], make([]*trace.TokenScores, 99)...)
	e.Steps[0].Scores.KL, e.Steps[1].Scores = nil, nil
	d := drawingOf(e)
	d.scoreLines(1)
	if data := d.scores(); len(data.Notes) != len(d.tokens) || len(data.Kinds) != 2 {
		t.Errorf("scores that do not fit give %+v", data)
	}
	e.Steps[0].Scores.Sensitive = false
	if got := drawingOf(e).mattered(); got != "the documents mattered for none of 2 tokens" {
		t.Errorf("%q", got)
	}
}

// TestScriptScores: the switch goes from one kind of bars to the next, and to none.
func TestScriptScores(t *testing.T) {
	m := machine(t, commonSource, scaleSource, matrixSource, scoresSource)
	for expression, want := range map[string]string{
		"barsShown({}, {bars: 1})":                    "-1",
		"barsShown({scores: {opens: 2}}, {})":         "2",
		"barsShown({scores: {opens: 2}}, {bars: -1})": "-1",
		"barsShown({scores: {opens: -1}}, {bars: 0})": "0",
		"scoresSwitch({}, {}, undefined).length":      "0",
	} {
		if got := run[string](t, m, "String("+expression+")"); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}
