package figure

import (
	"fmt"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// Heads returns the attention of every head as a square: rows look at columns, from the first token
// on. Layers are rows of squares, the last one at the top, or, where the squares are larger so,
// columns. One head is framed that looks at a token more from where generated token t is predicted
// than from elsewhere, see [render.Heads.OpenHead], and so is the layer that wrote t, if that is
// known; a t below 0 is that of [render.Show.Opened]. Heads returns an error if the attention does
// not fit the text or there is no token t.
func Heads(h render.Heads, t int) (Drawing, error) {
	open, err := h.OpenHead(t, nil)
	if err != nil {
		return Drawing{}, err
	}
	g := headGrid{
		h: h, open: open, layers: h.Attention.Shape[0], heads: h.Attention.Shape[1],
		tokens: h.Attention.Shape[2],
	}
	return Drawing{draw: func(p *page, y float64) float64 { return p.headGrid(g, y) }}, nil
}

// Head returns the attention of one head as a matrix: a row for each token that looks, a column for
// each token that it looks at; tokens are folded where the text of a page is. In a decoder there is
// no value where a token would look ahead. head is its layer and its number; nil is the head that
// [Heads] frames. t is as there. Head returns an error as [Heads] does, or if there is no such
// head.
func Head(h render.Heads, t int, head *[2]int) (Drawing, error) {
	open, err := h.OpenHead(t, head)
	if err != nil {
		return Drawing{}, err
	}
	g := headGrid{h: h, open: open, heads: h.Attention.Shape[1], tokens: h.Attention.Shape[2]}
	m := &chart.Matrix{}
	for _, c := range open.Columns {
		single, name := c[1]-c[0] == 1, fmt.Sprintf("⋯ %d", c[1]-c[0])
		if single {
			name = g.names()[c[0]]
			m.Rows = append(m.Rows, name)
		}
		m.Columns = append(m.Columns, name)
		m.Muted = append(m.Muted, single && open.Sinks[c[0]])
	}
	for _, row := range open.Columns {
		for _, c := range open.Columns {
			if row[1]-row[0] == 1 {
				m.Data = append(m.Data, g.strongest(row[0], c))
			}
		}
	}
	return noted(&chart.Chart{
		Kind: chart.Heatmap, Title: fmt.Sprintf("layer %d, head %d", open.Layer, open.Head),
		Subtitle: headNote(h.Explanation), Matrix: m,
		X: chart.Axis{Title: "token that is looked at"}, Y: chart.Axis{Title: "token that looks"},
		Color: g.color(),
	}, append([]string{open.Says + "."}, g.sinks()...))
}

// headGrid is the attention of all heads.
type headGrid struct {
	h                     render.Heads
	open                  render.OpenedHead
	layers, heads, tokens int
}

// at returns how much of a head's attention from token i is on token j.
func (g headGrid) at(layer, head, i, j int) float64 {
	return float64(g.h.Attention.Data[((layer*g.heads+head)*g.tokens+i)*g.tokens+j])
}

// strongest returns the largest value of the open head from token i on the tokens of a column, but
// on a sink only if it stands alone; NaN if all of them come later.
func (g headGrid) strongest(i int, column [2]int) float64 {
	x := math.NaN()
	for j := column[0]; j < column[1]; j++ {
		folded := column[1]-column[0] > 1
		if (j > i && !g.h.Explanation.Model.Bidirectional) || folded && g.open.Sinks[j] {
			continue
		}
		if at := g.at(g.open.Layer, g.open.Head, i, j); !(at <= x) {
			x = at
		}
	}
	return x
}

// names are the labels of the tokens, [tokens].
func (g headGrid) names() []string { return tokenNames(g.h.Explanation)[:g.tokens] }

// headNote names the text and the model of a figure of heads. The prompt is cut if it is long; an
// explanation may lack it.
func headNote(e *attribution.Explanation) string {
	const most = 60
	text := []rune(render.Visible(strings.TrimSpace(e.Prompt.Text), 0))
	if len(text) > most {
		text = append(text[:most-1:most-1], '…')
	}
	about := modelNote(e)
	if len(text) == 0 {
		return about
	}
	return strings.Join(nonEmpty("“"+string(text)+"”", about), " · ")
}

// tokenNames are the labels of the tokens of a text: the prompt and what was generated.
func tokenNames(e *attribution.Explanation) []string {
	var all []string
	for _, text := range e.Prompt.Texts {
		all = append(all, name(text))
	}
	for _, s := range e.Steps {
		all = append(all, name(s.Text))
	}
	return all
}

// fullAttention is the share of attention with the deepest colour. Few heads give more to a single
// token, and paler colours would show nothing of the others.
const fullAttention = 0.6

// color is the scale of attention.
func (g headGrid) color() chart.Scale {
	return chart.Scale{
		Title: "share of attention; the deepest colour is that of " +
			percentRange(fullAttention, fullAttention) + " and more",
		Percent: true, Max: fullAttention,
	}
}

// sinks says which tokens are grey.
func (g headGrid) sinks() []string {
	return sinkNotes(g.names(), g.open.Sinks, "all attention")
}

// sinkNotes says which tokens are grey, because they have more than 30 % of what they are sinks of.
func sinkNotes(names []string, sinks []bool, of string) []string {
	var all []string
	for j, is := range sinks {
		if is {
			all = append(all, "“"+names[j]+"”")
		}
	}
	if all == nil {
		return nil
	}
	return []string{"Grey: " + strings.Join(all, ", ") + ", a sink, which has more than 30 % of " +
		of + "."}
}

// cellsOfHead is how many cells the square of a head has in a row at most; see mosaic.
const cellsOfHead = 24

// headGrid draws a square for each head.
func (p *page) headGrid(g headGrid, y float64) float64 {
	small := style{scale: 0.85}
	y = p.heading("What each head looks at", fmt.Sprintf("a square for each of %d × %d heads: "+
		"rows look at columns, from the first token on · %s", g.layers, g.heads,
		headNote(g.h.Explanation)), y)
	high := 540.0 // a column of a page
	if p.width > widths[render.Column][0] {
		high = min(0.85*p.width, 430)
	}
	const gap = 2
	room := p.width - 2*margin - 3.2*p.size
	upright := min(room/float64(g.heads), high/float64(g.layers))
	lying := min(room/float64(g.layers), high/float64(g.heads))
	turned, side := false, min(upright, 6*p.size)
	if lying > upright {
		turned, side = true, min(lying, 6*p.size)
	}
	x := margin + 3.2*p.size
	across, down, titles := g.heads, g.layers, [2]string{"head", "layer"}
	if turned {
		across, down, titles = down, across, [2]string{"layer", "head"}
	}
	place := func(layer, head int) point {
		if turned {
			return point{x + side*float64(layer), y + side*float64(head)}
		}
		return point{x + side*float64(head), y + side*float64(g.layers-1-layer)}
	}
	shades := map[int][][]point{}
	for layer := range g.layers {
		for head := range g.heads {
			q := place(layer, head)
			p.rect(q.x, q.y, side-gap, side-gap, chart.RampOf(p.palette, 0))
			g.shades(layer, head, q, side-gap, shades)
		}
	}
	p.fillSteps(shades)
	for layer := range g.layers {
		for head := range g.heads {
			q := place(layer, head)
			p.frame(q.x, q.y, side-gap, side-gap, 0.25, faint)
		}
	}
	if g.open.Wrote >= 0 {
		a, b := place(g.open.Wrote, 0), place(g.open.Wrote, g.heads-1)
		p.frame(a.x-0.5, a.y-0.5, b.x-a.x+side-gap+1, b.y-a.y+side-gap+1, 0.6, pathColor)
	}
	q := place(g.open.Layer, g.open.Head)
	p.frame(q.x-0.5, q.y-0.5, side-gap+1, side-gap+1, 1.2, pathColor)
	every := max(1, int(math.Ceil(1.15*p.size/side)))
	for i := 0; i < down; i += every {
		at := place(i, 0)
		if turned {
			at = place(0, i)
		}
		p.text(x-0.4*p.size, at.y+(side-gap)/2+0.3*p.size, fmt.Sprint(i),
			style{scale: 0.85, align: 1})
	}
	every = max(1, int(math.Ceil(p.textWidth("00 ", small)/side)))
	for i := 0; i < across; i += every {
		at := place(0, i)
		if turned {
			at = place(i, 0)
		}
		p.text(at.x+(side-gap)/2, y+side*float64(down)+0.9*p.size, fmt.Sprint(i),
			style{scale: 0.85, align: 0.5})
	}
	bottom := y + side*float64(down)
	p.text(margin+0.9*p.size, (y+bottom)/2, titles[1], style{scale: 0.92, align: 0.5, angle: 90})
	p.text(x+side*float64(across)/2, bottom+2.1*p.size, titles[0], style{scale: 0.92, align: 0.5})
	y = p.colorBar(&chart.Chart{Kind: chart.Heatmap, Color: g.color()}, margin, bottom+2.5*p.size)
	says := []string{"Framed: " + g.open.Says + "."}
	if g.open.Wrote >= 0 {
		says = append(says, fmt.Sprintf("The long frame: layer %d, which wrote most of the logit "+
			"of what is predicted.", g.open.Wrote))
	}
	return p.notes(append(says, g.sinks()...), y)
}

// shades adds the rectangles of a head to those of each step of colour.
func (g headGrid) shades(layer, head int, at point, size float64, to map[int][][]point) {
	mosaic(g.tokens, cellsOfHead, at, size, func(i, j int) int {
		switch {
		case !g.h.Explanation.Model.Bidirectional && j > i:
			return 0
		case g.open.Sinks[j]:
			return mutedStep
		}
		return stepOf(g.at(layer, head, i, j) / fullAttention)
	}, to)
}
