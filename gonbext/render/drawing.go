package render

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// drawing is a heatmap worked out and not yet drawn: the text with its turns and words, what stands
// out, what is folded, and the token and the method that it opens with. A page draws it, and the
// script of the page draws it again at every choice of a reader.
type drawing struct {
	*picture
	tokens []drawnToken // the text: the prompt and, for a decoder, what it generated
	turns  []drawnTurn
	// chosen is the row that colours the text, and lead the method; -1 if there is none.
	chosen, lead int
	columns      []TextColumn // of the matrices
	// mentioned are the sources that the sentence names which the picture opens with.
	mentioned map[int]bool
	placesOf  map[string][]int // the first tokens of each word, in order; see repeats
}

// drawnToken is a token of the text.
type drawnToken struct {
	name  string // visible, without the space before it
	ends  string // visible line breaks at its end, which are not in name
	role  role
	space bool // a space stands before it
	lines int  // line breaks at its end
	// joins reports whether it continues the word of the token before it, and code whether it is
	// part of a program.
	joins, code bool
}

// role is what a token of the text is.
type role byte

// The roles, by the letters that the script knows them by.
const (
	inTemplate role = 't' // a label of a chat template, or a control token that a tokenizer added
	inSystem   role = 'y' // of the message of the system, of tools, or added by the chat template
	inPrompt   role = 'p'
	inAnswer   role = 'g'
	ending     role = 'e' // a generated control token
)

// drawnTurn is a message of a chat, one of two texts, or the whole text. head, body and tail are
// ranges of tokens; head and tail are labels of the chat template. What the template adds and the
// tools are turns of their own.
type drawnTurn struct {
	name             string         // "" if the text is no chat
	kind             trace.PartKind // what the body is, if the text is a chat
	head, body, tail [2]int
}

// newDrawing works out a picture that opens with a row. If that is nil or does not exist, it opens
// with the content word that a method says most of.
func newDrawing(p *picture, row *int) *drawing {
	d := &drawing{picture: p}
	d.readTokens()
	d.readTurns()
	d.markCode()
	d.open(row)
	d.mention()
	d.columns = d.fold(d.places(d.sourceCount()))
	return d
}

// sourceCount returns how many tokens of the text are a source of some row.
func (d *drawing) sourceCount() int {
	sources := len(d.e.Prompt.Texts)
	for i := range d.views {
		if v := &d.views[i]; v.wrong == "" && v.result.Shape[0] > 0 {
			sources = max(sources, v.sources(v.result.Shape[0]-1))
		}
	}
	return min(sources, len(d.tokens))
}

// readTokens fills tokens, without code.
func (d *drawing) readTokens() {
	spans, joins := d.e.Spans(), d.e.ContinuesWord()
	for j := range d.e.Prompt.Texts {
		t := readToken(d.textOf(j), nameLimit)
		if spans { // which may be sentences
			t = readToken(d.textOf(j), 6*nameLimit)
		}
		t.role = inPrompt
		if d.special(j) && d.wasAdded(j) {
			t.role = inTemplate
		}
		t.space, t.joins = j > 0 && d.spaced(j), joins[j]
		d.tokens = append(d.tokens, t)
	}
	if d.e.Model.Reads() {
		return
	}
	for i, g := range d.e.Steps {
		t := readToken(g.Text, nameLimit)
		t.role = inAnswer
		switch {
		case g.Special:
			t.role = ending
		case g.IDs != nil && !t.blank(): // a sentence, or the whole answer
			t.name = Visible(strings.TrimSpace(g.Text), 50*nameLimit)
			t.space = t.space || i > 0 && !d.e.ByWords()
		}
		t.joins = joins[len(d.tokens)]
		d.tokens = append(d.tokens, t)
	}
	for j := 1; j < len(d.tokens); j++ { // a tokenizer may write the space as a token
		before := d.textOf(j - 1)
		d.tokens[j].space = d.tokens[j].space || strings.HasSuffix(before, " ")
	}
}

// wasAdded reports whether a tokenizer put control token j before, between or behind texts. The one
// with which a target begins stands in its text, and one whose prediction is explained.
func (p *picture) wasAdded(j int) bool {
	o := p.e.Prompt.Offsets
	return j != p.targetBegin && !(p.explained(j) && !p.e.Steps[0].Class) &&
		(j == 0 && p.e.Prompt.BOSAdded || j < len(o) && o[j][0] == o[j][1])
}

// inText reports whether the running text has token j: white space has no element there, and what a
// template or a tokenizer wrote does not stand in it.
func (d *drawing) inText(j int) bool {
	t := d.tokens[j]
	return t.role != inTemplate && t.role != ending && !t.blank()
}

// readToken returns a token of the text without its role, with a name up to a limit.
func readToken(text string, limit int) drawnToken {
	begins, rest := word(text)
	body := strings.TrimRight(rest, " \t\n")
	if at := strings.IndexByte(rest[len(body):], '\n'); body == "" || at < 0 {
		body = rest // white space alone is its own name
	} else {
		body = rest[:len(body)+at]
	}
	return drawnToken{
		name: cmp.Or(Visible(body, limit), noText), ends: Visible(rest[len(body):], nameLimit),
		space: begins, lines: strings.Count(rest, "\n"),
	}
}

// blank reports whether a token is white space alone.
func (t drawnToken) blank() bool { return strings.Trim(t.name, "␣↵⇥") == "" }

// readTurns fills turns, and marks the tokens of a chat template and of a system's message.
func (d *drawing) readTurns() {
	m, T := len(d.e.Prompt.Texts), len(d.tokens)
	parts := d.e.Prompt.Parts
	switch {
	case len(parts) > 0 && (!d.e.Spans() || d.e.ByWords()) && d.e.Prompt.Placed():
		d.readChat()
	case slices.Contains(d.e.Prompt.Texts, units.LabelSpan) && d.named(0):
		d.readMessages()
	case d.targetBegin >= 0:
		d.turns = []drawnTurn{
			{name: d.words.text, body: [2]int{0, d.targetBegin}},
			{
				name: d.words.answer, head: [2]int{d.targetBegin, d.targetBegin + 1},
				body: [2]int{d.targetBegin + 1, T},
			},
		}
	case d.e.Prompt.Second > 0 && (!d.e.Spans() || d.e.ByWords()):
		second := 0
		for second < m && !d.e.Prompt.InSecond(second) {
			second++
		}
		d.turns = []drawnTurn{
			{name: firstText, body: [2]int{0, second}},
			{name: secondText, head: [2]int{second, second}, body: [2]int{second, T}},
		}
	default:
		d.turns = []drawnTurn{{body: [2]int{0, T}}}
	}
}

// readChat fills turns of a conversation. A part of the template between two messages ends the one
// and begins the other: it is divided at its last control token.
func (d *drawing) readChat() {
	m, T := len(d.e.Prompt.Texts), len(d.tokens)
	parts := d.e.Prompt.Parts
	at := make([]int, m) // the part of each token
	for j, o := range d.e.Prompt.Offsets {
		at[j] = max(slices.IndexFunc(parts, func(p trace.Part) bool {
			return o[0] < p.End && (o[0] >= p.Begin)
		}), 0)
		switch part := parts[at[j]]; {
		case o[0] == o[1]: // not of the text
		case part.Kind == trace.Label:
			d.tokens[j].role = inTemplate
		case part.Kind != trace.Words || part.Role == "system":
			d.tokens[j].role = inSystem
		default: // also a control token that a user typed
			d.tokens[j].role = inPrompt
		}
	}
	begin := 0 // of the template's tokens that no turn has yet
	for j := 0; j < m; {
		if d.tokens[j].role == inTemplate {
			j++
			continue
		}
		part := parts[at[j]]
		end := j + 1
		for end < m && d.tokens[end].role != inTemplate && parts[at[end]].Turn == part.Turn &&
			parts[at[end]].Kind == part.Kind {
			end++
		}
		cut := d.lastControl(begin, j)
		if len(d.turns) > 0 {
			d.turns[len(d.turns)-1].tail = [2]int{begin, cut}
		} else {
			cut = begin
		}
		d.turns = append(d.turns, drawnTurn{
			name: Visible(cmp.Or(string(part.Kind), part.Role), 20), kind: part.Kind,
			head: [2]int{cut, j}, body: [2]int{j, end},
		})
		begin, j = end, end
	}
	cut := d.lastControl(begin, m)
	if len(d.turns) > 0 {
		d.turns[len(d.turns)-1].tail = [2]int{begin, cut}
	} else {
		cut = begin
	}
	d.turns = append(d.turns, drawnTurn{
		name: "assistant", head: [2]int{cut, m}, body: [2]int{m, T},
	})
}

// lastControl returns the last control token in [from,to) that another one of the range precedes,
// or from if there is none: where the template ends a message and begins the next one.
func (d *drawing) lastControl(from, to int) int {
	for j := to - 1; j > from; j-- {
		if d.special(j) {
			return j
		}
	}
	return from
}

// markCode marks the tokens of programs: between fences of three backticks, or in a turn that looks
// like a program as a whole.
func (d *drawing) markCode() {
	for _, turn := range d.turns {
		body := d.tokens[turn.body[0]:turn.body[1]]
		var text strings.Builder
		for i := range body {
			text.WriteString(d.textOf(turn.body[0] + i))
		}
		whole := units.IsProgram(text.String())
		open := false
		for i := range body {
			fences := strings.Count(d.textOf(turn.body[0]+i), "```")
			body[i].code = whole || open || fences > 0
			open = open != (fences%2 == 1)
		}
	}
}

// textOf returns the text of a token as the model has it, of a span with the white space around it.
func (d *drawing) textOf(j int) string {
	p := &d.e.Prompt
	if m := len(p.Texts); j >= m {
		return d.e.Steps[j-m].Text
	}
	if d.e.Spans() && p.Placed() && !d.named(j) && p.Offsets[j][0] < p.Offsets[j][1] {
		return p.Text[p.Offsets[j][0]:p.Offsets[j][1]]
	}
	return d.spanText(j)
}

// mention marks the sources that the sentence of the opening row names.
func (d *drawing) mention() {
	d.mentioned = map[int]bool{}
	if d.lead < 0 || !d.views[d.lead].has(d.chosen) || d.views[d.lead].silent[d.chosen] != "" {
		return
	}
	named, _ := d.namedSources(&d.views[d.lead], d.chosen)
	for _, j := range named {
		d.mentioned[j] = true
	}
}

// stepsAt are the places on a scale at which its six colours begin. The script has them too.
var stepsAt = [levels]float64{1. / 24, 1. / 10, 1. / 5, 1. / 3, 1. / 2, 3. / 4}

// stepOf returns the colour of a place on a scale: 0 for none and for NaN, up to levels, and
// negative for values below the neutral one.
func stepOf(place float64) int {
	n := 0
	for n < levels && math.Abs(place) >= stepsAt[n] {
		n++
	}
	if place < 0 {
		return -n
	}
	return n
}

// step returns the colour of source j in row t: 0 also for sinks, for what a filter hides, and in
// rows that say nothing.
func (d *drawing) step(v *view, t, j int) int {
	if v.silent[t] != "" || d.grey(v, t, j) {
		return 0
	}
	return stepOf(v.colors.at(v.at(t, j)))
}

// calm returns the colours of the sources of row t in a running text and in a sentence, where only
// what has a twelfth of the strongest source of the row is named, and of a difference a twelfth of
// its scale.
func (d *drawing) calm(v *view, t int) []int {
	steps, strongest := make([]int, v.sources(t)), 0.0
	for j := range steps {
		if steps[j] = d.step(v, t, j); steps[j] != 0 {
			strongest = max(strongest, math.Abs(v.colors.at(v.at(t, j))))
		}
	}
	if v.difference {
		strongest = 1
	}
	for j := range steps {
		if math.Abs(v.colors.at(v.at(t, j))) < strongest/12 {
			steps[j] = 0
		}
	}
	return steps
}

// A running text fills named sources, and others from fillFrom of the strongest source of the row
// and from fillStep on. It underlines what is against the row from lineFrom of the strongest on.
const fillFrom, lineFrom, fillStep = .4, .5, 2

// textSteps returns the colours of the sources of row t in a running text.
func (d *drawing) textSteps(v *view, t int) []int {
	steps, strongest := d.calm(v, t), 0.0
	named, _ := d.namedSources(v, t)
	for j, step := range steps {
		if step != 0 {
			strongest = max(strongest, d.size(v, t, j))
		}
	}
	for j, step := range steps {
		part := d.size(v, t, j) / strongest // of no step where there is none
		if !slices.Contains(named, j) && (step > 0 && (part < fillFrom || step < fillStep) ||
			step < 0 && part < lineFrom) {
			steps[j] = 0
		}
	}
	return steps
}

// chat reports whether the text is a conversation.
func (d *drawing) chat() bool {
	return len(d.e.Prompt.Parts) > 0 && len(d.turns) > 0 && d.turns[0].name != ""
}

// turnOf returns the turn of token j.
func (d *drawing) turnOf(j int) drawnTurn {
	for _, t := range d.turns {
		if j < max(t.body[1], t.tail[1]) {
			return t
		}
	}
	return drawnTurn{}
}

// characterOf returns the tokens [first,end) of which token j has bytes of one character, and its
// name: token j alone where it has whole characters.
func (d *drawing) characterOf(j int) (first, end int, name string) {
	first, end = j, j+1
	text := d.textOf(j)
	inside := func() bool { return text != "" && !utf8.RuneStart(text[0]) }
	for first > max(j-utf8.UTFMax, 0) && d.tokens[first].joins && inside() {
		first--
		text = d.textOf(first) + text
	}
	last := min(j+utf8.UTFMax, len(d.tokens))
	for !utf8.ValidString(text) && end < last && d.tokens[end].joins {
		text += d.textOf(end)
		end++
	}
	if end-first == 1 || !utf8.ValidString(text) {
		return j, j + 1, d.tokens[j].name
	}
	return first, end, textName(text)
}

// wordAround returns the tokens [first,end) of the word of token j.
func (d *drawing) wordAround(j int) (first, end int) {
	first, end = j, j+1
	for first > 0 && d.tokens[first].joins {
		first--
	}
	for end < len(d.tokens) && d.tokens[end].joins {
		end++
	}
	return first, end
}
