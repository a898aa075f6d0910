package browser

import (
	"bytes"
	"fmt"
	"image/png"
	"strconv"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// seen is what a reader sees of a picture of heads or of maps: the framed and the coloured tokens,
// the sentence, what is open, the marked row and column, and the lines of marked thumbnails.
type seen struct {
	Framed, Sentence, Open, Row, Column, Marked string
	Colored                                     []string
}

// seeView runs a script in the tab and returns what a reader sees then.
func seeView(t *testing.T, b *chromium.Browser, script string) seen {
	t.Helper()
	return chromium.Evaluate[seen](t, b, "(() => {"+script+`})(),(() => {
		const root = document.querySelector('.hw'), of = (e) => e.getAttribute('style') || '';
		const tokens = [...root.querySelectorAll('.hw-t > *:not(br)')];
		const text = (selector) => (root.querySelector(selector) || {}).textContent || '';
		return {
			Framed: tokens.filter((e) => of(e).includes('outline')).map((e) => e.textContent).join(' '),
			Colored: tokens.flatMap((e, i) => of(e).includes('#27b') ? [i + ' ' + e.textContent] : []),
			Sentence: text('.hw-s'), Open: text('.hw-n'),
			Row: text('.hw-r.hw-x th'), Column: text('.hw-c .hw-x'),
			Marked: [...root.querySelectorAll('.hw-g .hw-p')].filter((e) => !e.hidden).
				map((e) => e.closest('.hw-g').textContent).join(),
		};
	})()`)
}

func (s seen) check(t *testing.T, what string, framed, sentence string, colored ...string) {
	t.Helper()
	if s.Framed != framed || !strings.Contains(s.Sentence, sentence) ||
		strings.Join(s.Colored, ",") != strings.Join(colored, ",") {
		t.Errorf("%s: framed %q, coloured %q, sentence %q; want %q, %q, %q", what, s.Framed,
			s.Colored, s.Sentence, framed, colored, sentence)
	}
}

// TestKeysOfMaps: in a picture of maps, Enter shows what a token feeds and goes back, Esc lets the
// layer go too, and Home and End go to the ends, as in a heatmap. A second click on the framed
// token, one with Shift, and one on a column do what Enter does.
func TestKeysOfMaps(t *testing.T) {
	b := tab(t)
	const shift = `document.querySelectorAll('.hw-t > *')[2].dispatchEvent(
		new MouseEvent('click', {bubbles: true, shiftKey: true}))`
	type step struct{ what, script, framed, says, colored string }
	check := func(t *testing.T, page, open string, steps []step) {
		b.Show(t, page)
		for _, c := range steps {
			got := seeView(t, b, c.script)
			row, column := c.framed, ""
			if strings.Contains(c.says, "as a source") {
				row, column = "", c.framed
			}
			if got.Framed != c.framed || !strings.Contains(got.Sentence, c.says) ||
				strings.Join(got.Colored, ",") != c.colored || got.Row != row ||
				got.Column != column {
				t.Errorf("%s: %+v, want %+v", c.what, got, c)
			}
			if strings.HasPrefix(c.what, "Esc") && got.Open != open {
				t.Errorf("%s: open is %q, want %q", c.what, got.Open, open)
			}
		}
	}
	t.Run("maps", func(t *testing.T) {
		const s = "“s” (2) · raw, layer 2: “key” (1) 100 %"
		const fed = "“s” (2) as a source, raw, layer 2: “to” (3) 100 %"
		const first = "“to” (3), where “are” is predicted · raw, layer 2: “s” (2) 100 %"
		page := document(mapped(touched()))
		check(t, page, "raw, layer 2", []step{
			{"at first", "", "to", first, "2 s"},
			{
				"Enter", press("Enter"), "to",
				"“to” (3) as a source, raw, layer 2: “are” (generated 1) 100 %", "4 are",
			},
			{"Enter again", press("Enter"), "to", first, "2 s"},
			{"a click with Shift", shift, "s", fed, "3 to"},
			{"another token", click(".hw-t > *", 2), "s", s, "1 key"},
			{"a column", click(".hw-c th", 2), "s", fed, "3 to"},
			{
				"a layer down", press("ArrowDown"), "s",
				"“s” (2) as a source, raw, layer 1: “to” (3) 66.7 %, “s” (2) 33.3 %", "2 s,3 to",
			},
			{"Esc", press("Escape"), "s", s, "1 key"},
			{"End", press("End"), "here", "“here” (generated 2) · raw, layer 2", "4 are"},
			{"Home", press("Home"), "the", "“the” (0) · raw, layer 2", "0 the"},
		})
	})
}

// TestTapCell clicks cells, as a finger does, which has no pointer: what stands there is said, also
// where a cell is empty, and goes with the next choice.
func TestTapCell(t *testing.T) {
	b := tab(t)
	cell := func(row, column int) string {
		return fmt.Sprintf("document.querySelectorAll('.hw-r')[%d].cells[%d].click()", row, column)
	}
	imageAt := func(x, y float64) string {
		return `const e = [...document.querySelectorAll('.hw-i,.hw-j')].
				find((e) => !e.closest('.hw-g') && e.checkVisibility()), r = e.getBoundingClientRect();
			e.dispatchEvent(new MouseEvent('click', {bubbles: true,
				clientX: r.left + r.width * ` + fmt.Sprint(x) + `, clientY: r.top + r.height * ` +
			fmt.Sprint(y) + `}))`
	}
	layers := render.Layers{Heatmap: render.Heatmap{Explanation: deep(4)}}
	for _, c := range []struct{ name, page, script, want string }{
		{
			"a map", document(mapped(touched())), cell(3, 2),
			"layer 2, “to” (3) ← “key” (1): 0.0 %",
		},
		{
			"an image of a map",
			document(mapped(lengthened(touched()))),
			imageAt(1.5/66, 3.5/66), "layer 2, “to” (3) ← “key” (1): 0.0 %",
		},
	} {
		b.Show(t, c.page)
		said := func(script string) string {
			return chromium.Evaluate[string](t, b, "(() => {"+script+"})(),"+
				"document.querySelector('.hw-s').textContent")
		}
		if got := said(c.script); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: it says %q, want %q", c.name, got, c.want)
		}
		if got := said(press("ArrowLeft")); strings.Contains(got, c.want) {
			t.Errorf("%s: after another choice it still says %q", c.name, got)
		}
	}
	b.Show(t, document(layers))
	for _, c := range []struct{ what, script, want string }{
		{"an empty cell", `document.querySelector('.hw-d .hw-r').cells[1].dispatchEvent(
			new MouseEvent('mousemove', {bubbles: true}))`, "up to layer 3 · “the” (0) 0.00"},
		{"beside the cells", "document.querySelector('.hw-d b').click()", ""},
	} {
		if got := chromium.Evaluate[string](t, b, "(() => {"+c.script+"})(),"+
			"document.querySelector('.hw-t + div').textContent"); got != c.want {
			t.Errorf("layers, %s: it says %q, want %q", c.what, got, c.want)
		}
	}
}

// TestSteadyColumns chooses every row of a map: the columns stay where they are,
// though the name of the chosen row is bold and has a mark.
func TestSteadyColumns(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Prompt.Texts[2] = " considerably"
	for name, page := range map[string]string{
		"maps": document(mapped(e)),
	} {
		b.Show(t, page)
		at := chromium.Evaluate[[]float64](t, b, `[...document.querySelectorAll('.hw-r')].map(
			(row, i) => {
			document.querySelectorAll('.hw-t > *:not(br)')[i].click();
			if (!row.classList.contains('hw-x')) throw new Error('row ' + i + ' is not chosen');
			return row.cells[1].getBoundingClientRect().left;
		})`)
		for i, x := range at {
			if x != at[0] {
				t.Errorf("%s: with row %d the columns begin at %.2f, with row 0 at %.2f", name, i, x,
					at[0])
			}
		}
	}
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
