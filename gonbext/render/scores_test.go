package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/scores"
	"github.com/headwater-ml/headwater/internal/study/without"
)

// scored is chatted with scores: a part of the prompt mattered for the first of its two tokens, of
// which a picture without them opens with the second.
func scored() *attribution.Explanation {
	e := chatted()
	e.Studies.Set(without.Name,
		&without.Part{Part: "documents", Name: "the documents", Threshold: 1})
	e.Steps[0].Scores = &trace.TokenScores{Entropy: 0.5, Surprisal: 2, Rank: 3}
	e.Steps[0].Studies.Set(without.Name, &without.Difference{
		KL: 1.5, Gain: 2.25, Sensitive: true,
		Otherwise: &attribution.Alternative{ID: 7, Text: " On", Probability: 0.5},
	})
	e.Steps[1].Scores = &trace.TokenScores{Entropy: 1, Surprisal: 4, Rank: 1}
	e.Steps[1].Studies.Set(without.Name, &without.Difference{KL: 0.375, Gain: -0.125})
	prompt := make(scores.Prompt, len(e.Prompt.Texts))
	prompt[0] = &trace.TokenScores{Entropy: 1, Surprisal: 9, Rank: 9} // a control token
	prompt[12] = &trace.TokenScores{Entropy: 2, Surprisal: 8, Rank: 5}
	prompt[13] = &trace.TokenScores{Surprisal: 1, Rank: 1}
	e.Studies.Set(scores.Name, &prompt)
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
	const want = "the documents mattered for 1 of 2 tokens, by KL in nats: In (1.50, without it “On”)"
	if got := plain(d.mattered()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	same := scored() // whatever the KL, the model would have said the same token
	without.OfToken(same.Steps[0]).Otherwise = nil
	if d := drawingOf(same); d.chosen != 1 || !strings.HasSuffix(d.mattered(), "In (1.50)") {
		t.Errorf("a picture opens with %d where no token changes, and says %q", d.chosen,
			d.mattered())
	}
	all := d.scores()
	if len(all) != len(d.tokens) || all[0].Rank != 9 || all[1] != nil || all[12].Entropy != 2 ||
		all[12].Difference != nil || all[m].KL != 1.5 || all[m+1].Surprisal != 4 {
		t.Errorf("scores %+v", all)
	}
	var page, text bytes.Buffer
	must(t, Page(&page, Heatmap{Explanation: e}))
	must(t, Text(&text, Heatmap{Explanation: e}, Terminal{Width: 1000}))
	if !strings.Contains(plain(page.String()), ">"+want+"<") ||
		!strings.Contains(plain(text.String()), "\n"+want+"\n") {
		t.Errorf("the page or the text lacks what mattered:\n%s", text.String())
	}
}

// TestScoresOfOthers: an explanation without scores has none, lists need not fit the text, and that
// a part mattered for no token is said.
func TestScoresOfOthers(t *testing.T) {
	if d := drawingOf(chatted()); d.scores() != nil || d.mattered() != "" {
		t.Error("an explanation without scores has some")
	}
	e := scored()
	prompt := append(scores.Of(e)[:3], make(scores.Prompt, 99)...)
	e.Studies.Set(scores.Name, &prompt)
	e.Steps[0].Studies = nil
	d := drawingOf(e)
	if got := d.mattered(); got != "the documents mattered for none of 2 tokens" ||
		len(d.scores()) != len(d.tokens) || d.chosen != 1 {
		t.Errorf("%q with %d scores, opens with %d", got, len(d.scores()), d.chosen)
	}
}

// TestScriptScores: the switch goes from one kind of bars to the next, and to none.
func TestScriptScores(t *testing.T) {
	m := machine(t, commonSource, scaleSource, matrixSource, scoresSource)
	_, err := m.RunString(`const smallest = 1e-9, score = (more) => ({...more, entropy: 1,
		surprisal: 2, rank: 3}), plain = {m: 1, scores: [null, score({})]},
		prompt = {m: 1, scores: [score({}), score({})]}, reads = {...prompt, positions: [0]},
		kl = {m: 1, scores: [null, score({kl: 0.5, gain: -0.25})]},
		two = {m: 1, scores: [null, score({})], methods: [{source: [0.25, null]}, {}]}`)
	must(t, err)
	for expression, want := range map[string]string{
		"barsShown({}, {})": "", "barsShown(plain, {})": "", "barsShown(prompt, {})": "surprisal",
		"barsShown(reads, {})": "", "barsShown(kl, {})": "kl", "barsShown(kl, {bars: ''})": "",
		"barsShown(plain, {bars: 'kl'})":     "",
		"nextBars(plain, {})":                "surprisal",
		"nextBars(plain, {bars: 'entropy'})": "",
		"nextBars(kl, {bars: 'entropy'})":    "kl",
		"nextBars(kl, {})":                   "",
		"barsShown(two, {})":                 "source",
		"nextBars(two, {bars: 'entropy'})":   "source",
		"nextBars(two, {})":                  "",
		"[0, 1, -1].map((row) => contributionOf(two.methods[0], row)).join()": "0.25,,",
		"scoresNote(null)": "no scores",
		"scoresNote(kl.scores[1])": "surprisal 2.00 nats · entropy 1.00 · rank 3 · " +
			"without that part: KL 0.50, ln p +0.25",
		"scoresNote({...kl.scores[1], otherwise: {text: 'On'}}).slice(-30)": "ln p +0.25, “On” " +
			"most probable",
	} {
		if got := run[string](t, m, expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}
