package render

import (
	"encoding/base64"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
)

// The places of an image in pixels: what stands left of the first token and above the last layer,
// and the size of letters.
const (
	flowTop     = 12
	flowLetters = 12
)

// left returns the room at the left, for the names of the layers.
func (f *flowPage) left() int {
	if f.e.Model.EncoderLayers > 0 {
		return 120
	}
	return 34
}

// wide returns the width of a token in pixels, and high the height of a layer.
func (f *flowPage) wide() int { return min(max(1000/len(f.rows), 24), 64) }

func (f *flowPage) high() int { return min(max(600/len(f.layers), 20), 60) }

// node returns where a node is in the image: token rows[i] before layer layers[k], or after the
// last one. Layer 0 is at the bottom.
func (f *flowPage) node(k, i int) (x, y float64) {
	return float64(f.left()) + (float64(i)+.5)*float64(f.wide()),
		float64(flowTop + (len(f.layers)-k)*f.high())
}

// label returns the name of a token with the flow from it.
func (f *flowPage) label(j int) string {
	return strings.TrimSpace(f.axisName(j) + " " + f.flowFrom(j))
}

// imageSize returns the size of the graph in pixels.
func (f *flowPage) imageSize() (width, height int) {
	longest := 0
	for _, j := range f.rows {
		longest = max(longest, Width(f.label(j)))
	}
	return f.left() + len(f.rows)*f.wide() + flowTop,
		2*flowTop + len(f.layers)*f.high() + longest*8
}

// svg returns the graph as the address of an SVG. It is an image of its own, so that it also stands
// where SVG within HTML is removed.
func (f *flowPage) svg(colors theme) string {
	width, height := f.imageSize()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d"><g fill="none">`, width, height, width, height)
	f.drawEdges(&b, colors)
	f.drawPath(&b, colors)
	f.drawCut(&b)
	b.WriteString("</g>")
	f.drawNodes(&b, colors)
	f.drawNames(&b)
	b.WriteString("</svg>")
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(b.String()))
}

// place returns the indices of an edge in the picture, false if it is not shown.
func (f *flowPage) place(l, u, v int) (k, i, j int, ok bool) {
	return FlowDrawing{Tokens: f.rows, Layers: f.layers}.Place(l, u, v)
}

// curve returns the path of an edge from a token before a layer to one after it, which leaves and
// enters its nodes upright.
func (f *flowPage) curve(k, i, j int) string {
	x1, y1 := f.node(k, j)
	x2, y2 := f.node(k+1, i)
	if i == j {
		return fmt.Sprintf("M%s %sV%s", short(x1), short(y1), short(y2))
	}
	middle := short((y1 + y2) / 2)
	return fmt.Sprintf("M%s %sC%s %s %s %s %s %s", short(x1), short(y1), short(x1), middle,
		short(x2), middle, short(x2), short(y2))
}

// short writes a place in the image.
func short(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// stroke returns how thick an edge is in pixels.
func stroke(width float64) string {
	return strconv.FormatFloat(max(0.3, 7*width), 'f', 1, 64)
}

// drawEdges draws the edges, those of one thickness and colour as one path, and none to sinks that
// are left out.
func (f *flowPage) drawEdges(b *strings.Builder, colors theme) {
	last := ""
	for _, e := range f.edges {
		k, i, j, ok := f.place(e.l, e.u, e.v)
		if !ok || f.leftOut(e.v) {
			continue
		}
		color := dimInk
		if step := f.edgeStep(e); step > 0 {
			color = colors.above[step-1]
		}
		look := fmt.Sprintf(`<path stroke="%s" stroke-width="%s" d="`, color, stroke(e.width))
		if look != last {
			if last != "" {
				b.WriteString(`"/>`)
			}
			b.WriteString(look)
			last = look
		}
		b.WriteString(f.curve(k, i, j))
	}
	if last != "" {
		b.WriteString(`"/>`)
	}
}

// drawPath draws the widest path.
func (f *flowPage) drawPath(b *strings.Builder, colors theme) {
	L := len(f.g.Layers)
	for k := 0; k+1 < len(f.g.Path); k++ {
		l := L - 1 - k
		if at, i, j, ok := f.place(l, f.g.Path[k], f.g.Path[k+1]); ok {
			w := max(f.g.Width(l, f.g.Path[k], f.g.Path[k+1]), 0.25)
			fmt.Fprintf(b, `<path stroke="%s" stroke-width="%s" d="%s"/>`, colors.below[2],
				stroke(w), f.curve(at, i, j))
		}
	}
}

// drawCut draws the minimum cut.
func (f *flowPage) drawCut(b *strings.Builder) {
	for _, e := range f.g.Cut.Edges {
		l := slices.Index(f.g.Layers, e.Layer)
		if k, i, j, ok := f.place(l, e.Target, e.Source); ok {
			fmt.Fprintf(b, `<path stroke="%s" stroke-width="1.6" stroke-dasharray="4 3" d="%s"/>`,
				ink, f.curve(k, i, j))
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
func (f *flowPage) drawNodes(b *strings.Builder, colors theme) {
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
					colors.below[2])
			case f.hasNode(level, token) && !f.leftOut(token):
				fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="2"/>`, short(x), short(y))
			}
		}
	}
	b.WriteString("</g>")
}

// drawNames writes the layers at the left and the names of the tokens below: what stands below the
// number of a layer goes into it. A line stands where layers are left out.
func (f *flowPage) drawNames(b *strings.Builder) {
	fmt.Fprintf(b, `<g fill="%s" font-family="sans-serif" font-size="%d" text-anchor="end">`, ink,
		flowLetters)
	width, _ := f.imageSize()
	for k, l := range f.layers {
		_, y := f.node(k, 0)
		fmt.Fprintf(b, `<text x="%d" y="%s">%s</text>`, f.left()-10,
			short(y-float64(f.high())/2+4), f.e.Model.LayerLabel(f.g.Layers[l]))
		if k > 0 && f.layers[k-1] != l-1 {
			fmt.Fprintf(b, `<path stroke="%s" stroke-dasharray="2 2" d="M%d %sH%d"/>`, dimInk,
				f.left(), short(y), width)
		}
	}
	for i, j := range f.rows {
		x, y := f.node(0, i)
		fmt.Fprintf(b, `<text transform="translate(%s %s)rotate(-90)">%s</text>`, short(x+4),
			short(y+flowTop), html.EscapeString(f.label(j)))
	}
	b.WriteString("</g>")
}

// flowData is what the script needs beyond the elements of the picture. Its texts are visible
// names; see [Visible].
type flowData struct {
	// ID and Palettes are as in heatmapData.
	ID       string   `json:"id"`
	Palettes []string `json:"palettes"`
	// Tokens are the tokens shown with their labels, Layers the layers shown, by their numbers in
	// the model. Sinks are indices of Tokens, and SinkEdges draws their edges at first.
	Tokens []int    `json:"tokens"`
	Labels []string `json:"labels"`
	Layers []int    `json:"layers"`
	Sinks  []int    `json:"sinks"`

	SinkEdges bool `json:"sinkEdges,omitempty"`
	// Target is the generated token whose flow is shown.
	PromptTokens int `json:"promptTokens"`
	// Of a model of two stacks, Answer is what the generated text is called, and LayerNames are the
	// names of the layers shown.
	Answer     string   `json:"answer,omitempty"`
	LayerNames []string `json:"layerNames,omitempty"`
	Target     int      `json:"target"`
	// Left, Top, Wide and High are the places of nodes in pixels: Wide between tokens, High between
	// layers, and Least the width of the narrowest edge that is drawn.
	Left  int     `json:"left"`
	Top   int     `json:"top"`
	Wide  int     `json:"wide"`
	High  int     `json:"high"`
	Least float64 `json:"least"`
	// Edges are those drawn, as layer, target and source of those shown. Path and Cut are those of
	// the widest path and of the minimum cut. Nodes are the levels and tokens that have a node.
	Edges [][3]int `json:"edges"`
	Path  [][3]int `json:"path"`
	Cut   [][3]int `json:"cut"`
	Nodes [][2]int `json:"nodes"`
	// Gaps are the layers shown below which some are left out.
	Gaps []int `json:"gaps"`
	// Widths has for each layer shown the rows of the targets shown, each with the widths from the
	// sources shown.
	Widths [][]packedRow `json:"widths"`
}

// data returns what the script needs.
func (f *flowPage) data() string {
	d := flowData{
		ID: hashOf(f.e.Model.Hash + "\x00" + f.e.Prompt.Text + "\x00flow"), Tokens: f.rows,
		Palettes: PaletteNames(), PromptTokens: len(f.e.Prompt.Texts), Target: f.t,
		Left: f.left(), Top: flowTop, Wide: f.wide(), High: f.high(), Least: leastWidth,
		Sinks: []int{}, SinkEdges: f.sinkEdges, Path: [][3]int{}, Cut: [][3]int{}, Gaps: []int{},
	}
	add := func(list *[][3]int, l, u, v int) {
		if k, i, j, ok := f.place(l, u, v); ok {
			*list = append(*list, [3]int{k, i, j})
		}
	}
	for i, j := range f.rows {
		if d.Labels = append(d.Labels, f.label(j)); f.sinks[j] {
			d.Sinks = append(d.Sinks, i)
		}
	}
	for _, e := range f.edges {
		add(&d.Edges, e.l, e.u, e.v)
	}
	for k := 0; k+1 < len(f.g.Path); k++ {
		add(&d.Path, len(f.g.Layers)-1-k, f.g.Path[k], f.g.Path[k+1])
	}
	for _, e := range f.g.Cut.Edges {
		add(&d.Cut, slices.Index(f.g.Layers, e.Layer), e.Target, e.Source)
	}
	for k := range len(f.layers) + 1 {
		level := len(f.g.Layers)
		if k < len(f.layers) {
			level = f.layers[k]
		}
		for i, token := range f.rows {
			if f.hasNode(level, token) {
				d.Nodes = append(d.Nodes, [2]int{k, i})
			}
		}
	}
	for k, l := range f.layers {
		if f.targetBegin >= 0 {
			d.Answer = f.words.output
			d.LayerNames = append(d.LayerNames, f.e.Model.LayerLabel(f.g.Layers[l]))
		}
		if k > 0 && f.layers[k-1] != l-1 {
			d.Gaps = append(d.Gaps, k)
		}
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
