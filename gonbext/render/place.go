package render

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// A sentence names a place so that a reader finds it: a message of up to ownMessage words by who
// says it, and nothing in a prompt of up to shortPrompt words. Elsewhere it quotes quoteWords
// words.
const (
	ownMessage  = 40
	shortPrompt = 20
	quoteWords  = 6
	// lineColumns is how wide the names of two sources may be, so that a sentence stays in a line.
	lineColumns = 56
)

// namedSource is a text that a sentence names, with the first token of each word that has it.
type namedSource struct {
	name  Phrase
	words []int
}

// sourcesOf returns the names of sources of row t, equal words once, with their places. me is the
// word that came from them.
func (d *drawing) sourcesOf(v *view, t int, sources []int, me string) (s Phrase) {
	var all []namedSource
	ofWord := map[int][]int{} // the sources in each word, by its first token
	for _, j := range sources {
		first, _ := d.wordAround(j)
		ofWord[first] = append(ofWord[first], j)
	}
	for _, j := range sources {
		first, _ := d.wordAround(j)
		name := d.wordOf(ofWord[first]...)
		at := slices.IndexFunc(all, func(o namedSource) bool {
			return plain(o.name.String()) == plain(name.String())
		})
		if at < 0 {
			at, all = len(all), append(all, namedSource{name: name})
		}
		if !slices.Contains(all[at].words, first) {
			all[at].words = append(all[at].words, first)
		}
	}
	before := "" // the place of the source before
	for i, o := range all {
		j, where := o.words[0], ""
		same := plain(o.name.String()) == plain(me)
		name := quoted(o.name)
		switch n := len(o.words); {
		case d.only(j) >= 0:
			where = " of " + string("AB"[d.only(j)])
		case n > 1:
			where = " (" + times(n) + ")"
		default:
			var quotes bool
			where, quotes = d.placeIn(j, v.sources(t), same)
			switch {
			case quotes && d.comparison != nil && d.repeats(j, v.sources(t)):
				where = " (" + d.placeOf(j) + ")"
			case quotes && d.comparison == nil && i == 0:
				name = d.quote(j, ofWord[j])
			}
		}
		if i > 0 && Width(s.String()+name.String()+where) > lineColumns {
			break
		}
		if i > 0 {
			if where == before { // named once
				s = slices.DeleteFunc(s, func(p piece) bool { return p.text == where })
			}
			s.Say(" and ")
		}
		for _, piece := range name {
			if piece.strong {
				piece.step = d.step(v, t, j)
			}
			s = append(s, piece)
		}
		if before = where; where != "" {
			s.Say(where)
		}
	}
	return s
}

// times writes how often a word stands.
func times(n int) string {
	if words := []string{"twice", "three times", "four times"}; n-2 < len(words) {
		return words[n-2]
	}
	return fmt.Sprintf("%d times", n)
}

// labelOfLine finds what a line calls itself: "Passage 2:" in any language, or "Question:".
var labelOfLine = regexp.MustCompile(`^\s*(\p{L}{2,14} \d{1,4}|Question|Context|Document|Passage|` +
	`Article|Text|Source|Answer|Title)\s*:`)

// placeIn returns where the word of token j stands, for the end of a sentence about a row of n
// sources, and whether the sentence must quote what stands around it for a reader to find it. same
// says that the word is the one explained.
func (d *drawing) placeIn(j, n int, same bool) (where string, quotes bool) {
	turn, m := d.turnOf(j), len(d.e.Prompt.Texts)
	switch {
	case d.targetBegin >= 0:
		return " in the " + d.partOf(j), false
	case j >= m:
		return " in the answer", false
	case turn.kind == trace.Tools:
		return " in the definitions of tools", false
	case turn.kind == trace.Added:
		return " in what the chat template adds", false
	case d.chat() && turn.name == "system":
		return " in the system prompt", false
	case turn.name == firstText || turn.name == secondText:
		return " in the " + turn.name, false
	}
	if label := d.labelOf(j, turn); label != "" {
		return " in " + label, false
	}
	words, alone := 0, !d.repeats(j, n)
	for k := turn.body[0]; k < min(turn.body[1], m); k++ {
		if !d.tokens[k].joins && strings.ContainsFunc(d.tokens[k].name, units.InWord) {
			words++
		}
	}
	number, count := 0, 0
	for _, other := range d.turns {
		if other.name == turn.name && other.body[0] < m {
			if count++; other.body[0] <= turn.body[0] {
				number++
			}
		}
	}
	switch {
	case d.chat() && count > 1 && words <= ownMessage:
		return fmt.Sprintf(" in the %s's %s message", turn.name, ordinal(number)), false
	case alone && words <= shortPrompt && same:
		return " in the prompt", false
	case alone && words <= shortPrompt:
		return "", false
	}
	return "", true
}

// ordinal writes which one of several something is.
func ordinal(n int) string {
	if words := strings.Fields("first second third fourth fifth sixth"); n <= len(words) {
		return words[n-1]
	}
	return fmt.Sprintf("%dth", n)
}

// lineBegins returns the first token of the line of token j in its turn.
func (d *drawing) lineBegins(j int, turn drawnTurn) int {
	for j > turn.body[0] && d.tokens[j-1].lines == 0 {
		j--
	}
	return j
}

// labelOf returns what the line of token j calls itself, "passage 2" or "the question"; "" if it
// has no such name, and in a program.
func (d *drawing) labelOf(j int, turn drawnTurn) string {
	var line strings.Builder
	for k := d.lineBegins(j, turn); k < j && line.Len() < nameLimit; k++ {
		if d.tokens[k].space {
			line.WriteByte(' ')
		}
		line.WriteString(d.tokens[k].name)
	}
	found := labelOfLine.FindStringSubmatch(line.String())
	switch {
	case found == nil || d.tokens[j].code:
		return ""
	case strings.ContainsRune(found[1], ' '):
		return strings.ToLower(found[1])
	}
	return "the " + strings.ToLower(found[1])
}

// quote returns up to six words of the sentence of token j, in a program of its line, without a
// function word at the end; the tokens strong, of the word of j, stand out.
func (d *drawing) quote(j int, strong []int) Phrase {
	turn := d.turnOf(j)
	first, after := d.wordAround(j)
	ends := func(k int) bool {
		return d.tokens[k].lines > 0 || d.tokens[k].role != d.tokens[j].role ||
			!d.tokens[k].code && k+1 < len(d.tokens) && d.tokens[k+1].space &&
				strings.ContainsAny(d.tokens[k].name, ".!?")
	}
	var words []int // the first tokens of the words from the beginning of the sentence to this one
	for k := first; k > turn.body[0] && !ends(k-1); {
		k, _ = d.wordAround(k - 1)
		words = append(words, k)
	}
	from := first
	if n := len(words); n < quoteWords && n > 0 {
		from = words[n-1]
	} else if n > 0 {
		from = words[2]
	}
	to, count, limit := after, len(words), min(turn.body[1], len(d.tokens))
	if count >= quoteWords {
		count = 3
	}
	for k := after; k < limit && count < quoteWords-1 && !ends(k-1) &&
		d.tokens[k].role == d.tokens[j].role; count++ {
		begin := k
		_, k = d.wordAround(k)
		text := strings.ToLower(d.tokens[begin].name)
		if strings.ContainsFunc(text, units.InWord) && !slices.Contains(functionWords, text) {
			to = k
		}
	}
	q := Phrase{{text: "“"}}
	part := func(from, to int) {
		for k := from; k < to; k++ {
			if len(q) > 1 && (d.tokens[k].blank() || d.tokens[k].space) {
				q.Say(" ")
			}
			if !d.tokens[k].blank() {
				q.Say(strings.Trim(d.tokens[k].name, "␣⇥"))
			}
		}
	}
	part(from, first)
	if d.tokens[first].space && len(q) > 1 {
		q.Say(" ")
	}
	q = append(q, d.wordOf(strong...)...)
	part(after, to)
	return append(q, piece{text: "”"})
}
