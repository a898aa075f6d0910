package render

import (
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
)

// theme has the colours of a heatmap on a page: for values above the neutral one and below it, from
// the weakest that stands out to the strongest, on a light and on a dark page. They are opaque:
// half transparent ones cannot end in a dark blue on white and in a pale one on black. The first
// step has a contrast of 1.4 to the page, and every step at least 4.5 to the letters on it.
type theme struct {
	name                 string
	above, below         [levels]string
	aboveDark, belowDark [levels]string
}

// six returns six colours from their hex digits.
func six(text string) (colors [levels]string) {
	for i, hex := range strings.Fields(text) {
		colors[i] = "#" + hex
	}
	return colors
}

// The colours below the neutral value of the first and the last theme.
var (
	rust     = six("f4d5b9 eebf98 dd9a64 a95d24 8d4414 5a2a0b")
	rustDark = six("4a2d17 63391a 8f5422 c98244 eab488 ffe9d6")
)

// themes are all themes, the default first; they have the names of the palettes.
var themes = []theme{
	{
		"blue-rust",
		six("c6dff4 9cc7ea 6ba7db 3376b8 175296 0a2658"), rust,
		six("1f3c5e 23507f 3270ad 5f9fd8 9ccbf2 e6f3ff"), rustDark,
	},
	{
		"green-purple",
		six("a5d8b0 70bd88 3f9c66 1f7549 0e5030 062d1a"),
		six("d9c2eb c09edd a076c9 7a4ba6 552c7c 33134f"),
		six("16442d 1f6543 2b7f54 63b585 a2dab5 e2f7e8"),
		six("4d2c6b 613b85 8659ad ad84d1 d2b6ea f2e6fc"),
	},
	// The hue changes with the step, which tells neighbouring steps further apart.
	{
		"perceptual",
		six("9fd6ba 5fc4b6 2fa0ae 1f7096 28478a 2b1a5c"), rust,
		six("38347a 2c5590 287a9b 4db3ab 9adcb5 e3f8d8"), rustDark,
	},
}

// The colours of a page besides those of values, on light and on dark.
const (
	sheet, sheetDark = "#ffffff", "#111418"
	ink, inkDark     = "#14181f", "#e9edf2"
	dimInk, dimDark  = "#59616e", "#a5adb9"
)

// letters are the colours of letters on the steps, on light and on dark pages.
var (
	letters     = six("14181f 14181f 0a1220 ffffff ffffff ffffff")
	lettersDark = six("ffffff ffffff ffffff 071426 071426 071426")
)

// themeOf returns the theme of a palette.
func themeOf(name string) theme {
	for _, t := range themes {
		if t.name == name {
			return t
		}
	}
	return themes[0]
}

// style returns the declarations of a step on a light page, for where style sheets are removed.
func (t theme) style(step int) string {
	switch {
	case step > 0:
		return "background:" + t.above[step-1] + ";color:" + letters[step-1]
	case step < 0:
		return "background:" + t.below[-step-1] + ";color:" + letters[-step-1]
	}
	return ""
}

// variables returns the colours as variables of a style sheet: p1 to p6, n1 to n6.
func (t theme) variables() string {
	var b strings.Builder
	for i := range levels {
		n := string(rune('1' + i))
		b.WriteString("--p" + n + ":light-dark(" + t.above[i] + "," + t.aboveDark[i] + ");")
		b.WriteString("--n" + n + ":light-dark(" + t.below[i] + "," + t.belowDark[i] + ");")
	}
	return b.String()
}

// selector returns which pictures have the colours of the theme. The default has those that name
// none, too: a notebook that is not trusted removes the name, and this sheet, which comes with any
// cell that has been run, still paints its steps.
func (t theme) selector() string {
	if t.name == themes[0].name {
		return ".hm"
	}
	return ".hm[data-palette=" + t.name + "]"
}

// themeSheet returns the rules that set the colours of every theme.
func themeSheet() string {
	var b strings.Builder
	b.WriteString(".hm{")
	for i := range levels {
		n := string(rune('1' + i))
		b.WriteString("--o" + n + ":light-dark(" + letters[i] + "," + lettersDark[i] + ");")
	}
	b.WriteString("}")
	for _, t := range themes {
		b.WriteString(t.selector() + "{" + t.variables() + "}")
	}
	for i := range levels {
		n := string(rune('1' + i))
		for _, side := range []string{"p", "n"} {
			b.WriteString(".hm ." + side + n + "{background-color:var(--" + side + n +
				")!important;color:var(--o" + n + ")!important;fill:var(--" + side + n + ")}")
		}
	}
	return b.String()
}

// PaletteNames returns the names that [Look.Palette] may have, the default first.
func PaletteNames() []string {
	var names []string
	for _, t := range themes {
		names = append(names, t.name)
	}
	return names
}

// CheckPalette returns a [trace.UsageError] if there is no palette of that name. The empty name is
// the default.
func CheckPalette(name string) error {
	if name != "" && themeOf(name).name != name {
		return usagef("unknown palette %s; %s", message.Quote(name),
			message.KnownAre(name, PaletteNames()))
	}
	return nil
}
