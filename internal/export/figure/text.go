package figure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"

	"github.com/headwater-ml/headwater/gonbext/render"
)

// faces are the fonts of every figure, Liberation Sans, whose widths are those of Helvetica and
// Arial. They are read when the first figure is drawn.
var faces = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

func face(size float64, bold bool) font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return faces().Lookup(f, vg.Points(size))
}

// width returns the width of a text in points. A character that the font lacks, which only SVG
// draws, counts as one or two thirds of the size.
func width(text string, size float64, bold bool) float64 {
	f := face(size, bold)
	known, other := strings.Builder{}, 0.0
	for _, r := range text {
		if hasGlyph(f, r) {
			known.WriteRune(r)
		} else {
			other += 0.55 * size * float64(render.Width(string(r)))
		}
	}
	return f.Width(known.String()).Points() + other
}

func hasGlyph(f font.Face, r rune) bool {
	g, err := f.Face.GlyphIndex(nil, r)
	return err == nil && g != 0
}

// outline returns the outline of a text as a path from (0,0), y upwards. The canvases of PDF and
// PNG draw text as outlines: that of PDF can only write the 250 characters of Windows-1252 as text,
// and embeds 200 KB of font for them.
func outline(text string, size float64, bold bool) vg.Path {
	f := face(size, bold)
	units := fixed.Int26_6(f.Face.UnitsPerEm())
	scale := size / float64(units)
	var path vg.Path
	x := 0.0
	var before sfnt.GlyphIndex
	for i, r := range text {
		if r == spaceMark {
			path = appendSpaceMark(path, x*scale, size)
			x, before = x+spaceMarkWidth*float64(units), 0
			continue
		}
		g, err := f.Face.GlyphIndex(nil, r)
		if err != nil {
			continue
		}
		if i > 0 {
			if kern, err := f.Face.Kern(nil, before, g, units, xfont.HintingNone); err == nil {
				x += float64(kern)
			}
		}
		before = g
		at := func(p fixed.Point26_6) vg.Point {
			return vg.Point{
				X: vg.Points((x + float64(p.X)) * scale), Y: vg.Points(-float64(p.Y) * scale),
			}
		}
		path = appendGlyph(path, f, g, units, at)
		if advance, err := f.Face.GlyphAdvance(nil, g, units, xfont.HintingNone); err == nil {
			x += float64(advance)
		}
	}
	return path
}

// appendGlyph appends the outline of one glyph. Quadratic curves become cubic ones, because the
// canvas of PDF draws the quadratic ones wrongly.
func appendGlyph(
	path vg.Path, f font.Face, g sfnt.GlyphIndex, units fixed.Int26_6,
	at func(fixed.Point26_6) vg.Point,
) vg.Path {
	segments, err := f.Face.LoadGlyph(nil, g, units, nil)
	if err != nil {
		return path
	}
	var last vg.Point
	open := false
	for _, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if open {
				path.Close()
			}
			open, last = true, at(s.Args[0])
			path.Move(last)
		case sfnt.SegmentOpLineTo:
			last = at(s.Args[0])
			path.Line(last)
		case sfnt.SegmentOpQuadTo:
			control, end := at(s.Args[0]), at(s.Args[1])
			path.CubeTo(toward(last, control), toward(end, control), end)
			last = end
		case sfnt.SegmentOpCubeTo:
			last = at(s.Args[2])
			path.CubeTo(at(s.Args[0]), at(s.Args[1]), last)
		}
	}
	if open {
		path.Close()
	}
	return path
}

// spaceMark is the mark of [render.Visible] for a space. Liberation Sans lacks it and has nothing
// like it but the underscore, which code is full of, so outlines draw it.
const (
	spaceMark      = '␣'
	spaceMarkWidth = 0.55 // sizes of the text, as [width] counts it
)

// appendSpaceMark appends an open box from x on, below the base line.
func appendSpaceMark(path vg.Path, x, size float64) vg.Path {
	const left, right, top, bottom, thick = 0.06, 0.49, 0.1, -0.14, 0.07
	for i, q := range []point{
		{left, top},
		{left, bottom},
		{right, bottom},
		{right, top},
		{right - thick, top},
		{right - thick, bottom + thick},
		{left + thick, bottom + thick},
		{left + thick, top},
	} {
		at := vg.Point{X: vg.Points(x + q.x*size), Y: vg.Points(q.y * size)}
		if i == 0 {
			path.Move(at)
		} else {
			path.Line(at)
		}
	}
	path.Close()
	return path
}

// toward returns the point two thirds of the way from a to b.
func toward(a, b vg.Point) vg.Point {
	return vg.Point{X: a.X + (b.X-a.X)*2/3, Y: a.Y + (b.Y-a.Y)*2/3}
}

// substitutes stand for the marks of [render.Visible] that Liberation Sans lacks.
var substitutes = map[rune]string{
	'▁': "_", '↵': "¶", '⇥': "→", '⟨': "‹", '⟩': "›", '␡': "‹DEL›", '⁻': "-", '◌': "◌", '⋯': "…",
	'▸': "►", // where a target begins
}

// shown returns a text as the format can draw it. SVG leaves the choice of a font to the viewer.
// The others draw a character that they lack as its code point, and [page.warning] names it. Spaces
// stay: those of tokens were marked before.
func (p *page) shown(text string) string {
	parts := strings.Split(text, " ")
	for i, part := range parts {
		parts[i] = render.Visible(part, 0)
	}
	text = strings.Join(parts, " ")
	if p.format == SVG {
		return text
	}
	var b strings.Builder
	f := face(10, false)
	for _, r := range text {
		switch sub, ok := substitutes[r]; {
		case p.format == TeX && inTeX(r) || p.format != TeX && (r == spaceMark || hasGlyph(f, r)):
			b.WriteRune(r)
		case ok:
			b.WriteString(sub)
		case r >= '␀' && r < '␀'+0x20: // the picture of a control character
			fmt.Fprintf(&b, "‹%02X›", r-'␀')
		default:
			p.lost[r] = true
			fmt.Fprintf(&b, "‹%04X›", r)
		}
	}
	return b.String()
}

// warning returns a sentence on the characters that the format cannot draw, "" if there are none.
func (p *page) warning() string {
	if len(p.lost) == 0 {
		return ""
	}
	all := slices.Sorted(maps.Keys(p.lost))
	const most = 12
	some := string(all[:min(len(all), most)])
	if len(all) > most {
		some += "…"
	}
	characters := fmt.Sprintf("%d characters", len(all))
	if len(all) == 1 {
		characters = "1 character"
	}
	return fmt.Sprintf("The font of %s has no glyph for %s (%s); the figure has code points "+
		"instead. SVG keeps the characters.", strings.ToUpper(string(p.format)), characters, some)
}

// splitWords divides a text at spaces.
func splitWords(text string) []string { return strings.FieldsFunc(text, unicode.IsSpace) }
