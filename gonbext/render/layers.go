package render

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Layers is a picture of M[t,:,:] of several generated tokens t side by side, for a notebook or a
// page: for each of them and each method, a line for every layer, the last one on top, and a column
// for every prompt token and, where the explanation has them, for the generated tokens before it.
// Colours of a method are on one scale, which is that of all values shown. Methods that have one
// layer alone are left out. Methods of one layer have all of them with
// [attribution.Options.AllLayers].
type Layers struct {
	Heatmap
	// Tokens are the generated tokens, 0-based; default: the first 6 words or pieces of words;
	// see [Show.Opened].
	Tokens []int
}

// panels is how many tokens are shown if none are chosen.
const panels = 6

// panelLine is the height of a layer in the image of a panel, and panelLabel every how many layers
// have a number beside it.
const (
	panelLine  = 8
	panelLabel = 5
)

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
	if len(r.open(true).shown) == 0 && len(e.Steps) > 0 {
		return usagef("there are no values of several layers of %s; explain with %s, or for "+
			"flow %s, of the options", message.List(r.methods()),
			trace.Called("all layers", "AllLayers"), trace.Called("all levels", "AllLevels"))
	}
	return nil
}

//go:embed layers.js
var layersSource string

var layersTouch = script(layersSource)

// layersPage is the state of writing [Layers].
type layersPage struct {
	*page
	tokens []int // generated tokens shown
	shown  []int // indices of the views that have several layers
	drawn  []panelOf
}

// panelOf is the panel of a view and a generated token.
type panelOf struct{ view, token int }

// open computes what a picture of layers shows. quick leaves out the scales.
func (r Layers) open(quick bool) *layersPage {
	p := &layersPage{page: newPage(r.picture(true), r.MaxBytes), tokens: r.Tokens}
	p.words.title = "Layer by layer: where tokens come from"
	if p.statesAlone() {
		p.words.title = "Layer by layer: how alike the hidden states of tokens are"
	}
	p.words.lines = "A line for each layer, the last one on top, and a column for each prompt " +
		"token: how much the token above has from there after that layer, or, with methods of " +
		"one layer, in it. All panels of a method have one scale. Sinks and filtered tokens " +
		"are grey."
	if p.e.Model.Reads() {
		p.words.lines = strings.Replace(p.words.lines, "prompt token", "token", 1)
	}
	generated := false
	for i := range p.views {
		if v := &p.views[i]; v.wrong == "" && v.result.Shape[2] > 1 {
			p.shown = append(p.shown, i)
			generated = generated || v.generated
		}
	}
	if generated {
		p.words.lines = strings.Replace(p.words.lines, "prompt token:", "prompt token, and after "+
			"a line for each generated token before it:", 1)
	}
	if p.tokens == nil {
		p.tokens = firstWords(p.e)
	}
	p.choose(r.Token)
	for _, i := range p.shown {
		if !quick {
			p.rescale(&p.views[i])
		}
	}
	return p
}

// rescale scales the colours of a method to all values that the panels show.
func (p *layersPage) rescale(v *view) {
	var values []float64
	for _, t := range p.tokens {
		if !v.has(t) {
			continue
		}
		for j := range v.sources(t) {
			for k := 0; !p.grey(v, t, j) && k < v.result.Shape[2]; k++ {
				values = append(values, v.atLevel(t, j, k))
			}
		}
	}
	v.top = newScale(v.result.Unit, v.result.Quantity, values)
	v.colors, v.beyond = v.top.tight(values), false
	for _, x := range values {
		v.beyond = v.beyond || !v.top.lift && math.Abs(x) > v.colors.limit*(1+slack)
	}
}

// markup implements [View].
func (r Layers) markup(room int) (*page, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	r.MaxBytes = limitOf(r.MaxBytes, room)
	p := r.open(false)
	p.write()
	return p.page, nil
}

func (r Layers) title() string { return titleOf(r.Explanation) }

// write writes the parts from top to bottom. Panels that do not fit are named.
func (p *layersPage) write() {
	head, legend := p.part((*page).head), p.part((*page).legend)
	text := p.part(p.plain)
	left := p.limit - len(head) - len(text) - len(legend) - len(layersTouch()) - len(styleSheet) -
		1000
	var parts strings.Builder
	for _, i := range p.shown {
		first := true
		for _, t := range p.tokens {
			one := p.part(func(b *page) { p.panel(b, &b.views[i], t, first) })
			if len(one) > left {
				one = p.part(func(b *page) {
					name := html.EscapeString(p.rowName(t))
					b.leftOut(fmt.Sprintf("The layers of “%s” are", name))
				})
			} else {
				p.drawn, first = append(p.drawn, panelOf{i, t}), false
			}
			left -= len(one)
			parts.WriteString(one)
		}
	}
	data := p.numbers(left)
	if data == "" {
		text += p.part(func(b *page) { b.withoutRoom(noClicks) })
	}
	p.frame(class+" hw-layers", head+text+parts.String()+legend, data, layersTouch())
}

// plain writes the text without colours; the tokens shown are framed.
func (p *layersPage) plain(b *page) {
	b.WriteString(b.beginText())
	for j, text := range b.e.Prompt.Texts {
		if j > 0 && b.spaced(j) {
			b.WriteByte(' ')
		}
		b.token("span", b.fullName(j), "", "", false)
		b.lineBreak(text)
	}
	for t, g := range b.e.Steps {
		if b.e.Model.Reads() {
			break
		}
		if begins, _ := word(g.Text); begins {
			b.WriteByte(' ')
		}
		b.token("u", textName(g.Text), "", "", slices.Contains(p.tokens, t))
		b.lineBreak(g.Text)
	}
	b.WriteString("</div>")
	if left := len(b.e.Steps) - len(p.tokens); left > 0 {
		b.printf(`<div style="%s">%s of %s %s are shown.</div>`, small, thousands(len(p.tokens)),
			thousands(len(b.e.Steps)), b.words.shown)
	}
}

// panel writes the layers of one token; before the first one of a method, its name and its scale.
func (p *layersPage) panel(b *page, v *view, t int, first bool) {
	if first {
		b.printf(`<div style="margin:8px 0 4px 0;font-size:13px"><b class="hw-n">%s</b> `+
			`<span style="%s">· %s; layers %d to %d, the last one on top%s</span>`,
			escape(v.name, nameLimit), small, escape(v.top.unit, 2*nameLimit), v.result.Layer(t, 0),
			v.result.Layer(t, v.result.Shape[2]-1), v.sums("; "))
		b.scale(v)
		b.WriteString("</div>")
	}
	_, _, chance := b.predictionText(t)
	// The margin is inside: a panel as wide as its notebook must not stretch it.
	b.printf(`<div class="hw-d" style="display:inline-block;vertical-align:top;max-width:100%%">`+
		`<div style="margin:0 20px 12px 0"><div style="font-size:13px"><b>“%s”</b> %s`,
		html.EscapeString(b.rowName(t)), chance)
	if v.has(t) && v.result.Shape[2] > fewLayers {
		b.printf(` <span style="%s">· other pictures show %s</span>`, small,
			v.result.LayerName(t, v.level(t)))
	}
	b.WriteString("</div>")
	columns := len(b.e.Prompt.Texts)
	switch {
	case !v.has(t):
		b.WriteString("<div>not yet</div>")
	case v.sources(t) <= cellColumns:
		columns = v.sources(t)
		p.panelTable(b, v, t)
	default:
		g := p.panelGrid(v, t)
		columns = len(g[0])
		width := min(max(imageWidth/columns, 1), 24)
		b.besideLabels(v, t, panelLine, func() {
			b.image("hw-j", v.layersName(b.picture), g, width, panelLine, "")
		})
	}
	b.printf(`<div style="%s;max-width:%dpx">%s</div></div></div>`, small, max(columns*22, 260),
		html.EscapeString(p.strongest(v, t)))
}

// panelTable writes the layers of one token below the names of the prompt tokens.
func (p *layersPage) panelTable(b *page, v *view, t int) {
	m, layers, sources := len(b.e.Prompt.Texts), v.result.Shape[2], v.sources(t)
	b.printf(`<div style="overflow-x:auto;overflow-y:hidden"><table class="hw-m" style="`+
		`border-collapse:collapse;font-size:11px;margin:0"><colgroup></colgroup><colgroup `+
		`span="%d" style="width:22px"></colgroup>`, m)
	if sources > m {
		b.printf(`<colgroup span="%d" style="width:22px;%s"></colgroup>`, sources-m, divider)
	}
	b.WriteString(`<tr class="hw-c" style="background:none"><td></td>`)
	for j := range m {
		b.printf("<th>%s</th>", html.EscapeString(b.axisName(j)))
	}
	for q := range sources - m {
		b.printf("<th>%s</th>", html.EscapeString(b.generatedName(q)))
	}
	b.WriteString("</tr>")
	if layers <= fewLayers {
		for k := layers - 1; k >= 0; k-- {
			b.printf(`<tr class="hw-r" style="background:none"><th>%s</th>`,
				b.marked(fmt.Sprint(v.result.Layer(t, k)), k == v.level(t)))
			for j := range sources {
				b.cell(v.layerPaint(b.picture, t, j, k), v.cellNumber(v.atLevel(t, j, k)))
			}
			b.WriteString("</tr>")
		}
		b.WriteString("</table></div>")
		return
	}
	b.WriteString(`<tr style="background:none">`)
	b.labelCell(v, t, panelLine)
	b.printf(`<td colspan="%d" style="padding:0;line-height:0;vertical-align:top">`, sources)
	g := make(grid, layers)
	for i := range g {
		g[i] = b.layerLine(v, t, layers-1-i, sources, 0)
	}
	b.image("hw-j", v.layersName(b.picture), g, 22, panelLine,
		fmt.Sprintf("box-sizing:border-box;width:100%%;height:%dpx", layers*panelLine+2))
	b.WriteString("</td></tr></table></div>")
}

// panelGrid returns the paints of every layer of token t, the last layer on top, with a line before
// the generated tokens if there are any.
func (p *layersPage) panelGrid(v *view, t int) grid {
	g := make(grid, v.result.Shape[2])
	sources := v.sources(t)
	line := min(sources-v.result.Shape[1], 1)
	for i := range g {
		g[i] = p.layerLine(v, t, len(g)-1-i, sources+line, line)
	}
	return g
}

// strongest names the sources with the largest values of any layer, and that layer.
func (p *layersPage) strongest(v *view, t int) string {
	if !v.has(t) {
		return ""
	}
	type best struct {
		j, k int
		x    float64
	}
	var all []best
	for j := range v.sources(t) {
		if p.grey(v, t, j) {
			continue
		}
		top := best{j: j, x: math.NaN()}
		for k := range v.result.Shape[2] {
			x := v.atLevel(t, j, k)
			if math.IsNaN(top.x) || math.Abs(v.linear(x)) > math.Abs(v.linear(top.x)) {
				top.k, top.x = k, x
			}
		}
		if v.colors.step(top.x) != 0 && !math.IsNaN(top.x) {
			all = append(all, top)
		}
	}
	slices.SortStableFunc(all, func(a, b best) int {
		return cmp.Compare(math.Abs(v.linear(b.x)), math.Abs(v.linear(a.x)))
	})
	var above, below []string
	for _, b := range all[:min(len(all), named)] {
		name := fmt.Sprintf("%s %s %s", p.sourceName(b.j), v.top.value(b.x), in(v, t, b.k))
		if v.top.signed && v.colors.step(b.x) < 0 {
			below = append(below, name)
			continue
		}
		above = append(above, name)
	}
	switch {
	case len(all) == 0:
		return "nothing stands out"
	case v.alike():
		return v.most() + strings.Join(append(above, below...), ", ")
	case v.top.signed:
		return speaks(above, below, "for it", "against it")
	}
	return v.most() + strings.Join(above, ", ")
}

// sums says, after a separator, that the lines of layers are sums from below, "" if they are not:
// those of scorers are.
func (v *view) sums(separator string) string {
	if !v.scorer() {
		return ""
	}
	return separator + "sums of layers 0 to the line's"
}

// in says which layers the value of level k is from: "in layer 3" or "up to layer 3".
func in(v *view, t, k int) string {
	if v.result.Combined {
		return v.result.LayerName(t, k)
	}
	return "in " + v.result.LayerName(t, k)
}

// layersData is what the script needs beyond the elements of the picture.
type layersData struct {
	// ID is as in scriptData.
	ID string `json:"id"`
	// Palette is the number of the palette.
	Palette      int `json:"palette,omitempty"`
	PromptTokens int `json:"promptTokens"`
	// Panels has the numbers of each panel that is drawn, in order.
	Panels []layersPanel `json:"panels"`
}

// layersPanel are the values of one panel.
type layersPanel struct {
	// Layers are the layers, the first one first.
	Layers []int `json:"layers"`
	// Combined says that the values of a layer are about all layers up to it.
	Combined bool `json:"combined,omitempty"`
	// Percent says that values are shares, and Lift that they are ratios.
	Percent bool `json:"percent,omitempty"`
	Lift    bool `json:"lift,omitempty"`
	// Generated is how many generated tokens have a column, and Line is 1 if a line stands before
	// them.
	Generated int `json:"generated,omitempty"`
	Line      int `json:"line,omitempty"`
	// Rows has the values of each layer, m+Generated of them, of lifts their logarithms.
	Rows []packedRow `json:"rows"`
}

// numbers returns the attribute for the script, "" if there is no room.
func (p *layersPage) numbers(left int) string {
	d := layersData{
		ID: p.id() + "l", PromptTokens: len(p.e.Prompt.Texts), Palette: p.palette.number(),
	}
	for _, panel := range p.drawn {
		v := &p.views[panel.view]
		one := layersPanel{
			Combined: v.result.Combined, Percent: v.top.percent, Lift: v.top.lift,
		}
		if v.has(panel.token) {
			one.Layers = v.result.Layers
			one.Rows = p.panelRows(v, panel.token)
			one.Generated = v.sources(panel.token) - d.PromptTokens
			if d.PromptTokens+one.Generated > cellColumns {
				one.Line = min(one.Generated, 1)
			}
		}
		d.Panels = append(d.Panels, one)
	}
	return packWithin(left, d)
}

// panelRows returns the values of token t at every layer.
func (p *layersPage) panelRows(v *view, t int) (rows []packedRow) {
	for k := range v.result.Shape[2] {
		var values []float64
		for j := range v.sources(t) {
			values = append(values, v.linear(v.atLevel(t, j, k)))
		}
		same := func(j int, near float64) bool { return v.sameDigits(values[j], near) }
		rows = append(rows, packRow(values, exactParts, math.Inf(1), same))
	}
	return rows
}
