package render

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/message"
)

// picture has what all forms of a heatmap show, computed once. There are n generated tokens and m
// prompt tokens.
type picture struct {
	e      *attribution.Explanation
	words  words
	status string
	look   Look
	// comparison is nil unless the views are two sides and their difference.
	comparison *comparison
	pairs      string // which half of a pair is whose, of two prompts that are no comparison
	hidden     []bool // [m+n], tokens greyed by the filter
	views      []view
	// target is the column of the token with which the target begins in a model of two stacks, -1
	// in others.
	targetBegin int
	aligned     bool           // links are drawn from the start
	names       map[string]int // how many prompt tokens have a name; see repeated
	answers     map[string]int // how many generated tokens have a text; see generatedAgain
}

// view is one method in a picture. Its numbers are M[t,j,l] of n generated tokens, m prompt tokens
// and the layers of the method.
type view struct {
	name   string
	result *attribution.Result
	wrong  string // why there is nothing to show, empty if there is
	// fixed is the index in result.Layers that highlights the prompt for every token, or
	// [attribution.ShownLevel] for that of each token.
	fixed int
	model trace.Info
	// generated says that generated tokens are shown as sources, of which row 0 has own; see
	// [attribution.Result.OwnSources].
	generated bool
	own       int
	sinks     []bool // [m]
	// rowSinks has, for each row, the source that is a sink of it alone, or -1, [n].
	rowSinks []int
	// contribution is how much of each row comes from the source of a model of two stacks, [n], nil
	// if that is not known; see [attribution.Explanation.SourceContribution].
	contribution []float64
	// links are the tokens of the source that generated tokens are linked with, [n], -1 for none;
	// nil where they are not drawn. See [attribution.Explanation.Links].
	links []int
	// silent says why row t is not coloured, "" if it is, [n].
	silent []string
	// standing has the rows that [drawing.standing] has worked out.
	standing map[int]standing
	top      scale   // of the highlighted level
	rows     []scale // [n], top with digits enough for each row
	colors   scale   // of the colours in HTML: top with a limit close to the largest value
	// difference says that the values are one side of a comparison minus the other.
	difference bool
	// layersOf returns the names of the layers of both sides for a token of the difference, if they
	// differ.
	layersOf func(t int) (a, b string, ok bool)
	// above says that a value shown is above the limit of colors.
	above bool
}

// picture computes what is shown. A nil explanation is one without tokens and methods. generated
// says whether generated tokens are shown as sources.
func (h Heatmap) picture(generated bool) *picture {
	p := &picture{
		e: h.Explanation, status: h.Status, comparison: h.comparison, look: h.Look, targetBegin: -1,
		aligned: h.Alignment,
	}
	if p.e == nil {
		p.e = &attribution.Explanation{}
	}
	p.words = wordsFor(p.e)
	if p.comparison != nil {
		p.words.title = p.comparison.title
		p.words.page += " A − B is what A has more than B. Where the texts differ, both tokens " +
			"are named: ⟨A│B⟩."
	}
	if h.Explanation == nil {
		return p
	}
	p.targetBegin = p.e.TargetBegin()
	for _, text := range p.e.Prompt.Texts {
		p.hidden = append(p.hidden, h.Filter.Hides(text))
	}
	for _, g := range p.e.Steps {
		p.hidden = append(p.hidden, h.Filter.Hides(g.Text))
	}
	for _, name := range h.methods() {
		p.views = append(p.views, p.view(name, h.Layer, generated))
	}
	if p.statesAlone() {
		p.words.title = "How alike the hidden states of tokens are"
	}
	if p.comparison != nil {
		p.views[compare.Difference].difference = true
		p.views[compare.Difference].layersOf = p.comparison.unlike
		p.shareScale()
		p.agree()
	}
	return p
}

// statesAlone reports whether all that is shown says how alike hidden states are.
func (p *picture) statesAlone() bool {
	for i := range p.views {
		if !p.views[i].alike() {
			return false
		}
	}
	return len(p.views) > 0
}

// view computes what is shown of one method. layer is the layer to highlight, if the method has it.
// generated says whether generated tokens are shown as sources.
func (p *picture) view(name string, layer *int, generated bool) view {
	v := view{
		name: name, result: p.e.Methods[name],
		model: p.e.Model,
	}
	r, m := v.result, len(p.e.Prompt.Texts)
	if r == nil {
		v.wrong = "not computed"
		return v
	}
	if v.wrong = misshapen(p.e, r); v.wrong != "" {
		return v
	}
	v.fixed = fixedLevel(r, layer)
	if v.fixed == attribution.ShownLevel && p.comparison == nil {
		v.links = p.e.Links(name)
		if !v.oneStack() {
			v.contribution = p.e.SourceContribution(name)
		}
	}
	v.sinks, v.rowSinks, v.silent = p.sinks(&v)
	if n := r.Shape[0]; generated && !p.e.Model.Reads() && n <= min(len(p.e.Steps), maxGenerated) {
		v.own = r.OwnSources()
		v.generated = n > 0 && v.own >= 0
	}
	// Sinks and hidden tokens are left out of the range: one sink of 90 % would make all others
	// pale.
	top := p.shownValues(&v)
	var others []float64
	for i, row := range r.Rows {
		t, k := i/r.Shape[2], i%r.Shape[2]
		for j, x := range row[:v.sources(t)] {
			if !p.grey(&v, t, j) && k != v.level(t) && j < m {
				others = append(others, x)
			}
		}
	}
	shown := cut(top, p.rowLimit(&v))
	v.top = newScale(r.Unit, r.Quantity, shown)
	if v.colors = v.top.tight(shown); len(top) == 0 {
		// No row is coloured, but other layers may be.
		v.colors = newScale(r.Unit, r.Quantity, others).tight(others)
	}
	for _, x := range top {
		v.above = v.above || !v.top.lift && math.Abs(x) > v.colors.limit*(1+slack)
	}
	for t := range r.Shape[0] {
		// The digits of a row are those that its largest value needs.
		v.rows = append(v.rows, v.top.upTo(v.largest(t, p.greySources(&v, t))))
	}
	for t, j := range v.links {
		if j >= 0 && !p.linked(&v, t, j) {
			v.links[t] = -1
		}
	}
	return v
}

// linked reports whether a line is drawn from row t to its [attribution.Link]: that has a colour,
// and a twelfth of the strongest source of the row, as in a running text.
func (p *picture) linked(v *view, t, link int) bool {
	strongest := 0.0
	for j := range v.sources(t) {
		if x := math.Abs(v.colors.at(v.at(t, j))); !p.grey(v, t, j) && x > strongest { // no NaN
			strongest = x
		}
	}
	place := v.colors.at(v.at(t, link))
	return v.silent[t] == "" && stepOf(place) > 0 && place >= strongest/12
}

// fixedLevel returns the level of the layer that was asked for, if the method has it, else
// [attribution.ShownLevel].
func fixedLevel(r *attribution.Result, layer *int) int {
	if layer != nil {
		if k := slices.Index(r.Layers, *layer); k >= 0 {
			return k
		}
	}
	return attribution.ShownLevel
}

// misshapen says how a result does not fit its explanation, "" if it does. An explanation may come
// from a file that somebody has edited, so this is checked once, and the rest relies on it.
func misshapen(e *attribution.Explanation, r *attribution.Result) string {
	if err := r.Check(len(e.Prompt.Texts)); err != nil {
		return "its " + err.Error()
	}
	return ""
}

// shownValues returns the values that the colours of a method's rows are scaled to: those at the
// level shown of all rows that are not silent, without sinks and hidden tokens.
func (p *picture) shownValues(v *view) (values []float64) {
	if v.wrong != "" {
		return nil
	}
	for t := range v.result.Shape[0] {
		for j := range v.sources(t) {
			if v.silent[t] == "" && !p.grey(v, t, j) {
				values = append(values, v.at(t, j))
			}
		}
	}
	return values
}

// maxGenerated is the largest number of generated tokens that are shown as sources.
const maxGenerated = 1024

// sources returns how many sources row t has: m prompt tokens and, if they are shown, the generated
// tokens before it. Source m+q is generated token q.
func (v *view) sources(t int) int {
	if v.generated && t < v.result.Shape[0] {
		return v.result.Shape[1] + t + v.own
	}
	return v.result.Shape[1]
}

// atLevel returns the value of one of these sources at level k.
func (v *view) atLevel(t, j, k int) float64 { return v.result.At(t, j, k) }

// grey reports whether a source is grey in row t of a method: a sink, a token that is filtered, or
// the row's own target, which would pale all others.
func (p *picture) grey(v *view, t, source int) bool {
	return v.sink(t, source) || p.hidden[source] || p.itself(t, source)
}

// greySources returns which sources of row t are grey.
func (p *picture) greySources(v *view, t int) []bool {
	grey := make([]bool, v.sources(t))
	for s := range grey {
		grey[s] = p.grey(v, t, s)
	}
	return grey
}

// sinks marks the sinks of a method at the highlighted level, [m], names the token that is a sink
// of one row alone, -1 if there is none, [n], and says which rows are silent, [n]. There are none
// if the explanation lacks the parts of generated tokens, or does not say which tokens are special.
// Whether a token is a sink depends on whole rows, with the part of generated tokens.
func (p *picture) sinks(v *view) (marks []bool, rows []int, silent []string) {
	r := v.result
	marks, silent = make([]bool, r.Shape[1]), make([]string, r.Shape[0])
	rows = slices.Repeat([]int{-1}, r.Shape[0])
	e, name, level := p.e, v.name, v.fixed
	if i := p.sideOf(v); i >= 0 {
		side := &p.comparison.Sides[i]
		e, name, level = side.Explanation, side.Method, side.Shown()
	}
	if !sinksKnown(e, name) {
		return marks, rows, silent
	}
	sinks, err := e.Sinks(name, level)
	if err != nil {
		return marks, rows, silent // the method and the level are there
	}
	for _, s := range sinks {
		marks[s.Position] = true
	}
	if own, err := e.RowSinks(name, level); err == nil {
		rows = own[:len(rows)]
	}
	if reasons, err := e.Silent(name, level); err == nil {
		silent = reasons[:len(silent)]
	}
	return marks, rows, silent
}

// sinksKnown reports whether an explanation has what sinks are judged by: the parts of generated
// tokens, and which tokens are special.
func sinksKnown(e *attribution.Explanation, method string) bool {
	r := e.Methods[method]
	return len(r.OtherMass) >= r.Shape[0]*r.Shape[2] &&
		len(e.Prompt.Special) >= r.Shape[1]
}

// silence returns the line that stands for row t of a method where it is silent, and what says
// more: the first other method that is not; "" if the row is coloured.
func (p *picture) silence(v *view, t int) string {
	if !v.has(t) || v.silent[t] == "" {
		return ""
	}
	more := ""
	for i := range p.views {
		if w := &p.views[i]; w.has(t) && w.silent[t] == "" && !w.alike() {
			more = Visible(w.name, nameLimit)
			break
		}
	}
	if more == "" && !v.result.Scorer && p.e.Model.Head == trace.NextToken && !p.e.Model.Reads() {
		more = "the method direct"
	}
	line := "not coloured: " + Visible(v.silent[t], 200)
	if more != "" {
		line += "; " + more + " says more"
	}
	return line
}

// has reports whether the view has values for generated token t.
func (v *view) has(t int) bool { return v.wrong == "" && t < v.result.Shape[0] }

// at returns the value of source j for generated token t at the highlighted level: M[t,j,l] of a
// prompt token, or that of generated token j-m.
func (v *view) at(t, j int) float64 { return v.atLevel(t, j, v.level(t)) }

// level returns the index in result.Layers of the values that are highlighted for token t.
func (v *view) level(t int) int {
	if v.fixed >= 0 {
		return v.fixed
	}
	return v.result.Level(t)
}

// layer names the layer that the highlighted values of token t belong to; for a scorer at the last
// layer, the whole model.
func (v *view) layer(t int) string {
	switch {
	case v.difference:
		if a, b, ok := v.layersOf(t); ok {
			return "A " + a + " − B " + b
		}
		return "row by row"
	case v.scorer() && !v.result.Early(t, v.level(t), v.model.Layers):
		return "whole model"
	}
	return v.result.LayerName(v.model, t, v.level(t))
}

// layers names the layers that the highlighted values of all tokens belong to.
func (v *view) layers() string {
	for t := range v.result.Shape[0] {
		if v.layer(t) != v.layer(0) && v.difference {
			return "row by row"
		}
		if v.layer(t) != v.layer(0) {
			return "for each token the layer that wrote it"
		}
	}
	return v.layer(0)
}

// title returns the title of the picture.
func (p *picture) title() string {
	s := p.words.title
	if note := p.note(); note != "" {
		s += " · " + note
	}
	return s
}

// note returns what every picture must show of the model: its own remark, and its edits.
func (p *picture) note() string {
	return strings.Join(nonEmpty(Visible(p.e.Model.Note, nameLimit),
		Visible(p.e.Edited, 4*nameLimit)), " · ")
}

// provenance returns the model's name, hash and backend, so that a reader can make the picture
// again. Twelve digits of the hash tell models apart.
func (p *picture) provenance() string {
	info := p.e.Model
	s := Visible(info.Name, 60)
	if info.Hash != "" {
		s += " " + Visible(info.Hash[:min(len(info.Hash), 12)], 12)
	}
	if info.Family != "" {
		s += " · " + Visible(info.Family, 20)
	}
	if size := modelSize(info); info.Family != "" && size != "" {
		s += ", " + size
	}
	if info.Backend != "" {
		s += " · backend " + Visible(info.Backend, 40)
	}
	return s
}

// modelSize returns the sizes of a model that are known: "6 layers × 8 heads × width 128". Of a
// model that recorded a file little is.
func modelSize(info trace.Info) string {
	var known []string
	if info.Layers > 0 {
		known = append(known, message.Count(info.Layers, "layer"))
	}
	if info.Heads > 0 {
		known = append(known, message.Count(info.Heads, "head"))
	}
	if info.Width > 0 {
		known = append(known, fmt.Sprintf("width %d", info.Width))
	}
	return strings.Join(known, " × ")
}

// options lists the settings of a method in the order of their names: "heads mean, residual 0.5".
// They are sorted, because a map has no order of its own.
func (v *view) options() string {
	var settings []string
	for name, value := range v.result.Options {
		settings = append(settings, Visible(name, 20)+" "+Visible(value, 60))
	}
	sort.Strings(settings)
	return strings.Join(settings, ", ")
}
