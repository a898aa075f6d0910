package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

func init() {
	RegisterView(View{
		Name: KindPatch, Method: "direct", Study: patch.Name, Other: patch.OtherOption,
		Help: "how much of the difference to the prompt of --against each place of the model " +
			"carries",
		Takes: map[string]Media{
			"against": InAll, "methods": InAll, "patch": InAll, "all-layers": InAll,
			"all-levels": InAll,
		},
		Whole: "a picture of the kind patch has every token and layer",
		Options: func(_ Show, o *attribution.Options) error {
			o.Ask(patch.Name, cmp.Or(o.Studies[patch.Name], string(patch.Residual)))
			return nil
		},
		Picture: func(s Show, e *attribution.Explanation, _ any) (Picture, error) {
			return Patch{Explanation: e, Look: s.Look()}, nil
		},
	})
}

// Patch is a picture of activation patching, for a notebook or a page: a matrix with a row for each
// layer, the last one on top, and a column for each token of the prompt or for each head. A cell is
// how much of the difference between two prompts this place carries alone. Tokens that differ have
// the names of both.
type Patch struct {
	// Explanation has what patching each place does; see package patch.
	Explanation *attribution.Explanation
	// Look has the colours and the caption, as that of a [Heatmap].
	Look
	// MaxBytes is the approximate limit of the result in bytes; default 480,000, of a page
	// 5,000,000.
	MaxBytes int
}

// Check returns a [trace.UsageError] if the explanation lacks the patches, or they do not fit its
// prompt and its model.
func (r Patch) Check() error {
	e := r.Explanation
	if e == nil || patch.Of(e) == nil {
		return usagef("a picture of patching needs an explanation with patches: explain with " +
			"--view patch --against PROMPT, or in a cell by gonbext.Patch")
	}
	p, m := patch.Of(e), len(e.Prompt.Texts)
	fits := len(e.Steps) > 0 && len(p.Corrupted) == m &&
		!slices.ContainsFunc(p.Different, func(j int) bool { return j < 0 || j >= m })
	numbers, nodes := p.Values(), []patch.Node(nil)
	if p.Receiver != nil {
		nodes = append(nodes, *p.Receiver)
	}
	if x := p.Edges; x != nil {
		numbers = []float64{x.CPR, x.CMD, x.Kept.Faithfulness, x.Kept.Difference}
		for _, c := range x.Circuits {
			numbers = append(numbers, c.Share, c.Signed, c.Absolute)
		}
		for _, edge := range x.Strongest {
			numbers, nodes = append(numbers, edge.Score), append(nodes, edge.Sender, edge.Receiver)
		}
		fits = fits && len(x.Strongest) > 0
	} else {
		if p.Place == patch.Edges || !slices.Contains(patch.Kinds(), p.Place) ||
			!slices.Contains(patch.Directions(), p.Direction) {
			return usagef("patches of places %.60q by %.60q are of no known kind", p.Place,
				p.Direction)
		}
		columns := m
		if p.Place.ByHead() {
			columns = e.Model.Heads
		}
		fits = fits && p.Shape == [2]int{e.Model.Layers, columns} && columns > 0 &&
			p.Shape[0] > 0 && len(numbers) == p.Shape[0]*columns && p.Position >= 0 &&
			p.Position < m && (p.Place == patch.Path) == (p.Receiver != nil)
	}
	if !fits || slices.ContainsFunc(numbers, func(x float64) bool {
		return math.IsNaN(x) || math.IsInf(x, 0)
	}) || slices.ContainsFunc(nodes, func(n patch.Node) bool { return !fitsModel(n, e.Model) }) {
		return usagef("patches of shape %v, with %d numbers, do not fit a prompt of %d tokens and "+
			"%d layers of %d heads", p.Shape, len(numbers), m, e.Model.Layers, e.Model.Heads)
	}
	return nil
}

// fitsModel reports whether a model has a node, of a known kind. In a file it may be anything.
func fitsModel(n patch.Node, info trace.Info) bool {
	return n.Layer >= 0 && n.Layer < info.Layers && n.Head >= 0 && n.Head < info.Heads &&
		slices.Contains([]patch.NodeKind{
			patch.InputNode, patch.HeadNode, patch.FeedForwardNode, patch.LogitsNode,
		}, n.Kind) && slices.Contains([]trace.Tap{
		"", trace.QueryVector, trace.KeyVector, trace.Value,
	}, n.Through)
}

// What one cell of a patch is, by the way it was found, and what all are.
const (
	placeLegend = "a place. One prompt is run with what this place has in the other, and the " +
		"cell is how much of the difference between both then comes about"
	pathLegend = "a head. One prompt is run with what this head writes in the other, while later " +
		"heads keep what they have; what the receiver reads then is all that changes in another " +
		"run, and the cell is how much of the difference between both prompts comes about " +
		"(path patching)"
	estimateLegend = "a place. The cell estimates how much of the difference between both " +
		"prompts would come about if one were run with what this place has in the other: the " +
		"change of the place times the gradient (attribution patching). No such run was made, " +
		"and where changes are large, as in early layers of the residual stream, estimates may " +
		"be far off"
	starLegend = "a place. The cell estimates the size, without the sign, of what would come " +
		"about if one prompt were run with what this place has in the other, by AtP*: for a " +
		"query or a key the attention is computed again, and there is a gradient for each layer, " +
		"which goes past that layer, so that what passes through one layer alone counts less. " +
		"No such run was made"
	patchLegend = "In a matrix each line is a layer, the last one on top, and each cell %s. The " +
		"difference is that of the logits of the two answers: 100 %% is all of it, 0 nothing%s. " +
		"Places that have the same values in both prompts are exactly 0"
)

// wording returns the title of the picture, that of its matrix and the legend.
func (d *patchDrawing) wording() (title, matrix, legend string) {
	title, matrix, legend = "Where the difference between two prompts is carried",
		"How much each place carries alone", placeLegend
	switch p := d.p; {
	case p.Place == patch.Path:
		title = "Which heads pass the difference between two prompts to " + receiver(p)
		matrix, legend = "How much passes from each head to "+receiver(p), pathLegend
	case p.Recovery == nil && p.Star:
		title += ", estimated by AtP*"
		matrix, legend = "An estimate of how much each place moves alone", starLegend
	case p.Recovery == nil:
		title += ", estimated by one gradient"
		matrix, legend = "An estimate of how much each place carries alone", estimateLegend
	}
	if d.p.Shared != nil {
		legend += ". Heads that share a key or a value are patched together"
	}
	below := ", and below 0 the opposite"
	if d.p.Star && d.p.Recovery == nil {
		below = ""
	}
	return title, matrix, fmt.Sprintf(patchLegend, legend, below)
}

// receiver names where paths end, "" for other places.
func receiver(p *patch.Result) string {
	switch {
	case p.Receiver == nil:
		return ""
	case p.Receiver.Kind == patch.HeadNode:
		return fmt.Sprintf("the %s of head %d.%d", p.Receiver.Through, p.Receiver.Layer,
			p.Receiver.Head)
	}
	return "the " + string(p.Receiver.Kind)
}

// patchDrawing is a picture of patching worked out and not yet drawn. Its scale is that of m.
type patchDrawing struct {
	*drawing
	p *patch.Result
	m panelMethod
}

// begin begins a drawing of an explanation whose tokens have the names of both prompts.
func (r Patch) begin() *patchDrawing {
	e, p := *r.Explanation, patch.Of(r.Explanation)
	e.Prompt.Texts = slices.Clone(e.Prompt.Texts)
	for _, j := range p.Different {
		e.Prompt.Texts[j] = either(e.Prompt.Texts[j], p.Corrupted[j])
	}
	d := &patchDrawing{drawing: newDrawing(textPicture(&e, r.Look), new(0)), p: p}
	d.pairs = "A is this prompt and B the other one. " + pairsAre
	return d
}

// cellAt returns the value of column c in layer l.
func (d *patchDrawing) cellAt(l int, c TextColumn) panelCell {
	cell, _ := d.m.cell(c, d.p.Shape[1], func(i int) float64 { return d.p.At(l, i) },
		func(int) bool { return false })
	return cell
}

// list names the places of a layer that stand out with their values, the strongest first.
func (d *patchDrawing) list(l int) string {
	one := &panel{grey: make([]bool, len(d.columns)), cells: [][]panelCell{nil}}
	for _, c := range d.columns {
		one.cells[0] = append(one.cells[0], d.cellAt(l, c))
	}
	var names []string
	for _, c := range d.m.ranked(one, 0) {
		if cell := one.cells[0][c]; len(names) < listed {
			names = append(names, d.columnOf(cell.token)+" "+d.m.top.value(cell.value))
		}
	}
	return minus(strings.Join(names, ", "))
}

// columnOf is the name of a place of a layer in a list.
func (d *patchDrawing) columnOf(i int) string {
	if d.p.Place.ByHead() {
		return fmt.Sprint("head ", i)
	}
	return d.sourceName(i)
}

// board works out what a picture of patching shows. The patches fit.
func (r Patch) board() *Board {
	if patch.Of(r.Explanation).Edges != nil {
		return r.edgeBoard()
	}
	d := r.begin()
	p, unit, heads := d.p, "recovery of the difference", d.p.Place.ByHead()
	if p.Recovery == nil {
		unit = "estimated " + unit
	}
	scale := NewScale(unit, attribution.Share, p.Values())
	d.m = panelMethod{top: scale.top, colors: scale.colors}
	b := &Board{
		drawing: d.drawing, Kind: "patch", MaxBytes: r.MaxBytes, Scale: scale,
		By: ByRow, At: -1, Tab: string(p.Place), Details: "every layer in a line",
		Caption: []string{string(p.Place), string(p.Direction)},
		Table: Table{
			Target: strings.TrimSpace(d.layerWord(1)), Source: "token of the prompt", Bands: !heads,
		},
	}
	d.words.title, b.Table.Title, b.Legend = d.wording()
	b.Legend += "."
	b.TextLegend = " A line names what stands out in it, the strongest first; lines in which " +
		"nothing stands out are left out."
	if scale.top.signed {
		b.Sides = [2]string{"carries it", "works against it"}
	}
	columns := p.Shape[1]
	if heads {
		d.columns = nil
		for h := range columns {
			d.columns = append(d.columns, TextColumn{From: h, To: h + 1})
			b.Table.Columns = append(b.Table.Columns, fmt.Sprint(h))
		}
		b.Table.Axis, b.Table.Source = "layer ↓ head →", "head"
	} else {
		places := make([]float64, max(columns, d.sourceCount()))
		for k, x := range p.Values() {
			places[k%columns] = max(places[k%columns], math.Abs(scale.colors.at(x)))
		}
		d.columns = slices.DeleteFunc(d.fold(places), func(c TextColumn) bool {
			return c.From >= columns
		})
		b.Table.Over, b.Table.Axis = d.columns, "layer"
		b.Table.Columns = d.columnNames()
	}
	pair := "“" + d.name(p.Answer) + "” instead of “" + d.name(p.Foil) + "”"
	b.Table.Name, b.Table.About, b.Table.Pattern = pair, []string{pair}, placeReadout
	b.Table.Note = string(p.Place) + ", " + pair
	b.Opened = Opening{Token: -1, Row: -1}
	b.Opened.Say, b.Opened.Facts = d.explain()
	b.Lists = []Line{
		{Name: pair + " · " + string(p.Place) + ", " + unit},
		{Name: "     ", List: b.Opened.Say.String()},
		{Name: "     ", List: b.Opened.Facts.String()},
	}
	b.Lines = []Line{{Say: b.Opened.Say, Facts: b.Opened.Facts}}
	b.Notes = []string{
		plain(b.Opened.Say.String()) + ". " + plain(b.Opened.Facts.String()) + ".", d.pairs,
	}
	d.fill(b)
	return b
}

// placeReadout is what a readout of a place says.
var placeReadout = [][]string{
	{"about", "b"}, {"", " ← "}, {"first", "b"}, {"", " "}, {"own"}, {"", " · "}, {"before"},
	{"place"},
}

// fill fills the table of a board and its lines, the last layer first.
func (d *patchDrawing) fill(b *Board) {
	numbers := view{top: d.m.top, colors: d.m.colors}
	strongest := 0.0
	for l := d.p.Shape[0] - 1; l >= 0; l-- {
		label := d.e.Model.LayerLabel(l)
		row, where := Row{Name: label}, d.layerWord(1)+label
		open := Opening{Token: -1, Row: len(b.Table.Rows), Steps: make([]int, len(d.tokens))}
		best, list := 0.0, d.list(l)
		for i, c := range d.columns {
			cell := d.cellAt(l, c)
			place := math.Abs(d.m.colors.at(cell.value))
			name := "head " + fmt.Sprint(cell.token)
			if b.Table.Over != nil {
				name = isolated(d.tokens[cell.token].name)
				open.Steps[cell.token] = stepOf(d.m.colors.at(cell.value))
			}
			row.Cells = append(row.Cells, Cell{
				Step:   stepOf(d.m.colors.at(cell.value)),
				Text:   minus(numbers.cellNumber(cell.value)),
				Detail: name + "\t\t" + minus(d.m.top.value(cell.value)),
				First:  b.Table.Over != nil && d.isFirstGenerated(c),
			})
			if place > best {
				best, open.Column = place, i
			}
			if place > strongest { // that a readout names before a reader points at any
				strongest, b.Opened.Column, b.Opened.Cell = place, i, len(b.Table.Rows)
			}
		}
		open.Cell = open.Row
		for _, c := range d.columns {
			if cell := d.cellAt(l, c); b.Table.Over != nil &&
				math.Abs(d.m.colors.at(cell.value)) < best/12 {
				open.Steps[cell.token] = 0
			}
		}
		open.Facts = Phrase{{text: where + ": " + cmp.Or(list, "nothing stands out")}}
		b.Opens = append(b.Opens, open)
		b.Table.Rows, b.Table.Before = append(b.Table.Rows, row), append(b.Table.Before, where)
		if list != "" {
			b.Lists = append(b.Lists, Line{Name: "     " + right(where, 8) + "  ", List: list})
			b.Lines = append(b.Lines, Line{Name: where + ": ", List: list})
		}
	}
}

// Where a sentence draws the line: a position carries the difference of a layer if it has half of
// it, and a place is named from a twentieth on.
const (
	carries   = .5
	namedFrom = .05
)

// explain returns the sentence and the line below it.
func (d *patchDrawing) explain() (say, facts Phrase) {
	p := d.p
	say, facts = d.ends()
	run, set := "B", "A"
	if p.Direction == patch.Noising {
		run, set = set, run
	}
	how := fmt.Sprintf("%s is run with values of %s · %d runs", run, set, p.Runs)
	by, with := "one gradient", "it"
	if p.Star {
		by, with = "AtP*", "its size"
	}
	switch {
	case p.Place == patch.Path:
		say.Say("on the path to " + receiver(p) + ", ")
	case p.Recovery == nil:
		say.Say("estimated by " + by + ", ")
		how = fmt.Sprintf("as if %s were run with values of %s", run, set)
	}
	if p.Place == patch.Residual {
		say = append(say, d.carried()...)
	} else {
		say = append(say, d.strongest()...)
	}
	facts.Say(fmt.Sprintf(" · %s: %s", p.Direction, how))
	if p.Correlation != nil {
		facts.Say(minus(fmt.Sprintf(" · estimates by %s correlate with %s by %.2f", by, with,
			*p.Correlation)))
	}
	return say, facts
}

// ends returns how the sentence begins, and what both prompts give.
func (d *patchDrawing) ends() (say, facts Phrase) {
	answer := quoted(Phrase{{text: d.name(d.p.Answer), strong: true}})
	foil := quoted(Phrase{{text: d.name(d.p.Foil), strong: true}})
	facts.Say(minus(fmt.Sprintf("logit of %s minus that of %s: %+.2f after A, %+.2f after B",
		answer, foil, d.p.CleanDifference, d.p.CorruptedDifference)))
	return slices.Concat(answer, Phrase{{text: " instead of "}}, foil, Phrase{{text: ": "}}), facts
}

// name returns the answer or the foil in visible form. The prediction has the names of classes.
func (d *patchDrawing) name(t patch.Token) string {
	text, g := t.Text, &d.e.Steps[0]
	if text == "" && g.ID == t.ID {
		text = g.Text
	}
	for _, a := range g.Alternatives {
		if text == "" && a.ID == t.ID {
			text = a.Text
		}
	}
	return tokenName(cmp.Or(text, t.String()))
}

// at names position j of the prompt.
func (d *patchDrawing) at(j int) Phrase {
	n := len(d.e.Prompt.Texts)
	if j == d.p.Position && j == n-1 {
		return slices.Concat(Phrase{{text: "the last token ("}}, quoted(d.wordOf(j)),
			Phrase{{text: ")"}})
	}
	name := quoted(d.wordOf(j))
	if d.repeats(j, n) {
		name.Say(" (" + d.placeOf(j) + ")")
	}
	return name
}

// carried names the positions that carry the difference, with the layers before which they do, and
// the layers in which several have much of it.
func (d *patchDrawing) carried() (say Phrase) {
	type stretch struct{ at, from, to int }
	var all, shared []stretch
	p, last, of := d.p, d.p.Shape[0]-1, d.e.Model
	for l := range p.Shape[0] {
		best, much := 0, 0
		for i := range p.Shape[1] {
			if p.At(l, i) > p.At(l, best) {
				best = i
			}
			if p.At(l, i) >= little {
				much++
			}
		}
		if n := len(shared) - 1; much > 1 && n >= 0 && shared[n].to == l-1 {
			shared[n].to = l
		} else if much > 1 {
			shared = append(shared, stretch{from: l, to: l})
		}
		n := len(all) - 1
		switch {
		case p.At(l, best) < carries:
		case n >= 0 && all[n].at == best:
			all[n].to = l
		default:
			all = append(all, stretch{best, l, l})
		}
	}
	if len(all) == 0 {
		return Phrase{{text: "no position alone carries half of the difference"}}
	}
	say.Say("the difference is carried by ")
	for i, s := range all {
		if i == mostNamed {
			say.Say(" and others")
			break
		}
		if i > 0 {
			say.Say(", then by ")
		}
		say = append(say, d.at(s.at)...)
		switch {
		case s.from == 0 && s.to == last:
			say.Say(" in all layers")
		case s.from == 0:
			say.Say(" up to " + of.LayerName(s.to))
		case s.to == last:
			say.Say(" from " + of.LayerName(s.from))
		case s.from == s.to:
			say.Say(" in " + of.LayerName(s.from))
		default:
			say.Say(" in " + of.LayerRange(s.from, s.to))
		}
	}
	var layers []string
	for _, s := range shared {
		if layers = append(layers, of.LayerLabel(s.from)); s.to > s.from {
			layers[len(layers)-1] += " to " + of.LayerLabel(s.to)
		}
	}
	switch {
	case len(shared) == 1 && shared[0].from == shared[0].to:
		say.Say("; several positions share it in " + of.LayerName(shared[0].from))
	case layers != nil:
		say.Say("; several positions share it in " + d.layerWord(2) + and(layers))
	}
	return say
}

// strongest names the places that carry most of the difference.
func (d *patchDrawing) strongest() (say Phrase) {
	p := d.p
	values := p.Values()
	order := make([]int, len(values))
	for k := range order {
		order[k] = k
	}
	for _, columns := range p.Shared { // one of those that share a place is named
		order = slices.DeleteFunc(order, func(k int) bool {
			return slices.Index(columns, k%p.Shape[1]) > 0
		})
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	verb := " alone brings back "
	switch noising := p.Direction == patch.Noising; {
	case p.Star && p.Recovery == nil:
		verb = " alone would move the difference by "
	case noising && p.Recovery == nil:
		verb = " alone would take away "
	case noising:
		verb = " alone takes away "
	case p.Recovery == nil:
		verb = " alone would bring back "
	}
	for n, k := range order[:min(len(order), mostNamed)] {
		x := values[k]
		if x < namedFrom || n > 0 && x < nameFrom*values[order[0]] {
			break
		}
		if n > 0 {
			say.Say(", ")
		}
		say = append(say, d.place(k)...)
		if n == 0 {
			say.Say(verb)
		} else {
			say.Say(" ")
		}
		say.Say(rounded(x))
	}
	if say == nil {
		what := "place"
		if d.p.Place.ByHead() {
			what = cmp.Or(headParts[d.p.Place], "head")
		}
		say.Say("no " + what + " alone carries a twentieth of the difference")
		k := slices.IndexFunc(values, func(x float64) bool {
			return math.Abs(x) == max(slices.Max(values), -slices.Min(values))
		})
		if values[k] != 0 {
			largest := "; the largest is "
			if values[k] < 0 {
				largest = "; the largest works against it, "
			}
			say = append(append(say, piece{text: largest}), d.place(k)...)
			say.Say(minus(fmt.Sprintf(", %+.1f %%", 100*values[k])))
		}
	}
	return say
}

// headParts are what of a head is patched, where that is not what it puts out.
var headParts = map[patch.Place]string{
	patch.Queries: "query", patch.Keys: "key", patch.Values: "value",
}

// place names place k.
func (d *patchDrawing) place(k int) (name Phrase) {
	l, i := k/d.p.Shape[1], k%d.p.Shape[1]
	if d.p.Place.ByHead() {
		part := "head "
		if of := headParts[d.p.Place]; of != "" {
			part = "the " + of + " of head "
		}
		head := fmt.Sprintf("%s.%d", d.e.Model.LayerLabel(l), i)
		return Phrase{{text: part}, {text: head, strong: true}}
	}
	name.Say(fmt.Sprintf("%s of %s at ", d.p.Place, d.e.Model.LayerName(l)))
	return append(name, d.at(i)...)
}

func (r Patch) draw() drawer { return r.board() }
