package figure

import (
	"bytes"
	"image/color"
	"image/png"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
	"gonum.org/v1/plot/vg/vgtex"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// Format is a format of files.
type Format string

// The formats.
const (
	SVG Format = "svg"
	PDF Format = "pdf"
	PNG Format = "png"
	TeX Format = "tex"
)

// Formats returns the formats in which figures are drawn.
func Formats() []Format { return []Format{SVG, PDF, PNG, TeX} }

// pngDPI is the resolution of a PNG: that of print, so that a column has 1,000 pixels. screenDPI is
// that of a notebook, where a pixel of the picture is a pixel of the page.
const (
	pngDPI    = 300
	screenDPI = 110
)

// maxPixels limits the memory of a PNG: 4 bytes each.
const maxPixels = 100e6

// bytes draws the page with the canvas of its format. about is put inside the file.
func (p *page) bytes(about string) ([]byte, error) {
	w, h := vg.Points(p.width), vg.Points(p.height)
	switch p.format {
	case SVG:
		c := vgsvg.New(w, h)
		p.draw(c)
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			return nil, err
		}
		return svgWith(p.titled(b.Bytes()), about)
	case PDF:
		c := vgpdf.New(w, h)
		p.draw(c)
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			return nil, err
		}
		return pdfWith(b.Bytes(), about)
	case PNG:
		if p.width*p.height/72/72*pngDPI*pngDPI > maxPixels {
			return nil, pkg.Errorf("%.0f × %.0f points are too large for a PNG; save an "+
				"SVG or PDF, or show fewer tokens", p.width, p.height)
		}
		c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(p.dpi))
		p.draw(c)
		img := c.Image()
		if p.dpi < pngDPI { // for a notebook, which holds many pictures
			img = fewColors(img)
		}
		var b bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		if p.dpi == pngDPI {
			encoder.CompressionLevel = png.DefaultCompression
		}
		if err := encoder.Encode(&b, img); err != nil {
			return nil, err
		}
		return pngWith(b.Bytes(), p.dpi, about), nil
	case TeX:
		c := vgtex.New(w, h)
		p.draw(c)
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			return nil, err
		}
		return texWith(b.Bytes(), about), nil
	}
	return nil, pkg.Errorf("unknown format %.40q; known are %v", p.format, Formats())
}

// draw draws the shapes on a white page.
func (p *page) draw(c vg.Canvas) {
	c.SetColor(color.White)
	c.Fill(p.path(shape{
		points: []point{{0, 0}, {p.width, 0}, {p.width, p.height}, {0, p.height}}, closed: true,
	}))
	for _, s := range p.shapes {
		c.SetColor(p.color(s.color, s.alpha))
		switch {
		case s.text != "":
			p.drawText(c, s)
		case s.line > 0:
			c.SetLineWidth(vg.Points(s.line))
			var pattern []vg.Length
			for _, d := range s.dashes {
				pattern = append(pattern, vg.Points(d))
			}
			c.SetLineDash(pattern, 0)
			c.Stroke(p.path(s))
		default:
			c.Fill(p.path(s))
		}
	}
}

// path returns the path of a shape, y upwards.
func (p *page) path(s shape) vg.Path {
	var path vg.Path
	at := func(q point) vg.Point {
		return vg.Point{X: vg.Points(round(q.x)), Y: vg.Points(round(p.height - q.y))}
	}
	path.Move(at(s.points[0]))
	if s.curved {
		for i := 1; i+2 < len(s.points); i += 3 {
			path.CubeTo(at(s.points[i]), at(s.points[i+1]), at(s.points[i+2]))
		}
		return path
	}
	for _, q := range s.points[1:] {
		path.Line(at(q))
	}
	if s.closed {
		path.Close()
	}
	for _, outline := range s.more {
		path.Move(at(outline[0]))
		for _, q := range outline[1:] {
			path.Line(at(q))
		}
		if s.closed {
			path.Close()
		}
	}
	return path
}

// round rounds to a thousandth of a point: it keeps files short, and rounding errors out of them.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// drawText draws a text: as text in SVG and TeX, as outlines in PDF and PNG.
func (p *page) drawText(c vg.Canvas, s shape) {
	at := point{s.points[0].x, p.height - s.points[0].y}
	wide := width(s.text, s.size, s.bold)
	c.Push()
	defer c.Pop()
	c.Translate(vg.Point{X: vg.Points(round(at.x)), Y: vg.Points(round(at.y))})
	if s.angle != 0 {
		c.Rotate(s.angle * math.Pi / 180)
	}
	left := vg.Points(round(-s.align * wide))
	switch p.format {
	case SVG:
		c.FillString(face(s.size, s.bold), vg.Point{X: left}, s.text)
	case TeX:
		text := escapeTeX(s.text)
		if s.bold {
			text = `\textbf{` + text + `}`
		}
		f := face(s.size, s.bold)
		// The canvas centres the text by the width of its source; it must be that of the text.
		left += vg.Points(round(wide/2)) - f.Width(text)/2
		c.FillString(f, vg.Point{X: left}, text)
	default:
		path := outline(s.text, s.size, s.bold)
		for i := range path {
			path[i].Pos.X += left
			for k := range path[i].Control {
				path[i].Control[k].X += left
			}
		}
		if len(path) > 0 {
			c.Fill(path)
		}
	}
}

// color returns a colour for the canvas. Those of PDF and TeX expect colours that are not
// multiplied by their opacity, against the rule of image/color.
func (p *page) color(c chart.RGB, alpha float64) color.Color {
	a := uint8(math.Round(alpha * 255))
	if p.format == PDF || p.format == TeX {
		return straight{c, a}
	}
	return color.NRGBA{R: c[0], G: c[1], B: c[2], A: a}
}

// straight is a colour whose RGBA is not multiplied by its opacity.
type straight struct {
	rgb chart.RGB
	a   uint8
}

// RGBA implements color.Color.
func (s straight) RGBA() (r, g, b, a uint32) {
	return uint32(s.rgb[0]) * 0x101, uint32(s.rgb[1]) * 0x101, uint32(s.rgb[2]) * 0x101,
		uint32(s.a) * 0x101
}
