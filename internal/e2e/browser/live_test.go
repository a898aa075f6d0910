package browser

import (
	"fmt"
	"image"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/command"
)

// liveCells are run in JupyterLab. Each shows one picture; the last one is a chart.
var liveCells = []string{
	`import "github.com/headwater-ml/headwater/gonbext"

%%
gonbext.Explain("the keys to the cabinet", gonbext.Options{MaxTokens: 3, AllLayers: true})`,
	`%%
gonbext.Layers(gonbext.Last(), 0, 1)`,
	`%%
e := gonbext.Last()
gonbext.Compare(e, e, "value-zeroing@2", "value-zeroing@4")`,
	`%%
gonbext.Heads("the keys to the cabinet", gonbext.Options{MaxTokens: 2})`,
	`%%
gonbext.FlowGraph("the keys to the cabinet", gonbext.Options{MaxTokens: 1})`,
	`%%
gonbext.Maps("the keys to the cabinet", gonbext.Options{MaxTokens: 2})`,
	`import "github.com/headwater-ml/headwater/gonbext/render/chart"

%%
gonbext.ShowChart(chart.Chart{
	Title: "two lines", Kind: chart.Lines,
	Series: []chart.Series{{Name: "a", X: []float64{0, 1}, Y: []float64{1, 2}}},
})`,
}

// TestLiveCells runs cells in JupyterLab: every picture appears, takes a click and fits a narrow
// and a wide window, and looks the same after the notebook was saved and opened again. In the dark
// theme its parts stand where they stand in the light one.
func TestLiveCells(t *testing.T) {
	if testing.Short() {
		t.Skip("a kernel that links a program for every cell")
	}
	const find = "import jupyter_client; jupyter_client.kernelspec.get_kernel_spec('gonb')"
	if err := exec.Command("python", "-c", find).Run(); err != nil {
		t.Skip("no kernel of Go notebooks here; make test sets it up:", err)
	}
	dir, err := os.MkdirTemp("", "hw") // that of t.TempDir may be too long for a socket
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	headwater := command.Path(t)
	b := chromium.Open(t)
	lab := serveLab(t, dir, "GOPROXY=off", "GOFLAGS=", "GOWORK=", "HF_HUB_OFFLINE=1",
		"HEADWATER_ENGINE="+headwater, "TMPDIR="+dir)
	lab.command(t, headwater, "install")
	must(t, os.WriteFile(filepath.Join(dir, liveNotebook), unexecuted(t, liveCells),
		0o600))

	b.Resize(t, liveWidths[0], liveHeight)
	lab.load(t, b)
	// The answer comes when all cells have run.
	promised(t, b, "window.jupyterapp.commands.execute('notebook:run-all-cells')")
	before := lab.shots(t, b, "live")
	for _, width := range liveWidths {
		lab.checkLive(t, b, width, "live")
	}
	promised(t, b, widget+".context.save()")
	b.Resize(t, liveWidths[0], liveHeight)
	lab.load(t, b)
	after := lab.shots(t, b, "opened-again")
	worst := 0.
	for _, name := range slices.Sorted(maps.Keys(before)) {
		share := differing(before[name], after[name], mostApart)
		worst = max(worst, share)
		if share > mostDiffering {
			t.Errorf("%s: %.5f of the pixels are others after the notebook was opened again; "+
				"want %v at most", name, share, mostDiffering)
		}
	}
	t.Logf("opened again, %.6f of the pixels of a picture differ at most", worst)
	if len(after) != len(before) {
		t.Errorf("%d pictures after the notebook was opened again, want %d", len(after),
			len(before))
	}
	for _, width := range liveWidths {
		lab.checkLive(t, b, width, "opened again")
	}
	light := lab.places(t, b)
	promised(t, b, "window.jupyterapp.commands.execute("+
		"'apputils:change-theme', {theme: 'JupyterLab Dark'})")
	if diff := cmp.Diff(light, lab.places(t, b)); diff != "" {
		t.Errorf("parts stand elsewhere on dark (-light +dark):\n%.2000s", diff)
	}
	lab.checkConsole(t, b)
	promised(t, b, widget+".context.sessionContext.shutdown()")
}

// liveWidths are those of the windows. The height shows all cells at once.
var liveWidths = []int64{1200, 446}

const liveHeight = 12_000

// Of a picture that is drawn again, at most the share mostDiffering of the pixels differs by more
// than mostApart in a channel: letters may be smoothed in another way.
const (
	mostApart     = 64
	mostDiffering = 0.001
)

// shots returns what the notebook shows of each picture and chart, by width and number.
func (l *jupyterLab) shots(t *testing.T, b *chromium.Browser, when string) map[string]*image.RGBA {
	t.Helper()
	all := map[string]*image.RGBA{}
	for _, width := range liveWidths {
		b.Resize(t, width, liveHeight)
		l.until(t, b, "pictures and charts are drawn", fmt.Sprintf(`document.querySelectorAll(
			'.jp-Notebook .hm, .jp-Notebook .jp-RenderedSVG img').length === %d`, len(liveCells)))
		boxes := chromium.Evaluate[[][4]int](t, b, chromium.Drawing+`.then(() => [
				...document.querySelectorAll('.jp-Notebook .hm, .jp-Notebook .jp-RenderedSVG img'),
			].map((e) => {
				const r = e.getBoundingClientRect();
				return [r.left, r.top, r.right, r.bottom].map(Math.round);
			}))`, await)
		shot := b.Screenshot(t, nil)
		keepScreenshot(t, shot, fmt.Sprintf("live-%s-%d", when, width))
		img := decoded(t, shot)
		for i, box := range boxes {
			r := image.Rect(box[0], box[1], box[2], box[3])
			if r.Empty() || r.Max.Y > liveHeight {
				t.Fatalf("%s, %d pixels: picture %d is at %v, want it in the window", when, width,
					i, r)
			}
			name := fmt.Sprintf("picture %d at %d pixels", i, width)
			all[name] = img.SubImage(r.Intersect(img.Rect)).(*image.RGBA)
		}
	}
	return all
}

// places returns where the tokens and cells of each picture stand in it, by width: left, top,
// width and height.
func (l *jupyterLab) places(t *testing.T, b *chromium.Browser) map[int64][][]string {
	t.Helper()
	all := map[int64][][]string{}
	for _, width := range liveWidths {
		b.Resize(t, width, liveHeight)
		all[width] = chromium.Evaluate[[][]string](t, b, chromium.Drawing+`.then(() =>
				[...document.querySelectorAll('.jp-Notebook .hm')].map((root) => {
					const from = root.getBoundingClientRect();
					return [...root.querySelectorAll('.hm-text :is(span,u), .hm-matrix :is(td,th)')].
						filter((e) => e.checkVisibility()).map((e) => {
							const r = e.getBoundingClientRect();
							return [r.left - from.left, r.top - from.top, r.width, r.height].
								map(Math.round).join(' ');
						});
				}))`, await)
		for i, parts := range all[width] {
			if len(parts) == 0 {
				t.Errorf("%d pixels: picture %d has no tokens", width, i)
			}
		}
	}
	return all
}

// liveNotebook is the file of the cells, and widget what shows it.
const (
	liveNotebook = "live.ipynb"
	widget       = `[...window.jupyterapp.shell.widgets('main')].` +
		`find((w) => w.context?.path === '` + liveNotebook + `')`
)

// load opens the notebook and waits until its cells and its kernel are there.
func (l *jupyterLab) load(t *testing.T, b *chromium.Browser) {
	t.Helper()
	b.Navigate(t, l.address(liveNotebook))
	l.until(t, b, "the notebook is open", fmt.Sprintf(
		`document.querySelectorAll('.jp-Notebook .jp-CodeCell').length === %d &&
		Boolean(window.jupyterapp)`, len(liveCells)))
	// Commands are about the widget that is active.
	l.until(t, b, "the notebook has a kernel", `(() => {
		const widget = `+widget+`;
		if (!widget) return false;
		window.jupyterapp.shell.activateById(widget.id);
		window.jupyterapp.shell.collapseLeft(); // the list of files
		return widget.context.sessionContext.session?.kernel?.name === 'headwater';
	})()`)
}

// until waits until an expression is true in the tab.
func (l *jupyterLab) until(t *testing.T, b *chromium.Browser, what, expression string) {
	t.Helper()
	for deadline := time.Now().Add(labWait); ; time.Sleep(100 * time.Millisecond) {
		if chromium.Evaluate[bool](t, b, "Boolean("+expression+")") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("JupyterLab: not after %v: %s", labWait, what)
		}
	}
}

// promised waits for the promise that an expression is.
func promised(t *testing.T, b *chromium.Browser, expression string) {
	t.Helper()
	chromium.Evaluate[bool](t, b, "Promise.resolve("+expression+").then(() => true)",
		chromedp.EvalAwaitPromise)
}

// liveSeen is what a notebook shows.
type liveSeen struct {
	// Errors are the outputs that are errors or were written to stderr.
	Errors []string
	// Pictures and Charts are how many cells show one.
	Pictures, Charts int
	// Framed are the tokens that the pictures frame after a click on the third one, and Wide the
	// outputs that are wider than the place they have, which would scroll.
	Framed []int
	Wide   []string
}

// checkLive checks what the notebook shows in a window of that width.
func (l *jupyterLab) checkLive(t *testing.T, b *chromium.Browser, width int64, when string) {
	t.Helper()
	b.Resize(t, width, 900)
	l.until(t, b, "the chart is drawn",
		"document.querySelector('.jp-Notebook .jp-RenderedSVG img')")
	got := chromium.Evaluate[liveSeen](t, b, `(() => {
		const book = document.querySelector('.jp-Notebook');
		const cells = [...book.querySelectorAll('.jp-CodeCell')];
		const framed = [];
		for (const text of book.querySelectorAll('.hm .hm-text')) {
			const tokens = [...text.querySelectorAll('span,u')];
			tokens[2].click();
			framed.push(tokens.findIndex((e) => e.classList.contains('hm-here')));
			tokens[2].click(); // and back
		}
		const wide = [...book.querySelectorAll('.jp-OutputArea-output')].
			filter((e) => e.scrollWidth > e.clientWidth + 1 && e.querySelector('.hm')).
			map((e) => e.textContent.slice(0, 60) + ' ' + e.scrollWidth + ' > ' + e.clientWidth);
		const errors = [...book.querySelectorAll(
			'[data-mime-type="application/vnd.jupyter.stderr"], .jp-RenderedText[data-mime-type*="error"]')].
			map((e) => e.textContent);
		return {
			Errors: errors,
			Pictures: cells.filter((c) => c.querySelector('.hm')).length,
			Charts: cells.filter((c) => c.querySelector('.jp-RenderedSVG')).length,
			Framed: framed,
			Wide: wide,
		};
	})()`)
	where := fmt.Sprintf("%s, %d pixels", when, width)
	if len(got.Errors) > 0 {
		t.Errorf("%s: errors %q", where, got.Errors)
	}
	if want := len(liveCells) - 1; got.Pictures != want || got.Charts != 1 {
		t.Errorf("%s: %d pictures and %d charts, want %d and 1", where, got.Pictures, got.Charts,
			want)
	}
	if len(got.Wide) > 0 {
		t.Errorf("%s: outputs that scroll: %s", where, strings.Join(got.Wide, "; "))
	}
	// Layers, heads and flow go on framing the generated token whose sources they show.
	if diff := cmp.Diff([]int{2, 5, 2, 5, 5, 2}, got.Framed); diff != "" {
		t.Errorf("%s: tokens framed after a click on the third one (-want +got):\n%s", where, diff)
	}
}

// unexecuted returns a notebook of code cells for the kernel of headwater.
func unexecuted(t *testing.T, sources []string) []byte {
	t.Helper()
	var cells []object
	for i, source := range sources {
		cells = append(cells, object{
			"cell_type": "code", "id": fmt.Sprint("cell-", i), "metadata": object{},
			"execution_count": nil, "source": source, "outputs": []object{},
		})
	}
	return notebookOf(t, cells, object{
		"name": "headwater", "display_name": "Go (Headwater)", "language": "go",
	})
}
