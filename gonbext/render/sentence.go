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
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// Phrase is a sentence in pieces of one weight each, before it is drawn. Its texts are visible; see
// [Visible].
type Phrase []piece

// piece is a part of a phrase.
type piece struct {
	text   string // visible
	strong bool   // a token that the sentence is about
	quiet  bool   // what stands around such a token in the text
	// A strong piece may be framed, as what a sentence explains is in the text, or have the colour
	// of a step, as its sources have there.
	framed bool
	step   int
}

// lineEnd ends a line of a phrase.
var lineEnd = piece{text: "\n"}

// String returns the phrase without weights.
func (p Phrase) String() string {
	var b strings.Builder
	for _, piece := range p {
		b.WriteString(piece.text)
	}
	return b.String()
}

// lines returns the lines of the phrase, none of an empty one.
func (p Phrase) lines() (lines []Phrase) {
	for len(p) > 0 {
		end := slices.Index(p, lineEnd)
		if end < 0 {
			return append(lines, p)
		}
		lines, p = append(lines, p[:end:end]), p[end+1:]
	}
	return lines
}

// html returns the phrase as HTML: strong pieces are b, and quiet ones stand in a span.
func (p Phrase) html() string {
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
		if text := html.EscapeString(piece.text); piece == lineEnd {
			b.WriteString("<br>")
		} else if piece.framed {
			b.WriteString(`<b class="hm-me">` + text + "</b>")
		} else if piece.strong && piece.step != 0 {
			fmt.Fprintf(&b, `<b class="%s">%s</b>`, stepClass(piece.step), text)
		} else if piece.strong {
			b.WriteString("<b>" + text + "</b>")
		} else if quiet {
			b.WriteString(strings.ReplaceAll(text, "↵", `<span class="hm-faint">↵</span>`))
		} else {
			b.WriteString(text)
		}
	}
	if quiet {
		b.WriteString("</span>")
	}
	return b.String()
}

// Say appends a piece of no weight, Name one that the sentence is about, and Quiet a number beside
// it.
func (p *Phrase) Say(text string)   { *p = append(*p, piece{text: text}) }
func (p *Phrase) Name(text string)  { *p = append(*p, piece{text: text, strong: true}) }
func (p *Phrase) Quiet(text string) { *p = append(*p, piece{text: text, quiet: true}) }

// quotedMark returns a token in quotes if it is punctuation.
func quotedMark(p Phrase) Phrase {
	if strings.ContainsFunc(p.String(), units.InWord) {
		return p
	}
	return quoted(p)
}

// quoted returns a token in quotes if it is punctuation or a function word, which would read as a
// part of the sentence.
func quoted(p Phrase) Phrase {
	text := p.String()
	if strings.ContainsFunc(text, units.InWord) &&
		!slices.Contains(functionWords, strings.ToLower(text)) {
		return p
	}
	return append(append(Phrase{{text: "“"}}, p...), piece{text: "”"})
}

// join appends phrases with commas and a last "and" between them.
func (p *Phrase) join(all []Phrase) {
	for i, one := range all {
		switch {
		case i > 0 && i == len(all)-1:
			p.Say(" and ")
		case i > 0:
			p.Say(", ")
		}
		*p = append(*p, one...)
	}
}

// A sentence on a row names the sources of [verdict.Named], and says "partly" if they hold less
// than partlyTo of what speaks for the word. Other sentences name up to mostNamed, those with
// nameFrom of the strongest.
const (
	partlyTo  = .3
	nameFrom  = .35
	mostNamed = 3
)

// standing has the sources of a row that stand out, those above the neutral value and those below,
// the strongest of each first. Among equal values the earlier source comes first.
type standing struct{ above, below []int }

// standing returns the sources of row t of a method that stand out.
func (d *drawing) standing(v *view, t int) (s standing) {
	if s, ok := v.standing[t]; ok {
		return s
	}
	for j, step := range d.calm(v, t) {
		switch {
		case step > 0:
			s.above = append(s.above, j)
		case step < 0:
			s.below = append(s.below, j)
		}
	}
	bySize := func(a, b int) int { return cmp.Compare(d.size(v, t, b), d.size(v, t, a)) }
	slices.SortStableFunc(s.above, bySize)
	slices.SortStableFunc(s.below, bySize)
	if v.standing == nil {
		v.standing = map[int]standing{}
	}
	v.standing[t] = s
	return s
}

// size returns how far source j of row t is from the neutral value, on the scale of the method.
func (d *drawing) size(v *view, t, j int) float64 { return math.Abs(v.colors.at(v.at(t, j))) }

// isNamed reports whether a sentence may name token j: a word that the template did not write.
func (d *drawing) isNamed(j int) bool {
	m := len(d.e.Prompt.Texts)
	switch {
	case j == d.targetBegin, d.chat() && d.tokens[j].role == inTemplate,
		j < m && d.special(j), j >= m && d.e.Steps[j-m].Special:
		return false
	}
	return strings.ContainsFunc(d.textOf(j), units.InWord)
}

// namedSources returns the sources that the sentence of row t names, words alone, and whether they
// are above the neutral value: those below only if none is above or, of a difference, the strongest
// is below.
func (d *drawing) namedSources(v *view, t int) (sources []int, above bool) {
	s := d.standing(v, t)
	for _, side := range []*[]int{&s.above, &s.below} {
		*side = slices.DeleteFunc(slices.Clone(*side), func(j int) bool {
			return !d.isNamed(j) || d.restsOn(v, j) != ""
		})
	}
	sources, above = s.above, true
	if len(s.below) > 0 && (len(s.above) == 0 ||
		v.difference && d.size(v, t, s.below[0]) > d.size(v, t, s.above[0])) {
		sources, above = s.below, false
	}
	named := verdict.Named(sources, func(j int) float64 { return d.size(v, t, j) })
	for i := len(named) - 1; i > 0; i-- { // a function word only alone
		if d.functionWord(named[i]) {
			named = slices.Delete(slices.Clone(named), i, i+1)
		}
	}
	return named, above
}

// explainRow returns what a method says of row t, and its facts.
func (d *drawing) explainRow(v *view, t int) (s, facts Phrase) {
	me := d.target(v, t)
	switch {
	case v.wrong != "":
		s.Say(Visible(v.name, nameLimit) + ": " + v.wrong)
		return s, nil
	case d.uncompared(v, t) != "":
		return append(append(s, me...), piece{text: ": " + d.uncompared(v, t)}), nil
	case !v.has(t):
		s.Say(Visible(v.name, nameLimit) + " has not reached ")
		return append(s, me...), nil
	case v.silent[t] != "":
		s.Say(Visible(v.name, nameLimit) + " says nothing about ")
		s = append(append(s, me...), piece{text: ": " + Visible(v.silent[t], 200), quiet: true})
		return append(s, piece{text: d.elsewhere(v, t), quiet: true}), nil
	}
	s, others := d.sentence(v, t, me)
	facts = d.facts(v, t)
	facts.Say(others)
	return s, facts
}

// sentence returns where row t comes from, of which me is the name: one line, with one rider at
// most. others is what the facts say of other methods.
func (d *drawing) sentence(v *view, t int, me Phrase) (s Phrase, others string) {
	s = d.differing(v, t)
	named, above := d.namedSources(v, t)
	switch {
	case d.contrastsItself(v, t):
		s.Say("The prediction is ")
		s = append(s, me...)
		s.Say(" itself; there is nothing to contrast it with")
		return s, ""
	case len(named) == 0 && len(slices.Concat(d.onlySources(v, t)...)) > 0:
		s.Say("Only tokens that one side lacks stand out for ")
		return append(s, me...), ""
	case len(named) == 0:
		s.Say("No single word stands out for ")
		s = append(s, me...)
		return append(s, piece{text: d.elsewhere(v, t), quiet: true}), ""
	case v.result.Evidence == trace.Chance:
		s.Say("Random numbers say nothing about ")
		return append(s, me...), ""
	}
	if close := d.undecided(v, t, me); close != nil {
		return append(s, close...), ""
	}
	before, between, after := d.verb(v, t, above, d.partly(v, t, named))
	s.Say(before)
	for _, piece := range me {
		piece.framed = piece.strong
		s = append(s, piece)
	}
	s.Say(between)
	s = append(s, d.sourcesOf(v, t, named, me.String())...)
	s.Say(after)
	if !above {
		named = nil // are against the token
	}
	against, others := d.others(v, t, named)
	rider := ""
	if w := d.verdict(v, t); w == nil || !w.Tells {
		rider = cmp.Or(d.writtenByOthers(v, t), against)
	}
	return append(s, piece{text: rider, quiet: true}), others
}

// smallBeside is the part of its strongest source below which a difference of two tokens is small,
// and nearlyAs is how much less probable than the one the other is if they are almost alike.
const smallBeside, nearlyAs = .1, .2

// undecided returns what stands in place of a reason where a scorer compares two tokens and their
// difference is small beside what a single source has of it, or is against the prediction: the two,
// how probable they are, and which sources favour which. It is nil elsewhere.
func (d *drawing) undecided(v *view, t int, me Phrase) (s Phrase) {
	if v.contrast() == "" || v.difference || t >= len(v.result.Explained) {
		return nil
	}
	row, difference := d.standing(v, t), v.result.Explained[t]
	size := func(j int) float64 { return math.Abs(v.at(t, j)) }
	largest := 0.0
	for _, j := range slices.Concat(row.above, row.below) {
		largest = max(largest, size(j))
	}
	if !(difference < smallBeside*largest) { // also of NaN
		return nil
	}
	nearly := -math.Log(1 - nearlyAs)
	if v.result.Explains == trace.Probability {
		nearly = nearlyAs * d.e.Steps[t].Probability
	}
	other := Phrase{{text: v.contrast(), strong: true}}
	between, after := " and ", " are almost as probable"
	if difference < -nearly {
		between, after = " is less probable than ", ""
	} else if difference > nearly {
		between, after = " is more probable than ", ""
	}
	s = slices.Concat(me, Phrase{{text: between}}, other, Phrase{{text: after}})
	for _, a := range d.e.Steps[t].Alternatives {
		if a.Text == v.result.Contrast {
			s.Say(" (" + share(d.e.Steps[t].Probability) + " and " + share(a.Probability) + ")")
		}
	}
	separator := ": "
	for i, sources := range [][]int{row.above, row.below} {
		if sources = verdict.Named(sources, size); len(sources) > 0 {
			s.Say(separator)
			s.join(d.wordsOf(v, t, sources))
			s.Say(map[bool]string{true: " favours ", false: " favour "}[len(sources) == 1])
			s, separator = append(s, [][]piece{me, other}[i]...), ", "
		}
	}
	return s
}

// writtenByOthers tells that all sources that speak for row t together hold little of what they
// explain, "" if they do not, or if a method has no such whole. A sentence about single words
// would hide it.
func (d *drawing) writtenByOthers(v *view, t int) string {
	r := v.result
	if v.difference || !r.AddsUp || v.level(t) != r.Top() || t >= len(r.Explained) ||
		!(r.Explained[t] > 0) {
		return ""
	}
	supports := 0.0
	for j := range v.sources(t) {
		supports += max(v.at(t, j), 0)
	}
	switch {
	case supports >= little*r.Explained[t]:
		return ""
	case r.Evidence == trace.Written:
		return "; other parts of the model wrote most of it"
	}
	return "; most of it belongs to no token"
}

// differing says what both sides of a comparison say where their answers begin to differ.
func (d *drawing) differing(v *view, t int) (s Phrase) {
	if d.sideOf(v) < 0 || d.comparison.Aligned.Difference == nil ||
		t != d.comparison.Aligned.Difference.Row {
		return nil
	}
	s.Say(d.comparison.said() + "; from there on nothing is compared. ")
	return s
}

// contrastsItself reports whether row t of a scorer compares a prediction with itself.
func (d *drawing) contrastsItself(v *view, t int) bool {
	s := d.standing(v, t)
	return v.contrast() != "" && v.contrast() == tokenName(d.e.Steps[t].Text) &&
		len(s.above)+len(s.below) == 0
}

// verb returns what stands before a target, between it and its sources, and after them. above says
// that they are above the neutral value, and how is an adverb and a space, or nothing.
func (d *drawing) verb(v *view, t int, above bool, how string) (before, between, after string) {
	if c := v.contrast(); c != "" {
		between = " and not “" + c + "”"
	}
	if v.top.lift {
		how, after = "", map[bool]string{
			true: " more than its position explains", false: " less than its position explains",
		}[above]
	}
	against := !above && !v.top.lift
	switch of := v.result.Evidence; {
	case v.difference && above:
		return "", " has more from ", d.comparison.where(0) + " than" + d.comparison.where(1)
	case v.difference:
		return "", " has more from ", d.comparison.where(1) + " than" + d.comparison.where(0)
	case v.alike() && above:
		return "", " is most like ", ""
	case v.alike():
		return "", " is least like ", ""
	case of == trace.Written && against:
		return "", between + " came in spite of ", ""
	case of == "" && against:
		return "For ", between + ", " + Visible(v.name, nameLimit) + " is below 0 at ", ""
	case of == "":
		return "For ", between + ", " + Visible(v.name, nameLimit) + " is " + how + "on ", after
	case against:
		return "", between + " came in spite of ", ""
	case of == trace.Tested:
		return "", between + " depends " + how + "on ", after
	case d.e.Model.Head == trace.NoHead:
		return "", " is made " + how + "of ", after
	}
	return "", between + " came " + how + "from ", after
}

// partly returns "partly " if some sources hold little of what speaks for row t, "" if they do not
// or values are no parts. What tokens lose alone does not add up: it is how much of the number
// explained, if that has a zero, the strongest one loses.
func (d *drawing) partly(v *view, t int, sources []int) string {
	part, whole := 0.0, 0.0
	switch r := v.result; {
	case r.Evidence == trace.Tested && (t >= len(r.Explained) ||
		r.Explains != trace.Probability && v.contrast() == ""), !r.AddsUp:
		return ""
	case r.Evidence == trace.Tested:
		part, whole = math.Abs(v.at(t, sources[0])), math.Abs(r.Explained[t])
	default:
		for _, j := range sources {
			part += math.Abs(v.at(t, j))
		}
		for j := range v.sources(t) {
			if x := v.at(t, j); !d.grey(v, t, j) && x > 0 == (v.at(t, sources[0]) > 0) {
				whole += math.Abs(x)
			}
		}
		if w := v.rowParts(t); !v.generated && !math.IsNaN(w.generated) {
			whole += math.Abs(w.generated)
		}
	}
	if part < partlyTo*whole {
		return "partly "
	}
	return ""
}

// and returns names, at least one, with "and" before the last one.
func and(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// target returns the name of row t: its word with the token in it, or the encoder's prediction.
func (d *drawing) target(v *view, t int) (s Phrase) {
	if !d.e.Model.Reads() && d.sideOf(v) < 0 {
		return quoted(d.wordOf(len(d.e.Prompt.Texts) + t))
	}
	where, what, _ := d.predictionOf(v, t)
	if where != "" {
		return Phrase{{text: where}, {text: what, strong: true}}
	}
	return append(s, quoted(Phrase{{text: what, strong: true}})...)
}

// wordOf returns the word of some of its tokens, at least one, with these strong.
func (d *drawing) wordOf(tokens ...int) (s Phrase) {
	if j := tokens[0]; d.e.Spans() && !d.e.ByWords() || d.tokens[j].name == "" {
		return Phrase{{text: d.axisName(j), strong: true}}
	}
	begin, end := d.wordAround(tokens[0])
	for first := begin; first < end; {
		_, after, name := d.characterOf(first)
		if first > begin && d.tokens[first].space { // of a name
			name = " " + name
		}
		strong := slices.ContainsFunc(tokens, func(j int) bool { return first <= j && j < after })
		first = after
		if n := len(s) - 1; n >= 0 && s[n].strong == strong {
			s[n].text += name
			continue
		}
		s = append(s, piece{text: name, strong: strong})
	}
	if whole := s.String(); isolated(whole) != whole { // as one: its pieces have one direction
		s[0].text = isolateBegin + s[0].text
		s[len(s)-1].text += isolateEnd
	}
	return s
}

// wordsOf returns the words of sources of row t, equal ones once. They have their places if the
// text before the row's token has the word at several places.
func (d *drawing) wordsOf(v *view, t int, sources []int) (all []Phrase) {
	ofWord := map[int][]int{} // the sources in each word, by its first token
	var order []int
	for _, j := range sources {
		first, _ := d.wordAround(j)
		if ofWord[first] = append(ofWord[first], j); len(ofWord[first]) == 1 {
			order = append(order, first)
		}
	}
	named := map[string][]int{} // the first source in each word, by its name
	for _, first := range order {
		key := d.wordOf(ofWord[first]...).String()
		named[key] = append(named[key], ofWord[first][0])
	}
	var parts []string
	for _, first := range order {
		word := d.wordOf(ofWord[first]...)
		same := named[word.String()]
		word = quoted(word)
		switch {
		case same[0] != ofWord[first][0]:
			continue
		case same[0] == d.targetBegin:
			word = Phrase{{text: startName, strong: true}}
		case len(same) > 1 || d.repeats(first, v.sources(t)):
			var places []string
			for _, j := range same {
				first, _ := d.wordAround(j)
				places = append(places, d.placeOf(first))
			}
			word.Say(" (" + and(places) + ")")
		}
		if rests := d.restsOn(v, same[0]); rests != "" {
			word = append(word, piece{text: rests, quiet: true})
		} else if d.chat() && d.tokens[same[0]].role == inTemplate {
			word = append(word, piece{text: " (chat template)", quiet: true})
		} else if kind := d.turnOf(same[0]).kind; kind != trace.Words {
			word = append(word, piece{text: " (" + string(kind) + ", chat template)", quiet: true})
		}
		all, parts = append(all, word), append(parts, d.partOf(same[0]))
	}
	for i, part := range parts { // named once where several words of it follow each other
		if part != "" && (i+1 == len(parts) || parts[i+1] != part) {
			all[i] = append(all[i], piece{text: " in the " + part, quiet: true})
		}
	}
	return all
}

// called returns the names of some of the first n tokens of a text, each the word of the token with
// the token strong. A word that these n tokens have at several places has its own, which is that of
// its first token, and two tokens of one word have theirs.
func (d *drawing) called(n int, tokens ...int) (names []Phrase) {
	return d.calledAs(func(name Phrase) Phrase { return name }, n, tokens...)
}

// calledAs returns the names of [drawing.called] with each word, and not its place, in quotes if
// quote says so.
func (d *drawing) calledAs(
	quote func(Phrase) Phrase, n int, tokens ...int,
) (names []Phrase) {
	same, ofWord := map[string]int{}, map[int]int{}
	for _, j := range tokens {
		name := d.wordOf(j)
		if side := d.only(j); side >= 0 {
			text := d.comparison.Sides[side].Explanation.Prompt.Texts[j]
			name = Phrase{{text: tokenName(text), strong: true}}
		}
		names = append(names, name)
		same[plain(name.String())]++
		first, _ := d.wordAround(j)
		ofWord[first]++
	}
	for i, j := range tokens {
		if j == d.targetBegin {
			names[i] = Phrase{{text: startName, strong: true}}
			continue
		}
		first, _ := d.wordAround(j)
		repeated := same[plain(names[i].String())] > 1 || d.repeats(j, n)
		names[i] = quote(names[i])
		switch {
		case ofWord[first] > 1:
			names[i].Say(" (" + d.placeOf(j) + ")")
		case repeated:
			names[i].Say(" (" + d.placeOf(first) + ")")
		}
	}
	return names
}

// repeats reports whether the first n tokens of the text have the word of token j at several
// places.
func (d *drawing) repeats(j, n int) bool {
	name := func(j int) string { return plain(d.wordOf(j).String()) }
	if d.placesOf == nil {
		d.placesOf = map[string][]int{}
		for first := 0; first < len(d.tokens); {
			d.placesOf[name(first)] = append(d.placesOf[name(first)], first)
			_, first = d.wordAround(first)
		}
	}
	places := d.placesOf[name(j)]
	return len(places) > 1 && places[1] < n
}

// partOf returns the name of the text of two that token j is part of, the source or the target; ""
// in other models, and of the token with which the target begins.
func (d *drawing) partOf(j int) string {
	switch {
	case d.targetBegin < 0 || j == d.targetBegin:
		return ""
	case j < d.targetBegin:
		return d.words.text
	}
	return d.words.answer
}

// restsOn says of a source that attention rests on it whatever a row is about, where values follow
// attention. It is empty for other sources, and in an encoder for a first token that is a word.
func (d *drawing) restsOn(v *view, j int) string {
	e := d.explanationOf(v)
	switch {
	case v.difference || j >= len(v.sinks) || !e.RestsOn(v.result, j):
		return ""
	case j == d.targetBegin:
		return " (attention often rests on it)"
	case j == e.FirstRead():
		return ", the first token (attention often rests on it)"
	}
	return ", a control token (attention often rests on it)"
}

// minus returns a text whose numbers have the sign of mathematics. A hyphen in a name stays.
func minus(text string) string { return signs.ReplaceAllString(text, "${1}−$2") }

var signs = regexp.MustCompile(`(^|[ (│])-([0-9.∞])`)
