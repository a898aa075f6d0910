package render

import (
	"fmt"
	"github.com/headwater-ml/headwater/attribution"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

func init() {
	RegisterView(View{
		Name: KindLayers, Help: "some tokens layer by layer",
		Takes: map[string]Media{
			"token": InAll, "tokens": InAll, "filter": InAll, "by": inFiles, "target": inFiles,
			"methods": InAll, "lift": InAll, "all-levels": InAll, "prove": InAll,
		},
		Opened: openLayers,
		Picture: func(s Show, e *attribution.Explanation, _ any) (Picture, error) {
			l := Layers{Heatmap: s.heatmap(e), Tokens: s.Tokens}
			if s.Token != nil {
				l.Tokens = []int{*s.Token}
			}
			return l, nil
		},
	})
}

// openLayers opens with the first method that has layers, and the first 6 tokens that are words.
func openLayers(s Show, e *attribution.Explanation) Show {
	for i, name := range e.Order {
		if r := e.Methods[name]; s.Method == "" && r != nil && r.Shape[2] > 1 {
			if i > 0 {
				s.Method = name
			}
			break
		}
	}
	if s.Token == nil && s.Tokens == nil {
		s.Tokens = firstWords(e)
	}
	return s
}

// Layers is a picture of M[t,:,:] of several generated tokens t, for a notebook or a page: of each
// of them and each method a matrix with a row for every layer, the last one on top, and the columns
// of a [Heatmap]. One matrix is open, and the others are small. Of scorers, whose values are sums
// over layers, a row is what its layer adds. Colours of a method are on one scale, which is that of
// all values shown. Methods that have one layer alone are left out; they have all of them with
// [attribution.Options.AllLayers].
type Layers struct {
	Heatmap
	// Tokens are the generated tokens, 0-based; default: the first 6 words or pieces of words;
	// see [Show.Opened].
	Tokens []int
}

// mostPanels is how many tokens are shown if none are chosen.
const mostPanels = 6

// Check returns a [trace.UsageError] if a token or a method does not exist, or if no method has
// several layers.
func (r Layers) Check() error {
	if r.Explanation == nil {
		return usagef("a picture of layers needs an explanation")
	}
	e := r.Explanation
	for _, t := range r.Tokens {
		if t < 0 || t >= len(e.Steps) {
			return usagef("generated token %d; the explanation has %s, from 0", t, e.Made())
		}
	}
	for _, name := range r.Methods {
		if e.Methods[name] == nil {
			return usagef("the explanation has no method %s; %s", message.Quote(name),
				message.KnownAre(name, e.Order))
		}
	}
	if len(e.Steps) > 0 && !slices.ContainsFunc(r.picture(true).views, view.layered) {
		return usagef("there are no values of several layers of %s; explain with %s, or for "+
			"flow %s, of the options", message.List(r.methods()),
			trace.Called("all layers", "AllLayers"), trace.Called("all levels", "AllLevels"))
	}
	return nil
}

// layered reports whether a method has several layers.
func (v view) layered() bool { return v.wrong == "" && v.result.Shape[2] > 1 }

var layersKind = panelKind{
	kind: KindLayers, title: "Layer by layer", small: "All tokens shown",
	lines: "every token and layer in a line",
	legend: "In a matrix each line is a layer, the last one on top, and each column a source: " +
		"how much the token has from there in that layer or, where it says so, up to it. Of " +
		"methods whose layers add up, a line is what its layer adds. All matrices of a method " +
		"have one scale",
}

// panels computes what a picture of layers shows.
func (r Layers) panels() *panels {
	d := newDrawing(r.picture(true), r.Token)
	tokens := r.Tokens
	if tokens == nil {
		if tokens = firstWords(d.e); d.chosen >= 0 && !slices.Contains(tokens, d.chosen) {
			tokens = append(tokens[:min(len(tokens), mostPanels-1)], d.chosen)
		}
	}
	d.openOne(tokens)
	d.words.title = "Layer by layer: where tokens come from"
	if d.statesAlone() {
		d.words.title = "Layer by layer: how alike the hidden states of tokens are"
	}
	p := &panels{drawing: d, panelKind: layersKind}
	var shown []*view
	for i := range d.views {
		v := &d.views[i]
		if !v.layered() {
			continue
		}
		if i == d.lead {
			p.lead = len(shown)
		}
		shown = append(shown, v)
		m := panelMethod{
			where: d.layerWord(1), parts: d.byLayer(v), open: slices.Index(tokens, d.chosen),
		}
		if v.result.Combined && !m.parts {
			m.where = "up to " + d.layerWord(1)
		}
		var values []float64
		d.eachPart(v, tokens, func(_ int, x float64) { values = append(values, x) })
		m.scale(v, values)
		if m.parts {
			m.totalLimit = v.colors.limit
		}
		p.methods = append(p.methods, m)
	}
	places := make([]float64, d.sourceCount())
	for i, v := range shown {
		d.eachPart(v, tokens, func(j int, x float64) {
			if place := math.Abs(p.methods[i].colors.at(x)); place > places[j] { // not NaN
				places[j] = place
			}
		})
	}
	d.columns = d.fold(places)
	for i, v := range shown {
		m := &p.methods[i]
		for k := v.result.Shape[2] - 1; k >= 0; k-- {
			m.rows = append(m.rows, d.e.Model.LayerLabel(v.result.Layer(d.chosen, k)))
		}
		for _, t := range tokens {
			m.list = append(m.list, p.ofToken(m, v, t))
		}
	}
	return p
}

// openOne opens with the content word of some tokens, of which the first method with layers says
// most, or else with the first of them, unless the token that is open is one of them.
func (d *drawing) openOne(tokens []int) {
	if len(tokens) == 0 || slices.Contains(tokens, d.chosen) {
		return
	}
	best, largest := tokens[0], 0.0
	if i := slices.IndexFunc(d.views, view.layered); i >= 0 {
		for _, t := range tokens {
			if v := &d.views[i]; v.has(t) && d.contentWord(t) && d.strongest(v, t) > largest {
				best, largest = t, d.strongest(v, t)
			}
		}
	}
	d.open(&best)
}

// eachPart calls f with the source and the value of each cell of a method's matrices of tokens.
func (d *drawing) eachPart(v *view, tokens []int, f func(j int, x float64)) {
	for _, t := range tokens {
		for j := 0; v.has(t) && j < v.sources(t); j++ {
			for k := 0; !d.grey(v, t, j) && k < v.result.Shape[2]; k++ {
				f(j, d.part(v, t, j, k))
			}
		}
	}
}

// ofToken returns the matrix of generated token t.
func (p *panels) ofToken(m *panelMethod, v *view, t int) panel {
	_, _, chance := p.predictionText(t)
	one := panel{
		name:  strings.TrimSpace("“" + p.picture.rowName(t) + "” " + chance),
		token: p.tokenOf(t), row: -1,
	}
	one.say, one.facts = p.explainRow(v, t)
	if test := p.testOf(v, t).String(); test != "" {
		one.facts = append(Phrase{{text: test}, lineEnd}, one.facts...)
	}
	if !v.has(t) {
		return one
	}
	layers, sources := v.result.Shape[2], v.sources(t)
	if !m.parts {
		one.row = layers - 1 - v.level(t)
	}
	grey := func(j int) bool { return p.grey(v, t, j) }
	row := func(at func(j int) float64) (cells []panelCell, all []bool) {
		for _, c := range p.columns {
			if c.From >= sources {
				break
			}
			cell, ok := m.cell(c, sources, at, grey)
			cells, all = append(cells, cell), append(all, !ok)
		}
		return cells, all
	}
	for k := layers - 1; k >= 0; k-- {
		cells, all := row(func(j int) float64 { return p.part(v, t, j, k) })
		one.cells, one.grey = append(one.cells, cells), all
	}
	if m.parts {
		one.total, _ = row(func(j int) float64 { return v.at(t, j) })
	}
	// The facts of parts name their layer.
	if text := p.strongest(m, &one); text != "" && (!m.parts || len(one.facts) == 0) {
		if len(one.facts) > 0 {
			one.facts.Say(" · ")
		}
		one.facts.Say(text)
	}
	return one
}

// tokenOf returns the token of the text that prediction t is or stands at, -1 if there is none.
func (p *picture) tokenOf(t int) int {
	if !p.e.Model.Reads() {
		return len(p.e.Prompt.Texts) + t
	}
	if at := p.e.Steps[t].Position; at != nil {
		return *at
	}
	return -1
}

// strongest names the source with the largest value of any layer, and that layer, "" if the framed
// row has it.
func (p *panels) strongest(m *panelMethod, one *panel) string {
	at, best := -1, -1
	for i := range one.cells {
		if ranked := m.ranked(one, i); len(ranked) > 0 &&
			(best < 0 || m.place(one, i, ranked[0]) > m.place(one, at, best)) {
			at, best = i, ranked[0]
		}
	}
	switch {
	case best < 0:
		return "nothing stands out in any layer"
	case at == one.row:
		return ""
	}
	cell := one.cells[at][best]
	return fmt.Sprintf("the largest of all layers: %s %s %s%s",
		p.called(len(p.tokens), cell.token)[0],
		minus(m.top.value(cell.value)), in(m.where), m.rows[at])
}

// place returns the size of the place of a cell on its scale.
func (m *panelMethod) place(p *panel, i, c int) float64 {
	return math.Abs(m.colors.at(p.cells[i][c].value))
}

// in returns the name of a place without its number: "in layer " or "up to layer ".
func in(where string) string {
	if strings.HasPrefix(where, "up") {
		return where
	}
	return "in " + where
}

func (r Layers) draw() drawer {
	p := r.panels()
	b := p.board(r.MaxBytes)
	b.next = r.Next
	b.figured = func(method string) (Figure, error) { return r.figure(p, method) }
	return b
}

// figure works out the matrices of a method, one for each token. It returns an error if the method
// does not have several layers.
func (r Layers) figure(p *panels, method string) (Figure, error) {
	i := slices.IndexFunc(p.methods, func(m panelMethod) bool {
		return m.name == Visible(method, nameLimit)
	})
	if i < 0 || len(p.methods[i].list) == 0 {
		r.Methods = []string{method}
		return Figure{Matrix: &Drawn{}}, r.Check()
	}
	v := &p.views[slices.IndexFunc(p.views, func(v view) bool { return v.name == method })]
	m := &p.methods[i]
	f := p.figureOf(m, v, m.list)
	f.Title, f.Target = method, strings.TrimSpace(m.where)
	f.Caption = p.captioned(m.sums(p.e.Model, v.result))
	shown := func(t int) bool {
		return slices.ContainsFunc(m.list, func(one panel) bool {
			return one.token == p.tokenOf(t)
		})
	}
	f.Notes = append(p.sinkNotes(v, shown), nonEmpty(p.hiddenNote())...)
	f.withoutLater()
	return Figure{Matrix: &f}, nil
}

// withoutLater removes the columns at the end that no row has a value of: tokens after those shown.
func (f *Drawn) withoutLater() {
	end := 0
	for _, one := range f.Panels {
		for _, row := range one.Rows {
			for c, cell := range row.Cells {
				if cell.Measured {
					end = max(end, c+1)
				}
			}
		}
	}
	if end == 0 {
		return
	}
	f.Columns = f.Columns[:end]
	for _, one := range f.Panels {
		for i := range one.Rows {
			one.Rows[i].Cells = one.Rows[i].Cells[:end]
		}
	}
}

// sums names the layers of matrices, and what a row is of if that is not its layer alone.
func (m *panelMethod) sums(of trace.Info, r *attribution.Result) string {
	first, last := r.Layers[0], r.Layers[len(r.Layers)-1]
	switch {
	case m.parts:
		return fmt.Sprintf("what each of %s adds to the sum", of.LayerRange(first, last))
	case r.Combined && r.Scorer:
		return fmt.Sprintf("sums of layers %s to the row's, up to %s", of.LayerLabel(first),
			of.LayerName(last))
	case r.Combined:
		return fmt.Sprintf("layers %s to the row's together, up to %s", of.LayerLabel(first),
			of.LayerName(last))
	}
	return of.LayerRange(first, last)
}
