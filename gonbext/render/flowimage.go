package render

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// axisHeight is the height of the numbers of the layers, in pixels.
const axisHeight = 16

// imageSize returns the size of the graph in pixels.
func (f *flowPage) imageSize() (width, height int) {
	return 2*flowEdgeLeft + len(f.layers)*f.step(), len(f.rows)*flowHigh + axisHeight
}

// svg returns the graph as the address of an SVG, which has numbers of layers and no other text. It
// is an image of its own, so that it also stands where SVG within HTML is removed.
func (f *flowPage) svg() string {
	width, height := f.imageSize()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d"><g fill="none">`, width, height, width, height)
	f.drawEdges(&b)
	f.drawCut(&b)
	f.drawPath(&b)
	b.WriteString("</g>")
	f.drawNodes(&b)
	f.drawAxis(&b)
	b.WriteString("</svg>")
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(b.String()))
}

// place returns the indices of an edge in the picture, false if it is not shown.
func (f *flowPage) place(l, u, v int) (k, i, j int, ok bool) {
	return FlowDrawing{Tokens: f.rows, Layers: f.layers}.Place(l, u, v)
}

// curve returns the path of an edge from a token before a layer to one after it, which leaves and
// enters its nodes sidewards.
func (f *flowPage) curve(k, i, j int) string {
	x1, y1 := f.node(k, j)
	x2, y2 := f.node(k+1, i)
	if i == j {
		return fmt.Sprintf("M%s %sH%s", short(x1), short(y1), short(x2))
	}
	middle := short((x1 + x2) / 2)
	return fmt.Sprintf("M%s %sC%s %s %s %s %s %s", short(x1), short(y1), middle, short(y1), middle,
		short(y2), short(x2), short(y2))
}

// short writes a place in the image.
func short(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// stroke returns how thick an edge is in pixels.
func stroke(width float64) string {
	return strconv.FormatFloat(max(0.3, 0.32*flowHigh*width), 'f', 1, 64)
}

// drawEdges draws the edges, those of one thickness and colour as one path. Edges to sinks are grey
// and below the others.
func (f *flowPage) drawEdges(b *strings.Builder) {
	for _, sinks := range []bool{true, false} {
		last, open := "", false
		for _, e := range f.edges {
			if f.sinks[e.v] != sinks {
				continue
			}
			k, i, j, ok := f.place(e.l, e.u, e.v)
			if !ok {
				continue
			}
			color := "#8886"
			if !sinks {
				color = f.palette.above[min(int(e.width*levels*1.2), levels-1)]
			}
			look := fmt.Sprintf(`<path stroke="%s" stroke-width="%s" d="`, color, stroke(e.width))
			if look != last {
				if open {
					b.WriteString(`"/>`)
				}
				b.WriteString(look)
				last, open = look, true
			}
			b.WriteString(f.curve(k, i, j))
		}
		if open {
			b.WriteString(`"/>`)
		}
	}
}

// drawPath draws the widest path.
func (f *flowPage) drawPath(b *strings.Builder) {
	L := len(f.g.Layers)
	for k := 0; k+1 < len(f.g.Path); k++ {
		l := L - 1 - k
		if at, i, j, ok := f.place(l, f.g.Path[k], f.g.Path[k+1]); ok {
			w := max(f.g.Width(l, f.g.Path[k], f.g.Path[k+1]), 0.25)
			fmt.Fprintf(b, `<path stroke="%s" stroke-width="%s" d="%s"/>`, pathStroke, stroke(w),
				f.curve(at, i, j))
		}
	}
}

// drawCut draws the minimum cut.
func (f *flowPage) drawCut(b *strings.Builder) {
	for _, e := range f.g.Cut.Edges {
		l := slices.Index(f.g.Layers, e.Layer)
		if k, i, j, ok := f.place(l, e.Target, e.Source); ok {
			fmt.Fprintf(b, `<path stroke="%s" stroke-width="1.6" stroke-dasharray="4 3" d="%s"/>`,
				cutStroke, f.curve(k, i, j))
		}
	}
}

// hasNode reports whether a token has a node before layer Layers[l], or after the last one: if the
// target reaches it, or an edge of the minimum cut, which may be narrower, begins or ends there.
func (f *flowPage) hasNode(l, token int) bool {
	return f.reach[l][token] >= leastWidth || f.cutEnds[[2]int{l, token}]
}

// drawNodes draws the nodes that the target reaches and those of the minimum cut; the source and
// the target of the flow are larger.
func (f *flowPage) drawNodes(b *strings.Builder) {
	b.WriteString(`<g fill="#808080">`)
	for k := range len(f.layers) + 1 {
		level := len(f.g.Layers)
		if k < len(f.layers) {
			level = f.layers[k]
		}
		for i, token := range f.rows {
			x, y := f.node(k, i)
			switch {
			case k == 0 && token == f.g.Cut.Source, k == len(f.layers) && token == f.g.Cut.Target:
				fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="6" fill="%s"/>`, short(x), short(y),
					pathStroke)
			case f.hasNode(level, token):
				fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="2"/>`, short(x), short(y))
			}
		}
	}
	b.WriteString("</g>")
}

// drawAxis writes the layers below the nodes: what stands left of a number goes into that layer. A
// line stands where layers are left out.
func (f *flowPage) drawAxis(b *strings.Builder) {
	_, height := f.imageSize()
	b.WriteString(`<g fill="#808080" font-family="sans-serif" font-size="13" text-anchor="middle">`)
	for k, l := range f.layers {
		x, _ := f.node(k, 0)
		fmt.Fprintf(b, `<text x="%s" y="%d">%d</text>`, short(x+float64(f.step())/2), height-4,
			f.g.Layers[l])
		if k > 0 && f.layers[k-1] != l-1 {
			fmt.Fprintf(b, `<path stroke="#808080" stroke-dasharray="2 2" d="M%s 0V%d"/>`, short(x),
				height-axisHeight)
		}
	}
	b.WriteString("</g>")
}

// flowData is what the script needs beyond the elements of the picture.
type flowData struct {
	// ID and Palette are as in scriptData.
	ID      string `json:"id"`
	Palette int    `json:"palette,omitempty"`
	// Tokens are the tokens shown, Layers the layers shown, by their numbers in the model.
	Tokens []int `json:"tokens"`
	Layers []int `json:"layers"`
	// Target is the generated token whose flow is shown.
	PromptTokens int `json:"promptTokens"`
	Target       int `json:"target"`
	// Left, Step and High are the pixels left of the first node, between layers and between tokens.
	Left int `json:"left"`
	Step int `json:"step"`
	High int `json:"high"`
	// Widths has for each layer shown the rows of the targets shown, each with the widths from the
	// sources shown.
	Widths [][]packedRow `json:"widths"`
}

// data returns the attribute for the script.
func (f *flowPage) data() string {
	d := flowData{
		ID: f.id() + "f", Palette: f.palette.number(), Tokens: f.rows,
		PromptTokens: len(f.e.Prompt.Texts), Target: f.t, Left: flowEdgeLeft, Step: f.step(),
		High: flowHigh,
	}
	for _, l := range f.layers {
		var rows []packedRow
		for _, u := range f.rows {
			var widths []float64
			for _, v := range f.rows {
				widths = append(widths, min(max(f.g.Width(l, u, v), 0), 1))
			}
			same := func(j int, near float64) bool {
				return fixed(widths[j], 3) == fixed(near, 3)
			}
			rows = append(rows, packRow(widths, exactParts, 1, same))
		}
		d.Layers, d.Widths = append(d.Layers, f.g.Layers[l]), append(d.Widths, rows)
	}
	return pack(d)
}
