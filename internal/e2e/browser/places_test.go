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

// TestKeysOfHeads: in pictures of heads, Enter shows what a token feeds and goes
// back, Esc lets the layer and the head go too, and Home and End go to the ends, as in a heatmap. A
// second click on the framed token, one with Shift, and one on a column do what Enter does.
func TestKeysOfHeads(t *testing.T) {
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
	t.Run("heads", func(t *testing.T) {
		const fed = "“s” (2) as a source, layer 1, head 1: “to” (3) 100 %"
		const s = "“s” (2) · layer 1, head 1 looks at “key” (1)"
		const first = "“to” (3), where “are” is predicted · layer 1, head 1 looks at “s” (2) 100 %"
		check(t, document(attended()), "layer 1, head 1", []step{
			{"at first", "", "to", first, "2 s"},
			{
				"Enter", press("Enter"), "to",
				"“to” (3) as a source, layer 1, head 1: “are” (generated 1) 100 %", "4 are",
			},
			{"Enter again", press("Enter"), "to", first, "2 s"},
			{
				"the framed token", click(".hw-t > *", 3), "to",
				"“to” (3) as a source, layer 1, head 1: “are”", "4 are",
			},
			{"the framed token again", click(".hw-t > *", 3), "to", first, "2 s"},
			{"a click with Shift", shift, "s", fed, "3 to"},
			{"another token", click(".hw-t > *", 2), "s", s, "1 key"},
			{"a column", click(".hw-c th", 2), "s", fed, "3 to"},
			{
				"a layer down", press("ArrowDown"), "s",
				"“s” (2) as a source, layer 0, head 1: nothing stands out", "",
			},
			{"Esc", press("Escape"), "s", s, "1 key"},
			{"a head that nobody chose, and Esc", press("ArrowDown", "Escape"), "s", s, "1 key"},
			{"End", press("End"), "here", "“here” (generated 2) · layer 1", "4 are"},
			{"Home", press("Home"), "the", "“the” (0) · layer 1", ""},
		})
	})
}

// attendedByLayer is attended, where layer 0 wrote the first generated token and layer 1 the other.
func attendedByLayer() render.Heads {
	h := attended()
	h.Explanation.Model.Layers = 2
	r := h.Explanation.Methods["value-zeroing"]
	r.Shown = []int{0, 1}
	r.LayerChosen = true
	return h
}

// TestHeadsWrote chooses tokens of a picture of heads: the mark of the layer that wrote what is
// predicted there goes along.
func TestHeadsWrote(t *testing.T) {
	b := tab(t)
	h := attendedByLayer()
	b.Show(t, document(h))
	for _, c := range []struct{ what, script, want string }{
		{"at first", "", "1 wrote 0"},
		{"the next token", press("ArrowRight"), "wrote 1 0"},
		{"one where nothing is predicted", press("Home"), "1 0"},
		{"the first one again", click(".hw-t > *", 3), "1 wrote 0"},
		{"what it feeds", press("Enter"), "1 0"},
	} {
		got := chromium.Evaluate[string](t, b, "(() => {"+c.script+`})(),
			[...document.querySelectorAll('.hw-g')].map((e) => e.cells[0].textContent).join(' ')`)
		if got != c.want {
			t.Errorf("%s: the lines of layers are %q, want %q", c.what, got, c.want)
		}
	}
}

// TestHeadsOpenTheLayer chooses tokens of a picture of heads: each opens the best head of the layer
// that wrote what is predicted there, until the reader chooses a head, which then stays.
func TestHeadsOpenTheLayer(t *testing.T) {
	b := tab(t)
	h := attendedByLayer()
	row := h.Attention.Data[3*6:] // of layer 0, head 0, from “to”
	row[0], row[1] = 0.0, 0.6042  // 60.4 %, and 24 of 40 steps
	b.Show(t, document(h))
	const own = "heads (layer.head) of layer 0, which wrote “are”: 0.0 “key” (1) 60.4 %other heads " +
		"that look at one token more from here than from other tokens: 1.1 “s” (2) 100 %"
	for _, c := range []struct{ what, script, open, list string }{
		{"at first", "", "layer 0, head 0", own},
		{"the next token", press("ArrowRight"), "layer 1, head 1", "of layer 1, which wrote “here”: 1.1"},
		{"back", press("ArrowLeft"), "layer 0, head 0", own},
		{"what it feeds", press("Enter"), "layer 0, head 0", own},
		{"another head", press("Enter") + click(".hw-s + div button", 1), "layer 1, head 1", own},
		{"the next token with it", press("ArrowRight"), "layer 1, head 1", "which wrote “here”"},
		{"back with it", press("ArrowLeft"), "layer 1, head 1", own},
		{"Esc", press("Escape"), "layer 0, head 0", own},
	} {
		// The head that is open and its number are those of the list.
		const same = `document.querySelector('.hw-s').textContent.endsWith(
			document.querySelector('.hw-b [aria-pressed=true]').textContent.replace(/^[\d.]+ /, ''))`
		got := chromium.Evaluate[[]string](t, b, "(() => {"+c.script+`})(),
			[document.querySelector('.hw-n').textContent,
			document.querySelector('.hw-s + div').textContent,
			document.querySelector('.hw-b [aria-pressed=true]').title]`)
		if got[0] != c.open || !strings.Contains(got[1], c.list) || got[2] != c.open {
			t.Errorf("%s: %q is open, want %q and the list %q", c.what, got, c.open, c.list)
		}
		if c.open == "layer 0, head 0" && !strings.HasPrefix(c.what, "what") &&
			!chromium.Evaluate[bool](t, b, same) {
			t.Errorf("%s: the list and the sentence have other numbers", c.what)
		}
	}
}

// TestTapCell clicks cells, as a finger does, which has no pointer: what stands there is said, also
// where a cell is empty, and goes with the next choice.
func TestTapCell(t *testing.T) {
	b := tab(t)
	cell := func(row, column int) string {
		return fmt.Sprintf("document.querySelectorAll('.hw-r')[%d].cells[%d].click()", row, column)
	}
	for _, c := range []struct{ name, page, script, want string }{
		{
			"a head", document(attended()), cell(3, 2),
			"“to” (3) looks at “key” (1): ≈ 0 %",
		},
		{
			"a head, a token that comes later",
			document(attended()), cell(3, 5),
			"“to” (3) looks at “are” (generated 1): 0 %, it comes later",
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
}

// TestSteadyColumns chooses every row of a head: the columns stay where they are,
// though the name of the chosen row is bold and has a mark.
func TestSteadyColumns(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Prompt.Texts[2] = " considerably"
	h := attended()
	h.Explanation = e
	for name, page := range map[string]string{
		"heads": document(h),
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
