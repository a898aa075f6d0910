package render

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/compare"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Side is one side of a comparison: the values of one method in one explanation.
type Side struct {
	Explanation *attribution.Explanation
	// Method is the name of the method; default: the first one of the explanation.
	Method string
	// Layer is the layer whose values are compared, 0-based; nil is, for each token, the one that
	// [attribution.Result.Level] names.
	Layer *int
}

// ParseSide returns the side that a text names, without its explanation: a method, or a method and
// a layer, counted from 0, as in value-zeroing@5. Whether they exist is for [Compare] to say.
func ParseSide(text string) (Side, error) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return Side{Method: text}, nil
	}
	layer, err := strconv.Atoi(text[at+1:])
	if err != nil || layer < 0 || at == 0 {
		return Side{}, usagef("%s is not a method and its layer; write it as value-zeroing@5, "+
			"with layers counted from 0", message.Quote(text))
	}
	return Side{Method: text[:at], Layer: &layer}, nil
}

// String returns what [ParseSide] reads.
func (s Side) String() string {
	if s.Layer == nil {
		return s.Method
	}
	return fmt.Sprintf("%s@%d", s.Method, *s.Layer)
}

// Compare returns a picture of two sides: the values of a, the values of b, and a minus b. All
// three have one scale, so that a colour means the same number. The sides may be two methods or two
// layers of one explanation, or the same method for two models or two prompts.
//
// Tokens of two prompts are compared by position, and those that differ are both named. If one has
// more tokens, those that both have in the same order are compared, others between them in their
// order, and a token that is left over has zeros on the other side. Prompts without a common token
// must have the same number of them. If two models divide one text into different tokens, these are
// joined to the shortest parts that begin at the same places in both, a control token that one of
// them lacks has zeros there, and the generated tokens are compared that begin at the same place
// after the same text. Warnings say so.
//
// Values of the same kind are subtracted as they are; of lifts the ratio is taken, which is a lift
// again. Values of different kinds, such as shares and parts of a logit, have no difference. Then
// each row is first divided by the sum of its sizes, sinks excluded.
//
// The picture says how far the rows agree: their rank correlation over the sources that are grey on
// neither side, and whether their strongest sources are the same.
//
// Compare returns a [trace.UsageError] if the sides cannot be compared.
func Compare(a, b Side) (Heatmap, error) {
	c := &comparison{sides: [2]Side{a, b}}
	if err := c.checkSides(); err != nil {
		return Heatmap{}, err
	}
	if err := c.align(); err != nil {
		return Heatmap{}, err
	}
	if err := c.check(); err != nil {
		return Heatmap{}, err
	}
	return Heatmap{Explanation: c.joined(), comparison: c}, nil
}

// comparison is what a picture shows beside the explanation that [comparison.joined] returns.
type comparison struct {
	sides [2]Side // with the names of their methods
	title string
	// about says, side by side, what differs beside the method: the model or the prompt.
	about []string
	// names are the names of the sides and of their difference, which are the methods of the joined
	// explanation.
	names [3]string
	// rows say how far the rows of a token agree, [n], and all says it of all rows. They are known
	// when the sinks are; see agree.
	rows []string
	all  string
	// divided says that the rows of both sides were divided by the sum of their sizes.
	divided bool
	// sizes says that one side has signs and the other not, so that sizes are compared.
	sizes bool
	// warnings say how sides with different tokens were made to fit each other.
	warnings []string
}

// differenceOf is the index of the difference among the names of a comparison.
const differenceOf = 2

// checkSides sets default methods and returns an error for a side that has nothing to compare.
func (c *comparison) checkSides() error {
	for i := range c.sides {
		s := &c.sides[i]
		name := "AB"[i : i+1]
		if s.Explanation == nil {
			return usagef("side %s of the comparison has no explanation", name)
		}
		if s.Method == "" && len(s.Explanation.Order) > 0 {
			s.Method = s.Explanation.Order[0]
		}
		r := s.Explanation.Methods[s.Method]
		if r == nil {
			return usagef("explanation %s has no method %s; %s", name,
				message.Quote(s.Method), message.KnownAre(s.Method, s.Explanation.Order))
		}
		if wrong := misshapen(s.Explanation, r); wrong != "" {
			return usagef("method %s of explanation %s: %s", message.Quote(s.Method), name,
				wrong)
		}
		if err := s.checkLayer(name); err != nil {
			return err
		}
	}
	return nil
}

// checkLayer returns an error if the model lacks the layer of a side, or its values were not kept.
// name is A or B.
func (s *Side) checkLayer(name string) error {
	r, model := s.Explanation.Methods[s.Method], s.Explanation.Model
	switch {
	case s.Layer == nil || slices.Contains(r.Layers, *s.Layer) && *s.Layer >= 0:
		return nil
	case *s.Layer < 0:
		return usagef("layer %d of explanation %s; layers count from 0", *s.Layer, name)
	case model.Layers > 0 && *s.Layer >= model.Layers:
		return usagef("layer %d of explanation %s; %s has layers 0 to %d", *s.Layer, name,
			message.Quote(model.Name), model.Layers-1)
	}
	return usagef("layer %d of method %s was not kept in explanation %s, which has %s; explain "+
		"with %s, or for flow %s, of the options", *s.Layer, message.Quote(s.Method), name,
		keptLayers(r), trace.Called("all layers", "AllLayers"),
		trace.Called("all levels", "AllLevels"))
}

// align gives both sides the same columns, and says how.
func (c *comparison) align() error {
	a, b := c.sides[0].Explanation, c.sides[1].Explanation
	if a.Prompt.Text == b.Prompt.Text && (grouped(a) || grouped(b)) {
		return nil
	}
	p, err := compare.Align(a, b)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) {
		c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
	}
	if p.Parts > 0 {
		say("The models divide the text into different tokens (%d and %d); they are joined to %d "+
			"parts that begin at the same places in both.", len(a.Prompt.Texts),
			len(b.Prompt.Texts), p.Parts)
	}
	if p.Common > 0 {
		say("The prompts have %d and %d tokens; the %d that both have in the same order are in "+
			"the same columns.", len(a.Prompt.Texts), len(b.Prompt.Texts), p.Common)
	}
	for i := range c.sides {
		c.sides[i].Explanation = p.Sides[i]
		c.warnMissing(i, p.Missing[i])
	}
	if p.Rows > 0 {
		say("Of %d and %d generated tokens, only those are compared that begin at the same place "+
			"after the same text: %d. Give both models the same continuation to compare more.",
			len(a.Steps), len(b.Steps), p.Rows)
	}
	return nil
}

// warnMissing says which tokens a side lacks.
func (c *comparison) warnMissing(side int, tokens []string) {
	if len(tokens) == 0 {
		return
	}
	const most = 8
	var names []string
	for _, text := range tokens[:min(len(tokens), most)] {
		names = append(names, "“"+textName(text)+"”")
	}
	if len(tokens) > most {
		names = append(names, fmt.Sprintf("and %d more", len(tokens)-most))
	}
	c.warnings = append(c.warnings, fmt.Sprintf("%s has no token %s; its values are 0 there.",
		"AB"[side:side+1], strings.Join(names, ", ")))
}

// firstDifference says where two lists of tokens differ first, and lists the tokens around it.
func firstDifference(x, y []string) string {
	at := compare.FirstDifference(x, y)
	some := func(all []string) string {
		const most = 8
		var names []string
		for j := max(0, at-2); j < min(len(all), at+most); j++ {
			names = append(names, fmt.Sprintf("%d “%s”", j, textName(all[j])))
		}
		if len(all) > at+most {
			names = append(names, "…")
		}
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("they differ first at token %d: %s; and %s", at, some(x), some(y))
}

// keptLayers says which layers a result has.
func keptLayers(r *attribution.Result) string {
	first, last := r.Layers[0], r.Layers[len(r.Layers)-1]
	switch first {
	case attribution.LayerByToken:
		return "for each token the layer that wrote it"
	case last:
		return fmt.Sprintf("layer %d alone", last)
	}
	return fmt.Sprintf("layers %d to %d", first, last)
}

// check returns an error for sides that cannot be compared.
func (c *comparison) check() error {
	a, b := c.sides[0].Explanation, c.sides[1].Explanation
	lifted := func(side int) bool { return c.result(side).Quantity == attribution.Lift }
	switch m, n := len(a.Prompt.Texts), len(b.Prompt.Texts); {
	case a.Model.Reads() != b.Model.Reads():
		return usagef("a decoder and an encoder cannot be compared: one continues a text " +
			"and the other reads it")
	case m != n:
		return usagef("the prompts have %d and %d tokens, and none of them is in both, so they "+
			"cannot be aligned; take prompts with common words, or of the same number of "+
			"tokens; %s", m, n, firstDifference(a.Prompt.Texts, b.Prompt.Texts))
	case c.tokens() == 0:
		return usagef("there is no generated token that both explanations have")
	case lifted(0) != lifted(1):
		return usagef("lifts are ratios and can only be compared with lifts; %s has %s "+
			"and %s has %s", message.Quote(c.sides[0].Method), c.result(0).Unit,
			message.Quote(c.sides[1].Method), c.result(1).Unit)
	}
	for t := range c.tokens() {
		p, q := a.Steps[t].Position, b.Steps[t].Position
		if (p == nil) != (q == nil) || p != nil && *p != *q {
			return usagef("prediction %d is at another position in the other explanation; "+
				"explain the same positions", t+1)
		}
	}
	return nil
}

// result returns the result of a side.
func (c *comparison) result(side int) *attribution.Result {
	return c.sides[side].Explanation.Methods[c.sides[side].Method]
}

// divided reports whether the rows of both sides were divided by the sum of their sizes, so that
// their parts are no parts of a row.
func (p *picture) divided() bool { return p.comparison != nil && p.comparison.divided }

// tokens returns n, the number of generated tokens that both sides have rows of.
func (c *comparison) tokens() int {
	n := math.MaxInt
	for i := range c.sides {
		n = min(n, len(c.sides[i].Explanation.Steps), c.result(i).Shape[0])
	}
	return n
}

// joined returns the explanation that is shown: its methods are the two sides and their difference.
func (c *comparison) joined() *attribution.Explanation {
	a, b := c.sides[0].Explanation, c.sides[1].Explanation
	n, m := c.tokens(), len(a.Prompt.Texts)
	c.describe()
	e := &attribution.Explanation{
		Version: a.Version, Model: a.Model, Prompt: a.Prompt,
		Steps: slices.Clone(a.Steps[:n]), Order: c.names[:],
		Methods: map[string]*attribution.Result{},
	}
	e.Model.Name = both(a.Model.Name, b.Model.Name)
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
	c.warn(e)
	c.fill(e)
	c.warnLayers(e)
	return e
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
	a, b := c.sides[0], c.sides[1]
	x, y := a.Explanation, b.Explanation
	c.names = [3]string{"A: " + a.String(), "B: " + b.String(), "A − B"}
	switch {
	case x.Model.Name != y.Model.Name || x.Model.Hash != y.Model.Hash:
		c.title = "Two models compared"
		c.about = []string{x.Model.Name, y.Model.Name}
	case x.Prompt.Text != y.Prompt.Text:
		c.title = "Two prompts compared"
		c.about = []string{x.Prompt.Text, y.Prompt.Text}
	case a.Method != b.Method:
		c.title = "Two methods compared"
	case a.String() != b.String():
		c.title = "Two layers compared"
	default:
		c.title = "Two explanations compared"
	}
}

// headings returns the lines below the title: the sides, and how far they agree.
func (c *comparison) headings() []string {
	lines := []string{Visible(c.names[0], 2*nameLimit), Visible(c.names[1], 2*nameLimit)}
	if c.about == nil {
		lines = []string{lines[0] + " · " + lines[1]}
	}
	about := cutAlike(c.about, 3*nameLimit)
	for i := range c.about {
		lines[i] += " · " + about[i]
	}
	return append(lines, c.all)
}

// warn adds the warnings of both sides, and says how far the generated texts are the same.
func (c *comparison) warn(e *attribution.Explanation) {
	a, b := c.sides[0].Explanation, c.sides[1].Explanation
	for _, w := range slices.Concat(c.warnings, a.Warnings, b.Warnings) {
		if !slices.Contains(e.Warnings, w) {
			e.Warnings = append(e.Warnings, w)
		}
	}
	n := len(e.Steps)
	for t := range n {
		if a.Steps[t].Text != b.Steps[t].Text && !a.Model.Reads() {
			differ := "The first generated tokens differ."
			switch {
			case t+1 < n:
				differ = fmt.Sprintf("The generated texts differ from token %d on, so the rows "+
					"after it belong to different texts.", t+1)
			case t > 0:
				differ = fmt.Sprintf("The generated texts differ in token %d, the last one "+
					"that is compared.", n)
			}
			e.Warnings = append(e.Warnings, differ)
			break
		}
	}
	if len(a.Steps) != len(b.Steps) {
		e.Warnings = append(e.Warnings, fmt.Sprintf("A has %d generated tokens and B has %d; the "+
			"first %d are compared.", len(a.Steps), len(b.Steps), n))
	}
}

// layer names the layer of a side that is shown of token t; "" if its values are not of one layer.
func (c *comparison) layer(side, t int) string {
	r := c.result(side)
	if r.Combined {
		return ""
	}
	return r.LayerName(t, c.levelOf(side, t))
}

// unlike reports whether both sides are one method in different layers of token t, and names these.
func (c *comparison) unlike(t int) (a, b string, ok bool) {
	a, b = c.layer(0, t), c.layer(1, t)
	return a, b, a != "" && b != "" && a != b && c.sides[0].Method == c.sides[1].Method
}

// warnLayers says for which tokens the sides show different layers that nobody asked for.
func (c *comparison) warnLayers(e *attribution.Explanation) {
	if c.sides[0].Layer != nil && c.sides[1].Layer != nil {
		return
	}
	var tokens []string
	first := -1
	for t, g := range e.Steps {
		a, b, ok := c.unlike(t)
		if !ok {
			continue
		}
		if first < 0 {
			first = t
		}
		tokens = append(tokens, fmt.Sprintf("A %s and B %s for “%s”", a, b, textName(g.Text)))
	}
	if first < 0 {
		return
	}
	const most = 4
	if len(tokens) > most {
		tokens = append(tokens[:most:most], fmt.Sprintf("others for %d more", len(tokens)-most))
	}
	one := c.sides[0]
	layer := c.result(0).Layer(first, c.levelOf(0, first))
	one.Layer = &layer
	s := "A and B show different layers, so A − B compares unlike values: " +
		strings.Join(tokens, ", ") + "."
	if a, b := c.sides[0].Explanation.Model, c.sides[1].Explanation.Model; a.Layers == b.Layers {
		s += " Compare one layer with " + one.String() + "."
	}
	e.Warnings = append(e.Warnings, s)
}

// fill adds the results: the level shown of both sides, and their difference.
func (c *comparison) fill(e *attribution.Explanation) {
	own := c.result(0).OwnSources()
	if c.result(1).OwnSources() != own {
		own = -1
	}
	a, b := c.result(0), c.result(1)
	c.divided = a.Quantity != b.Quantity || a.Quantity != attribution.Share && a.Unit != b.Unit
	var rows [2][][]float64
	var parts [2][]float64
	for i := range c.sides {
		r := c.level(i, own)
		rows[i], parts[i] = c.values(i, own)
		if c.divided {
			c.divide(i, rows[i], own, parts[i])
			r.Unit, r.Quantity = "share of the sizes of a row", attribution.Share
			r.Options["divided"] = "each row by the sum of its sizes, sinks excluded"
		}
		r.Rows = rows[i]
		e.Methods[c.names[i]] = r
		if !slices.ContainsFunc(parts[i], math.IsNaN) {
			r.OtherMass = parts[i]
		}
		if maps := c.sides[i].Explanation.Maps; maps != nil && !c.divided {
			if e.Maps == nil {
				e.Maps = map[string]*attribution.Map{}
			}
			e.Maps[c.names[i]] = maps[c.sides[i].Method]
		}
	}
	signs := hasSigns(rows[0])
	c.sizes = c.divided && signs != hasSigns(rows[1])
	if c.sizes {
		signed, other := "A", "B"
		if !signs {
			signed, other = other, signed
		}
		e.Warnings = append(e.Warnings, fmt.Sprintf("The values of %s have signs and those of %s "+
			"have not; A − B and the agreement are of sizes.", signed, other))
	}
	d := c.level(0, own)
	d.Facts = attribution.Facts{Spans: d.Spans}
	maps.DeleteFunc(d.Options, func(name, _ string) bool { return name != "spans" })
	d.Unit, d.Quantity = c.difference()
	minus := func(x, y []float64) []float64 {
		z := make([]float64, min(len(x), len(y)))
		for j := range z {
			switch {
			case d.Quantity == attribution.Lift:
				z[j] = x[j] / y[j]
			case c.sizes:
				z[j] = math.Abs(x[j]) - math.Abs(y[j])
			default:
				z[j] = x[j] - y[j]
			}
		}
		return z
	}
	for t := range e.Steps {
		d.Rows = append(d.Rows, minus(rows[0][t], rows[1][t]))
	}
	e.Methods[c.names[differenceOf]] = d
}

// hasSigns reports whether values have both signs, or are negative.
func hasSigns(rows [][]float64) bool {
	return slices.ContainsFunc(slices.Concat(rows...), func(x float64) bool { return x < 0 })
}

// difference returns the unit and the quantity of the difference.
func (c *comparison) difference() (string, attribution.Quantity) {
	switch unit := c.result(0).Unit; {
	case c.result(0).Quantity == attribution.Lift:
		return "lift of A divided by lift of B", attribution.Lift
	case c.sizes:
		return "share of the sizes in A minus that in B", attribution.Share
	case c.divided || c.result(0).Quantity == attribution.Share:
		return "share in A minus share in B", attribution.Share
	default:
		return unit + " in A minus that in B", attribution.Amount
	}
}

// levelOf returns the level of a side that is shown of token t.
func (c *comparison) levelOf(side, t int) int {
	if layer := c.sides[side].Layer; layer != nil {
		return slices.Index(c.result(side).Layers, *layer)
	}
	return c.result(side).Level(t)
}

// level returns a result without values that has the level shown of a side, [n,m,1].
func (c *comparison) level(side, own int) *attribution.Result {
	from := c.result(side)
	r := &attribution.Result{
		Unit: from.Unit, Options: map[string]string{}, Facts: from.Facts,
		Shape: [3]int{c.tokens(), from.Shape[1], 1},
	}
	for name, value := range from.Options {
		r.Options[name] = value
	}
	for t := range c.tokens() {
		r.Shown = append(r.Shown, from.Layer(t, c.levelOf(side, t)))
	}
	r.Layers = []int{r.Shown[0]}
	if slices.Max(r.Shown) != slices.Min(r.Shown) {
		r.Layers[0] = attribution.LayerByToken
	}
	return r
}

// values returns copies of the rows of a side at the level shown, without generated tokens if own
// is -1, [n][m+q], and what all generated tokens have together [n], NaN if that is not known.
func (c *comparison) values(side, own int) (rows [][]float64, parts []float64) {
	r := c.result(side)
	for t := range c.tokens() {
		level := c.levelOf(side, t)
		row := r.Row(t, level)
		if own < 0 {
			row = row[:r.Shape[1]]
		}
		rows = append(rows, slices.Clone(row))
		part := math.NaN()
		if i := t*r.Shape[2] + level; i < len(r.OtherMass) {
			part = r.OtherMass[i]
		}
		parts = append(parts, part)
	}
	return rows, parts
}

// divide divides each row of a side by the sum of its sizes, sinks excluded. Rows of zeros stay.
func (c *comparison) divide(side int, rows [][]float64, own int, parts []float64) {
	var sinks []attribution.Sink
	rowSinks := slices.Repeat([]int{-1}, len(rows))
	if s := c.sides[side]; sinksKnown(s.Explanation, s.Method) {
		level := attribution.ShownLevel
		if s.Layer != nil {
			level = c.levelOf(side, 0)
		}
		sinks, _ = s.Explanation.Sinks(s.Method, level)
		if own, err := s.Explanation.RowSinks(s.Method, level); err == nil {
			rowSinks = own
		}
	}
	for t, row := range rows {
		sum := 0.0
		for j, x := range row {
			is := func(s attribution.Sink) bool { return s.Position == j }
			if !slices.ContainsFunc(sinks, is) && rowSinks[t] != j {
				sum += math.Abs(x)
			}
		}
		if own < 0 && !math.IsNaN(parts[t]) {
			sum += math.Abs(parts[t])
		}
		if !(sum > 0) || math.IsInf(sum, 0) {
			continue
		}
		parts[t] /= sum
		for j := range row {
			row[j] /= sum
		}
	}
}

// agree says how far the rows of the first two views agree, token by token and in all.
func (p *picture) agree() {
	c, a, b := p.comparison, &p.views[0], &p.views[1]
	c.rows = nil
	sum, low, high, known, equal, tied := 0.0, math.Inf(1), math.Inf(-1), 0, 0, 0
	const correlation = "rank correlation"
	of := ""
	if c.sizes {
		of = " of the sizes"
	}
	for t := range p.e.Steps {
		var x, y []float64
		for j := range min(a.sources(t), b.sources(t)) {
			if !p.grey(a, t, j) && !p.grey(b, t, j) {
				x, y = append(x, c.compared(a.at(t, j))), append(y, c.compared(b.at(t, j)))
			}
		}
		row := correlation + " not defined"
		if rho, ok := rowmath.RankCorrelation(x, y); ok {
			row = correlation + of + " of A and B " + fixed(rho, 2)
			sum, low, high, known = sum+rho, min(low, rho), max(high, rho), known+1
		}
		switch one, other := strongest(x), strongest(y); {
		case one == other && len(x) > 0:
			row, equal = row+", the same strongest source", equal+1
		case one >= 0 && other >= 0 && (nearTie(x[one], x[other], a.top.percent) ||
			nearTie(y[other], y[one], b.top.percent)):
			row, tied = row+", a near tie of the strongest sources", tied+1
		default:
			row += ", another strongest source"
		}
		c.rows = append(c.rows, row)
	}
	c.all = "Agreement of A and B: "
	if known > 0 {
		c.all += correlation + of + " " + fixed(sum/float64(known), 2)
		if known > 1 {
			c.all += fmt.Sprintf(" on average (%s to %s)", fixed(low, 2), fixed(high, 2))
		}
		c.all += "; "
	}
	c.all += fmt.Sprintf("the same strongest source for %s of %s %s", thousands(equal),
		thousands(len(p.e.Steps)), p.words.shown)
	if tied > 0 {
		c.all += ", a near tie for " + thousands(tied) + " more"
	}
}

// compared returns what of a value the agreement is about: its size, if one side has no signs.
func (c *comparison) compared(x float64) float64 {
	if c.sizes {
		return math.Abs(x)
	}
	return x
}

// nearTie reports whether the second of two values is nearly as large as the largest: within 5 % of
// it, or for shares within one percentage point and 10 %, as one point of a share below 10 % is
// much.
func nearTie(largest, second float64, percent bool) bool {
	largest = math.Abs(largest)
	within := 0.05 * largest
	if percent {
		within = max(within, min(0.01, 0.1*largest))
	}
	return largest-math.Abs(second) <= within*(1+slack)
}

// strongest returns the index of the value with the largest size, the first of several; -1 if there
// is none.
func strongest(values []float64) int {
	best := -1
	for j, x := range values {
		if a := math.Abs(x); a > 0 && (best < 0 || a > math.Abs(values[best])) {
			best = j
		}
	}
	return best
}

// shareScale gives the views of a comparison one scale, that of the largest value in any of them,
// and makes the sinks of one side grey on both.
func (p *picture) shareScale() {
	var all []float64
	for i := range p.views {
		for j, sink := range p.views[i].sinks {
			p.views[differenceOf].sinks[j] = p.views[differenceOf].sinks[j] || sink
		}
		for t, j := range p.views[i].rowSinks {
			if own := p.views[differenceOf].rowSinks; own[t] < 0 {
				own[t] = j
			}
		}
	}
	for i := range p.views {
		for _, x := range p.shownValues(&p.views[i]) {
			if p.views[i].top.lift {
				all = append(all, x)
			} else {
				all = append(all, math.Abs(x))
			}
		}
	}
	all = cut(all, p.rowLimit(&p.views[0], &p.views[1], &p.views[2]))
	for i := range p.views {
		v := &p.views[i]
		signed := v.top.signed
		v.top = newScale(v.top.unit, v.result.Quantity, all)
		v.top.signed = signed
		v.top.digits = digits(v.top)
		v.colors = v.top.tight(all)
		v.above, v.beyond = false, false
		for _, x := range p.shownValues(v) {
			v.above = v.above || !v.top.lift && math.Abs(x) > v.colors.limit*(1+slack)
			v.beyond = v.beyond || !v.top.lift && math.Abs(x) > v.colors.limit*(1+slack)
		}
		for t := range v.rows {
			v.rows[t] = v.top.upTo(v.largest(t, p.greySources(v, t)))
		}
	}
}

// chances returns the probabilities of token t on both sides.
func (c *comparison) chances(t int) string { return both(c.chance(0, t), c.chance(1, t)) }

// chance returns the probability of token t on one side.
func (c *comparison) chance(side, t int) string {
	if g := c.sides[side].Explanation.Steps[t]; !g.Unscored {
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
	return where, tokenName(p.stepText(v, t)), chance
}

// stepText returns the text of generated token t, in the picture of one side that side's.
func (p *picture) stepText(v *view, t int) string {
	if side := p.sideOf(v); side >= 0 {
		return p.comparison.sides[side].Explanation.Steps[t].Text
	}
	return p.e.Steps[t].Text
}

// sideOf returns which side of a comparison a view is, -1 for their difference and elsewhere.
func (p *picture) sideOf(v *view) int {
	switch {
	case p.comparison == nil || v.difference:
		return -1
	case v == &p.views[0]:
		return 0
	}
	return 1
}
