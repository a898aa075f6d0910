package render

import (
	"fmt"
	"strings"
)

// restyled is a style of the picture and its colours on a dark page.
type restyled struct {
	light string
	dark  color
}

// The anchors of the ramps of a dark page, as OKLCH like those of a light page. Both arms begin at
// the same neutral colour, close to the colour of the page, and lightness rises evenly.
var (
	darkBlueArm = [5][3]float64{
		{0.265, 0.010, 250},
		{0.405, 0.080, 254},
		{0.545, 0.115, 250},
		{0.685, 0.115, 242},
		{0.825, 0.085, 234},
	}
	darkRustArm = [5][3]float64{
		{0.265, 0.010, 250},
		{0.405, 0.075, 42},
		{0.545, 0.112, 48},
		{0.685, 0.120, 58},
		{0.825, 0.095, 70},
	}
	// Computed once, because every page uses them.
	restyles = darkStyles()
)

// darkBorder is the colour of lines on a dark page.
var darkBorder = rgb{62, 67, 75}

// darkStyles returns every style of a picture that sets colours, with its dark colours. Each ramp
// has steps+1 colours, of which both share the neutral one.
func darkStyles() []restyled {
	page, text := rgb{18, 20, 24}, rgb{228, 231, 236}
	all := []restyled{
		{card, color{rgb{27, 30, 35}, text}},
		{soft, color{rgb{27, 30, 35}, rgb{163, 170, 181}}},
		{panel, color{page, text}},
		{badge, color{rgb{84, 56, 0}, rgb{255, 236, 179}}},
		{strong, color{rgb{232, 235, 240}, rgb{28, 32, 38}}}, // and chosenBar
		{otherBar.style(), solid(rgb{104, 112, 124})},
		{sinkBar.style(), solid(rgb{96, 102, 110})},
		{generatedBar.style(), solid(rgb{150, 156, 166})},
		{muted.style(), color{rgb{50, 54, 61}, rgb{178, 183, 191}}},
		{undefined.style(), undefined},
	}
	blue, rust := arm(darkBlueArm), arm(darkRustArm)
	for i := range positive {
		all = append(all, restyled{positive[i].style(), blue[i]})
	}
	for i := range negative[1:] { // the neutral is the same
		all = append(all, restyled{negative[1+i].style(), rust[1+i]})
	}
	return all
}

// darkSheet returns a style sheet with dark colours for readers whose system has a dark theme. The
// elements have inline styles and no classes, because the sanitisers of notebooks drop style
// sheets. So each rule selects elements by the beginning of their inline style and overrides it,
// and the picture is the same as in a notebook.
func darkSheet(document string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark}"+
		"div,details{border-color:%v!important}\n", darkBorder)
	for _, r := range restyles {
		// Only colours that the page has, of more than a hundred.
		if strings.Contains(document, r.light) {
			fmt.Fprintf(&b, "[style^=\"%s\"]{background-color:%v!important;color:%v!important}\n",
				r.light, r.dark.background, r.dark.text)
		}
	}
	b.WriteString("}")
	return b.String()
}
