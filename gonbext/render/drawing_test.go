package render

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// farApart is a text of m tokens of which only those named stand out.
func farApart(m int, strong ...int) *attribution.Explanation {
	e := &attribution.Explanation{
		Prompt: attribution.Prompt{Text: "a long text", Special: make([]bool, m)},
		Steps:  []attribution.GeneratedToken{{Text: " end", Probability: 0.5}},
		Order:  []string{"raw"},
	}
	r := &attribution.Result{
		Unit: "share of attention", Facts: attribution.Facts{Evidence: trace.Traced, Quantity: attribution.Share}, Layers: []int{0}, Shape: [3]int{1, m, 1}, Shown: []int{0},
		Rows: [][]float64{make([]float64, m)}, Options: map[string]string{},
	}
	for j := range m {
		e.Prompt.Texts = append(e.Prompt.Texts, fmt.Sprintf(" w%d", j))
	}
	for _, j := range strong {
		r.Rows[0][j] = 0.4
	}
	e.Methods = map[string]*attribution.Result{"raw": r}
	return e
}

// chatted is a chat about one word: a system message, a question and its answer.
func chatted() *attribution.Explanation {
	return chattedAbout("Where", " is", " the", " Col", "osse", "um", "?")
}

// chattedAbout is a chat about the message of these tokens.
func chattedAbout(message ...string) *attribution.Explanation {
	e := &attribution.Explanation{Order: []string{"raw"}}
	add := func(role string, kind trace.PartKind, texts ...string) {
		part := trace.Part{Role: role, Kind: kind, Begin: len(e.Prompt.Text)}
		for _, text := range texts {
			at := len(e.Prompt.Text)
			e.Prompt.Text += text
			e.Prompt.Texts = append(e.Prompt.Texts, text)
			e.Prompt.Offsets = append(e.Prompt.Offsets, [2]int{at, at + len(text)})
			e.Prompt.Special = append(e.Prompt.Special, strings.HasPrefix(text, "<|"))
			e.Prompt.IDs = append(e.Prompt.IDs, len(text))
		}
		if part.End = len(e.Prompt.Text); role != "system" {
			part.Turn = 1
		}
		e.Prompt.Parts = append(e.Prompt.Parts, part)
	}
	add("system", trace.Label, "<|start|>", "system", "\n")
	add("system", trace.Words, "You", " are", " terse", ".")
	add("system", trace.Label, "<|end|>", "\n")
	add("user", trace.Label, "<|start|>", "user", "\n")
	add("user", trace.Words, message...)
	add("user", trace.Label, "<|end|>", "\n", "<|start|>", "assistant", "\n")
	m := len(e.Prompt.Texts)
	e.Steps = []attribution.GeneratedToken{
		{Text: "In", Probability: 0.4}, {Text: " Rome", Probability: 0.9},
	}
	r := &attribution.Result{
		Unit: "share of attention", Layers: []int{0}, Shape: [3]int{2, m, 1}, Shown: []int{0, 0},
		Facts: attribution.Facts{Evidence: trace.Traced, Quantity: attribution.Share, AddsUp: true},
		Rows:  [][]float64{make([]float64, m), make([]float64, m+1)}, OtherMass: []float64{0, 0.1},
		Options: map[string]string{},
	}
	r.Rows[0][12], r.Rows[1][16], r.Rows[1][14], r.Rows[1][3] = 0.9, 0.6, 0.2, 0.1
	r.Rows[1][m] = 0.1
	e.Methods = map[string]*attribution.Result{"raw": r}
	return e
}

// drawingOf works out the picture of an explanation.
func drawingOf(e *attribution.Explanation) *drawing {
	return newDrawing(Heatmap{Explanation: e}.picture(true), nil)
}

// columnsOf writes columns as a line: a token by its name, folded ones by their number.
func columnsOf(d *drawing) string {
	var all []string
	for _, c := range d.columns {
		name := d.tokens[c.From].name
		if c.Folded {
			name = fmt.Sprintf("(%d)", c.To-c.From)
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// TestAddedParts: what the template writes by itself or for tools is a turn of its own with a name
// in the margin, and a sentence names it so.
func TestAddedParts(t *testing.T) {
	for _, c := range []struct {
		kind                 trace.PartKind
		turns, margin, sense string
	}{
		{trace.Added, "added[0 3] [3 7] [7 9]; ", "system (added by the template)", "“In” came from terse in what the chat template adds"},
		{trace.Tools, "tools[0 3] [3 7] [7 9]; ", "tools", "“In” came from terse in the definitions of tools"},
		{trace.Words, "system[0 3] [3 7] [7 9]; ", "system", "“In” came from terse in the system prompt"},
		{trace.Label, "", "", "No single word stands out for “In”"},
	} {
		e := chatted()
		e.Prompt.Parts[1].Kind = c.kind
		want := c.turns + "user[9 12] [12 19] [19 21]; "
		if c.turns == "" {
			want = "user[0 12] [12 19] [19 21]; "
		}
		d := drawingOf(e)
		var turns strings.Builder
		for _, turn := range d.turns[:len(d.turns)-1] {
			fmt.Fprint(&turns, turn.name, turn.head, " ", turn.body, " ", turn.tail, "; ")
		}
		if turns.String() != want {
			t.Errorf("%q: the turns are %q, want %q", c.kind, &turns, want)
		}
		clear(e.Methods["raw"].Rows[0])
		e.Methods["raw"].Rows[0][5] = 1
		page := written(t, Heatmap{Explanation: e})
		_, shown, _ := strings.Cut(page, `<div class="hm-text"`)
		shown, _, _ = strings.Cut(shown, `<div class="hm-after"`)
		if c.margin != "" && !strings.Contains(shown, ">"+c.margin+"</small>") {
			t.Errorf("%q: the margin does not say %q:\n%s", c.kind, c.margin, shown)
		}
		if strings.Contains(shown, "|start|") || strings.Contains(shown, ">assistant</span>") {
			t.Errorf("%q: marks of the template stand in the text:\n%s", c.kind, shown)
		}
		d = drawingOf(e)
		if say, _ := d.explainRow(&d.views[0], 0); say.String() != c.sense {
			t.Errorf("%q: the sentence is %q, want %q", c.kind, say.String(), c.sense)
		}
	}
	e := chatted()
	e.Prompt.Parts[5].Kind = trace.Added // behind the message that is answered
	if got := drawingOf(e).asked(); !slices.Equal(got, []string{"where", "is", "the", "colosseum"}) {
		t.Errorf("the question is %q", got)
	}
}

// TestChatTurns: the template is folded, the turns have their messages, and the last part of the
// template ends the question and begins the answer.
func TestChatTurns(t *testing.T) {
	d := drawingOf(chatted())
	const want = "(3) You are terse . (5) Where is the Col osse um ? (5) In"
	if got := columnsOf(d); got != want {
		t.Errorf("the columns are %q, want %q", got, want)
	}
	var turns []string
	for _, turn := range d.turns {
		turns = append(turns, fmt.Sprint(turn.name, turn.head, turn.body, turn.tail))
	}
	if got := strings.Join(turns, "; "); got != "system[0 3] [3 7] [7 9]; user[9 12] [12 19] "+
		"[19 21]; assistant[21 24] [24 26] [0 0]" {
		t.Errorf("the turns are %q", got)
	}
	text := written(t, asText(Heatmap{Explanation: chatted()}))
	if !strings.Contains(text, "‿osse") {
		t.Errorf("no mark says that a column continues a word:\n%s", text)
	}
	say, facts := d.explainRow(&d.views[0], 1)
	if got := say.String(); got != "Rome came from Colosseum" {
		t.Errorf("the sentence is %q", got)
	}
	if got := say.html(); !strings.Contains(got, "Col<b>osse</b>um") {
		t.Errorf("the sentence is %q", got)
	}
	if got := facts.String(); got != "Colosseum 60.0 %, the 20.0 %, You 10.0 %, In 10.0 % · share of "+
		"attention · layer 0" || !strings.Contains(facts.html(), "Col<b>osse</b>um 60.0 %") {
		t.Errorf("the facts are %q", facts.html())
	}
	// A token of the template that speaks is called so, and stays folded.
	e := chatted()
	e.Methods["raw"].Rows[0][20], e.Methods["raw"].Rows[0][12] = 0.5, 0.4
	d = drawingOf(e)
	if got := columnsOf(d); got != want {
		t.Errorf("the columns are %q", got)
	}
	say, _ = d.explainRow(&d.views[0], 0)
	if got := say.String(); got != "“In” came from “Where”" {
		t.Errorf("the sentence is %q", got)
	}
}

// TestChatByTurn: a conversation by turns is drawn as one by tokens: messages beside who says them,
// columns with these names, and what the template wrote folded.
func TestChatByTurn(t *testing.T) {
	by, err := units.ParseGrouping("turn")
	must(t, err)
	e, err := chatted().Group(by)
	must(t, err)
	d := drawingOf(e)
	data := heatmapPage{board: newBoard(d, "", 0)}.data()
	page, text := written(t, Heatmap{Explanation: e}), written(t, asText(Heatmap{Explanation: e}))
	for what, got := range map[string][2]string{
		"columns": {columnsOf(d), "(1) You are terse. (1) Where is the Colosseum? (1) In"},
		"names over them": {
			strings.Join(data.ColumnNames, ", "), "system, system, user, user, assistant",
		},
		"texts": {
			strings.Join(data.Names, ", "), "label of system, You are terse., label of user, " +
				"Where is the Colosseum?, label of assistant, In, Rome",
		},
		"turns": {fmt.Sprint(data.Turns), "[[system 0 2] [user 2 4] [assistant 4 7]]"},
		"roles": {data.Roles, "tptptgg"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	f, err := Heatmap{Explanation: e}.Drawn("raw")
	must(t, err)
	var names []string
	for _, c := range f.Columns {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, ", "); got != "⋯ system, system, ⋯ user, user, ⋯ assistant, In" {
		t.Errorf("the columns of a figure are %q", got)
	}
	if !strings.Contains(text, "\nuser       Where is the Colosseum?\n") ||
		strings.Contains(text+page, "chat template") {
		t.Errorf("the messages are not beside their roles:\n%s", text)
	}
}

// TestFewColumns: a name that is cut ends with a word, if it has several.
func TestFewColumns(t *testing.T) {
	for text, want := range map[string]string{
		"user 2: What does my sister do, and where?": "user 2: What does my…",
		"Donaudampfschifffahrtsgesellschaft":         "Donaudampfschifffahrtsg…",
		"What does my sister make":                   "What does my sister make",
		"What does my sister mean ?":                 "What does my sister…",
	} {
		if got := fewColumns(text, true, "", shortColumns); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}

// TestOpens: a picture opens with the content word of which the first method says most, and where
// that says nothing with the next method.
func TestOpens(t *testing.T) {
	e := example()
	e.Steps[0].Text, e.Steps[1].Text, e.Steps[2].Text = " The", " keys", " here"
	d := drawingOf(e)
	if d.chosen != 1 || d.lead != 0 {
		t.Errorf("it opens with row %d by method %d, want 1 by 0", d.chosen, d.lead)
	}
	if why := d.whyLead(); why != "" {
		t.Errorf("of its first method it says %q", why)
	}
	fill(e.Methods["rollout"], func(int) float64 { return 0 })
	const why = "rollout shows nothing for “keys”; flow does"
	if d = drawingOf(e); d.lead != 1 || d.whyLead() != why {
		t.Errorf("it opens with method %d and says %q, want the second and %q", d.lead,
			d.whyLead(), why)
	}
	for where, picture := range map[string]string{
		"page": written(t, Heatmap{Explanation: e}),
		"text": written(t, asText(Heatmap{Explanation: e})),
	} {
		if !strings.Contains(picture, why) {
			t.Errorf("the %s does not say why it opens so: %q", where, why)
		}
	}
	fill(e.Methods["rollout"], func(i int) float64 { // large, and against each token
		return map[bool]float64{true: -5}[i/6%7 == 2]
	})
	e.Methods["rollout"].Quantity = attribution.Amount
	if d = drawingOf(e); d.lead != 0 || d.whyLead() != "" {
		t.Errorf("against a token it opens with method %d and says %q", d.lead, d.whyLead())
	}
	fill(e.Methods["rollout"], func(int) float64 { return 0 })
	if d = newDrawing(Heatmap{Explanation: e}.picture(true), new(2)); d.chosen != 2 {
		t.Errorf("it opens with row %d, want the one asked for", d.chosen)
	}
	e.Methods["rollout"].Contrast = " is" // instead of the first token
	if d = drawingOf(e); d.chosen != 0 {
		t.Errorf("with a contrast it opens with row %d", d.chosen)
	}
}

// TestOpensAtContrast: in a chat a contrast is another answer than the word whose log-odds over it
// are the smallest in size, and without a chat than the first token.
func TestOpensAtContrast(t *testing.T) {
	for _, c := range []struct {
		explained []float64
		want      int
	}{
		{[]float64{6.5, .4, .1}, 1}, // a point is no word
		{[]float64{6.5, -.4, 8}, 1},
		{[]float64{.5, -4, 8}, 0},
		{[]float64{2, 2, 2}, 0},
		{[]float64{math.NaN(), 2, 1}, 1},
		{nil, 0},
	} {
		for _, chat := range []bool{true, false} {
			e := chatted()
			if !chat {
				e = example()
			}
			r := e.Methods[e.Order[0]]
			e.Steps[0].Text, e.Steps[1].Text = " The", " Bella"
			r.Contrast, r.Explained = " Lars", c.explained
			want := c.want
			if !chat {
				want = 0
			}
			if got := (Show{}).Opening(e); got != want {
				t.Errorf("%v, chat %v: it opens at %d, want %d", c.explained, chat, got, want)
			}
			if got := (Show{Token: new(2)}).Opening(e); len(e.Steps) > 2 && got != 2 {
				t.Errorf("asked for token 2 it opens at %d", got)
			}
		}
	}
	e := chatted()
	e.Steps[0].Text, e.Steps[1].Text = " The", " Bella"
	r := e.Methods[e.Order[0]]
	r.Contrast, r.Explained = " Bella", []float64{3, 0} // with itself it is not compared
	if got := (Show{}).Opening(e); got != 0 {
		t.Errorf("it opens at %d, the contrast itself", got)
	}
}

// TestOpensOnAnswer: a picture opens with the word of an answer that has the largest value, of
// which a word of the question has half.
func TestOpensOnAnswer(t *testing.T) {
	for _, c := range []struct {
		words  string
		values []float64
		want   string
	}{
		{"rome lies north", []float64{.45, .1, .4}, "north"},
		{"rome lies north", []float64{.15, .1, .4}, "north"},
		{"colosseum stands rome", []float64{.25, .1, .15}, "rome"},
		{"where colosseum is", []float64{.15, .4, .4}, "colosseum"},
		{"here the is", []float64{.1, .4, .4}, "here"},
	} {
		e := chatted() // Where is the Colosseum?
		m := len(e.Prompt.Texts)
		r := e.Methods["raw"]
		e.Steps, r.Rows, r.OtherMass = nil, nil, []float64{.6, .6, .6}
		for i, word := range strings.Fields(c.words) {
			row := make([]float64, m+i)
			row[13+i] = c.values[i]
			e.Steps = append(e.Steps, attribution.GeneratedToken{Text: " " + word})
			r.Rows = append(r.Rows, row)
		}
		r.Shape[0], r.Shown = 3, make([]int, 3)
		if d := drawingOf(e); strings.ToLower(d.wordText(d.chosen)) != c.want {
			t.Errorf("%q with %v opens with %q, want %q", c.words, c.values, d.wordText(d.chosen),
				c.want)
		}
	}
}

// TestOpensOnNamesAndNumbers: a picture opens with the number or name that has most, in however
// many pieces, of another word half counts; and neither with an abbreviation nor with the numbers
// of a list. Each piece has the value of its place.
func TestOpensOnNamesAndNumbers(t *testing.T) {
	const question = "Biscuit has 10 legs and Ottoline 1,200 . How many legs ?"
	for _, c := range []struct {
		question, pieces string // pieces are divided by bars
		values           []float64
		want             string
	}{
		{"", " |1|0| legs|.", []float64{0, .2, .1, .4, 0}, "10"},
		{"", " |3|.|5| metres", []float64{0, .2, .1, .1, .4}, "3.5"},
		{"", " about| |1|,|2|0|0| legs", []float64{.4, 0, .2, .1, .1, .1, .1, .4}, "1,200"},
		{"", " Bis|cuit| makes| sense", []float64{.2, .1, .1, .4}, "Biscuit"},
		{"", " pears|,| etc|.", []float64{.2, 0, .4, 0}, "pears"},
		{"", " Sydney|.|\n|The| population", []float64{.2, 0, 0, 0, .4}, "Sydney"},
		{"", " are| here|.| The| chimney", []float64{.1, .2, 0, 0, .4}, "chimney"},
		{question, "It| is|.| The| chimney", []float64{.1, .2, 0, 0, .4}, "chimney"},
		{question, "Here| are| two|:|\n|1|.| Paris", []float64{.1, .1, .1, 0, 0, .4, 0, .1}, "two"},
		{question, "1|.| Paris|\n|2|.| Rome", []float64{.4, 0, .1, 0, .4, 0, .1}, "Paris"},
		{question, "Sure|!| It| is| Bis|cuit|.", []float64{.15, 0, 0, 0, .1, .1, 0}, "Biscuit"},
		{question, "The| legs| are| really| |1|0|.", []float64{.1, .35, 0, .15, .1, .1, .1, 0}, "10"},
		{question, "Ott|oline| has| 1|,|200|.", []float64{.4, .4, 0, .1, .1, .1, 0}, "Ottoline"},
		{question, "Bis|cuit| is| a| dog| named| Luna", []float64{.2, .1, 0, 0, .1, .1, .4}, "Luna"},
		{question, "The| function| `|legs|` works", []float64{.4, .4, .1, .1, .4}, "function"},
	} {
		e := farApart(20)
		if c.question != "" {
			e = chattedAbout(strings.SplitAfter(c.question, " ")...)
		}
		m := len(e.Prompt.Texts)
		r := e.Methods["raw"]
		e.Steps, r.Rows, r.OtherMass, r.Shown = nil, nil, nil, nil
		for i, text := range strings.Split(c.pieces, "|") {
			row := make([]float64, m+i)
			row[12+i%3] = c.values[i]
			e.Steps = append(e.Steps, attribution.GeneratedToken{Text: text})
			r.Rows, r.OtherMass = append(r.Rows, row), append(r.OtherMass, 0)
			r.Shown = append(r.Shown, 0)
		}
		r.Shape = [3]int{len(e.Steps), m, 1}
		if d := drawingOf(e); d.wordText(d.chosen) != c.want {
			t.Errorf("%q with %v opens with %q, want %q", c.pieces, c.values, d.wordText(d.chosen),
				c.want)
		}
	}
}

// TestOpensOnFirstPiece: of a word of two to four tokens the first one that has something to show
// is opened, although a later one has more, and the sentence has the whole word.
func TestOpensOnFirstPiece(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		first  float64 // what the first piece has from its strongest source
		want   int
		word   string
	}{
		{[]string{" Ken", "yen"}, .3, 0, "Kenyen came"},
		{[]string{" N", "airo", "bi"}, .3, 0, "Nairobi came"},
		{[]string{" La", "ur", "en", "ce"}, 0, 1, "Laurence came"},
	} {
		e := farApart(4)
		r := e.Methods["raw"]
		e.Steps, r.Rows = nil, nil
		for i, text := range c.pieces {
			row := make([]float64, 4)
			if row[1] = .9; i == 0 {
				row[1] = c.first
			}
			e.Steps = append(e.Steps, attribution.GeneratedToken{Text: text})
			r.Rows, r.Shown = append(r.Rows, row), make([]int, i+1)
		}
		r.Shape[0] = len(c.pieces)
		d := drawingOf(e)
		say, _ := d.explainRow(&d.views[0], d.chosen)
		if d.chosen != c.want || !strings.HasPrefix(say.String(), c.word) {
			t.Errorf("%q opens with row %d, want %d: %q", c.pieces, d.chosen, c.want, say)
		}
	}
}

// TestSentences of every kind of values, by hand.
func TestSentences(t *testing.T) {
	with := func(change func(r *attribution.Result), values ...float64) *attribution.Explanation {
		e := farApart(len(values))
		e.Methods["raw"].Rows = [][]float64{values}
		change(e.Methods["raw"])
		return e
	}
	share := func(r *attribution.Result) { r.AddsUp = true }
	amount := func(r *attribution.Result) {
		r.Facts = attribution.Facts{
			Quantity: attribution.Amount, AddsUp: true, Scorer: true, Evidence: trace.Traced,
		}
		r.Unit = "part of the logit"
	}
	for _, c := range []struct {
		e    *attribution.Explanation
		want string
	}{
		{with(share, 0, .6, .4), "end came from w1 and w2 | w1 60.0 %, w2 40.0 % · share " +
			"of attention · layer 0"},
		{with(share, 0, .3, .1, .1, .1, .1, .1, .1, .1), "end came from w1 | "},
		{with(share, .03, .02, 0), "end came from w1 | "},
		{with(share, 0, 0, 0), "No single word stands out for end"},
		{with(amount, 0, 2, -1), "end came from w1 | w1 +2.00 · against it w2 " +
			"−1.00 · part of the logit · whole model"},
		{with(amount, 0, -2, -1),
			"end came in spite of w1 | against it w1 −2.00, w2 −1.00"},
		{with(func(r *attribution.Result) { r.Quantity = attribution.Lift }, 1, 4, .25),
			"end came from w1 more than its position explains | w1 ×4.00 · less than position " +
				"explains w2 ×0.25"},
		{with(func(r *attribution.Result) { r.Quantity = attribution.Cosine }, 0, .9, .1),
			"end is most like w1"},
		{with(func(r *attribution.Result) { amount(r); r.Contrast = " is" }, 0, 2, -1),
			"end and not “is” came from w1 | w1 +2.00 · for “is” w2 −1.00"},
		{with(func(r *attribution.Result) { r.Quantity = attribution.Amount }, 0, 2, 1),
			"end came from w1 | "},
	} {
		p := Heatmap{Explanation: c.e}.picture(true)
		if got := said(p, &p.views[0], 0); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	// Each kind of evidence has its own words, also for what speaks against a token.
	for of, want := range map[trace.Evidence][2]string{
		trace.Traced:  {"end came from w1 | ", " · against it w2 −0.3"},
		trace.Tested:  {"end depends on w1 | ", " · against it w2 −0.3"},
		trace.Written: {"end came from w1 | ", " · written against it w2"},
		trace.Read:    {"end came from w1 | ", " · against it w2 −0.3"},
		trace.Chance:  {"Random numbers say nothing about end | ", " · against it w2 −0.3"},
		"":            {"For end, raw is on w1 | ", " · against it w2 −0.3"},
	} {
		p := Heatmap{Explanation: with(func(r *attribution.Result) {
			r.Quantity, r.AddsUp, r.Evidence = attribution.Amount, true, of
			r.Explains, r.Explained = trace.Probability, []float64{1}
		}, 0, .9, -.3, 0)}.picture(true)
		if got := said(p, &p.views[0], 0); !strings.HasPrefix(got, want[0]) ||
			!strings.Contains(got, want[1]) {
			t.Errorf("%q: %q, want %q", of, got, want)
		}
	}
	// What a scorer says of a prediction and a contrast that are nearly as probable, or more so.
	for explained, want := range map[float64]string{
		.06: "end and other are almost as probable (41.0 % and 39.0 %): w1 favours end, w2 favours " +
			"other | ",
		.22:   "end and other are almost as probable",
		.2235: "end is more probable than other (41.0 % and 39.0 %): w1 favours end, w2 favours other",
		.23:   "end and not “other” came from w1 | ",
		-.23:  "end is less probable than other (41.0 % and 39.0 %): w1 favours end, w2 favours other",
	} {
		e := with(amount, 0, 2.24, -1)
		e.Methods["raw"].Contrast, e.Methods["raw"].Explained = " other", []float64{explained}
		e.Steps[0].Probability = .41
		e.Steps[0].Alternatives = []attribution.Alternative{{Text: " other", Probability: .39}}
		p := Heatmap{Explanation: e}.picture(true)
		if got := said(p, &p.views[0], 0); !strings.HasPrefix(got, want) {
			t.Errorf("a difference of %v: %q, want %q", explained, got, want)
		}
	}
	// How much of a probability the strongest token loses alone, whatever the others lose, and
	// nothing of what has no zero; the last token, at which the prediction is asked, is not named.
	for _, c := range []struct {
		of   trace.Quantity
		lost []float64
		want string
	}{
		{trace.Probability, []float64{0, .6, .5, .4, .9}, "end depends on w1 and w2 | w1"},
		{trace.Probability, []float64{0, .3, .2, .2, .9}, "end depends on w1 and w2 | "},
		{trace.Probability, []float64{0, .2, .2, 0, 0}, "end depends partly on w1 and w2 | "},
		{trace.Logit, []float64{0, .6, .5, .4, .9}, "end depends on w1 and w2 | w1 0.60, w2 " +
			"0.50, w3 0.40 · part of the logit · whole model · 0.90 is on “w4”, which asks for"},
		{trace.Probability, []float64{0, 0, 0, 0, .9}, "No single word stands out for end | "},
	} {
		e := with(amount, c.lost...)
		r := e.Methods["raw"]
		r.Evidence, r.Explains, r.Explained = trace.Tested, c.of, []float64{1}
		r.LastAsks, r.OtherMass = true, []float64{0}
		e.Prompt.Special = make([]bool, len(c.lost))
		p := Heatmap{Explanation: e}.picture(true)
		if got := said(p, &p.views[0], 0); !strings.HasPrefix(got, c.want) ||
			strings.Contains(got, "w4 +") {
			t.Errorf("%v of %s: %q, want %q", c.lost, c.of, got, c.want)
		}
	}
	// Another method that names another source is named with it.
	two := with(share, 0, .9, .1)
	two.Order = append(two.Order, "other")
	second := *two.Methods["raw"]
	second.Rows = [][]float64{{0, .1, .9}}
	two.Methods["other"] = &second
	pair := Heatmap{Explanation: two}.picture(true)
	if got := said(pair, &pair.views[0], 0); !strings.HasPrefix(got,
		"end came from w1; other says “w2” | ") {
		t.Errorf("two methods: %q", got)
	}
	// It agrees only if the same source is first and for the token in both.
	for _, c := range []struct {
		row, other []float64
		want       string
	}{
		{[]float64{0, .5, .4, .1}, []float64{0, .6, .1, .3}, "w1 and w2 | .* · other agrees"},
		{[]float64{0, .5, .4, .1}, []float64{0, .1, .6, .3}, "w1 and w2 | .* · other says “w2”"},
		{[]float64{0, .5, .4, .1}, []float64{0, .1, .3, .6}, "w1 and w2; other says “w3” | .*0"},
		{[]float64{0, -.5, -.4, 0}, []float64{0, .6, .1, 0}, "w1 and w2; other says “w1” | .*0"},
	} {
		e := with(amount, c.row...)
		e.Order = append(e.Order, "other")
		second := *e.Methods["raw"]
		second.Rows, e.Methods["other"] = [][]float64{c.other}, &second
		p := Heatmap{Explanation: e}.picture(true)
		want := regexp.MustCompile(strings.ReplaceAll(c.want, "|", `\|`) + "$")
		if got := said(p, &p.views[0], 0); !want.MatchString(strings.ReplaceAll(got,
			" · part of the logit · whole model", "")) {
			t.Errorf("%v beside %v: %q, want %q", c.row, c.other, got, c.want)
		}
	}
	// One that puts the first token first is left out where attention rests on it, but not if what
	// it replaced there changed the prediction.
	for of, want := range map[trace.Evidence]string{
		trace.Traced: "end came from w1 | ", trace.Written: "end came from w1 | ",
		trace.Tested: "end came from w1; other says “w0” | ",
	} {
		amount(&second)
		second.Evidence, second.Rows = of, [][]float64{{3, .1, .1}}
		p := Heatmap{Explanation: two}.picture(true)
		if got := said(p, &p.views[0], 0); !strings.HasPrefix(got, want) {
			t.Errorf("%s that is largest on the first token: %q, want %q", of, got, want)
		}
	}
	// A prediction that is the contrast itself.
	itself := with(func(r *attribution.Result) { amount(r); r.Contrast = " end" }, 0, 0, 0)
	own := Heatmap{Explanation: itself}.picture(true)
	if got := said(own, &own.views[0], 0); !strings.HasPrefix(got,
		"The prediction is end itself; there is nothing to contrast it with | ") {
		t.Errorf("its own contrast: %q", got)
	}
	// Equal words are named once, with their places, and in a longer text the strongest is quoted.
	e := farApart(40)
	e.Prompt.Texts[20], e.Prompt.Texts[30] = " cat", " cat"
	e.Methods["raw"].Rows[0][20], e.Methods["raw"].Rows[0][30] = .5, .4
	e.Methods["raw"].AddsUp = true
	p := Heatmap{Explanation: e}.picture(true)
	const want = "end came from cat (twice) | " +
		"cat (20) 50.0 %, cat (30) 40.0 %"
	if got := said(p, &p.views[0], 0); !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// One of them alone has its place too, but not where its context tells which it is. Function
	// words and punctuation stand in quotes.
	for tokens, want := range map[int]string{
		12: "end came from “w4 the, cat w8 w9” | ",
		40: "end came from “w4 the, cat w8 w9” | ",
	} {
		e := farApart(tokens)
		e.Prompt.Texts[3], e.Prompt.Texts[7] = " cat", " cat"
		e.Prompt.Texts[5], e.Prompt.Texts[6] = " the", ","
		r := e.Methods["raw"]
		r.AddsUp, r.Rows[0][7], r.Rows[0][5], r.Rows[0][6] = true, .4, .3, .2
		p := Heatmap{Explanation: e}.picture(true)
		if got := said(p, &p.views[0], 0); !strings.HasPrefix(got, want) {
			t.Errorf("%d tokens: %q, want %q", tokens, got, want)
		}
	}
}

// TestThemeContrast: the first step of a theme has a contrast of 1.37 to the page, every step
// one of 4.5 to the letters on it, and steps go one way.
func TestThemeContrast(t *testing.T) {
	for _, theme := range themes {
		for _, side := range []struct {
			name           string
			steps, letters [levels]string
			page           string
		}{
			{"above, light", theme.above, letters, sheet},
			{"below, light", theme.below, letters, sheet},
			{"above, dark", theme.aboveDark, lettersDark, sheetDark},
			{"below, dark", theme.belowDark, lettersDark, sheetDark},
		} {
			last := 0.0
			for i, step := range side.steps {
				page := contrast(rgbOf(step), rgbOf(side.page))
				if page < last || i == 0 && page < 1.37 {
					t.Errorf("%s, %s: step %d has a contrast of %.2f to the page after %.2f",
						theme.name, side.name, i+1, page, last)
				}
				last = page
				if on := contrast(rgbOf(step), rgbOf(side.letters[i])); on < 4.5 {
					t.Errorf("%s, %s: letters on step %d have a contrast of %.2f", theme.name,
						side.name, i+1, on)
				}
			}
		}
	}
}

// TestSpaceToken: a space alone and a token without text are one mark in the text, in columns, in
// sentences and in the script.
func TestSpaceToken(t *testing.T) {
	for _, text := range []string{"", " "} {
		e := farApart(10, 4)
		e.Prompt.Texts[4], e.Steps[0].Text = text, text
		d := drawingOf(e)
		page := heatmapPage{board: newBoard(d, "", 0)}
		say, _ := d.explainRow(&d.views[0], 0)
		for where, got := range map[string]string{
			"the text": d.tokens[4].name, "a column": d.axisName(4), "a row": d.axisName(10),
			"the script": page.data().Names[4], "the answer": d.tokens[10].name,
			"the sentence": strings.Trim(strings.TrimPrefix(say.String(), "No single word stands out for "), "“”"),
		} {
			if got != "␣" {
				t.Errorf("%q in %s is %q", text, where, got)
			}
		}
	}
}
