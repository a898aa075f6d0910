package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// everywhere runs a test in windows of 446 and 1,200 pixels, on a light and on a dark system.
func everywhere(t *testing.T, b *chromium.Browser, test func(t *testing.T)) {
	t.Helper()
	defer b.Resize(t, 1200, 900)
	defer emulate(t, b, "")
	for _, width := range []int64{446, 1200} {
		for _, color := range []string{"light", "dark"} {
			b.Resize(t, width, 900)
			emulate(t, b, "", scheme, color)
			t.Run(fmt.Sprintf("%d-%s", width, color), test)
		}
	}
}

// readable checks what is drawn: texts can be read, and nothing is wider than the window.
func readable(t *testing.T, d chromium.Drawn) {
	t.Helper()
	checkColors(t, d)
	checkElements(t, d)
	if d.Wide > 0 {
		t.Errorf("the page is %d pixels wider than its window", d.Wide)
	}
}

// TestLayersGenerated points at generated tokens in panels of layers, and goes there with the keys.
func TestLayersGenerated(t *testing.T) {
	b := tab(t)
	l := render.Layers{Heatmap: render.Heatmap{Explanation: fedDeep()}, Tokens: []int{0, 1}}
	long := render.Layers{
		Heatmap: render.Heatmap{Explanation: lengthened(fedDeep())}, Tokens: []int{0, 1},
	}
	const says = "document.querySelector('.hw-t').nextSibling.textContent"
	everywhere(t, b, func(t *testing.T) {
		readable(t, b.Show(t, document(l)))
		got := chromium.Evaluate[string](t, b, `(() => {
			const cell = document.querySelectorAll('.hw-d')[1].querySelectorAll('.hw-r')[1].cells[5];
			cell.dispatchEvent(new MouseEvent('mousemove', {bubbles: true}));
		})(),`+says)
		if got != "layer 0 · “are” (generated 1) 50.0 %" {
			t.Errorf("pointing at the column of are says %q", got)
		}
		got = chromium.Evaluate[string](t, b, "(() => {"+click(".hw-t > *", 4)+"})(),"+says)
		if want := "layer 0 · “are” (generated 1) 50.0 %"; !strings.HasSuffix(got, want) {
			t.Errorf("a click on are says %q, want %q", got, want)
		}

		readable(t, b.Show(t, document(long)))
		got = chromium.Evaluate[string](t, b, `(() => {
			const e = document.querySelectorAll('.hw-j')[1], r = e.getBoundingClientRect();
			e.dispatchEvent(new MouseEvent('mousemove', {
				bubbles: true, clientX: r.right - 3, clientY: r.top + 3,
			}));
		})(),`+says)
		if got != "layer 1 · “are” (generated 1) 30.0 %" {
			t.Errorf("pointing at the last column of an image says %q", got)
		}
		marks := chromium.Evaluate[[]bool](t, b,
			"[...document.querySelectorAll('.hw-p')].map((e) => e.hidden)")
		if fmt.Sprint(marks) != "[true false]" {
			t.Errorf("marks are hidden %v, want that of the panel without the column", marks)
		}
	})
}

// paletteButton is the button that gives a picture the next palette.
const paletteButton = "[...document.querySelectorAll('.hw-b button')].find((e) => " +
	"e.textContent.startsWith('colours: '))"

// backgrounds returns how many elements have a colour that begins so, such as #283, and how many of
// them are hatched.
func backgrounds(t *testing.T, b *chromium.Browser, color string) (colored, hatched int) {
	t.Helper()
	counts := chromium.Evaluate[[2]int](t, b, fmt.Sprintf(`(() => {
		const all = [...document.querySelectorAll('[style*="background:%s"]')];
		const hatched = (e) => /gradient/.test(getComputedStyle(e).backgroundImage);
		return [all.length, all.filter(hatched).length];
	})()`, color))
	return counts[0], counts[1]
}

// pixel returns the colour that an image or a canvas has at a place, in parts of its size, without
// its opacity: #27b, to the digit, because a canvas rounds.
func pixel(t *testing.T, b *chromium.Browser, selector string, x, y float64) string {
	t.Helper()
	return chromium.Evaluate[string](t, b, fmt.Sprintf(`(async () => {
		const e = [...document.querySelectorAll(%q)].find((e) => e.checkVisibility());
		if (e.decode) await e.decode();
		const c = document.createElement('canvas');
		c.width = e.naturalWidth || e.width;
		c.height = e.naturalHeight || e.height;
		const g = c.getContext('2d');
		g.drawImage(e, 0, 0);
		const [red, green, blue] = g.getImageData(%f * c.width, %f * c.height, 1, 1).data;
		return '#' + [red, green, blue].map((x) => Math.round(x / 17).toString(16)).join('');
	})()`, selector, x, y), await)
}

// TestViewsPalette gives a graph of flow and a picture of sources other palettes: elements and the
// image of the graph have the new colours, and the last palette leads to the first.
func TestViewsPalette(t *testing.T) {
	b := tab(t)
	const strokes = `atob((document.querySelector('.hw-f img') || {src: ','}).src.split(',')[1])`
	for name, page := range map[string]string{
		"flow":    document(flowing(t)),
		"sources": document(render.Sources{Result: caused(t)}),
	} {
		press := func() { chromium.Evaluate[bool](t, b, paletteButton+".click(), true") }
		everywhere(t, b, func(t *testing.T) {
			b.Show(t, page)
			blue, _ := backgrounds(t, b, "#27b")
			first := chromium.Evaluate[string](t, b, strokes)
			press()
			checkColors(t, b.Inspect(t, "document.body"))
			said := chromium.Evaluate[string](t, b, paletteButton+".textContent")
			green, _ := backgrounds(t, b, "#283")
			left, _ := backgrounds(t, b, "#27b")
			if said != "colours: green-purple" || blue == 0 || green != blue || left != 0 {
				t.Errorf("%s: %q, %d of %d elements are green and %d blue", name, said, green, blue,
					left)
			}
			drawn := chromium.Evaluate[string](t, b, strokes)
			if edges := strings.Count(first, `"#27b`); name == "flow" &&
				(edges == 0 || strings.Count(drawn, `"#283`) != edges ||
					strings.Contains(drawn, `"#27b`)) {
				t.Errorf("%d edges were blue, and then the graph is\n%s", edges, drawn)
			}
			press()
			press()
			again, _ := backgrounds(t, b, "#27b")
			if last := chromium.Evaluate[string](t, b, strokes); again != blue || last != first {
				t.Errorf("%s: after all palettes the picture is not what it was", name)
			}
		})
	}
}

// TestLayersPalette changes the palette of panels of layers while a place is marked.
func TestLayersPalette(t *testing.T) {
	b := tab(t)
	page := document(render.Layers{
		Heatmap: render.Heatmap{Explanation: fedDeep(), Token: new(1)},
	})
	everywhere(t, b, func(t *testing.T) {
		b.Show(t, page)
		keys := press("ArrowRight", "ArrowRight")
		chromium.Evaluate[bool](t, b, keys+paletteButton+".click(), true")
		readable(t, b.Inspect(t, "document.body"))
		green, _ := backgrounds(t, b, "#283")
		blue, _ := backgrounds(t, b, "#27b")
		if green == 0 || blue > 0 {
			t.Errorf("%d elements are green and %d blue, want green ones", green, blue)
		}
		if outlined := chromium.Evaluate[int](t, b,
			"document.querySelectorAll('td[style*=\"outline\"]').length"); outlined > 0 {
			t.Errorf("%d cells are still outlined", outlined)
		}
	})
}

// mapped are maps of three layers over a text: at layer l a target has l+1 of three parts from the
// token before it and the rest from itself.
func mapped(e *attribution.Explanation) render.Maps {
	const L = 3
	T := len(e.Prompt.Texts) + len(e.Steps)
	m := &attribution.Map{
		Unit: "share of attention", Facts: attribution.Facts{AddsUp: true, Quantity: attribution.Share}, Layers: []int{0, 1, 2}, Shape: [3]int{L, T, T},
		Data: make([]float64, L*T*T), Options: map[string]string{"aggregation": "layer"},
	}
	for l := range L {
		for i := range T {
			x := float64(l+1) / L
			if i == 0 {
				x = 0
			}
			m.Data[(l*T+i)*T+max(i-1, 0)] = x
			m.Data[(l*T+i)*T+i] = 1 - x
		}
	}
	return render.Maps{Explanation: e, Map: m, Method: "raw"}
}

// TestTouchMaps opens layers and chooses targets, by clicks and by keys, in a table and in an
// image.
func TestTouchMaps(t *testing.T) {
	b := tab(t)
	do := func(script string) seen { return seeView(t, b, script) }
	everywhere(t, b, func(t *testing.T) {
		readable(t, b.Show(t, document(mapped(touched()))))
		s := do("")
		s.check(t, "at first", "to", "“to” (3), where “are” is predicted · raw, layer 2: “s” (2) 100 %",
			"2 s")
		if s.Open != "raw, layer 2" || s.Row != "to" || s.Marked != "layer 2" {
			t.Errorf("open is %q, row %q, thumbnail %q", s.Open, s.Row, s.Marked)
		}
		s = do(click(".hw-g img", 0))
		s.check(t, "a thumbnail", "to", "raw, layer 0: “to” (3) 66.7 %, “s” (2) 33.3 %",
			"2 s", "3 to")
		cell := chromium.Evaluate[string](t, b,
			"document.querySelectorAll('.hw-r')[3].cells[3].textContent")
		if s.Open != "raw, layer 0" || s.Marked != "layer 0" || cell != "33" {
			t.Errorf("open is %q, thumbnail %q, a cell has %q", s.Open, s.Marked, cell)
		}
		do(click(".hw-r", 5)).check(t, "a line", "here",
			"“here” (generated 2) · raw, layer 0: “here” (generated 2) 66.7 %", "4 are", "5 here")
		do(press("ArrowUp", "ArrowLeft")).check(t, "a layer up and a token back", "are",
			"“are” (generated 1), where “here” is predicted · raw, layer 1: “to” (3) 66.7 %",
			"3 to", "4 are")
		do(click(".hw-t > *", 1)).check(t, "a token", "key", "“the” (0) 66.7 %", "0 the", "1 key")
		chromium.Evaluate[bool](t, b, paletteButton+".click(), true")
		readable(t, b.Inspect(t, "document.body"))
		if got := pixel(t, b, ".hw-g img", 1.5/6, 2.5/6); got != "#283" {
			t.Errorf("in another palette a thumbnail has %s, want #283", got)
		}

		readable(t, b.Show(t, document(mapped(lengthened(touched())))))
		do(click(".hw-g img", 1)).check(t, "a thumbnail of a long text", "w59",
			"raw, layer 1: “w58” (62) 66.7 %", "62 w58", "63 w59")
		do(`const e = document.querySelector('canvas.hw-j'), r = e.getBoundingClientRect();
			e.dispatchEvent(new MouseEvent('click', {
				bubbles: true, clientX: r.left + 3, clientY: r.top + r.height * 1.5 / 66,
			}))`).check(t, "a line of an image", "key", "“the” (0) 66.7 %", "0 the", "1 key")
		if got := pixel(t, b, "canvas.hw-j", 0.5/66, 1.5/66); got != "#27b" {
			t.Errorf("the canvas has %s where key has from the, want #27b", got)
		}
	})
}
