package render

import (
	"cmp"
	"fmt"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/compare"
)

func init() {
	RegisterView(View{
		Name: KindCompare, Help: "two methods, or two layers of one, and their difference",
		Compares: true,
		Takes: map[string]Media{
			"token": InText | InPage, "layer": InAll, "against": InAll, "against-model": InAll,
			"filter": InAll, "color": InText, "top": InText, "full": InText,
			"by": inFiles, "target": inFiles, "methods": InAll, "lift": InAll,
			"alternatives": InAll, "all-layers": InAll,
		},
		Check: func(s Show) error {
			_, errA := compare.ParseSide(s.Method)
			_, errB := compare.ParseSide(s.AgainstMethod)
			return cmp.Or(errA, errB)
		},
		Picture: func(s Show, e *attribution.Explanation, _ any) (Picture, error) {
			return s.compared(e)
		},
	})
}

// Compare returns a picture of two sides: the values of a, the values of b, and a minus b, as
// [compare.New] computes them. Both sides have one scale, so that a colour means the same number,
// and their difference has its own. The sides may be two methods or two layers of one explanation,
// or the same method for two models or two prompts.
//
// Tokens that differ are both named, and warnings tell how the sides were made to fit each other.
// Where the answers differ, the difference ends before the first token that does, and the picture
// says so at its top, with what to type to force one answer on both sides. Where the answer of one
// side was forced on the other, the top names what that side says alone.
//
// The picture says how far the rows agree: their rank correlation over the sources that are not
// grey in the difference, and whether their strongest sources are the same.
//
// Compare returns a [trace.UsageError] if the sides cannot be compared.
func Compare(a, b compare.Side) (Heatmap, error) {
	values, err := compare.New(a, b)
	if err != nil {
		return Heatmap{}, err
	}
	c := &comparison{Comparison: values, made: [2]int{len(a.Explanation.Steps),
		len(b.Explanation.Steps)}}
	c.prompts = [2]int{len(a.Explanation.Prompt.Texts), len(b.Explanation.Prompt.Texts)}
	return Heatmap{Explanation: c.joined(), comparison: c}, nil
}

// comparison is what a picture shows beside the explanation that [comparison.joined] returns.
type comparison struct {
	*compare.Comparison
	prompts, made [2]int // tokens of the prompts and of the answers, before they were aligned
	title         string
	// about says, side by side, what differs beside the method: the model or the prompt.
	about []string
	// names are the names of the sides and of their difference, which are the methods of the joined
	// explanation.
	names [3]string
	// rows say how far the rows of a token agree, [R], and all says it of all rows. They are known
	// when the sinks are; see agree.
	rows []string
	all  string
}

// alignment returns how the sides were made to fit each other.
func (c *comparison) alignment() (warnings []string) {
	say := func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf(format, args...))
	}
	p := c.Aligned
	if p.Parts > 0 {
		say("The models divide the text into different tokens (%d and %d); they are joined to %d "+
			"parts that begin at the same places in both.", c.prompts[0], c.prompts[1], p.Parts)
	}
	if p.Common > 0 {
		say("The prompts have %d and %d tokens; the %d that both have in the same order are in "+
			"the same columns.", c.prompts[0], c.prompts[1], p.Common)
	}
	for i := range c.Sides {
		if len(p.Missing[i]) > 0 {
			say("%s has no token %s; its values are 0 there.", "AB"[i:i+1], someOf(p.Missing[i]))
		}
	}
	if p.Rows > 0 && p.Difference == nil {
		say("Of %d and %d generated tokens, only those are compared that begin at the same place "+
			"after the same text: %d.", c.made[0], c.made[1], p.Rows)
	}
	if c.Sizes {
		say("The values of %s have signs and those of %s have not; A − B and the agreement are of "+
			"sizes.", "AB"[c.Signed:c.Signed+1], "BA"[c.Signed:c.Signed+1])
	}
	return warnings
}

// someOf names up to eight tokens.
func someOf(tokens []string) string {
	const most = 8
	var names []string
	for _, text := range tokens[:min(len(tokens), most)] {
		names = append(names, "“"+textName(text)+"”")
	}
	if len(tokens) > most {
		names = append(names, fmt.Sprintf("and %d more", len(tokens)-most))
	}
	return strings.Join(names, ", ")
}

// divided reports whether the rows of both sides were divided by the sum of their sizes, so that
// their parts are no parts of a row.
func (p *picture) divided() bool { return p.comparison != nil && p.comparison.Divided }

// joined returns the explanation that is shown: its methods are the two sides and their difference.
func (c *comparison) joined() *attribution.Explanation {
	a, b := c.Sides[0].Explanation, c.Sides[1].Explanation
	n, m := c.Results[0].Shape[0], len(a.Prompt.Texts)
	c.describe()
	e := &attribution.Explanation{
		Version: a.Version, Model: a.Model, Prompt: a.Prompt,
		Steps: slices.Clone(a.Steps[:n]), Order: c.names[:],
		Methods: map[string]*attribution.Result{},
	}
	e.Model.Name = both(a.Model.Name, b.Model.Name)
	if a.Edited == b.Edited {
		e.Edited = a.Edited
	}
	if c.models() {
		e.Model.Title = "" // which is that of A
	}
	if a.Model.Hash != b.Model.Hash {
		e.Model.Hash, e.Model.Family = "", "" // the legend has them for one model only
	}
	if a.Model.Layers != b.Model.Layers {
		e.Model.Layers = 0 // neither side's
	}
	e.Prompt.Text = both(a.Prompt.Text, b.Prompt.Text)
	e.Prompt.Texts = slices.Clone(a.Prompt.Texts)
	if len(b.Prompt.Special) < m {
		e.Prompt.Special = nil
	}
	e.Prompt.Special = slices.Clone(e.Prompt.Special)
	for j, text := range b.Prompt.Texts {
		e.Prompt.Texts[j] = either(a.Prompt.Texts[j], text)
		if j < len(e.Prompt.Special) {
			e.Prompt.Special[j] = e.Prompt.Special[j] && b.Prompt.Special[j]
		}
	}
	for t := range e.Steps {
		e.Steps[t].Text = either(a.Steps[t].Text, b.Steps[t].Text)
		e.Steps[t].Special = a.Steps[t].Special && b.Steps[t].Special
	}
	for i, name := range c.names {
		e.Methods[name] = c.Results[i]
		if i == compare.Difference || c.Divided || c.Sides[i].Explanation.Maps == nil {
			continue
		}
		if e.Maps == nil {
			e.Maps = map[string]*attribution.Map{}
		}
		e.Maps[name] = c.Sides[i].Explanation.Maps[c.Sides[i].Method]
	}
	e.Warnings = nil
	for _, w := range slices.Concat(c.alignment(), a.Warnings, b.Warnings, c.unlikeLayers()) {
		if !slices.Contains(e.Warnings, w) {
			e.Warnings = append(e.Warnings, w)
		}
	}
	return e
}

// models reports whether the sides are two models.
func (c *comparison) models() bool {
	a, b := c.Sides[0].Explanation.Model, c.Sides[1].Explanation.Model
	return a.Name != b.Name || a.Hash != b.Hash
}

// both returns two texts as one: "75.0 %│92.3 %", and one of them if they are equal.
func both(a, b string) string {
	if a == b {
		return a
	}
	return a + "│" + b
}

// either returns two tokens as one: " ⟨Mary│John⟩", and one of them if they are equal. The brackets
// keep it apart from the tokens beside it, which may have no space between.
func either(a, b string) string {
	if a == b {
		return a
	}
	one, a := word(a)
	other, b := word(b)
	space := ""
	if one || other {
		space = " "
	}
	return space + "⟨" + a + "│" + b + "⟩"
}

// describe sets the title, the names of the sides and of their difference, and what differs.
func (c *comparison) describe() {
	a, b := &c.Sides[0], &c.Sides[1]
	x, y := a.Explanation, b.Explanation
	c.names = [3]string{"A: " + a.String(), "B: " + b.String(), "A − B"}
	switch {
	case c.models():
		c.title = "Two models compared"
		c.about = []string{x.Model.ShownName(), y.Model.ShownName()}
	case x.Prompt.Text != y.Prompt.Text:
		c.title = "Two prompts compared"
		c.about = []string{x.Prompt.Text, y.Prompt.Text}
	case x.Edited != y.Edited:
		c.title, c.about = "Edits compared", make([]string, 2)
	case a.Method != b.Method:
		c.title = "Two methods compared"
	case a.String() != b.String():
		c.title = "Two layers compared"
	default:
		c.title = "Two explanations compared"
	}
	for i, edited := range []string{x.Edited, y.Edited} {
		if x.Edited != y.Edited {
			c.about[i] = strings.Join(nonEmpty(cmp.Or(edited, "no edits"), c.about[i]), " · ")
		}
	}
}

// pairsAre says which half of a pair is whose, ⟨Mary│John⟩ and 75.0 %│92.3 %.
const pairsAre = "Where they differ, what A has stands before the │ and what B has after it."

// headings returns the lines below the title: those of a comparison, or what else tells which half
// of a pair is whose.
func (p *picture) headings() []string {
	if p.comparison != nil {
		return p.comparison.headings()
	}
	return nonEmpty(p.pairs)
}

// headings returns the lines below the title: the sides, which half of a pair is whose, where their
// answers differ, and how far they agree.
func (c *comparison) headings() []string {
	lines := []string{Visible(c.names[0], 2*nameLimit), Visible(c.names[1], 2*nameLimit)}
	if c.about == nil {
		lines = []string{lines[0] + " · " + lines[1]}
	}
	about := cutAlike(c.about, 3*nameLimit)
	for i := range c.about {
		lines[i] += " · " + about[i]
	}
	if c.about != nil {
		lines = append(lines, pairsAre)
	}
	for _, line := range []string{c.differs(), c.given(), c.all} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// differs tells where the answers of the sides differ, and how to force one answer on both; "" if
// they do not.
func (c *comparison) differs() string {
	d := c.Aligned.Difference
	if d == nil {
		return ""
	}
	compared := "Nothing is compared: each side shows its own first token."
	if d.Row > 0 {
		compared = fmt.Sprintf("A − B ends before it, after “%s”.",
			textName(c.Sides[0].Explanation.Steps[d.Row-1].Text))
	}
	flag, field := "--continuation", "Continuation"
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if answer := d.Answers[0]; len(answer) <= 2*nameLimit && !strings.ContainsFunc(answer, hidden) {
		flag += " '" + strings.ReplaceAll(answer, "'", `'\''`) + "'"
		field += ": " + strconv.Quote(answer)
	}
	return fmt.Sprintf("The answers differ in generated token %d: %s. %s To compare one answer, "+
		"force it on both sides: %s, or in a cell %s.", d.Row+1, c.said(), compared, flag, field)
}

// given tells what a side that was given the answer of the other one says alone; "" if it says the
// same, or neither or both were given an answer.
func (c *comparison) given() string {
	for side := range c.Aligned.Sides {
		own, other := c.Aligned.Sides[side].Steps, c.Aligned.Sides[1-side].Steps
		for t := range min(len(own), len(other)) {
			g := own[t]
			if !g.Forced || other[t].Forced || c.Aligned.Difference != nil {
				break
			}
			if len(g.Alternatives) == 0 || g.Alternatives[0].ID == g.ID {
				continue
			}
			alone := g.Alternatives[0]
			return fmt.Sprintf("%s was given %s's answer; alone it says %s (%s) in place of %s "+
				"(%s) in generated token %d.", "AB"[side:side+1], "BA"[side:side+1],
				someOf([]string{alone.Text}), share(alone.Probability), someOf([]string{g.Text}),
				share(g.Probability), t+1)
		}
	}
	return ""
}

// where names a side in a sentence: by its method where methods or layers are compared.
func (c *comparison) where(side int) string {
	if c.about == nil && c.Sides[0].String() != c.Sides[1].String() {
		return " with " + Visible(c.Sides[side].String(), nameLimit)
	}
	return " in " + "AB"[side:side+1]
}

// said tells which token of the answers differs first.
func (c *comparison) said() string {
	d := c.Aligned.Difference
	return fmt.Sprintf("A says “%s” and B “%s”", textName(d.Texts[0]), textName(d.Texts[1]))
}

// uncompared tells why a difference has no row of token t, "" if it has.
func (p *picture) uncompared(v *view, t int) string {
	if !v.difference || v.has(t) {
		return ""
	}
	return "not compared, " + p.comparison.said()
}

// unlike reports whether both sides are one method in different layers of token t, and names these.
func (c *comparison) unlike(t int) (a, b string, ok bool) {
	layers, ok := c.Unlike(t)
	name := func(side int) string {
		return c.Results[side].LayerName(c.Sides[side].Explanation.Model, t, 0)
	}
	return name(0), name(1), ok && layers[0] != layers[1]
}

// unlikeLayers tells for which tokens the sides show different layers that nobody asked for.
func (c *comparison) unlikeLayers() []string {
	if c.Sides[0].Layer != nil && c.Sides[1].Layer != nil {
		return nil
	}
	var tokens []string
	first := -1
	for t := range c.Results[compare.Difference].Shape[0] {
		a, b, ok := c.unlike(t)
		if !ok {
			continue
		}
		if first < 0 {
			first = t
		}
		tokens = append(tokens, fmt.Sprintf("A %s and B %s for “%s”", a, b,
			textName(c.Sides[0].Explanation.Steps[t].Text)))
	}
	if first < 0 {
		return nil
	}
	const most = 4
	if len(tokens) > most {
		tokens = append(tokens[:most:most], fmt.Sprintf("others for %d more", len(tokens)-most))
	}
	s := "A and B show different layers, so A − B compares unlike values: " +
		strings.Join(tokens, ", ") + "."
	if a, b := c.Sides[0].Explanation.Model, c.Sides[1].Explanation.Model; a.Layers == b.Layers {
		s += fmt.Sprintf(" Compare one layer with %s@%d.", c.Sides[0].Method,
			c.Results[0].Shown[first])
	}
	return []string{s}
}

// agree words how far the rows of the first two views agree, token by token and in all.
func (p *picture) agree() {
	c, v := p.comparison, &p.views[compare.Difference]
	all := c.Agree(func(t int) (sources []int) {
		for j := range v.sources(t) {
			if !p.grey(v, t, j) {
				sources = append(sources, j)
			}
		}
		return sources
	})
	correlation := "rank correlation"
	if c.Sizes {
		correlation += " of the sizes"
	}
	c.rows, c.all = nil, ""
	for _, one := range all.Rows {
		row := "rank correlation not defined"
		if !math.IsNaN(one.Correlation) {
			row = correlation + " of A and B " + fixed(one.Correlation, 2)
		}
		switch {
		case one.Same:
			row += ", the same strongest source"
		case one.NearTie:
			row += ", a near tie of the strongest sources"
		default:
			row += ", another strongest source"
		}
		c.rows = append(c.rows, row)
	}
	if len(all.Rows) == 0 {
		return
	}
	c.all = "Agreement of A and B: "
	if all.Correlated > 0 {
		c.all += correlation + " " + fixed(all.Mean, 2)
		if all.Correlated > 1 {
			c.all += fmt.Sprintf(" on average (%s to %s)", fixed(all.Low, 2), fixed(all.High, 2))
		}
		c.all += "; "
	}
	c.all += fmt.Sprintf("the same strongest source for %s of %s", thousands(all.Same),
		countOf(len(all.Rows), p.words.shown))
	if all.NearTies > 0 {
		c.all += ", a near tie for " + thousands(all.NearTies) + " more"
	}
}

// leastDifference is the least limit of the scale of a difference, in parts of the limit of its
// sides: what is small beside their values stays pale.
const leastDifference = 1. / 4

// shareScale gives the sides of a comparison one scale, that of the largest value of both, and
// their difference its own. It leaves out of the difference what is a sink, or what attention rests
// on, on either side, and what one side lacks.
func (p *picture) shareScale() {
	sides, difference := p.views[:compare.Difference], &p.views[compare.Difference]
	for i := range sides {
		for j := range difference.sinks {
			difference.sinks[j] = difference.sinks[j] || sides[i].sinks[j] || p.only(j) >= 0 ||
				p.explanationOf(&sides[i]).RestsOn(sides[i].result, j)
		}
	}
	ofSides := cut(p.sizes(sides...), p.rowLimit(&sides[0], &sides[1]))
	for i := range sides {
		p.setScale(&sides[i], ofSides)
	}
	own := cut(p.sizes(*difference), p.rowLimit(difference))
	if !difference.top.lift {
		own = append(own, leastDifference*sides[0].colors.limit)
		difference.top.signed = true // also without rows
	}
	p.setScale(difference, own)
}

// sizes returns the sizes of all values of views, and lifts as they are.
func (p *picture) sizes(views ...view) (all []float64) {
	for i := range views {
		for _, x := range p.shownValues(&views[i]) {
			if !views[i].top.lift {
				x = math.Abs(x)
			}
			all = append(all, x)
		}
	}
	return all
}

// setScale gives a view the scale of these sizes.
func (p *picture) setScale(v *view, sizes []float64) {
	signed := v.top.signed
	v.top = newScale(v.top.unit, v.result.Quantity, sizes)
	v.top.signed = signed
	v.top.digits = digits(v.top)
	v.colors = v.top.tight(sizes)
	v.above = false
	for _, x := range p.shownValues(v) {
		v.above = v.above || !v.top.lift && math.Abs(x) > v.colors.limit*(1+slack)
	}
	for t := range v.rows {
		v.rows[t] = v.top.upTo(v.largest(t, p.greySources(v, t)))
	}
}

// chances returns the probabilities of token t on both sides.
func (c *comparison) chances(t int) string { return both(c.chance(0, t), c.chance(1, t)) }

// chance returns the probability of token t on one side.
func (c *comparison) chance(side, t int) string {
	if g := c.Sides[side].Explanation.Steps[t]; !g.Unscored {
		return share(g.Probability)
	}
	return "none"
}

// predictionOf returns what predictionText does, in the picture of one side that side's alone.
func (p *picture) predictionOf(v *view, t int) (where, what, chance string) {
	where, _, chance = p.predictionText(t)
	if side := p.sideOf(v); side >= 0 && chance != "" {
		chance = p.comparison.chance(side, t)
	}
	return where, tokenName(p.explanationOf(v).Steps[t].Text), chance
}

// sideOf returns which side of a comparison a view is, -1 for their difference and elsewhere.
func (p *picture) sideOf(v *view) int {
	if p.comparison == nil {
		return -1
	}
	return slices.Index(p.comparison.names[:compare.Difference], v.name)
}

// explanationOf returns the explanation of a view, in the picture of one side that side's.
func (p *picture) explanationOf(v *view) *attribution.Explanation {
	if side := p.sideOf(v); side >= 0 {
		return p.comparison.Sides[side].Explanation
	}
	return p.e
}

// only returns the side of a comparison that alone has token j, -1 if both have it.
func (p *picture) only(j int) int {
	for side := 0; p.comparison != nil && side < compare.Difference; side++ {
		if p.comparison.Sides[1-side].Explanation.Prompt.Lacks(j) {
			return side
		}
	}
	return -1
}

// cutAlike returns the models or the prompts of both sides in at most so many characters; both are
// empty if there are none. Where one is longer, both are cut at the same places, so that where they
// first differ can be seen in both.
func cutAlike(both []string, most int) (about [2]string) {
	if len(both) < 2 {
		return about
	}
	var texts [2][]rune
	longest := 0
	for i := range texts {
		texts[i] = []rune(Visible(strings.TrimSpace(both[i]), 0))
		longest = max(longest, len(texts[i]))
	}
	most = max(most, 8)
	begin, end := 0, longest
	if longest > most {
		same := 0
		for same < min(len(texts[0]), len(texts[1])) && texts[0][same] == texts[1][same] {
			same++
		}
		room := most - 1 // for an ellipsis at the end
		if same > room*2/3 {
			room-- // and one at the beginning
			begin = min(same-room/3, longest-room)
		}
		end = begin + room
	}
	for i, text := range texts {
		cut := string(text[min(begin, len(text)):min(end, len(text))])
		if begin > 0 {
			cut = "…" + cut
		}
		if end < len(text) {
			cut += "…"
		}
		about[i] = cut
	}
	return about
}

// compared compares two sides.
func (s Show) compared(e *attribution.Explanation) (Picture, error) {
	s, err := s.Sides(e)
	if err != nil {
		return nil, err
	}
	a, err := compare.ParseSide(s.Method)
	if err != nil {
		return nil, err
	}
	b, err := compare.ParseSide(s.AgainstMethod)
	if err != nil {
		return nil, err
	}
	if a.Explanation, b.Explanation = e, e; s.Against != nil {
		b.Explanation = s.Against
	}
	h, err := Compare(a, b)
	h.Token, h.Look = s.Token, s.Look()
	return h, err
}

// Sides returns s with the methods of both sides of a comparison: of two explanations the first
// method that both have, else the first one and the next.
func (s Show) Sides(e *attribution.Explanation) (Show, error) {
	if s.Against != nil {
		for _, name := range e.Order {
			if s.Method == "" && s.Against.Methods[name] != nil {
				s.Method = name
			}
		}
		if s.AgainstMethod == "" {
			s.AgainstMethod = s.Method
		}
		return s, nil
	}
	if s.Method == "" && len(e.Order) > 0 {
		s.Method = e.Order[0]
	}
	if s.AgainstMethod != "" {
		return s, nil
	}
	side, err := compare.ParseSide(s.Method)
	if err != nil {
		return s, err
	}
	for _, name := range e.Order {
		if name != side.Method {
			s.AgainstMethod = name
			return s, nil
		}
	}
	return s, trace.Usagef("a comparison needs two methods, and the explanation has %s alone",
		message.Quote(side.Method))
}
