package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("figure")

// view has the values of one method that a figure shows. There are n generated tokens and m prompt
// tokens.
type view struct {
	e     *attribution.Explanation
	name  string
	r     *attribution.Result
	sinks []bool // [m]
	// texts are those of all tokens, [m+n], and hidden are the ones that a filter leaves out.
	texts  []string
	hidden []bool
	silent []string // [n], why a row says nothing
	// rowSinks has, for each row, the prompt token that is a sink of it alone, or -1, [n].
	rowSinks []int
	// diverging, percent and lift say how values are coloured and written.
	diverging, percent, lift bool
	limit                    float64 // the deepest colour, after transform
	notes                    []string
	generated                int // columns of generated tokens
}

// newView checks an explanation, which may come from a file that somebody has edited. Tokens that
// the filter hides are grey.
func newView(
	e *attribution.Explanation, method string, filter attribution.Filter,
) (*view, error) {
	if e == nil {
		return nil, pkg.Errorf("there is no explanation")
	}
	r, err := e.M(method)
	if err != nil {
		return nil, err
	}
	n, m := len(e.Steps), len(e.Prompt.Texts)
	if err := r.Check(m); err != nil || r.Shape[0] != n || len(e.Prompt.Special) != m {
		return nil, pkg.Errorf("the values of %q have shape %v, which does not fit %d "+
			"generated and %d prompt tokens", method, r.Shape, n, m)
	}
	if n == 0 || m == 0 {
		return nil, pkg.Errorf("the explanation has %d prompt and %d generated tokens; "+
			"there is nothing to draw", m, n)
	}
	v := &view{
		e: e, name: method, r: r, sinks: make([]bool, m), silent: make([]string, n),
		rowSinks: slices.Repeat([]int{-1}, n),
		percent:  r.Quantity == attribution.Share, lift: r.Quantity == attribution.Lift,
	}
	v.texts = slices.Clone(e.Prompt.Texts)
	for _, g := range e.Steps {
		v.texts = append(v.texts, g.Text)
	}
	for _, text := range v.texts {
		v.hidden = append(v.hidden, filter.Hides(text))
	}
	v.generated = v.generatedColumns()
	if len(r.OtherMass) >= len(r.Rows) {
		v.findSinks()
	}
	if filtered := v.filtered(); filtered != "" {
		v.notes = append(v.notes, filtered)
	}
	v.scale()
	return v, nil
}

// grey reports whether source j is grey: a sink or a token that is filtered.
func (v *view) grey(j int) bool { return j < len(v.sinks) && v.sinks[j] || v.hidden[j] }

// greyIn reports whether source j is grey in row t: everywhere, or without a colour of this row.
func (v *view) greyIn(t, j int) bool { return v.grey(j) || v.noColor(t, j) }

// noColor reports whether source j has no colour in row t, because it is a sink of this row or its
// target: it would pale all others.
func (v *view) noColor(t, j int) bool {
	return v.rowSinks[t] == j || j == len(v.sinks)+t && v.e.Steps[t].IDs != nil
}

// filtered says which tokens the filter leaves out, "" if none.
func (v *view) filtered() string {
	var names []string
	for j, text := range v.texts {
		text = "“" + name(text) + "”"
		if v.hidden[j] && !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	if names == nil {
		return ""
	}
	const most = 8
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "Grey, and left out of the colours by the filter: " + strings.Join(names, ", ") + "."
}

// findSinks marks sinks and silent rows, and notes both.
func (v *view) findSinks() {
	sinks, err := v.e.Sinks(v.name, attribution.ShownLevel)
	if err != nil {
		return
	}
	for _, s := range sinks {
		v.sinks[s.Position] = true
		low, high := slices.Min(s.Shares), slices.Max(s.Shares)
		v.notes = append(v.notes, fmt.Sprintf("Grey: the sink “%s”, %s of each row. Colours are "+
			"those of the other tokens.", name(s.Text), percentRange(low, high)))
	}
	if rows, err := v.e.RowSinks(v.name, attribution.ShownLevel); err == nil {
		v.rowSinks = rows
	}
	v.notes = append(v.notes, v.rowSinkNotes()...)
	if silent, err := v.e.Silent(v.name, attribution.ShownLevel); err == nil {
		v.silent = silent
	}
	for t, why := range v.silent {
		if why != "" {
			v.notes = append(v.notes, fmt.Sprintf("“%s” is not coloured: %s.",
				name(v.e.Steps[t].Text), why))
		}
	}
	if len(v.notes) > 4 {
		v.notes = append(v.notes[:4], fmt.Sprintf("%d more remarks are left out.",
			len(v.notes)-4))
	}
	if !v.percent || v.generated > 0 {
		return
	}
	most := 0.0
	for t := range v.e.Steps {
		most = max(most, v.r.OtherMass[t*v.r.Shape[2]+v.r.Level(t)])
	}
	if most >= 0.005 {
		v.notes = append(v.notes, fmt.Sprintf("What a row lacks to 100 %%, at most %.0f %%, rests "+
			"on generated tokens.", 100*most))
	}
}

// rowSinkNotes says which tokens are sinks of one row alone.
func (v *view) rowSinkNotes() (notes []string) {
	for t, j := range v.rowSinks {
		if j >= 0 {
			notes = append(notes, fmt.Sprintf("“%s” is a sink in the row of “%s”, with more than "+
				"half of it. Colours are those of the other tokens.", name(v.e.Prompt.Texts[j]),
				v.step(t)))
		}
	}
	return notes
}

// percentRange writes shares: "61 %" or "45 to 61 %".
func percentRange(low, high float64) string {
	a, b := fmt.Sprintf("%.0f", 100*low), fmt.Sprintf("%.0f", 100*high)
	if a == b {
		return a + " %"
	}
	return a + " to " + b + " %"
}

// scale finds the range of the colours over all levels shown, without sinks and silent rows.
func (v *view) scale() {
	largest := 0.0
	for t := range v.e.Steps {
		for j := range len(v.sinks) + v.generated {
			x := v.at(t, j, v.r.Level(t))
			if v.silent[t] == "" && !math.IsNaN(x) && !v.greyIn(t, j) {
				v.diverging = v.diverging || x < 0
				largest = max(largest, math.Abs(x))
			}
		}
	}
	v.diverging = v.diverging || v.lift
	v.limit = nice(largest)
}

// generatedColumns returns how many generated tokens have columns: all that are sources of others,
// 0 if the explanation does not have their values.
func (v *view) generatedColumns() int {
	if own := v.r.OwnSources(); own >= 0 {
		return len(v.e.Steps) - 1 + own
	}
	return 0
}

// at returns M[t,j,k] as it is coloured: a lift by its logarithm, and not at all, NaN, infinity and
// a generated token that is not before t.
func (v *view) at(t, j, k int) float64 {
	row := v.r.Row(t, k)
	if j >= len(row) {
		return math.NaN()
	}
	x := row[j]
	if v.lift {
		x = math.Log2(x)
	}
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

// nice returns the smallest of 1, 1.5, 2, 2.5, 3, 4, 5, 6 and 8 times a power of ten that is not
// below x, but for rounding of the last digits; 1 for 0. So at most a third of the colours stay
// unused.
func nice(x float64) float64 {
	if !(x > 1e-300) {
		return 1
	}
	x *= 1 - 1e-6
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, f := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if f*power >= x {
			return f * power
		}
	}
	return 10 * power
}

// color is the scale of the view.
func (v *view) color() chart.Scale {
	unit := v.r.Unit
	if v.lift {
		unit = "lift, log2 (0 = uniform attention)"
	}
	if v.diverging && v.r.Scorer {
		unit += ", + for the prediction and − against it"
	}
	return chart.Scale{
		Title: unit, Diverging: v.diverging, Percent: v.percent, Max: v.limit,
	}
}

// layer names the layer whose values a figure of token t shows.
func (v *view) layer(t int) string {
	switch {
	case v.r.Scorer && !v.r.Early(t, v.r.Level(t), v.e.Model.Layers):
		return "whole model"
	case t < len(v.e.Steps):
		return v.r.LayerName(t, v.r.Level(t))
	}
	return "one layer"
}

// layers names the layer of all tokens, "" if they differ.
func (v *view) layers() string {
	for t := range v.e.Steps {
		if v.layer(t) != v.layer(0) {
			return ""
		}
	}
	return v.layer(0)
}

// subtitle says what the values are of: layer, model, settings.
func (v *view) subtitle(layers string) string {
	if layers == "" {
		layers = "for each token the layer that wrote most of it"
	}
	parts := []string{layers, modelTitle(v.e)}
	if note := v.e.Model.Note; note != "" {
		parts = append(parts, note)
	}
	return strings.Join(parts, " · ")
}

// modelTitle returns the name of a model that its file gives it, else the one that the user gave.
func modelTitle(e *attribution.Explanation) string {
	return cmp.Or(e.Model.Title, modelName(e.Model.Name))
}

// modelName returns the name of a model without the folders of a path, which belong to one machine.
func modelName(name string) string {
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, ".") || strings.Contains(name, `\`) {
		parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
		if len(parts) > 0 {
			return parts[len(parts)-1]
		}
	}
	return name
}

// name returns a token as a label: visible, short, without the space before a word.
func name(text string) string {
	if len(text) > 1 && text[0] == ' ' && text[1] != ' ' {
		text = text[1:]
	}
	if runes := []rune(text); len(runes) > 24 {
		text = string(runes[:23]) + "…"
	}
	return render.Visible(text, 0)
}

// names returns the labels of the prompt tokens.
func (v *view) names() []string {
	var all []string
	for _, text := range v.e.Prompt.Texts {
		all = append(all, name(text))
	}
	return all
}

// step is the label of generated token t.
func (v *view) step(t int) string {
	s := v.e.Steps[t]
	if s.Position != nil && !s.Class {
		return fmt.Sprintf("%d: %s", *s.Position, name(s.Text))
	}
	return name(s.Text)
}

// axisNames are the titles of both axes.
func (v *view) axisNames() (prompt, generated string) {
	if v.e.Model.Reads() {
		return "token of the text", "prediction"
	}
	return "prompt token", "generated token"
}

// lastColumns says which columns are those of generated tokens.
func lastColumns(n int) string {
	if n == 1 {
		return ", then generated token (the last column)"
	}
	return fmt.Sprintf(", then generated token (the last %d columns)", n)
}

// matrix returns the values of all rows, with the layer beside each if they differ.
func (v *view) matrix() *chart.Matrix {
	m := &chart.Matrix{Columns: v.names()}
	one := v.layers()
	for t := range v.generated {
		m.Columns = append(m.Columns, v.step(t))
	}
	for j := range m.Columns {
		m.Muted = append(m.Muted, v.grey(j))
	}
	for t := range v.e.Steps {
		m.Rows = append(m.Rows, v.step(t))
		if one == "" {
			m.RowNotes = append(m.RowNotes, v.layer(t))
		}
		for j := range m.Columns {
			x := math.NaN()
			if v.silent[t] == "" && !v.noColor(t, j) {
				x = v.at(t, j, v.r.Level(t))
			}
			m.Data = append(m.Data, x)
		}
	}
	return m
}

// noted returns the drawing of a chart with notes below it.
func noted(c *chart.Chart, notes []string) (Drawing, error) {
	d, err := Chart(*c)
	if err != nil {
		return d, err
	}
	draw := d.draw
	d.draw = func(p *page, y float64) float64 { return p.notes(notes, draw(p, y)) }
	return d, nil
}

// notes draws remarks in small letters.
func (p *page) notes(notes []string, y float64) float64 {
	for _, n := range notes {
		y = p.paragraph(margin, y, p.width-2*margin, n, style{scale: 0.85, color: gray})
	}
	return y
}

// LayerMap returns M[t,:,:] of generated token t: a row for each layer, the last one at the top,
// and a column for each prompt token. Tokens that the filter hides are grey. LayerMap returns an
// error if the explanation does not have the method or the token, or if the method has one layer
// only.
func LayerMap(
	e *attribution.Explanation, method string, t int, filter attribution.Filter,
) (Drawing, error) {
	v, err := newLayerView(e, method, []int{t}, filter)
	if err != nil {
		return Drawing{}, err
	}
	prompt, _ := v.axisNames()
	return noted(&chart.Chart{
		Kind: chart.Heatmap, Title: fmt.Sprintf("%s of “%s”", method, v.step(t)),
		Subtitle: v.subtitle(v.allLayers()), Matrix: v.layerMatrix(t),
		X: chart.Axis{Title: prompt}, Y: chart.Axis{Title: v.layerAxis()}, Color: v.color(),
	}, v.greyNotes())
}

// newLayerView returns a view whose colours are scaled to all layers of some generated tokens.
func newLayerView(
	e *attribution.Explanation, method string, tokens []int, filter attribution.Filter,
) (*view, error) {
	v, err := newView(e, method, filter)
	if err != nil {
		return nil, err
	}
	if len(v.r.Layers) < 2 {
		return nil, pkg.Errorf("method %q has the values of one layer only, so there "+
			"is no map of layers; draw the matrix", method)
	}
	largest := 0.0
	for _, t := range tokens {
		if err := checkToken(e, t); err != nil {
			return nil, err
		}
		for j := range v.sinks {
			for k := range v.r.Layers {
				if x := v.at(t, j, k); !math.IsNaN(x) && !v.greyIn(t, j) {
					largest = max(largest, math.Abs(x))
					v.diverging = v.diverging || x < 0
				}
			}
		}
	}
	v.limit = nice(largest)
	return v, nil
}

// checkToken returns an error if there is no generated token t.
func checkToken(e *attribution.Explanation, t int) error {
	if t < 0 || t >= len(e.Steps) {
		return pkg.Errorf("token %d; the explanation has tokens 0 to %d", t,
			len(e.Steps)-1)
	}
	return nil
}

// allLayers names the layers of a map, and says what a row is of if that is not its layer alone.
func (v *view) allLayers() string {
	first, last := v.r.Layers[0], v.r.Layers[len(v.r.Layers)-1]
	switch {
	case v.r.Combined && v.r.Scorer:
		return fmt.Sprintf("sums of layers %d to the row's, up to layer %d", first, last)
	case v.r.Combined:
		return fmt.Sprintf("layers %d to the row's together, up to layer %d", first, last)
	}
	return fmt.Sprintf("layers %d to %d", first, last)
}

// layerAxis is the title of the axis of layers.
func (v *view) layerAxis() string {
	if v.r.Combined {
		return "up to layer"
	}
	return "layer"
}

// layerMatrix returns M[t,:,:], the last layer first.
func (v *view) layerMatrix(t int) *chart.Matrix {
	m := &chart.Matrix{Columns: v.names()}
	for j := range m.Columns {
		m.Muted = append(m.Muted, v.greyIn(t, j))
	}
	for k := len(v.r.Layers) - 1; k >= 0; k-- {
		m.Rows = append(m.Rows, fmt.Sprint(v.r.Layers[k]))
		for j := range m.Columns {
			m.Data = append(m.Data, v.at(t, j, k))
		}
	}
	return m
}

// greyNotes says which tokens of a map of layers are grey.
func (v *view) greyNotes() (notes []string) {
	var sinks []string
	for j, is := range v.sinks {
		if is {
			sinks = append(sinks, "“"+name(v.e.Prompt.Texts[j])+"”")
		}
	}
	if sinks != nil {
		notes = append(notes, "Grey: the sink "+strings.Join(sinks, ", ")+
			". Colours are those of the other tokens.")
	}
	notes = append(notes, v.rowSinkNotes()...)
	if filtered := v.filtered(); filtered != "" {
		notes = append(notes, filtered)
	}
	return notes
}
