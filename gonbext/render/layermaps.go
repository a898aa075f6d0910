package render

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

func init() {
	v := View{
		Name: KindMaps, Help: "what every token has from every token in up to 12 layers",
		Takes:  map[string]Media{"layer": InAll, "methods": InAll, "lift": InAll},
		Method: "value-zeroing", Methods: 1, Whole: "maps show every token", Record: mapRecord,
		Chosen: Show.mapMethod,
		Options: func(s Show, o *attribution.Options) error {
			var names []string
			for _, name := range o.Methods {
				all, err := attribution.LookupMethods(name)
				if err != nil {
					return err
				}
				for _, m := range all {
					names = append(names, m.Name)
				}
			}
			_, err := s.mapMethod(names)
			return err
		},
		Picture: func(s Show, e *attribution.Explanation, recorded any) (Picture, error) {
			method, err := s.mapMethod(e.Order)
			if s.Method != "" {
				method, err = s.Method, nil // that the map is of
			}
			return Maps{
				Explanation: e, Method: method, Map: recorded.(*attribution.Map), Layer: s.Layer,
				One: s.Kind == KindMap, Look: s.Look(),
			}, err
		},
	}
	RegisterView(v)
	v.Name, v.Part, v.Help = KindMap, KindMaps, "one of these"
	RegisterView(v)
}

// mapRecord is what every token of the prompt and the answer has from every token by the method
// shown, an [attribution.Map].
var mapRecord = &Record{
	Name:    "map",
	Needed:  "maps need what every token has from every token",
	Missing: "compute it with attribution.MapOf",
	Check:   checkHeads,
	Of: func(ctx context.Context, m trace.Tracer, s Show, e *attribution.Explanation,
		opts attribution.Options,
	) (any, error) {
		method, err := s.mapMethod(e.Order)
		if err != nil {
			return nil, err
		}
		return attribution.MapOf(ctx, m, e.TokenIDs(), method, opts)
	},
	Numbers: func(recorded any) []float64 { return recorded.(*attribution.Map).Data },
}

// mapMethod returns the method whose maps a picture shows: Method, or the first of names that has
// maps. It returns a [trace.UsageError] if that one has none, or none of them has.
func (s Show) mapMethod(names []string) (string, error) {
	if s.Method != "" {
		names = []string{s.Method}
	}
	var wrong error
	for _, name := range names {
		_, err := attribution.MapTap(name)
		if err == nil {
			return name, nil
		}
		wrong = cmp.Or(wrong, err)
	}
	return "", cmp.Or(wrong, trace.Usagef("there is no method to show maps of"))
}

// Maps is a picture of what every token of a text (target) has from every token (source) by one
// method, for a notebook or a page: one layer as a matrix with the columns of a [Heatmap] and a row
// for each, and up to twelve layers small, layer 0 at the bottom. All have one scale. Where scripts
// run, a click on a small one opens its layer, and any target or source can be chosen.
type Maps struct {
	// Explanation has the text: m prompt tokens and n generated tokens; T = m + n. An encoder
	// generates nothing, so T = m. The last generated token may be missing, as in [Heads].
	Explanation *attribution.Explanation
	// Map has the rows of all targets, [L,T,T], as [attribution.Attribute] returns them, and
	// Method is the name of their method.
	Map    *attribution.Map
	Method string
	// Layer is the layer that is open, 0-based; nil is the one that pictures of the chosen token
	// show if the explanation has the method, else the last one of the map.
	Layer *int
	// One draws in a figure the open layer alone, with the names of its tokens.
	One bool
	// Look has the colours and the caption, as that of a [Heatmap].
	Look
	// MaxBytes is the approximate limit of the result in bytes; default 480,000, of a page
	// 5,000,000. If the numbers of the layers would be larger, nothing can be chosen, which a
	// sentence says.
	MaxBytes int
}

// Check returns a [trace.UsageError] if the map does not fit the text, or lacks the layer.
func (r Maps) Check() error {
	if r.Explanation == nil || r.Map == nil {
		return usagef("a picture of maps needs an explanation and a map")
	}
	T, m := textLength(r.Explanation), r.Map
	if !r.Explanation.Model.Reads() && len(r.Explanation.Steps) > 0 && m.Shape[1] == T-1 {
		T--
	}
	if T == 0 || len(m.Layers) == 0 || m.Shape != [3]int{len(m.Layers), T, T} ||
		len(m.Data) != len(m.Layers)*T*T {
		return usagef("a map of shape %v with %d values and %d layers does not fit a text of %d "+
			"tokens; it needs [layers %d %d]", m.Shape, len(m.Data), len(m.Layers), T, T, T)
	}
	if r.Layer != nil && !slices.Contains(m.Layers, *r.Layer) {
		return usagef("layer %d; the map of %s has layers %d to %d", *r.Layer,
			message.Quote(r.Method), m.Layers[0], m.Layers[len(m.Layers)-1])
	}
	return nil
}

// mostMaps is how many layers are shown.
const mostMaps = 12

var mapsKind = panelKind{
	kind: KindMaps, title: "Every token from every token", small: "All layers shown",
	lines: "every target in a line", targets: true,
	legend: "Each line is what one token (target) has from every token (source) after that layer " +
		"or, with methods of one layer, in it. All maps have one scale. In a decoder the row of " +
		"a token is that from which the next token is predicted",
}

// mapPanels are the panels of [Maps].
type mapPanels struct {
	*panels
	levels []int // those shown, in order
	level  int   // the one that is open
	grey   []bool
}

// named returns what names the layers of the map.
func (r Maps) named() *attribution.Result {
	return &attribution.Result{Options: r.Map.Options, Facts: r.Map.Facts, Layers: r.Map.Layers}
}

// seen returns how many sources target i has.
func (r Maps) seen(i int) int {
	return r.Explanation.Seen(i, r.Map.Shape[1])
}

// predictedAt returns the token from which prediction t is made: for a decoder the one before it.
func (r Maps) predictedAt(t int) int {
	last := r.Map.Shape[1] - 1
	if t < 0 {
		return last
	}
	if r.Explanation.Model.Reads() {
		if at := r.Explanation.Steps[t].Position; at != nil && *at >= 0 && *at <= last {
			return *at
		}
		return last
	}
	return min(max(len(r.Explanation.Prompt.Texts)+t-1, 0), last)
}

// panels computes what a picture of maps shows. The map fits.
func (r Maps) panels() *mapPanels {
	d := newDrawing(textPicture(r.Explanation, r.Look), nil)
	d.words.title = "Targets × sources: what every token has from every token"
	L, T := r.Map.Shape[0], r.Map.Shape[1]
	p := &mapPanels{panels: &panels{drawing: d, panelKind: mapsKind}, level: r.firstLevel(d.chosen)}
	p.grey, p.levels = r.sinks(d.picture), levelsBeside(p.level, L)
	each := func(f func(i, j int, x float64)) {
		for _, l := range p.levels {
			for i := range T {
				for j, x := range r.Map.Row(l, i)[:r.seen(i)] {
					if !p.grey[j] {
						f(i, j, x)
					}
				}
			}
		}
	}
	var values []float64
	each(func(_, _ int, x float64) { values = append(values, x) })
	m := panelMethod{where: d.layerWord(1), open: slices.Index(p.levels, p.level)}
	if r.Map.Combined {
		m.where = "up to " + d.layerWord(1)
	}
	m.scale(&view{name: r.Method, result: &attribution.Result{
		Unit: r.Map.Unit, Options: r.Map.Options, Facts: r.Map.Facts,
	}}, values)
	places := make([]float64, T)
	each(func(i, j int, x float64) {
		if place := math.Abs(m.colors.at(x)); i != j && place > places[j] {
			places[j] = place
		}
	})
	d.columns = d.fold(places)
	query := r.predictedAt(d.chosen)
	row := slices.IndexFunc(d.columns, func(c TextColumn) bool {
		return c.From <= query && query < c.To
	})
	for _, c := range d.columns {
		m.rows = append(m.rows, d.columnName(c))
	}
	for _, l := range p.levels {
		m.list = append(m.list, r.ofLayer(p, &m, l, row))
	}
	if r.Layer == nil {
		p.openOne(&m, row)
	}
	p.methods = []panelMethod{m}
	p.ownSentence(r, row)
	return p
}

// openOne opens the layer in which most stands out for the framed target, if nothing does in the
// one that is open.
func (p *mapPanels) openOne(m *panelMethod, row int) {
	if len(m.ranked(&m.list[m.open], row)) > 0 {
		return
	}
	largest := 0.0
	for i := range m.list {
		one := &m.list[i]
		for _, c := range m.ranked(one, row) {
			if place := m.place(one, row, c); c != row && place > largest {
				largest, m.open, p.level = place, i, p.levels[i]
			}
		}
	}
}

// ofLayer returns the matrix of a level. The row of folded targets has the strongest of their
// values.
func (r Maps) ofLayer(p *mapPanels, m *panelMethod, level, row int) panel {
	one := panel{name: r.Explanation.Model.LayerLabel(r.Map.Layers[level]), token: -1, row: row}
	grey := func(j int) bool { return p.grey[j] }
	for _, c := range p.columns {
		_, ok := m.cell(c, c.To, func(int) float64 { return 0 }, grey)
		one.grey = append(one.grey, !ok)
	}
	for _, target := range p.columns {
		var cells []panelCell
		for _, c := range p.columns {
			if c.From >= r.seen(target.To-1) {
				break
			}
			best, found := panelCell{}, false
			for i := target.From; i < target.To; i++ {
				if c.From >= r.seen(i) {
					continue
				}
				values := r.Map.Row(level, i)
				cell, _ := m.cell(c, r.seen(i), func(j int) float64 { return values[j] }, grey)
				if !found || math.Abs(m.colors.at(cell.value)) > math.Abs(m.colors.at(best.value)) {
					cell.target = i
					best, found = cell, true
				}
			}
			cells = append(cells, best)
		}
		one.cells = append(one.cells, cells)
	}
	return one
}

// ownSentence says of each matrix what the framed target has from which sources.
func (p *mapPanels) ownSentence(r Maps, row int) {
	m := &p.methods[0]
	me := p.columns[row].From
	if query := r.predictedAt(p.chosen); !p.columns[row].Folded {
		me = query
	}
	for i := range m.list {
		one := &m.list[i]
		ranked := m.ranked(one, row)
		var tokens []int
		for _, c := range ranked[:min(len(ranked), mostFor)] {
			tokens = append(tokens, one.cells[row][c].token)
		}
		if len(ranked) == 0 {
			one.say.Say("Nothing stands out for ")
			one.say = append(one.say, p.wordOf(me)...)
		} else {
			one.say = append(one.say, p.wordOf(me)...)
			one.say.Say(" has most from ")
			one.say.join(p.called(len(p.tokens), tokens[:min(len(tokens), mostNamed)]...))
		}
		for n, name := range p.called(len(p.tokens), tokens...) {
			if n > 0 {
				one.facts.Say(", ")
			}
			one.facts = append(one.facts, name...)
			one.facts.Say(" " + minus(m.top.value(one.cells[row][ranked[n]].value)))
		}
		if len(ranked) > 0 {
			one.facts.Say(" · ")
		}
		one.facts.Say(m.where + one.name + " · " + m.unit)
		if t := p.chosen; t >= 0 && !p.e.Model.Reads() {
			one.facts.Say(" · from there ")
			one.facts = append(append(one.facts, p.wordOf(len(p.e.Prompt.Texts)+t)...),
				piece{text: " is predicted"})
		}
	}
}

// firstLevel returns the level that is open at first: that of Layer, else the layer that a picture
// of generated token t shows, else the last one.
func (r Maps) firstLevel(t int) int {
	layer := attribution.LayerByToken
	if own := r.Explanation.Methods[r.Method]; r.Layer != nil {
		layer = *r.Layer
	} else if own != nil {
		layer = own.Layer(t, own.Level(t))
	}
	if k := slices.Index(r.Map.Layers, layer); k >= 0 {
		return k
	}
	return len(r.Map.Layers) - 1
}

// sinks returns the tokens that are grey, [T]: those of a heatmap of the method. If the explanation
// has no values of the method, they are those that have much of all rows.
func (r Maps) sinks(p *picture) []bool {
	T := r.Map.Shape[1]
	if own := r.Explanation.Methods[r.Method]; own != nil && misshapen(r.Explanation, own) == "" {
		marks, _, _ := p.sinks(&view{
			name: r.Method, result: own, fixed: fixedLevel(own, r.Layer),
		})
		return append(marks, make([]bool, T-len(marks))...)
	}
	if r.Map.Quantity != attribution.Share {
		return make([]bool, T)
	}
	return r.Explanation.TextSinks(T, func(i, j int) (part, whole float64) {
		for l := range r.Map.Layers {
			part += r.Map.Row(l, i)[j]
		}
		return part, float64(len(r.Map.Layers))
	})
}

// levelsBeside returns up to twelve of L levels at even distances, the first and the last among
// them, and the open one in the place of the nearest.
func levelsBeside(open, L int) []int {
	n := min(L, mostMaps)
	levels := make([]int, n)
	nearest := 0
	for i := range levels {
		levels[i] = (i*(L-1) + (n-1)/2) / max(n-1, 1)
		if math.Abs(float64(levels[i]-open)) < math.Abs(float64(levels[nearest]-open)) {
			nearest = i
		}
	}
	levels[nearest] = open
	return levels
}

func (r Maps) draw() drawer {
	p := r.panels()
	b := p.board(r.MaxBytes)
	b.figured = func(string) (Figure, error) { return r.figure(p), nil }
	return b
}

// figure works out the layers that the picture shows, or the open one alone.
func (r Maps) figure(p *mapPanels) Figure {
	m := &p.methods[0]
	list, levels := m.list, p.levels
	if r.One {
		list, levels = list[m.open:m.open+1], levels[m.open:m.open+1]
	}
	f := p.figureOf(m, &view{name: r.Method, result: r.named()}, list)
	f.Title, f.Target, f.Source = r.Method, "target", "source"
	f.Notes = greyNotes(p.drawing, p.grey, "most rows")
	for i, level := range levels {
		f.Panels[i].Name = r.named().LayerName(r.Explanation.Model, 0, level)
		for k := range f.Panels[i].Rows { // the targets are the tokens of the columns
			f.Panels[i].Rows[k].Name = f.Columns[k].Name
		}
	}
	if f.Caption = p.captioned(); r.One {
		f.Title += ", " + f.Panels[0].Name
		f.Panels[0].Name = ""
		return Figure{Matrix: &f}
	}
	layers := message.Count(len(r.Map.Layers), "layer")
	if len(levels) < len(r.Map.Layers) {
		layers = fmt.Sprintf("%d of %s", len(levels), layers)
	}
	f.Caption = p.captioned(layers + ": rows are targets, columns sources, from the first token on")
	return Figure{Squares: &f}
}

// greyNotes names the tokens that are grey, because they have more than 30 % of what they are sinks
// of.
func greyNotes(d *drawing, sinks []bool, of string) []string {
	var names []string
	for j, is := range sinks {
		if is {
			names = append(names, "“"+plain(d.axisName(j))+"”")
		}
	}
	if names == nil {
		return nil
	}
	return []string{"Grey: " + strings.Join(names, ", ") + ", a sink, which has more than 30 % " +
		"of " + of + "."}
}
