package figure

import "testing"

// TestSVGTexts: a text has the length it was laid out for, and none if the font lacks a character.
func TestSVGTexts(t *testing.T) {
	const before = `style="font-family:Liberation Sans;font-variant:normal;font-weight:normal;` +
		`font-style:normal;font-size:10px">`
	const after = `style="font-family:Liberation Sans,Arial,Helvetica,sans-serif;` +
		`font-weight:normal;font-style:normal;font-size:10px"`
	for text, length := range map[string]string{
		// In Liberation Sans an m is 1,706 of 2,048 units wide.
		"mm":    ` textLength="16.66" lengthAdjust="spacingAndGlyphs"`,
		"&amp;": "",
		"m":     "",
		"m漢":    "",
	} {
		got := svgTexts("<text " + before + text + "</text>")
		if want := "<text " + after + length + ">" + text + "</text>"; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}
