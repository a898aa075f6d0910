package chart

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// JupyterLab draws charts on white in its light themes and on the background of Vega's theme for
// dark pages in its dark ones; other viewers draw them on white. So a specification sets no
// background, and every colour of its own has a second one for a dark background.

// dark is the parameter that tells whether the background is dark.
const dark = "dark"

// darkParameter returns the parameter. Vega knows the background of a specification as a signal.
func darkParameter() object {
	return object{"name": dark, "expr": "luminance(background)<.2"}
}

// darkBackground is the background of Vega's theme for dark pages.
var darkBackground = RGB{0x33, 0x33, 0x33}

// leastMarkContrast is the contrast that WCAG 2.1 asks of parts of a chart (1.4.11).
const leastMarkContrast = 3

// themed returns the colour of a mark in a specification.
func themed(c RGB) any {
	other := onDark(c)
	if other == c {
		return c.String()
	}
	return object{"expr": "dark?'" + other.String() + "':'" + c.String() + "'"}
}

// outline returns the outline of marks whose colour is that of a number and so cannot change: none
// on white, and a light one on a dark background.
func outline() any { return object{"expr": "dark?'#ccc':null"} }

// onDark returns the colour that stands for c on a dark background: c itself if it has contrast
// 3 with the background, its mirror image for a grey, and otherwise a lighter one of the same hue.
func onDark(c RGB) RGB {
	onDark := func(c RGB) bool {
		return (luminance(c)+0.05)/(luminance(darkBackground)+0.05) >= leastMarkContrast
	}
	lab := oklabOf(c)
	if !onDark(c) && math.Hypot(lab[1], lab[2]) < greyChroma {
		lab[0] = 1.15 - lab[0]
		c = srgb(lab)
	}
	for !onDark(c) {
		lab[0] += 0.02
		c = srgb(lab)
	}
	return c
}

// greyChroma is the chroma in OKLab below which a colour counts as a grey.
const greyChroma = 0.03

// oklabOf is the inverse of srgb.
func oklabOf(c RGB) [3]float64 {
	var lin [3]float64
	for i, v := range c {
		lin[i] = linear(v)
	}
	l := math.Cbrt(0.4122214708*lin[0] + 0.5363325363*lin[1] + 0.0514459929*lin[2])
	m := math.Cbrt(0.2119034982*lin[0] + 0.6806995451*lin[1] + 0.1073969566*lin[2])
	s := math.Cbrt(0.0883024619*lin[0] + 0.2817188376*lin[1] + 0.6299787005*lin[2])
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

// labMargin is by how many pixels a window of JupyterLab without its list of files is wider than
// the place of a chart in it. Measured: 446 pixels leave 330, of which 38 belong to the menu.
const labMargin = 154

// leastWidth is the width of a plot in a window that is narrower than any, and leastColumn that of
// a column of a heatmap whose name can still be read.
const (
	leastWidth  = 160
	leastColumn = 13
)

// fits returns the parameters that make the plot of a specification narrower in a narrow window.
func (c *Chart) fits(spec object) []any {
	least := float64(leastWidth)
	if c.Kind == Heatmap {
		least = float64(leastColumn * len(c.Matrix.Columns))
	}
	all := []any{c.fit(spec["width"].(float64), least)}
	if c.Kind == Ternary {
		all = append(all, object{"name": "height", "expr": "width*.866"})
	}
	return all
}

// fit returns the parameter that makes the plot narrower in a narrow window: at most width and at
// least least pixels wide. Vega knows the width of a plot as a signal, and a parameter
// of the same name replaces its value.
func (c *Chart) fit(width, least float64) object {
	around := c.around() + labMargin
	return object{"name": "width", "expr": fmt.Sprintf(
		"clamp(windowSize()[0]-%v,%v,%v)", around, min(least, width), width)}
}

// letter is the width of a letter of a chart in pixels, on average.
const letter = 6.5

// drawnWidth returns how many pixels a chart takes, at most, whose plot is that wide.
func (c *Chart) drawnWidth(plot float64) float64 {
	longest := 0
	for _, line := range append(lines(c.Title), lines(c.Subtitle)...) {
		longest = max(longest, utf8.RuneCountInString(line))
	}
	return max(plot+c.around(), math.Ceil(letter*float64(longest)))
}

// lineLetters is how many letters a line of a title has at most, unless a word is longer: a cell of
// JupyterLab in a window of 446 pixels has room for that.
const lineLetters = 45

// lines divides a title between words.
func lines(title string) []string {
	var all []string
	for _, word := range strings.Fields(title) {
		last := len(all) - 1
		if last >= 0 && utf8.RuneCountInString(all[last]+" "+word) <= lineLetters {
			all[last] += " " + word
		} else {
			all = append(all, word)
		}
	}
	return all
}

// broken returns a title as Vega-Lite has it: a text, or a list of lines.
func broken(title string) any {
	all := lines(title)
	if len(all) <= 1 {
		return title
	}
	list := make([]any, len(all))
	for i, line := range all {
		list[i] = line
	}
	return list
}

// around returns how many pixels a chart has beside its plot, at most: the axis and the legend.
func (c *Chart) around() float64 {
	const axis, symbol, bar = 60, 35, 60
	names := func(list []string) (longest float64) {
		for _, name := range list {
			longest = max(longest, letter*float64(utf8.RuneCountInString(name)))
		}
		return longest
	}
	total := float64(axis)
	switch c.Kind {
	case Heatmap:
		total += names(c.Matrix.Rows)
	case Layered:
		total += names(c.Graph.Tokens)
	}
	if c.Colored() {
		total += max(bar, names([]string{c.Color.Title}))
	}
	if len(c.Series) > 1 {
		longest := 0.0
		for _, s := range c.Series {
			longest = max(longest, names([]string{s.Name}))
		}
		total += symbol + longest
	}
	return math.Ceil(total)
}
