package browser

import (
	"context"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// The part of a page of Letter that Chromium prints on, in pixels of CSS: 8.5 × 11 inches without
// margins of 0.4.
const paperWidth, paperHeight = 739, 979

// printed shows a document as it is printed, until the test ends.
func printed(t *testing.T, b *chromium.Browser, document string) {
	t.Helper()
	media := func(name string) {
		b.Do(t, func(ctx context.Context) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia,
				emulation.SetEmulatedMediaParams{Media: name})
			return err
		})
	}
	b.Resize(t, paperWidth, paperHeight)
	b.Show(t, document)
	media("print")
	t.Cleanup(func() {
		media("")
		b.Resize(t, 1200, 900)
	})
}

// TestPrintHeads prints many heads: their thumbnails stay on one page, below the line about
// them.
func TestPrintHeads(t *testing.T) {
	b := tab(t)
	const layers, heads, T = 30, 9, 6
	h := render.Heads{Explanation: touched(), Attention: trace.Tensor{
		Name: "attention", Axes: "LHTS", Shape: []int{layers, heads, T, T},
		Data: make([]float32, layers*heads*T*T),
	}}
	for row := range layers * heads * T {
		h.Attention.Data[row*T+row%T] = 1
	}
	printed(t, b, document(h))
	got := chromium.Evaluate[struct {
		Grid, Image          float64
		Whole, Heading, Name string
	}](t, b, `(() => {
		const grid = document.querySelector('.hw-g').closest('table'), of = (e) => getComputedStyle(e);
		return {
			Grid: grid.getBoundingClientRect().height,
			Image: document.querySelector('.hw-g img').getBoundingClientRect().height,
			Whole: of(grid.tBodies[0]).breakInside,
			Heading: of(grid.parentElement.previousElementSibling).breakAfter,
			Name: of(document.querySelector('.hw-n').parentElement).breakAfter,
		};
	})()`)
	if got.Grid > 0.75*paperHeight || got.Image < 18 || got.Whole != "avoid" ||
		got.Heading != "avoid" || got.Name != "avoid" {
		t.Errorf("the thumbnails are printed as %+v, want them whole, on less than %v pixels, each "+
			"at least 18 high", got, 0.75*paperHeight)
	}
}

// TestPrintWide prints a matrix of as many columns as a table has: it fits on the page, and its
// numbers are not smaller than 6 points.
func TestPrintWide(t *testing.T) {
	b := tab(t)
	const m, n = 40, 24
	e := lengthenedBy(touched(), m-4)
	e.Steps = nil
	for range n {
		e.Steps = append(e.Steps, attribution.GeneratedToken{Text: " next", Probability: 0.5})
	}
	e.Order = e.Order[:1]
	r := e.Methods["direct"]
	r.Shape = [3]int{n, m, 1}
	fill(r, func(i int) float64 { return float64(i%7) - 3.4 })
	for t := range n {
		r.Rows[t] = append(r.Rows[t], slices.Repeat([]float64{2.5}, t)...)
	}
	r.Shown = make([]int, n)
	for t := range r.Shown {
		r.Shown[t] = 1
	}
	printed(t, b, pageOf(t, e))
	got := chromium.Evaluate[struct {
		Columns     int
		Right, Size float64
		Overlapping int
	}](t, b, `(() => {
		const table = document.querySelector('table.hw-m'), row = table.querySelector('.hw-r');
		const wide = (e) => { const r = document.createRange(); r.selectNodeContents(e); return r.getBoundingClientRect(); };
		const cell = [...row.cells].find((e) => e.tagName === 'TD' && e.textContent);
		return {
			Columns: row.cells.length, Right: table.getBoundingClientRect().right,
			Size: parseFloat(getComputedStyle(cell).fontSize) * (cell.currentCSSZoom || 1) * 0.75,
			Overlapping: [...row.cells].filter((e) => e.textContent && (wide(e).width > e.getBoundingClientRect().width + 1 ||
				wide(e).height > e.getBoundingClientRect().height + 1)).length,
		};
	})()`)
	if got.Columns != 1+m+n-1+1 || got.Right > paperWidth || got.Size < 6 || got.Overlapping > 0 {
		t.Errorf("the matrix is printed as %+v, want %d columns that end at %d, numbers of 6 points "+
			"inside their cells", got, 1+m+n-1+1, paperWidth)
	}
}

// TestPrintGaps prints a matrix: the columns after those of tokens do not run together, and no
// triangle shows that a part is closed, as all of them are open.
func TestPrintGaps(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Order = e.Order[1:]
	e.Methods["value-zeroing"].OtherMass = []float64{0, 0, 0, 0.3}
	printed(t, b, pageOf(t, e))
	got := chromium.Evaluate[struct {
		Rows  int
		Gap   float64
		Marks string
	}](t, b, `(() => {
		const wide = (e) => { const r = document.createRange(); r.selectNodeContents(e); return r.getBoundingClientRect(); };
		const rows = [...document.querySelectorAll('.hw-r')];
		return {
			Rows: rows.length,
			Gap: Math.min(...rows.map((r) => wide(r.cells[r.cells.length - 1]).left - wide(r.cells[r.cells.length - 2]).right)),
			Marks: [...document.querySelectorAll('summary')].map((e) => getComputedStyle(e).listStyleType).join(' '),
		};
	})()`)
	if got.Rows != 2 || got.Gap < 4 || got.Marks != "none none" {
		t.Errorf("printed are %+v, want 2 rows, gaps of 4 pixels and no marks of closed parts", got)
	}
}

// TestPrintFlow prints a graph of many layers: it fits on the page, its names are not smaller than
// 7 points, and each stands at the height of its line of nodes.
func TestPrintFlow(t *testing.T) {
	b := tab(t)
	printed(t, b, document(flowingThrough(t, 30)))
	got := chromium.Evaluate[struct{ Right, Size, Off float64 }](t, b, `(() => {
		const image = document.querySelector('.hw-f img'), r = image.getBoundingClientRect();
		const table = image.closest('table'), names = [...table.rows[0].cells[0].children];
		const line = 22 / (names.length * 22 + 16) * r.height; // of nodes; 16 are the numbers below
		return {
			Right: table.getBoundingClientRect().right,
			Size: parseFloat(getComputedStyle(names[0]).fontSize) * (names[0].currentCSSZoom || 1) * 0.75,
			Off: Math.max(...names.map((e, i) => {
				const box = e.getBoundingClientRect();
				return Math.abs(box.top + box.height / 2 - r.top - (i + 0.5) * line);
			})),
		};
	})()`)
	if got.Right > paperWidth || got.Size < 7 || got.Off > 1 {
		t.Errorf("the graph is printed as %+v, want names of 7 points beside their lines, and "+
			"an end at %d", got, paperWidth)
	}
}

// TestPrintHeadings: no heading stands alone at the foot of a page.
func TestPrintHeadings(t *testing.T) {
	b := tab(t)
	maps := mapped(touched())
	for name, page := range map[string]string{
		"heatmap": pageOf(t, touched()),
		"maps":    document(maps),
		"layers": document(render.Layers{
			Heatmap: render.Heatmap{Explanation: deep(12)},
		}),
		"flow": document(flowing(t)),
	} {
		printed(t, b, page)
		alone := chromium.Evaluate[[]string](t, b, `[...document.querySelectorAll('summary'),
			...[...document.querySelectorAll('.hw-n')].map((e) => e.parentElement),
			...[...document.querySelectorAll('.hw-g:first-child,.hw-f')].
				map((e) => (e.closest('div:has(>table)') || e.parentElement).previousElementSibling),
		].filter((e) => !e.closest('tr') && getComputedStyle(e).breakAfter !== 'avoid').
			map((e) => e.textContent)`)
		if len(alone) > 0 {
			t.Errorf("%s: %q may stand alone at the foot of a page", name, alone)
		}
	}
}
