package browser

import (
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// The part of a page of Letter that Chromium prints on, in pixels of CSS: 8.5 × 11 inches without
// margins of 0.4.
const paperWidth, paperHeight = 739, 979

// printed shows a document as it is printed, until the test ends.
func printed(t *testing.T, b *chromium.Browser, document string) {
	t.Helper()
	b.Resize(t, paperWidth, paperHeight)
	b.Show(t, document)
	emulate(t, b, "print")
	t.Cleanup(func() {
		emulate(t, b, "")
		b.Resize(t, 1200, 900)
	})
}

// TestPrintFlow prints a graph of many layers: it fits on the page, and its names and the numbers
// of its layers are not smaller than 7 points.
func TestPrintFlow(t *testing.T) {
	b := tab(t)
	printed(t, b, document(flowingThrough(t, 30)))
	got := chromium.Evaluate[struct{ Right, Size float64 }](t, b, `(() => {
		const graph = document.querySelector('.hm-graph svg'), r = graph.getBoundingClientRect();
		const size = parseFloat(getComputedStyle(graph.querySelector('text')).fontSize);
		return {Right: r.right, Size: 0.75 * size * r.width / graph.viewBox.baseVal.width};
	})()`)
	if got.Right > paperWidth || got.Size < 7 {
		t.Errorf("the graph is printed as %+v, want names of 7 points and an end at %d", got,
			paperWidth)
	}
}

// TestPrintWide prints a matrix of 144 columns, which is wider than any page: all of it is there.
func TestPrintWide(t *testing.T) {
	b := tab(t)
	e := lengthenedBy(touched(), 140)
	for i := range e.Methods["direct"].Rows[0] {
		e.Methods["direct"].Rows[0][i] = 1 // so that every token has a column
	}
	printed(t, b, pageOf(t, e))
	got := chromium.Evaluate[struct {
		Columns int
		Right   float64
	}](t, b, `(() => {
		const cells = [...document.querySelectorAll('.hm-matrix tbody tr:first-child td')];
		return {Columns: cells.length - 1,
			Right: Math.max(...cells.map((e) => e.getBoundingClientRect().right))};
	})()`)
	if got.Columns < 144 || got.Right > paperWidth {
		t.Errorf("%d columns are printed up to %g, want 144 or more up to %d", got.Columns,
			got.Right, paperWidth)
	}
}

// TestPrintHeadings: no heading stands alone at the foot of a page.
func TestPrintHeadings(t *testing.T) {
	b := tab(t)
	maps := mapped(touched())
	for name, page := range map[string]string{
		"heatmap": pageOf(t, longText()),
		"maps":    document(maps),
		"layers": document(render.Layers{
			Heatmap: render.Heatmap{Explanation: deep(12)},
		}),
		"flow": document(flowing(t)),
	} {
		printed(t, b, page)
		alone := chromium.Evaluate[[]string](t, b, `[...document.querySelectorAll('summary,.hm-h')].
			filter((e) => !e.closest('tr') && getComputedStyle(e).breakAfter !== 'avoid').
			map((e) => e.textContent)`)
		if len(alone) > 0 {
			t.Errorf("%s: %q may stand alone at the foot of a page", name, alone)
		}
	}
}
