package browser

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// seenPanels is what a reader sees of a picture of layers or maps.
type seenPanels struct {
	Say, Facts, Read, Title, Row, Here, Small string
	Colored                                   []string
}

// seePanels runs a script in the tab and returns what a reader sees then.
func seePanels(t *testing.T, b *chromium.Browser, script string) seenPanels {
	t.Helper()
	return chromium.Evaluate[seenPanels](t, b, "(() => {"+script+`})(),(() => {
		const root = document.querySelector('.hm-panels');
		const text = (selector) => (root.querySelector(selector) || {}).textContent || '';
		return {
			Say: text('.hm-say'), Facts: text('.hm-facts'), Read: text('.hm-readout'),
			Title: text('.hm-h'), Row: text('.hm-matrix tr.hm-here th'),
			Here: text('.hm-text .hm-here'), Small: text('.hm-thumbs [aria-pressed=true]'),
			Colored: [...root.querySelectorAll('.hm-text :is(span,u)')].
				flatMap((e, i) => /(^| )[pn][1-6]/.test(e.className) ? [i + ' ' + e.textContent] : []),
		};
	})()`)
}

// check compares what stands in a picture with parts of it.
func (s seenPanels) check(t *testing.T, what string, want seenPanels) {
	t.Helper()
	for _, c := range [][2]string{
		{s.Say, want.Say}, {s.Facts, want.Facts}, {s.Read, want.Read}, {s.Title, want.Title},
		{s.Small, want.Small},
	} {
		if !strings.Contains(c[0], c[1]) {
			t.Errorf("%s: it says %q, want %q", what, c[0], c[1])
		}
	}
	if s.Row != want.Row || s.Here != want.Here ||
		strings.Join(s.Colored, ",") != strings.Join(want.Colored, ",") {
		t.Errorf("%s: row %q, framed %q, coloured %q; want %q, %q, %q", what, s.Row, s.Here,
			s.Colored, want.Row, want.Here, want.Colored)
	}
}

// withoutThumbnails returns what is drawn but for the elements of small pictures.
func withoutThumbnails(d chromium.Drawn) chromium.Drawn {
	delete(d.Elements, "svg")
	delete(d.Elements, "path")
	return d
}

// pointAt points at a cell of the open matrix.
func pointAt(row, column string) string {
	return `document.querySelector('.hm-matrix [data-i="` + row + `"] [data-c="` + column +
		`"]').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));`
}

// TestTouchLayers opens tokens and layers by clicks and keys: the last layer is on top.
func TestTouchLayers(t *testing.T) {
	b := tab(t)
	l := render.Layers{Heatmap: render.Heatmap{Explanation: fedDeep()}, Tokens: []int{0, 1}}
	everywhere(t, b, func(t *testing.T) {
		readable(t, withoutThumbnails(b.Show(t, document(l))))
		first := seePanels(t, b, "")
		rows := chromium.Evaluate[string](t, b,
			"[...document.querySelectorAll('.hm-matrix tbody th')].map((e) => e.textContent).join()")
		if first.Row != "1" || rows != "1,0" {
			t.Errorf("row %q is framed of %s, want 1 of 1,0", first.Row, rows)
		}
		s := seePanels(t, b, click(".hm-thumbs button", 1)+";"+pointAt("1", "4"))
		if !strings.Contains(s.Read, "← are 50.0 % · layer 0 · generated 1") || s.Here != "here" {
			t.Errorf("pointing at are says %q, framed is %q", s.Read, s.Here)
		}
		s = seePanels(t, b, click(".hm-matrix tbody th", 1))
		if !strings.HasPrefix(s.Facts, "layer 0: key 60.0 %, are 50.0 %") || s.Row != "0" {
			t.Errorf("a click on layer 0 says %q, framed is row %q", s.Facts, s.Row)
		}
		if s = seePanels(t, b, press("Escape")); s.Say != first.Say || s.Row != first.Row {
			t.Errorf("Esc leads to %q, row %q", s.Say, s.Row)
		}
		if s = seePanels(t, b, click(".hm-text u", 1)); s.Here != "here" {
			t.Errorf("a click on a generated token frames %q", s.Here)
		}
		s = seePanels(t, b, press("ArrowLeft", "ArrowDown"))
		if s.Here != "are" || s.Row != "0" {
			t.Errorf("left and down: framed are %q and row %q", s.Here, s.Row)
		}
	})
}

// TestTouchMaps opens layers and chooses targets and sources, by clicks and by keys.
func TestTouchMaps(t *testing.T) {
	b := tab(t)
	do := func(script string) seenPanels { return seePanels(t, b, script) }
	everywhere(t, b, func(t *testing.T) {
		readable(t, withoutThumbnails(b.Show(t, document(mapped(touched())))))
		first := seenPanels{
			Say: "to has most from keys", Facts: "s 100 % · layer 2", Row: "to", Here: "to",
			Small: "layer 2", Colored: []string{"2 s"},
		}
		do("").check(t, "at first", first)
		do(click(".hm-thumbs button", 0)).check(t, "a small map", seenPanels{
			Say: "to has most from to and keys", Row: "to",
			Facts: "to 66.7 %, keys 33.3 % · layer 0",
			Here:  "to", Small: "layer 0", Title: "raw, layer 0", Colored: []string{"2 s"},
		})
		do(click(".hm-matrix tbody th", 5)).check(t, "a row", seenPanels{
			Say: "here has most from here and are", Row: "here", Here: "here", Small: "layer 0",
			Colored: []string{"4 are"},
		})
		do(press("ArrowUp", "ArrowLeft")).check(t, "a layer up and a token back", seenPanels{
			Say: "are has most from to and are", Facts: "to 66.7 %", Row: "are", Here: "are",
			Small: "layer 1", Colored: []string{"3 to"},
		})
		do(click(".hm-text span", 2)).check(t, "a token", seenPanels{
			Say: "s has most from key", Row: "s", Here: "s", Small: "layer 1",
			Colored: []string{"1 key"},
		})
		do(press("Enter")).check(t, "as a source", seenPanels{
			Say: "s gave most to to and s", Here: "s", Small: "layer 1", Colored: []string{"3 to"},
		})
		do(press("Escape")).check(t, "Esc", seenPanels{
			Say: "s has most from key", Row: "s", Here: "s", Small: "layer 2",
			Colored: []string{"1 key"},
		})
		do(press("End")).check(t, "End", seenPanels{
			Row: "here", Here: "here", Small: "layer 2", Colored: []string{"4 are"},
		})
		do(pointAt("3", "1")).check(t, "pointing", seenPanels{
			Read: "to ← key 0.0 % · layer 2 · prompt 1", Row: "here", Here: "here",
			Small: "layer 2", Colored: []string{"4 are"},
		})
		// Layer 0 is at the bottom, and another palette changes what no style sheet colours.
		at := chromium.Evaluate[[]float64](t, b, `[...document.querySelectorAll('.hm-thumbs button')].
			map((e) => e.getBoundingClientRect().top)`)
		if at[0] < at[2] {
			t.Errorf("layer 0 is at %v and layer 2 at %v", at[0], at[2])
		}
		fill := func() string {
			return chromium.Evaluate[string](t, b,
				"getComputedStyle(document.querySelector('.hm-thumbs path.p6')).fill")
		}
		before := fill()
		chromium.Evaluate[bool](t, b,
			"document.querySelector('.hm-menu [data-palette=green-purple]').click(), true")
		if after := fill(); after == before {
			t.Errorf("in another palette a small map still has %s", after)
		}
		readable(t, withoutThumbnails(b.Inspect(t, "document.body")))
		long := document(mapped(lengthened(touched())))
		readable(t, withoutThumbnails(b.Show(t, long)))
	})
}
