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

// Whole sentences of a long message are folded, of a program lines. Open are the sentence that
// holds a named source and those beside it in its paragraph, those with a source that has
// sourceOpens of the strongest, what is asked, and the heading of an open sentence. What else a
// paragraph has is one fold, if it has leastFolded tokens. Messages of up to wholeMessage words are
// whole. A message of a system, tools and what a template adds are whole if they hold a named
// source or have up to wholeSystem words, and otherwise one fold. Answers are not folded.
const (
	wholeMessage = 40
	wholeSystem  = 6
	leastFolded  = 20
	sourceOpens  = .25
	// A text without sentences, such as a table, is divided as one sentence is that has more than
	// longSentence tokens, in the middle of them.
	longSentence = 80
	// A heading has up to headingWords words, and a fold shows its first beginning words.
	headingWords, beginning = 12, 5
	// mostShown is the largest number of columns that are tokens. In a text with more, sentences
	// need a stronger source to be open, up to a named one.
	mostShown = 160
)

// TextColumn is a column of a matrix: token From, or the tokens [From,To) folded. Name is that of a
// fold, such as "4 sentences", and Begins its first words, "" within a paragraph.
type TextColumn struct {
	From, To     int
	Folded       bool
	Name, Begins string
}

// sentence is a sentence of a message or a line of a program: tokens [from,to) with the white space
// after them, in a paragraph. line reports whether a line ends with it, and part whether it is a
// part of a longer one.
type sentence struct {
	from, to, paragraph int
	text                string
	line, part          bool
}

// fold returns the columns of matrices in which sources have these places on their scales.
func (d *drawing) fold(places []float64) []TextColumn {
	for least := sourceOpens; ; least *= 1.5 {
		if columns := d.foldAt(places, least); count(columns) <= mostShown || least > 1 {
			return columns
		}
	}
}

// count returns how many columns are tokens.
func count(columns []TextColumn) (n int) {
	for _, c := range columns {
		if !c.Folded {
			n++
		}
	}
	return n
}

// places returns the place on its scale of each of n sources in the row that a picture opens with.
func (d *drawing) places(n int) []float64 {
	places := make([]float64, n)
	if d.lead < 0 || !d.views[d.lead].has(d.chosen) || d.views[d.lead].silent[d.chosen] != "" {
		return places
	}
	v := &d.views[d.lead]
	for j := range min(v.sources(d.chosen), n) {
		if !d.grey(v, d.chosen, j) {
			places[j] = math.Abs(v.colors.at(v.at(d.chosen, j)))
		}
	}
	return places
}

// foldAt returns the columns if sentences are open with a source that has this part of the largest
// place. What a chat template writes between two messages is one column.
func (d *drawing) foldAt(places []float64, least float64) (columns []TextColumn) {
	largest := 0.0
	for _, x := range places {
		largest = max(largest, x) // a NaN has no size
	}
	least = max(least*largest, StandsOut)
	speaks := func(j int) bool { return j < len(places) && places[j] >= least }
	folds := map[int]TextColumn{} // by their first token
	for _, turn := range d.turns {
		for _, c := range d.foldsOf(turn, speaks) {
			folds[c.From] = c
		}
	}
	for j := 0; j < len(places); {
		c, ok := folds[j]
		if !ok {
			c = TextColumn{From: j, To: j + 1}
		}
		if d.chat() && d.tokens[j].role == inTemplate {
			for c.To < len(places) && d.tokens[c.To].role == inTemplate {
				c.To++
			}
			c.Folded, c.Name = true, cmp.Or(d.turnOf(c.To-1).name, "template")
		}
		c.To = min(c.To, len(places))
		columns, j = append(columns, c), c.To
	}
	return columns
}

// foldsOf returns the folds of a message, in which some sources speak.
func (d *drawing) foldsOf(turn drawnTurn, speaks func(j int) bool) (folds []TextColumn) {
	from, to := turn.body[0], min(turn.body[1], len(d.e.Prompt.Texts))
	if from >= to || to-from == 1 {
		return nil
	}
	any := func(s sentence, is func(j int) bool) bool {
		for s.from < s.to && !is(s.from) {
			s.from++
		}
		return s.from < s.to
	}
	isNamed := func(j int) bool { return d.mentioned[j] || d.e.Model.Reads() && d.explained(j) }
	words := d.wordCount(from, to)
	if d.tokens[from].role == inSystem {
		if words > wholeSystem && !any(sentence{from: from, to: to}, isNamed) {
			folds = append(folds, d.foldOf(d.sentencesOf(from, to), true))
		}
		return folds
	}
	if words <= wholeMessage {
		return nil
	}
	all := d.sentencesOf(from, to)
	open := slices.Repeat([]bool{false}, len(all))
	for i, s := range all {
		open[i] = open[i] || any(s, speaks)
		for k := max(i-1, 0); k < min(i+2, len(all)) && any(s, isNamed); k++ {
			open[k] = open[k] || all[k].paragraph == s.paragraph
		}
	}
	if !d.tokens[from].code {
		openHeadings(all, open)
	}
	d.openQuestion(turn, all, open)
	for i, end := 0, 0; i < len(all); i = end {
		if end = i + 1; open[i] {
			continue
		}
		// A paragraph that is folded as a whole and too short for a fold takes the next one in.
		begins := i == 0 || all[i-1].paragraph != all[i].paragraph
		for end < len(all) && !open[end] && (all[end].paragraph == all[end-1].paragraph ||
			begins && all[end].from-all[i].from < leastFolded) {
			end++
		}
		if all[end-1].to-all[i].from >= leastFolded {
			folds = append(folds, d.foldOf(all[i:end], begins))
		}
	}
	return folds
}

// foldOf returns the fold of some sentences, at least one, which may begin a paragraph.
func (d *drawing) foldOf(all []sentence, begins bool) TextColumn {
	c := TextColumn{From: all[0].from, To: all[len(all)-1].to, Folded: true}
	what, n, words := "sentences", 0, []string(nil)
	if d.tokens[c.From].code || d.turnOf(c.From).kind == trace.Tools {
		what = "lines"
	}
	for _, s := range all {
		if strings.ContainsFunc(s.text, units.InWord) {
			n++
		}
		if len(words) < beginning {
			words = append(words, strings.Fields(s.text)...)
		}
	}
	if all[0].part || all[len(all)-1].part {
		n, what = d.wordCount(c.From, c.To), "words"
	}
	if c.Name = countOf(max(n, 1), what); begins {
		text := strings.Join(words[:min(len(words), beginning)], " ")
		c.Begins = firstColumns(Visible(text, 6*nameLimit), nameLimit) + " …"
	}
	return c
}

// wordCount returns how many words tokens [from,to) begin.
func (d *drawing) wordCount(from, to int) (n int) {
	for j := from; j < to; j++ {
		if d.e.Spans() {
			n += len(strings.Fields(d.textOf(j)))
		} else if !d.tokens[j].joins && strings.ContainsFunc(d.textOf(j), units.InWord) {
			n++
		}
	}
	return n
}

// sentencesOf returns the sentences of tokens [from,to) of a message, all of them.
func (d *drawing) sentencesOf(from, to int) (all []sentence) {
	var texts []string
	for j := from; j < to; j++ {
		texts = append(texts, d.textOf(j))
	}
	t := units.Join(texts, make([]bool, len(texts)))
	paragraphs, paragraph := units.ParagraphRanges(t.Text), 0
	for _, s := range t.Sentences() {
		for paragraph+1 < len(paragraphs) && paragraphs[paragraph+1][0] < s.End {
			paragraph++
		}
		if n := len(all); n > 0 {
			all[n-1].to = from + s.Tokens[0]
		}
		one := sentence{
			from: from + s.Tokens[0], to: to, paragraph: paragraph, text: s.Text,
			line: strings.Contains(t.Text[s.Begin+len(s.Text):s.End], "\n"),
		}
		for one.part = len(s.Tokens) > longSentence; one.part && len(s.Tokens) > longSentence/2; {
			s.Tokens = s.Tokens[longSentence/2:]
			next := one
			next.from = from + s.Tokens[0]
			for d.tokens[next.from].joins && next.from < from+s.Tokens[len(s.Tokens)-1] {
				next.from++
			}
			one.to = next.from
			all, one = append(all, one), next
			one.to = to
		}
		all = append(all, one)
	}
	return all
}

// lastMessage returns the message that is answered, -1 if there is none. What a template adds may
// follow it.
func (d *drawing) lastMessage() int {
	n := len(d.turns) - 1
	if d.chat() {
		n--
	}
	for n >= 0 && d.turns[n].kind != "" {
		n--
	}
	return n
}

// openQuestion opens what may ask or instruct in the message that is answered: its last paragraph,
// of a long one its last sentence, and in a chat a short line that it begins with.
func (d *drawing) openQuestion(turn drawnTurn, all []sentence, open []bool) {
	last := len(all) - 1
	if n := d.lastMessage(); n < 0 || d.turns[n] != turn || d.e.Model.Reads() {
		return
	}
	open[0] = open[0] || d.chat() && all[0].line && all[0].to-all[0].from < leastFolded
	first := last
	for first > 0 && all[first-1].paragraph == all[last].paragraph {
		first--
	}
	if d.wordCount(all[first].from, all[last].to) > wholeMessage {
		first = last
	}
	for i := first; i <= last; i++ {
		open[i] = true
	}
}

// openHeadings opens the heading of each open sentence: the nearest line above it that has up to
// headingWords words and no mark at its end.
func openHeadings(all []sentence, open []bool) {
	heading := -1
	for i, s := range all {
		if open[i] && heading >= 0 {
			open[heading] = true
		}
		end, _ := utf8.DecodeLastRuneInString(s.text)
		if s.line && len(strings.Fields(s.text)) <= headingWords &&
			!strings.ContainsRune(".!?…,;。！？", end) {
			heading = i
		}
	}
}

// isFolded reports whether a source is folded.
func (d *drawing) isFolded(j int) bool {
	return slices.ContainsFunc(d.columns, func(c TextColumn) bool {
		return c.Folded && c.From <= j && j < c.To
	})
}

// pillAt returns the fold that begins at token j of the text, if one does.
func (d *drawing) pillAt(j int) (c TextColumn, ok bool) {
	i, ok := slices.BinarySearchFunc(d.columns, j, func(c TextColumn, j int) int {
		return cmp.Compare(c.From, j)
	})
	if !ok || !d.columns[i].Folded || d.tokens[j].role == inTemplate {
		return c, false
	}
	return d.columns[i], true
}

// pill returns what stands in a running text for what is folded.
func (c TextColumn) pill() string {
	if c.Begins != "" {
		return "⋯ " + c.Name + " · " + c.Begins
	}
	return "⋯ " + c.Name
}

// foldedSum returns how many prompt tokens are folded, and the sum of row t over those of them that
// are no sinks.
func (d *drawing) foldedSum(v *view, t int) (n int, sum float64) {
	for _, c := range d.columns {
		for j := c.From; j < c.To && c.Folded; j++ {
			if n++; !v.sink(t, j) {
				sum += v.at(t, j)
			}
		}
	}
	return n, sum
}

// templateText returns what a chat template and a tokenizer wrote around the messages, each text
// once with how often it stands there; "" for nothing.
func (d *drawing) templateText() string {
	times, all := map[string]int{}, []string(nil)
	for j := 0; j < len(d.e.Prompt.Texts); {
		var text strings.Builder
		for ; j < len(d.e.Prompt.Texts) && d.tokens[j].role == inTemplate; j++ {
			text.WriteString(d.textOf(j))
		}
		if text.Len() == 0 {
			j++
			continue
		}
		name := Visible(strings.TrimSpace(text.String()), 4*nameLimit)
		if times[name]++; times[name] == 1 {
			all = append(all, name)
		}
	}
	for i, name := range all {
		if n := times[name]; n > 1 {
			all[i] += " (" + thousands(n) + " times)"
		}
	}
	return strings.Join(all, " · ")
}
