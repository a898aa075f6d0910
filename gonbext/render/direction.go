package render

import (
	"strings"
	"unicode"
)

// isolateBegin and isolateEnd stand around a name that is written from right to left. Without them,
// the number behind such a name would be drawn before it, beside the name of another token. They
// are characters and not elements, so that they work in titles and terminals too, and survive where
// elements are removed. [Visible] never returns them.
const (
	isolateBegin = "\u2068"
	isolateEnd   = "\u2069"
)

// rightToLeft are the characters of scripts that are written from right to left: Hebrew, Arabic,
// Syriac, Thaana, N'Ko and others, with their presentation forms. The scripts of pictures have the
// same ranges.
var rightToLeft = &unicode.RangeTable{
	R16: []unicode.Range16{{0x590, 0x8FF, 1}, {0xFB1D, 0xFDFF, 1}, {0xFE70, 0xFEFC, 1}},
	R32: []unicode.Range32{{0x10800, 0x10FFF, 1}, {0x1E800, 0x1EFFF, 1}},
}

// isolated returns a visible name so that it does not change the direction of what follows it.
func isolated(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(rightToLeft, r) }) {
		return name
	}
	return isolateBegin + name + isolateEnd
}

// direction returns the attribute of a running text that runs from right to left, as one does if
// most of its letters do: the first letter does not tell, because it may be that of a control
// token.
func (p *picture) direction() string {
	difference := 0
	count := func(text string) {
		for _, r := range text {
			if unicode.Is(rightToLeft, r) {
				difference++
			} else if unicode.IsLetter(r) {
				difference--
			}
		}
	}
	for j, text := range p.e.Prompt.Texts {
		if !p.special(j) {
			count(text)
		}
	}
	for _, g := range p.e.Steps {
		if !g.Special && !p.e.Model.Reads() {
			count(g.Text)
		}
	}
	if difference > 0 {
		return ` dir="rtl"`
	}
	return ""
}
