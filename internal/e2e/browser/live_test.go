package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
// and a wide window, and is still there after the notebook was saved and opened again.
func TestLiveCells(t *testing.T) {
	if testing.Short() {
		t.Skip("a kernel that links a program for every cell")
	}
	const find = "import jupyter_client; jupyter_client.kernelspec.get_kernel_spec('gonb')"
	if err := exec.Command("python", "-c", find).Run(); err != nil {
		t.Skip("no kernel of Go notebooks here; make test sets it up:", err)
	}
	dir, err := os.MkdirTemp("", "hw") // that of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	headwater := command.Path(t)
	b := chromium.Open(t)
	lab := serveLab(t, dir, "GOPROXY=off", "GOFLAGS=", "GOWORK=", "HF_HUB_OFFLINE=1",
		"HEADWATER_ENGINE="+headwater, "TMPDIR="+dir)
	lab.command(t, headwater, "install")
	if err := os.WriteFile(filepath.Join(dir, liveNotebook), unexecuted(t, liveCells),
		0o600); err != nil {
		t.Fatal(err)
	}

	lab.load(t, b)
	// The answer comes when all cells have run.
	promised(t, b, "window.jupyterapp.commands.execute('notebook:run-all-cells')")
	for _, width := range []int64{1200, 446} {
		lab.checkLive(t, b, width, "live")
	}
	promised(t, b, widget+".context.save()")
	lab.load(t, b)
	for _, width := range []int64{446, 1200} {
		lab.checkLive(t, b, width, "opened again")
	}
	promised(t, b, widget+".context.sessionContext.shutdown()")
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
	b.Do(t, func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.EmulateViewport(width, 900))
	})
	l.until(t, b, "the chart is drawn",
		"document.querySelector('.jp-Notebook .vega-embed canvas, .jp-Notebook .vega-embed svg')")
	got := chromium.Evaluate[liveSeen](t, b, `(() => {
		const book = document.querySelector('.jp-Notebook');
		const cells = [...book.querySelectorAll('.jp-CodeCell')];
		const framed = [];
		for (const text of book.querySelectorAll('.hw .hw-t')) {
			const tokens = [...text.children];
			tokens[2].click();
			framed.push(tokens.findIndex((e) =>
				(e.getAttribute('style') || '').includes('outline')));
		}
		const wide = [...book.querySelectorAll('.jp-OutputArea-output')].
			filter((e) => e.scrollWidth > e.clientWidth + 1 && e.querySelector('.hw')).
			map((e) => e.textContent.slice(0, 60) + ' ' + e.scrollWidth + ' > ' + e.clientWidth);
		const errors = [...book.querySelectorAll(
			'[data-mime-type="application/vnd.jupyter.stderr"], .jp-RenderedText[data-mime-type*="error"]')].
			map((e) => e.textContent);
		return {
			Errors: errors,
			Pictures: cells.filter((c) => c.querySelector('.hw')).length,
			Charts: cells.filter((c) => c.querySelector('.vega-embed')).length,
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
	// The picture of flow, the fifth one, has a graph and frames no token.
	if diff := cmp.Diff([]int{2, 2, 2, 2, -1, 2}, got.Framed); diff != "" {
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
