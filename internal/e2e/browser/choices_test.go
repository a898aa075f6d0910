package browser

import (
	"fmt"
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

// TestViewsPalette gives a picture of sources other palettes: elements have the new colours, and
// the last palette leads to the first.
func TestViewsPalette(t *testing.T) {
	b := tab(t)
	for name, page := range map[string]string{
		"sources": document(render.Sources{Result: caused(t)}),
	} {
		press := func() { chromium.Evaluate[bool](t, b, paletteButton+".click(), true") }
		everywhere(t, b, func(t *testing.T) {
			b.Show(t, page)
			blue, _ := backgrounds(t, b, "#27b")
			press()
			checkColors(t, b.Inspect(t, "document.body"))
			said := chromium.Evaluate[string](t, b, paletteButton+".textContent")
			green, _ := backgrounds(t, b, "#283")
			left, _ := backgrounds(t, b, "#27b")
			if said != "colours: green-purple" || blue == 0 || green != blue || left != 0 {
				t.Errorf("%s: %q, %d of %d elements are green and %d blue", name, said, green, blue,
					left)
			}
			press()
			press()
			again, _ := backgrounds(t, b, "#27b")
			if again != blue {
				t.Errorf("%s: after all palettes the picture is not what it was", name)
			}
		})
	}
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
