package browser

import (
	"bytes"
	"image/png"
	"strconv"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// seen is what a reader sees of a picture of heads or of maps: the framed and the coloured tokens,
// the sentence, what is open, the marked row and column, and the lines of marked thumbnails.
type seen struct {
	Framed, Sentence, Open, Row, Column, Marked string
	Colored                                     []string
}

// TestFrameBesideTokens frames every token of a text in which some are white space alone: the frame
// covers no other token.
func TestFrameBesideTokens(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Prompt.Texts = []string{"x", " ", "=", " "}
	place(e)
	b.Show(t, document(mapped(e)))
	covered := chromium.Evaluate[[]string](t, b, `(() => {
		const tokens = [...document.querySelectorAll('.hw-t > *')], covered = [];
		tokens.forEach((e, i) => {
			e.click();
			const r = e.getBoundingClientRect(), width = parseFloat(getComputedStyle(e).outlineWidth);
			for (const other of [tokens[i - 1], tokens[i + 1]]) {
				const o = other && other.getBoundingClientRect();
				if (o && o.right > r.left - width + 0.01 && o.left < r.right + width - 0.01) {
					covered.push(e.textContent + ' covers ' + other.textContent);
				}
			}
		});
		return covered;
	})()`)
	if len(covered) > 0 {
		t.Errorf("%q", covered)
	}
}

// TestEdgeShade opens a matrix that is wider than the window: the edge behind which it goes on is
// shaded, and no longer where it ends, nor where there is room for all of it.
func TestEdgeShade(t *testing.T) {
	b := tab(t)
	e := lengthenedBy(touched(), 20)
	defer b.Resize(t, 1200, 900)
	for _, c := range []struct {
		name   string
		width  int64
		scroll int
		shaded bool
	}{
		{"narrow", 446, 0, true},
		{"narrow, at the end", 446, 10_000, false},
		{"wide", 1600, 0, false},
	} {
		b.Resize(t, c.width, 900)
		b.Show(t, output(htmlOf(mapped(e)), "white", "black"))
		at := chromium.Evaluate[[3]float64](t, b, `(() => {
			const box = [...document.querySelectorAll('[style*="overflow-x:auto"]')].
				find((e) => e.querySelector('.hw-m'));
			box.scrollLeft = `+strconv.Itoa(c.scroll)+`;
			const r = box.getBoundingClientRect();
			return [r.right + scrollX, r.top + scrollY, r.height];
		})()`)
		shot, err := png.Decode(bytes.NewReader(b.Screenshot(t, &chromium.Clip{
			X: at[0] - 2, Y: at[1], Width: 1, Height: at[2], Scale: 1,
		})))
		must(t, err)
		dark := 0
		for y := range shot.Bounds().Dy() {
			if color3(shot.At(0, y))[0] < 245 {
				dark++
			}
		}
		if part := float64(dark) / at[2]; (part > 0.5) != c.shaded {
			t.Errorf("%s: %.0f %% of the edge is shaded, want it shaded: %t", c.name, 100*part,
				c.shaded)
		}
	}
}

// TestEdgeShadeDark reads the colour of that shade: on dark it is no light that shines at the edge.
func TestEdgeShadeDark(t *testing.T) {
	b := tab(t)
	b.Show(t, document(mapped(touched())))
	defer emulate(t, b, "")
	for color, want := range map[string]string{
		"light": "rgba(136, 136, 136, 0.8)", "dark": "rgb(0, 0, 0)",
	} {
		emulate(t, b, "", scheme, color)
		got := chromium.Evaluate[string](t, b, `getComputedStyle(document.querySelector(
			'[style*="overflow-x:auto"]')).backgroundImage.match(
			/radial-gradient\([^#]*?(rgba?\(.*?\))/)[1]`)
		if got != want {
			t.Errorf("on %s the shade is %s, want %s", color, got, want)
		}
	}
}
