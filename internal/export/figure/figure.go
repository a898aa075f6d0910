// Package figure draws charts and explanations into files for papers and talks: SVG, PDF, PNG and
// TeX, by one drawing code and the canvases of gonum/plot.
//
//	f, err := figure.Draw(figure.Options{Format: figure.PDF}, about, figure.Chart(c))
//	os.WriteFile("figure.pdf", f.Bytes, 0o666)
//
// A [Drawing] is made by [Chart] and [Grid], and of pictures that [render.Drawn] and its like have
// worked out by [Matrix], [Strip], [Maps], [Heads] and [Graph]. A figure has the width of its
// [render.Size] and the height that it needs. Equal inputs give equal bytes: there is no clock, no
// random name and no path of the machine in a file.
//
// Text stays text in SVG and TeX. In PDF and PNG it is drawn as outlines. Characters that a format
// cannot draw are drawn as code points, and a warning names them.
//
// It is the only package that links gonum/plot, and it belongs to the command and to the engine: a
// cell that linked it would take longer to build.
package figure

import (
	"cmp"
	"fmt"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// widths are the width of each size and the size of its text, in points.
var widths = map[render.Size][2]float64{
	render.Column: {234, 7},
	render.Double: {486, 8},
	render.Slide:  {960, 18},
}

// Inches returns how wide a figure of a size is; "" is [render.Double].
func Inches(size render.Size) float64 { return widths[cmp.Or(size, render.Double)][0] / 72 }

// Options are the format and the look of a figure. The zero value of every field but Format is its
// default.
type Options struct {
	// Format is the format of the file.
	Format Format `json:"-"`
	render.Look
	// Screen draws a PNG for a notebook: so many pixels that text of 8 points is 12 pixels high.
	Screen bool `json:"-"`
}

// Drawing is a part of a figure: [Chart], [Matrix], [Heads] and others make one.
type Drawing struct {
	draw     func(p *page, y float64) float64
	warnings []string
}

// Figure is a file.
type Figure struct {
	Bytes []byte
	// Warnings are sentences on things that the figure cannot show, such as characters that the
	// font lacks or series that look alike in grey.
	Warnings []string
}

// manyShapes is how many shapes of TeX take longer than about ten seconds.
const manyShapes = 10_000

// Draw draws things below each other. about is the origin of the figure, as printable ASCII
// without <, > and &; it is put inside the file, and [About] reads it.
func Draw(o Options, about string, drawings ...Drawing) (*Figure, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := checkAbout(about); err != nil {
		return nil, err
	}
	o.Size = cmp.Or(o.Size, render.Double)
	if o.Font == 0 {
		o.Font = widths[o.Size][1]
	}
	p := &page{
		format: o.Format, width: widths[o.Size][0], size: o.Font, lost: map[rune]bool{},
		dpi: pngDPI, palette: o.Palette,
	}
	f := &Figure{}
	if o.Screen {
		p.dpi = screenDPI
	}
	y := float64(margin)
	for i, d := range drawings {
		if i > 0 {
			y += p.size
		}
		y = d.draw(p, y)
		f.Warnings = append(f.Warnings, d.warnings...)
	}
	p.height = y + margin
	bytes, err := p.bytes(about)
	if err != nil {
		return nil, err
	}
	f.Bytes = bytes
	shapes := len(p.shapes)
	for _, s := range p.shapes {
		shapes += len(s.more)
	}
	if o.Format == TeX && shapes > manyShapes {
		f.Warnings = append(f.Warnings, fmt.Sprintf("The TeX has %d shapes, which pdflatex draws "+
			"slowly; save a PDF, or show fewer tokens.", shapes))
	}
	if w := p.warning(); w != "" {
		f.Warnings = append(f.Warnings, w)
	}
	return f, nil
}

// Chart returns the drawing of a chart, or an error if its data do not fit its kind.
func Chart(c chart.Chart) (Drawing, error) {
	if err := c.Check(); err != nil {
		return Drawing{}, err
	}
	return Drawing{
		draw:     func(p *page, y float64) float64 { return p.chart(&c, y) },
		warnings: c.GrayWarnings(),
	}, nil
}

// Of returns the drawing of a picture.
func Of(f render.Figure) (Drawing, error) {
	switch {
	case f.Heads != nil:
		return Heads(*f.Heads)
	case f.Squares != nil:
		return Maps(*f.Squares), nil
	case f.Strip != nil && f.Token == nil:
		return Strip(*f.Strip, AllTokens)
	case f.Strip != nil:
		return Strip(*f.Strip, *f.Token)
	}
	return Matrix(*f.Matrix)
}
