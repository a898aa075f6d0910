package render

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/internal/message"
)

// Maps is a picture of what every token of a text (target) has from every token (source) by one
// method, for a notebook or a page: one layer as a matrix, and up to twelve layers as thumbnails,
// four beside each other where there is room. All have one scale. Where scripts run, a click on a
// thumbnail opens its layer, and any target can be chosen.
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
	// Palette is the name of the colours; see [Heatmap.Palette].
	Palette string
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

// mapThumbnails is how many layers have a thumbnail, and mapSide how large each is, in pixels.
const (
	mapThumbnails = 12
	mapSide       = 120
)

//go:embed layermaps.js
var mapsSource string

var mapsTouch = script(openedSource + mapsSource)

// mapsPage is the state of writing [Maps]. The map is in the place of attention, with one head.
type mapsPage struct {
	*headsPage
	layers *attribution.Result // without values: it names the layers
	method string
	levels []int // those that have a thumbnail, in order
	own    view  // with the scale
}

// open computes what a picture of maps shows.
func (r Maps) open() *mapsPage {
	m := r.Map
	data := make([]float32, len(m.Data))
	for i, x := range m.Data {
		data[i] = float32(x)
	}
	L, T := m.Shape[0], m.Shape[1]
	p := &mapsPage{
		headsPage: &headsPage{
			page: newPage(textPicture(r.Explanation, r.Palette), r.MaxBytes),
			attention: focus.Attention{
				Layers: L, Heads: 1, Tokens: T, Data: data,
				Bidirectional: r.Explanation.Model.Bidirectional,
			},
			L: L, H: 1, T: T, m: len(r.Explanation.Prompt.Texts), sinks: make([]bool, T),
		},
		layers: &attribution.Result{Options: m.Options, Facts: m.Facts, Layers: m.Layers},
		method: r.Method,
	}
	p.words.title = "Targets × sources: what every token has from every token"
	p.choose(nil)
	p.findPredictions()
	p.query = p.queryOf(p.chosen)
	p.layer = r.firstLevel(p.chosen)
	p.sinks = r.sinks(p)
	p.levels = levelsBeside(p.layer, L)
	var values []float64
	for _, l := range p.levels {
		for i := range T {
			for j := range p.seen(i) {
				if !p.sinks[j] {
					values = append(values, p.at(l, 0, i, j))
				}
			}
		}
	}
	p.own.top = newScale(m.Unit, m.Quantity, values)
	p.own.colors = p.own.top.tight(values)
	p.colors = p.own.colors
	return p
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
func (r Maps) sinks(p *mapsPage) []bool {
	if own := r.Explanation.Methods[r.Method]; own != nil && misshapen(r.Explanation, own) == "" {
		marks, _, _ := p.picture.sinks(&view{
			name: r.Method, result: own, fixed: fixedLevel(own, r.Layer),
		})
		return append(marks, make([]bool, p.T-len(marks))...)
	}
	if r.Map.Quantity == attribution.Share {
		return p.findSinks()
	}
	return make([]bool, p.T)
}

// OpenedMaps is what a picture of maps shows of them.
type OpenedMaps struct {
	// Levels are up to twelve levels of the map, rising, and Open is the one that is open.
	Levels []int
	Open   int
	// Names are those of all levels of the map, [L]: "layer 3", "up to layer 3".
	Names []string
	// Sinks are the tokens that are grey, [T].
	Sinks []bool
	// Limit is the value with the deepest colour, of lifts its logarithm to base 2. Diverging says
	// that values below 0 have colours of their own.
	Limit     float64
	Diverging bool
}

// Opened returns what the picture shows, or the error of [Maps.Check].
func (r Maps) Opened() (o OpenedMaps, err error) {
	if err := r.Check(); err != nil {
		return o, err
	}
	p := r.open()
	o = OpenedMaps{
		Levels: p.levels, Open: p.layer, Sinks: p.sinks, Limit: p.own.linear(p.colors.limit),
		Diverging: p.colors.signed || p.colors.lift,
	}
	for level := range p.L {
		o.Names = append(o.Names, p.layers.LayerName(0, level))
	}
	return o, nil
}

// levelsBeside returns up to twelve of L levels at even distances, the first and the last among
// them, and the open one in the place of the nearest.
func levelsBeside(open, L int) []int {
	n := min(L, mapThumbnails)
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

// markup implements [View].
func (r Maps) markup(room int) (*page, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	r.MaxBytes = limitOf(r.MaxBytes, room)
	p := r.open()
	p.write()
	return p.page, nil
}

func (r Maps) title() string { return titleOf(r.Explanation) }

// write writes the parts from top to bottom. The numbers of the script take what is left.
func (p *mapsPage) write() {
	text := p.part((*page).head) + p.part(func(b *page) {
		p.tokens(b)
		b.printf(`<div class="hw-s" style="margin:4px 0 8px 0">%s</div>`, p.sentence())
	})
	rest := p.part(p.openMap) + p.part(p.thumbnails) + p.part(p.legend)
	data := p.data(p.limit - len(text) - len(rest) - len(mapsTouch()) - len(styleSheet) - 1000)
	if data == "" {
		text += p.part(func(b *page) { b.withoutRoom(noClicks) })
	}
	p.frame(class+" hw-maps", text+rest, data, mapsTouch())
}

// name names the method and the layers that a level is about.
func (p *mapsPage) name(level int) string {
	return Visible(p.method, nameLimit) + ", " + p.layers.LayerName(0, level)
}

// sentence says, as HTML, what the target has from which sources in the open layer.
func (p *mapsPage) sentence() string {
	return fmt.Sprintf("<b>%s</b>%s · %s: %s", html.EscapeString(p.placedName(p.query)),
		html.EscapeString(p.predicted(p.query)), html.EscapeString(p.name(p.layer)),
		html.EscapeString(p.strongest(p.query)))
}

// strongest lists the strongest sources of a target in the open layer.
func (p *mapsPage) strongest(i int) string {
	var row []int
	for j := range p.seen(i) {
		if paint := p.paint(p.layer, 0, i, j); paint != 0 && paint != sinkPaint &&
			paint != nanPaint {
			row = append(row, j)
		}
	}
	size := func(j int) float64 { return math.Abs(p.own.linear(p.at(p.layer, 0, i, j))) }
	slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	var names []string
	for _, j := range row[:min(len(row), named)] {
		names = append(names, p.placedName(j)+" "+p.own.top.value(p.at(p.layer, 0, i, j)))
	}
	return cmp.Or(strings.Join(names, ", "), "nothing stands out")
}

// openMap writes the open layer: a table with numbers, or an image of a long text.
func (p *mapsPage) openMap(b *page) {
	b.printf(`<div style="margin:8px 0 2px 0;font-size:13px"><b class="hw-n">%s</b> `+
		`<span style="%s">· %s; a line for each target, a column for each source</span>`,
		html.EscapeString(p.name(p.layer)), small, escape(p.own.top.unit, 2*nameLimit))
	b.scaleOf(p.colors, false)
	if times := p.own.top.times(); times != "" {
		b.printf(` <span style="%s">numbers %s</span>`, small, times)
	}
	b.WriteString("</div>")
	if p.T > cellColumns {
		b.openImage(p.name(p.layer)+", targets × sources", p.grid(p.layer, p.T))
		return
	}
	b.WriteString(`<div style="overflow-x:auto;overflow-y:hidden"><table class="hw-m" ` +
		`style="border-collapse:collapse;font-size:11px;margin:0"><tr class="hw-c" ` +
		`style="background:none"><td></td>`)
	for j := range p.T {
		b.printf("<th>%s</th>", html.EscapeString(b.axisName(j)))
	}
	b.WriteString("</tr>")
	for i := range p.T {
		b.printf(`<tr class="hw-r" style="background:none"><th style="text-align:left">%s</th>`,
			b.marked(html.EscapeString(b.axisName(i)), i == p.query))
		for j := range p.T {
			b.cell(p.paint(p.layer, 0, i, j), p.own.cellNumber(p.at(p.layer, 0, i, j)))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table></div>")
}

// grid returns the paints of a layer in side × side cells. A cell of several tokens has the deepest
// of their colours.
func (p *mapsPage) grid(level, side int) grid {
	g := make(grid, side)
	for y := range g {
		g[y] = make([]int, side)
	}
	depth := func(paint int) int {
		if paint == sinkPaint {
			return 0 // below any colour, above none
		}
		return max(paint, -paint)
	}
	for i := range p.T {
		for j := range p.seen(i) {
			at, paint := &g[i*side/p.T][j*side/p.T], p.paint(level, 0, i, j)
			if *at == 0 || paint != 0 && depth(paint) > depth(*at) {
				*at = paint
			}
		}
	}
	return g
}

// thumbnails writes the layers of the grid, the first one at the top left.
func (p *mapsPage) thumbnails(b *page) {
	b.printf(`<div style="%s">%d of %s of the map, the first one at the top left; in each: lines `+
		`are targets and columns sources, from the first token on.</div><div style="max-width:`+
		`%dpx">`, small, len(p.levels), message.Count(p.L, "layer"), 4*(mapSide+12))
	side := min(p.T, mapSide)
	cell := max(mapSide/side, 1)
	for _, l := range p.levels {
		b.printf(`<div class="hw-g" style="display:inline-block;vertical-align:top;margin:0 8px `+
			`8px 0;font-size:12px"><div>%s</div>`, b.marked(p.layers.LayerName(0, l), l == p.layer))
		b.image("hw-i", p.name(l)+", targets × sources", p.grid(l, side), cell, cell, "")
		b.WriteString("</div>")
	}
	b.WriteString("</div>")
}

// legend writes how to read the picture.
func (p *mapsPage) legend(b *page) {
	grey := ""
	for j, is := range p.sinks {
		if is {
			grey += " Grey: " + p.placedName(j) + ", a sink, which has more than 30 % of most rows."
		}
	}
	var settings []string
	for name, value := range p.layers.Options {
		settings = append(settings, Visible(name, 20)+" "+Visible(value, 60))
	}
	slices.Sort(settings)
	b.printf(`<details class="hw-k" style="%s;font-size:12px"><summary style="cursor:pointer">How `+
		`to read this, settings, model</summary><div>Each line is what one token (target) has `+
		`from every token (source) after that layer, or, with methods of one layer, in it. All `+
		`maps have one scale. In a decoder the row of a token is that from which the next token `+
		`is predicted.%s</div>`, line, html.EscapeString(grey))
	if settings != nil {
		b.printf("<div>%s</div>", html.EscapeString(strings.Join(settings, ", ")))
	}
	b.model()
	b.WriteString("</details>")
}

// mapsData is what the script needs beyond the elements of the picture.
type mapsData struct {
	// ID, PromptTokens, Palette, Percent and Lift are as in scriptData and scriptView.
	ID           string `json:"id"`
	PromptTokens int    `json:"promptTokens"`
	Palette      int    `json:"palette,omitempty"`
	Percent      bool   `json:"percent,omitempty"`
	Lift         bool   `json:"lift,omitempty"`
	// Tokens is the number of tokens; Query is the target and Open the thumbnail that are shown at
	// first. Both says that tokens have something from those after them.
	Tokens int  `json:"tokens"`
	Query  int  `json:"query"`
	Open   int  `json:"open"`
	Both   bool `json:"both,omitempty"`
	// Layers are the layers of the thumbnails; Combined says that they are about all up to them.
	Layers   []int `json:"layers"`
	Combined bool  `json:"combined,omitempty"`
	Sinks    []int `json:"sinks,omitempty"`
	// Limit is that of the colours, of lifts its logarithm. Digits and Power are those of numbers
	// in cells.
	Limit  float64 `json:"limit"`
	Digits int     `json:"digits"`
	Power  int     `json:"power,omitempty"`
	// Predicted has for each token the one that is predicted there, -1 if none.
	Predicted []int `json:"predicted"`
	// Rows has the rows of each thumbnail, [layers][Tokens], each with as many values as its target
	// has sources.
	Rows [][]packedRow `json:"rows"`
}

// data returns the attribute for the script, "" if there is no room.
func (p *mapsPage) data(left int) string {
	d := mapsData{
		ID: p.id() + "m", PromptTokens: p.m, Palette: p.palette.number(),
		Percent: p.own.top.percent, Lift: p.own.top.lift, Tokens: p.T, Query: p.query,
		Open: slices.Index(p.levels, p.layer), Both: p.e.Model.Bidirectional,
		Combined: p.layers.Combined, Limit: p.own.linear(p.colors.limit),
		Digits: p.own.cellDigits(), Power: p.own.top.power,
	}
	for _, l := range p.levels {
		var rows []packedRow
		for i := range p.T {
			var values []float64
			for j := range p.seen(i) {
				values = append(values, p.own.linear(p.at(l, 0, i, j)))
			}
			same := func(j int, near float64) bool {
				return p.own.sameDigits(values[j], near) && p.colors.step(p.at(l, 0, i, j)) ==
					p.colors.step(p.own.unlinear(near))
			}
			rows = append(rows, packRow(values, exactParts, math.Inf(1), same))
		}
		d.Layers, d.Rows = append(d.Layers, p.layers.Layers[l]), append(d.Rows, rows)
	}
	for j, is := range p.sinks {
		if is {
			d.Sinks = append(d.Sinks, j)
		}
	}
	for range p.T {
		d.Predicted = append(d.Predicted, -1)
	}
	for t := range p.e.Steps {
		if !d.Both && p.has(t) {
			d.Predicted[p.queryOf(t)] = t
		}
	}
	return packWithin(left, d)
}

// plain implements [View].
func (r Maps) plain(look Terminal) (*text, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	t := newText(Terminal{Width: look.Width})
	p := r.open()
	t.picture = p.picture
	t.head()
	t.line("")
	t.wrapped("", p.name(p.layer)+", "+Visible(p.own.top.unit, 2*nameLimit))
	for i := range p.T {
		t.wrapped("  ", p.placedName(i)+" ← "+p.strongest(i))
	}
	t.line("")
	t.wrapped("", "Each line: a target, ← and the sources that stand out in its row, the "+
		"strongest first. Sinks are left out.")
	t.model()
	return t, nil
}
