package render

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// phrase is a sentence in pieces of one weight each, before it is drawn.
type phrase []piece

// piece is a part of a phrase.
type piece struct {
	text   string // visible
	strong bool   // a token that the sentence is about
	quiet  bool   // what stands around such a token in the text
}

// String returns the phrase without weights.
func (p phrase) String() string {
	var b strings.Builder
	for _, piece := range p {
		b.WriteString(piece.text)
	}
	return b.String()
}

// html returns the phrase as HTML: strong pieces are b, and quiet ones stand in a span.
func (p phrase) html() string {
	var b strings.Builder
	quiet := false
	for _, piece := range p {
		if piece.quiet != quiet {
			if quiet = piece.quiet; quiet {
				b.WriteString(`<span class="hm-q" style="color:` + dimInk + `">`)
			} else {
				b.WriteString("</span>")
			}
		}
		if text := html.EscapeString(piece.text); piece.strong {
			b.WriteString("<b>" + text + "</b>")
		} else {
			b.WriteString(text)
		}
	}
	if quiet {
		b.WriteString("</span>")
	}
	return b.String()
}

// say appends a piece of no weight.
func (p *phrase) say(text string) { *p = append(*p, piece{text: text}) }

// join appends phrases with commas and a last "and" between them.
func (p *phrase) join(all []phrase) {
	for i, one := range all {
		switch {
		case i > 0 && i == len(all)-1:
			p.say(" and ")
		case i > 0:
			p.say(", ")
		}
		*p = append(*p, one...)
	}
}

// A sentence names the sources that have nameFrom of the strongest one of its row, at most
// mostNamed, and says "mostly" if they hold half of the sizes of the row, "partly" if a quarter.
// Facts name up to mostFor sources for a token and mostAgainst against it. In a text of more than
// quoteFrom tokens a sentence quotes what stands around the strongest source.
const (
	nameFrom    = .35
	mostNamed   = 3
	mostFor     = 4
	mostAgainst = 2
	quoteFrom   = 30
)

// ranking returns the sources of row t that stand out, those for the token first and the strongest
// of each first. Among equal values the earlier source comes first.
func (d *drawing) ranking(v *view, t int) (above, below []int) {
	for j, step := range d.calm(v, t) {
		switch {
		case step > 0:
			above = append(above, j)
		case step < 0:
			below = append(below, j)
		}
	}
	bySize := func(a, b int) int {
		return cmp.Compare(math.Abs(v.colors.at(v.at(t, b))), math.Abs(v.colors.at(v.at(t, a))))
	}
	slices.SortStableFunc(above, bySize)
	slices.SortStableFunc(below, bySize)
	return above, below
}

// sentence returns where row t comes from by a method.
func (d *drawing) sentence(v *view, t int) (s phrase) {
	me := d.target(v, t)
	switch {
	case v.wrong != "":
		s.say(Visible(v.name, nameLimit) + ": " + v.wrong)
		return s
	case d.uncompared(v, t) != "":
		return append(append(s, me...), piece{text: ": " + d.uncompared(v, t)})
	case !v.has(t):
		s.say(Visible(v.name, nameLimit) + " has not reached ")
		return append(s, me...)
	case v.silent[t] != "":
		s.say(Visible(v.name, nameLimit) + " says nothing about ")
		s = append(append(s, me...), piece{text: ": " + Visible(v.silent[t], 200), quiet: true})
		return append(s, piece{text: d.elsewhere(v, t), quiet: true})
	}
	above, below := d.ranking(v, t)
	if len(above) == 0 && len(below) == 0 {
		s.say("No single token stands out for ")
		s = append(s, me...)
		return append(s, piece{text: d.elsewhere(v, t), quiet: true})
	}
	named := above
	if len(above) == 0 {
		named = below
	}
	named = d.namedOf(v, t, named)
	before, after := d.verb(v, len(above) > 0, d.howMuch(v, t, named))
	s = append(s, me...)
	s.say(before)
	s.join(d.wordsOf(v, named))
	s.say(after)
	if len(d.tokens) > quoteFrom && !grouped(d.e) {
		s = append(append(s, piece{text: ", in ", quiet: true}), d.quote(named[0])...)
	}
	return s
}

// verb returns what stands between a token and its sources, and after them. forIt says that they
// are above the neutral value, and how is an adverb and a space, or nothing.
func (d *drawing) verb(v *view, forIt bool, how string) (before, after string) {
	contrast := v.contrast()
	switch {
	case v.difference && forIt:
		return " has more from ", d.comparison.where(0) + " than" + d.comparison.where(1)
	case v.difference:
		return " has more from ", d.comparison.where(1) + " than" + d.comparison.where(0)
	case v.alike() && forIt:
		return " is most like ", ""
	case v.alike():
		return " is least like ", ""
	case v.top.lift && forIt:
		return " came from ", " more than its position explains"
	case v.top.lift:
		return " came from ", " less than its position explains"
	case contrast != "" && forIt:
		return " and not " + contrast + " came " + how + "from ", ""
	case !forIt:
		return " came in spite of ", ""
	case d.e.Model.Head == trace.NoHead:
		return " is made " + how + "of ", ""
	}
	return " came " + how + "from ", ""
}

// namedOf returns those of the sources, strongest first, that a sentence names.
func (d *drawing) namedOf(v *view, t int, sources []int) []int {
	least := nameFrom * math.Abs(v.colors.at(v.at(t, sources[0])))
	n := 1
	for n < min(len(sources), mostNamed) && math.Abs(v.colors.at(v.at(t, sources[n]))) >= least {
		n++
	}
	return sources[:n]
}

// howMuch returns how much of the sizes of row t some sources hold, "" where values are no parts.
func (d *drawing) howMuch(v *view, t int, sources []int) string {
	if !v.result.AddsUp {
		return ""
	}
	part, whole := 0.0, 0.0
	for _, j := range sources {
		part += math.Abs(v.at(t, j))
	}
	for j := range v.sources(t) {
		if !d.itself(t, j) {
			whole += math.Abs(v.at(t, j))
		}
	}
	if w := v.rowParts(t); !v.generated && !math.IsNaN(w.generated) {
		whole += math.Abs(w.generated)
	}
	return howMuch(part, whole)
}

// howMuch returns an adverb and a space for how much a part is of a whole.
func howMuch(part, whole float64) string {
	switch {
	case part >= whole/2:
		return "mostly "
	case part >= whole/4:
		return "partly "
	}
	return "a little "
}

// elsewhere returns which other method says more of row t, "" if none does.
func (d *drawing) elsewhere(v *view, t int) string {
	for i := range d.views {
		if w := &d.views[i]; w != v && w.has(t) && !w.alike() &&
			d.strongest(w, t) > 0 {
			return "; " + Visible(w.name, nameLimit) + " says more"
		}
	}
	return ""
}

// target returns the name of row t: its word with the token in it, or the encoder's prediction.
func (d *drawing) target(v *view, t int) (s phrase) {
	if !d.e.Model.Reads() && d.sideOf(v) < 0 {
		return d.wordOf(len(d.e.Prompt.Texts) + t)
	}
	where, what, _ := d.predictionOf(v, t)
	if where != "" {
		s.say(where)
	}
	return append(s, piece{text: what, strong: true})
}

// wordOf returns the word of some of its tokens, at least one, with these strong.
func (d *drawing) wordOf(tokens ...int) (s phrase) {
	if j := tokens[0]; grouped(d.e) || d.tokens[j].name == "" {
		return phrase{{text: d.axisName(j), strong: true}}
	}
	first, end := d.wordAround(tokens[0])
	for j := first; j < end; j++ {
		strong := slices.Contains(tokens, j)
		if n := len(s) - 1; n >= 0 && s[n].strong == strong {
			s[n].text += d.tokens[j].name
			continue
		}
		s = append(s, piece{text: d.tokens[j].name, strong: strong})
	}
	for i := range s {
		s[i].text = isolated(s[i].text)
	}
	return s
}

// wordsOf returns the words of sources, equal ones once with how often they are meant. Of a source
// on which attention rests it says so.
func (d *drawing) wordsOf(v *view, sources []int) (all []phrase) {
	ofWord := map[int][]int{} // the sources in each word, by its first token
	var order []int
	for _, j := range sources {
		first, _ := d.wordAround(j)
		if ofWord[first] = append(ofWord[first], j); len(ofWord[first]) == 1 {
			order = append(order, first)
		}
	}
	times, place := map[string]int{}, map[string]int{}
	for i, first := range order {
		word := d.wordOf(ofWord[first]...)
		key := word.String()
		if times[key]++; times[key] > 1 {
			continue
		}
		if rests := d.restsOn(v, sources[0]); rests != "" && i == 0 {
			word = append(word, piece{text: rests, quiet: true})
		}
		place[key] = len(all)
		all = append(all, word)
	}
	for key, n := range times { // each changes its own word
		switch i := place[key]; {
		case n == 2:
			all[i].say(" (twice)")
		case n > 2:
			all[i].say(fmt.Sprintf(" (%d times)", n))
		}
	}
	return all
}

// restsOn says of a source with the largest share of a row that attention rests on it whatever the
// row is about. It is empty for other sources, and in an encoder for a first token that is a word.
func (d *drawing) restsOn(v *view, j int) string {
	switch {
	case !v.top.percent || v.top.signed || v.scorer() || v.difference || j >= len(v.sinks) ||
		grouped(d.e) && len(strings.Fields(d.e.Prompt.Texts[j])) > 1:
		return ""
	case j == 0 && !d.e.Model.Bidirectional:
		return ", the first token (attention often rests on it)"
	case d.special(j) && !d.explained(j):
		return ", a control token (attention often rests on it)"
	}
	return ""
}

// quote returns three tokens before the word of a source and two after it, from its turn alone.
func (d *drawing) quote(j int) phrase {
	turn, m := d.turnOf(j), len(d.e.Prompt.Texts)
	begin, end := turn.body[0], turn.body[1]
	if j < begin || j >= end { // of the template
		begin, end = j, j+1
	}
	if j < m {
		end = min(end, m)
	}
	first, after := d.wordAround(j)
	text := func(from, to int) string {
		var b strings.Builder
		for ; from < to; from++ {
			b.WriteString(d.textOf(from))
		}
		return strings.Join(strings.Fields(" "+b.String()+" "), " ")
	}
	spaced := func(at int) string {
		if at < len(d.tokens) && d.tokens[at].space {
			return " "
		}
		return ""
	}
	q := phrase{{text: "“", quiet: true}}
	if from := max(first-3, begin); from < first {
		q = append(q, piece{
			text: Visible(text(from, first), 3*nameLimit) + spaced(first), quiet: true,
		})
	}
	own := isolated(Visible(text(first, after), nameLimit))
	q = append(q, piece{text: own, strong: true, quiet: true})
	if to := min(after+2, end); after < to {
		q = append(q, piece{
			text: spaced(after) + Visible(text(after, to), 3*nameLimit), quiet: true,
		})
	}
	return append(q, piece{text: "”", quiet: true})
}

// minus returns a text whose numbers have the sign of mathematics. A hyphen in a name stays.
func minus(text string) string { return signs.ReplaceAllString(text, "${1}−$2") }

var signs = regexp.MustCompile(`(^|[ (│])-([0-9.∞])`)

// facts returns the strongest sources of row t with their values, the unit, and the layer.
func (d *drawing) facts(v *view, t int) (s phrase) {
	if v.wrong != "" || !v.has(t) || v.silent[t] != "" {
		return nil
	}
	above, below := d.ranking(v, t)
	list := func(sources []int, most int) {
		for i, j := range sources[:min(len(sources), most)] {
			if i > 0 {
				s.say(", ")
			}
			s = append(s, piece{text: cmp.Or(d.tokenName(j), "␣"), strong: true})
			s.say(" " + minus(v.rows[t].value(v.at(t, j))))
		}
	}
	list(above, mostFor)
	if len(below) > 0 {
		if len(above) > 0 {
			s.say(" · ")
		}
		switch {
		case v.difference:
			s.say("more in B ")
		case v.top.lift:
			s.say("less than position explains ")
		case v.contrast() != "":
			s.say("for " + v.contrast() + " ")
		default:
			s.say("against it ")
		}
		list(below, mostAgainst)
	}
	if len(s) > 0 {
		s.say(" · ")
	}
	s.say(Visible(v.top.unit, 2*nameLimit) + " · " + d.writtenIn(v, t, above))
	if v.difference {
		s.say(" · " + d.comparison.rows[t])
	} else if j := v.rowSinks[t]; j >= 0 {
		s.say(fmt.Sprintf(" · %s rests on %s, a sink in this row", v.top.sum(v.at(t, j)),
			d.sourceName(j)))
	}
	return s
}

// tokenName returns the name of token j of the text, with its number where the text is short and
// the name alone would not tell which it is.
func (d *drawing) tokenName(j int) string {
	if grouped(d.e) {
		return d.axisName(j)
	}
	return isolated(d.tokens[j].name)
}

// writtenIn returns the layer of row t: of a method whose values add up over layers, the one that
// wrote most of the strongest source.
func (d *drawing) writtenIn(v *view, t int, strongest []int) string {
	r := v.result
	if len(strongest) == 0 || !d.byLayer(v) || v.level(t) != r.Top() {
		if r.LayerChosen && v.fixed < 0 && !v.difference {
			return v.layer(t) + ", which wrote the token"
		}
		return v.layer(t)
	}
	best, largest := 0, 0.0
	for k := range r.Shape[2] {
		if x := math.Abs(d.part(v, t, strongest[0], k)); x > largest {
			best, largest = k, x
		}
	}
	return fmt.Sprintf("most of it written in layer %d", r.Layer(t, best))
}

// byLayer reports whether a method has the part of each layer: its values of several layers are
// parts of one sum.
func (d *drawing) byLayer(v *view) bool {
	return v.wrong == "" && v.result.Scorer && v.result.Combined && v.result.AddsUp &&
		v.result.Shape[2] > 1
}

// part returns what layer k wrote of source j in row t: s_k − s_{k−1} of values that add up over
// layers, else the value at that layer.
func (d *drawing) part(v *view, t, j, k int) float64 {
	x := v.atLevel(t, j, k)
	if d.byLayer(v) && k > 0 {
		x -= v.atLevel(t, j, k-1)
	}
	return x
}
