package figure

import (
	"math"
	"slices"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// page is a drawing as a list of shapes, in points from the top left corner. It is made before the
// size of the canvas is known, and then drawn by any of the canvases of gonum/plot.
type page struct {
	format Format
	// width is given, and height follows from the shapes.
	width, height float64
	// size is the size of ordinary text in points.
	size float64
	// palette is the name of the colours of values.
	palette string
	dpi     int // of a PNG
	shapes  []shape
	lost    map[rune]bool // characters that the format cannot draw
	// hatching and dotted report whether cells have these marks, and small whether cells below 0
	// have none, because they are too small; see marks.
	hatching, dotted, small bool
}

// point is a place on a page, in points from the top left corner.
type point struct{ x, y float64 }

// shape is one thing to draw: a text if it has one, else a path.
type shape struct {
	points []point
	curved bool // points are one start and then three for each cubic curve
	closed bool
	// more are further outlines of the same colour, closed if points are, which keep files of many
	// cells small.
	more  [][]point
	color chart.RGB
	alpha float64
	// line is the width of a stroke; 0 fills the path.
	line   float64
	dashes []float64

	text  string
	size  float64
	bold  bool
	align float64 // 0: the point is at the left end, 0.5: in the middle, 1: at the right end
	angle float64 // counter-clockwise, in degrees

	title string // what an SVG shows where a reader points at the shape
}

// style is the look of a text; the zero value is ordinary black text from a point to the right.
type style struct {
	scale float64 // of the size of the page; 0 is 1
	bold  bool
	align float64
	angle float64
	color chart.RGB
}

func (p *page) rect(x, y, w, h float64, fill chart.RGB) {
	p.shapes = append(p.shapes, shape{
		points: []point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}, closed: true,
		color: fill, alpha: 1,
	})
}

// fill fills several outlines with one colour, some of them in one shape: TeX keeps a shape in
// memory as a whole.
func (p *page) fill(outlines [][]point, color chart.RGB) {
	for some := range slices.Chunk(outlines, 100) {
		p.shapes = append(p.shapes, shape{
			points: some[0], closed: true, more: some[1:], color: color, alpha: 1,
		})
	}
}

func (p *page) frame(x, y, w, h, line float64, color chart.RGB) {
	p.shapes = append(p.shapes, shape{
		points: []point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}, {x, y}},
		color:  color, alpha: 1, line: line,
	})
}

func (p *page) line(points []point, width float64, color chart.RGB, dashes ...float64) {
	if len(points) > 1 {
		p.shapes = append(p.shapes, shape{
			points: points, line: width, color: color, alpha: 1, dashes: dashes,
		})
	}
}

func (p *page) polygon(points []point, fill chart.RGB, alpha float64) {
	p.shapes = append(p.shapes, shape{points: points, closed: true, color: fill, alpha: alpha})
}

// curve strokes a cubic curve.
func (p *page) curve(from, a, b, to point, width float64, color chart.RGB, dashes ...float64) {
	p.shapes = append(p.shapes, shape{
		points: []point{from, a, b, to}, curved: true, line: width, color: color, alpha: 1,
		dashes: dashes,
	})
}

// entitle gives the latest shape a title.
func (p *page) entitle(title string) {
	if p.format == SVG {
		p.shapes[len(p.shapes)-1].title = p.shown(title)
	}
}

// text draws a text whose base line is at y.
func (p *page) text(x, y float64, text string, s style) {
	if text == "" {
		return
	}
	shown := p.shown(text)
	p.shapes = append(p.shapes, shape{
		points: []point{{x, y}}, text: shown, size: p.textSize(s), bold: s.bold, align: s.align,
		angle: s.angle, color: s.color, alpha: 1,
	})
}

func (p *page) textSize(s style) float64 {
	if s.scale == 0 {
		return p.size
	}
	return math.Round(s.scale*p.size*100) / 100
}

// textWidth returns the width of a text as it is drawn.
func (p *page) textWidth(text string, s style) float64 {
	return width(p.shown(text), p.textSize(s), s.bold)
}

// cut returns the beginning of a text that fits a width, with an ellipsis where it was cut.
func (p *page) cut(text string, limit float64, s style) string {
	if p.textWidth(text, s) <= limit {
		return text
	}
	// The search begins where the text is too wide, and not at the end of a text of megabytes.
	runes := []rune(text)
	n := min(64, len(runes)-1)
	for n < len(runes)-1 && p.textWidth(string(runes[:n]), s) <= limit {
		n = min(2*n, len(runes)-1)
	}
	for ; n > 0; n-- {
		if short := string(runes[:n]) + "…"; p.textWidth(short, s) <= limit {
			return short
		}
	}
	return "…"
}

// wrap divides a text into lines of at most a width, between words where that is possible.
func (p *page) wrap(text string, limit float64, s style) []string {
	var lines []string
	line := ""
	for _, word := range splitWords(text) {
		if line == "" {
			line = word
			continue
		}
		if p.textWidth(line+" "+word, s) <= limit {
			line += " " + word
			continue
		}
		lines, line = append(lines, p.cut(line, limit, s)), word
	}
	if line != "" {
		lines = append(lines, p.cut(line, limit, s))
	}
	return lines
}

// paragraph draws wrapped lines from y downwards and returns the y below them.
func (p *page) paragraph(x, y, limit float64, text string, s style) float64 {
	for _, line := range p.wrap(text, limit, s) {
		y += p.textSize(s) * lineHeight
		p.text(x, y-0.3*p.textSize(s), line, s)
	}
	return y
}

// lineHeight is the distance of two lines of text, in sizes of the text.
const lineHeight = 1.3

// disc draws a filled circle as a polygon.
func (p *page) disc(x, y, radius float64, fill chart.RGB, alpha float64) {
	p.marker(x, y, radius, 0, fill, alpha)
}

// marker draws a point in one of [chart.Dashes] shapes.
func (p *page) marker(x, y, r float64, kind int, fill chart.RGB, alpha float64) {
	corners := 16
	turn := 0.0
	switch kind % chart.Dashes {
	case 1: // square
		corners, turn, r = 4, math.Pi/4, 1.2*r
	case 2: // triangle
		corners, turn, r = 3, math.Pi/2, 1.3*r
	case 3: // diamond
		corners, r = 4, 1.3*r
	case 4: // triangle downwards
		corners, turn, r = 3, -math.Pi/2, 1.3*r
	case 5: // hexagon
		corners, r = 6, 1.1*r
	}
	points := make([]point, corners)
	for i := range points {
		sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(corners))
		points[i] = point{x + r*cos, y - r*sin}
	}
	p.polygon(points, fill, alpha)
}

// dashes returns the pattern of series i: the first one is not dashed.
func dashes(i int) []float64 {
	return [chart.Dashes][]float64{
		nil, {5, 2}, {1.5, 1.5}, {6, 2, 1.5, 2}, {9, 3}, {3, 3},
	}[i%chart.Dashes]
}
