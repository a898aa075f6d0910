package browser

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// labCharts are a chart of every kind, and a grid.
func labCharts() []reproduction.Picture {
	xs, up, wave := []float64{}, []float64{}, []float64{}
	for i := range 12 {
		x := float64(i)
		xs, up, wave = append(xs, x), append(up, x/12), append(wave, math.Sin(x)/2+0.5)
	}
	var lines []chart.Series
	for i := range 8 {
		y := make([]float64, len(xs))
		for k := range y {
			y[k] = up[k] + float64(i)/4
		}
		lines = append(lines, chart.Series{Name: fmt.Sprint("series ", i), X: xs, Y: y})
	}
	graph := &chart.Graph{Tokens: []string{"the", "key", "is"}}
	for range 3 {
		graph.Weights = append(graph.Weights, 1, 0, 0, 0.4, 0.6, 0, 0.2, 0.3, 0.5)
	}
	scatter := chart.Chart{
		Kind: chart.Scatter, Title: "points", X: chart.Axis{Title: "x"},
		Y: chart.Axis{Title: "y"}, Color: chart.Scale{Title: "p"},
		Series:   []chart.Series{{Name: "a", X: xs, Y: wave, Value: up}},
		Ellipses: []chart.Ellipse{{X: 5, Y: 0.5, RadiusX: 4, RadiusY: 0.3, Label: "token 0"}},
	}
	bars := chart.Chart{
		Kind: chart.Bars, Title: "bars", Y: chart.Axis{Title: "share"},
		X:      chart.Axis{Categories: []string{"rollout", "flow", "value-zeroing"}},
		Series: []chart.Series{{Name: "a", Y: up[1:4]}, {Name: "b", Y: up[4:7]}, {Name: "c", Y: up[7:10]}},
	}
	heat := chart.Chart{
		Kind: chart.Heatmap, Title: "cells", Color: chart.Scale{Title: "share", Percent: true},
		Matrix: &chart.Matrix{
			Rows: []string{"is", "the"}, Columns: []string{"the", "key", "is"},
			Data: []float64{0.9, 0.1, 0.3, 0.4, 0.2, 0},
		},
	}
	all := []chart.Chart{
		{
			Kind: chart.Lines, Title: "lines", X: chart.Axis{Title: "layer"},
			Y: chart.Axis{Title: "cosine"}, Series: lines,
			Rules: []chart.Rule{{Horizontal: true, At: 0.5, Label: "chance"}},
		},
		bars,
		{
			Kind: chart.Histogram, Title: "counts", Bins: 5, X: chart.Axis{Title: "entropy"},
			Series: []chart.Series{{Name: "a", Y: up}, {Name: "b", Y: wave}},
		},
		scatter, heat,
		{Kind: chart.Layered, Title: "graph", X: chart.Axis{Title: "layer"}, Graph: graph},
		{
			Kind: chart.Ternary, Title: "shares",
			Corners: [3]string{"content", "bias", "alibi"},
			Series:  []chart.Series{{Name: "a", X: up, Y: wave, C: up[:12]}},
		},
	}
	var pictures []reproduction.Picture
	for _, c := range all {
		pictures = append(pictures, reproduction.Picture{Columns: 1, Charts: []chart.Chart{c}})
	}
	return append(pictures, reproduction.Picture{
		Columns: 3, Charts: []chart.Chart{scatter, bars, heat},
	})
}

// TestLabCharts opens charts in JupyterLab, in a wide and a narrow window, light and dark: a single
// chart fits its cell, and a grid the wide one, what is wider scrolls, and texts and marks can be
// seen on their background.
func TestLabCharts(t *testing.T) {
	if testing.Short() {
		t.Skip("a server and four pages of JupyterLab")
	}
	b := chromium.Open(t) // of its own: JupyterLab goes on asking its server after the test
	dir := t.TempDir()
	all := labCharts()
	var cells []object
	for i, p := range all {
		spec, err := p.VegaLite()
		must(t, err)
		cells = append(cells, object{
			"cell_type": "code", "id": fmt.Sprint("cell-", i), "metadata": object{},
			"execution_count": i + 1, "source": "", "outputs": []object{{
				"output_type": "display_data",
				"metadata": object{chart.MIME: object{
					"embed_options": object{"renderer": "svg"}, // its colours can be read
				}},
				"data": object{chart.MIME: spec},
			}},
		})
	}
	data := notebookOf(t, cells, object{
		"name": "python3", "display_name": "Python 3", "language": "python",
	})
	must(t, os.WriteFile(filepath.Join(dir, "charts.ipynb"), data, 0o600))
	lab := serveLab(t, dir)
	for _, theme := range []string{"Light", "Dark"} {
		for _, width := range []int64{1200, 446} {
			t.Run(fmt.Sprint(theme, " ", width), func(t *testing.T) {
				lab.set(t, "apputils-extension", "themes",
					fmt.Sprintf(`{"theme":"JupyterLab %s"}`, theme))
				b.Resize(t, width, 2600)
				b.Navigate(t, lab.address("charts.ipynb"))
				lab.until(t, b, "charts are drawn", fmt.Sprintf(
					`document.querySelectorAll('.vega-embed svg.marks').length === %d`, len(all)))
				lab.until(t, b, "there is no list of files",
					"(window.jupyterapp.shell.collapseLeft(), true)")
				got := chromium.Evaluate[[]drawnChart](t, b, chartsScript)
				saveScreenshot(t, b, fmt.Sprintf("charts-%s-%d", theme, width))
				if len(got) != len(all) {
					t.Fatalf("%d charts, want %d", len(got), len(all))
				}
				for i, c := range got {
					// A grid has fewer columns in a narrow window, and its plots keep their width.
					c.check(t, theme, width == 1200 || len(all[i].Charts) == 1)
				}
			})
		}
	}
}

// drawnChart is a chart as the page shows it.
type drawnChart struct {
	Title string
	// Wide is by how many pixels the chart is wider than its cell, and Scrolls whether the cell
	// scrolls then.
	Wide       int
	Scrolls    bool
	Drawn      int // number of marks
	Background string
	// Texts and Marks are the colours of the texts and of the marks that carry data.
	Texts, Marks []string
}

// chartsScript returns a drawnChart for each chart of the page. A mark that is itself hard to see
// may have an outline.
const chartsScript = `[...document.querySelectorAll('.vega-embed')].map((embed) => {
	const cell = embed.closest('.jp-OutputArea-output'), svg = embed.querySelector('svg.marks');
	const colour = (c) => {
		if (!c || c === 'none' || c === 'transparent') return '';
		const [r, g, b, a = 1] = c.match(/[\d.]+/g).map(Number);
		return a === 0 || c.startsWith('url') ? '' : 'rgb(' + [r, g, b].join(', ') + ')';
	};
	const style = (e, name) => colour(getComputedStyle(e)[name]);
	const all = [...svg.querySelectorAll('.role-mark path, .role-mark line')];
	// Cells lie next to each other, and the lines of a grid need not be seen well.
	const marks = all.
		filter((e) => e.getAttribute('aria-roledescription') !== 'rect mark').
		filter((e) => style(e, 'stroke') !== 'rgb(102, 102, 102)');
	return {
		Title: svg.textContent.slice(0, 12),
		Wide: cell.scrollWidth - cell.clientWidth,
		Scrolls: ['auto', 'scroll'].includes(getComputedStyle(cell).overflowX),
		Drawn: all.length,
		Background: style(svg, 'backgroundColor') || 'none',
		Texts: [...new Set([...svg.querySelectorAll('text')].filter((e) => e.textContent).
			map((e) => style(e, 'fill')))],
		Marks: [...new Set(marks.map((e) => style(e, 'fill') + '|' + style(e, 'stroke')))],
	};
})`

func (c *drawnChart) check(t *testing.T, theme string, fits bool) {
	t.Helper()
	if fits && c.Wide > 0 || !c.Scrolls {
		t.Errorf("%s is %d pixels wider than its cell, which scrolls: %v", c.Title, c.Wide,
			c.Scrolls)
	}
	if len(c.Texts) == 0 || c.Drawn < 5 {
		t.Fatalf("%s: nothing is drawn", c.Title)
	}
	for _, text := range c.Texts {
		if k := contrast(t, text, c.Background); k < leastContrast {
			t.Errorf("%s: text %s on %s has contrast %.2f, want %v", c.Title, text, c.Background, k,
				leastContrast)
		}
	}
	if theme == "Light" {
		if c.Background != "rgb(255, 255, 255)" {
			t.Errorf("%s: background %s, want white", c.Title, c.Background)
		}
		return // yellow on white is hard to see, and other colours do not help it
	}
	if l := luminance(t, c.Background); l > 0.05 {
		t.Errorf("%s: on dark the background is %s", c.Title, c.Background)
	}
	for _, mark := range c.Marks {
		best := 0.0
		for color := range strings.SplitSeq(mark, "|") {
			if color != "" {
				best = max(best, contrast(t, color, c.Background))
			}
		}
		if best < leastMarkContrast {
			t.Errorf("%s: a mark with fill|outline %s on %s has contrast %.2f, want %v", c.Title,
				mark, c.Background, best, leastMarkContrast)
		}
	}
}

// leastMarkContrast is what WCAG 2.1 asks of parts of a picture (1.4.11).
const leastMarkContrast = 3
