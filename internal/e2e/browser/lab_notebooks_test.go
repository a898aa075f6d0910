package browser

import (
	"encoding/json"
	"fmt"
	"image"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// TestLabNotebooks opens every committed notebook in JupyterLab, not trusted on light and trusted
// on dark, and goes through it in a wide and a narrow window: each picture, chart and table is
// painted and fits its cell, no output is an error, the console has none, and no request leaves
// the page.
func TestLabNotebooks(t *testing.T) {
	if testing.Short() {
		t.Skip("a server, and every notebook four times")
	}
	b := chromium.Open(t) // of its own: JupyterLab goes on asking its server after the test
	dir := t.TempDir()
	for _, folder := range []string{"notebooks", "docs"} { // notebooks show pictures of docs
		err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join("../../..", folder)))
		must(t, err)
	}
	names := committedNotebooks(t)
	lab := serveLab(t, dir)
	lab.set(t, "notebook-extension", "tracker", "{}") // cells are drawn as they come into sight
	b.Navigate(t, lab.server+"/lab?token=headwater&reset")
	lab.until(t, b, "JupyterLab is there",
		"window.jupyterapp?.commands.hasCommand('docmanager:open') && "+
			"document.body.dataset.jpThemeName")
	for _, trusted := range []bool{false, true} {
		theme := "Light"
		if trusted {
			theme = "Dark"
			lab.command(t, "jupyter", append([]string{"trust"}, names...)...)
		}
		promised(t, b, fmt.Sprintf("window.jupyterapp.commands.execute("+
			"'apputils:change-theme', {theme: 'JupyterLab %s'})", theme))
		for _, name := range names {
			t.Run(fmt.Sprintf("%s trusted=%v", filepath.Base(name), trusted), func(t *testing.T) {
				kinds := outputsOf(t, filepath.Join("../../..", name))
				for _, width := range []int64{1200, 446} {
					b.Resize(t, width, walkHeight)
					lab.openNotebook(t, b, name, trusted, len(kinds))
					walk(t, b, labScroller, fmt.Sprintf("%s-%s-%d",
						strings.TrimSuffix(filepath.Base(name), ".ipynb"), theme, width)).
						check(t, kinds, fmt.Sprint(width, " pixels"))
				}
			})
		}
	}
	lab.checkConsole(t, b)
}

// committedNotebooks returns the paths of the notebooks of the repository, from its root.
func committedNotebooks(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../../notebooks/*.ipynb")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no notebooks: %v", err)
	}
	for i, path := range paths {
		paths[i] = "notebooks/" + filepath.Base(path)
	}
	return paths
}

// openNotebook opens a notebook in place of those that are open, without a kernel, and waits for
// its outputs.
func (l *jupyterLab) openNotebook(
	t *testing.T, b *chromium.Browser, path string, trusted bool, outputs int,
) {
	t.Helper()
	promised(t, b, fmt.Sprintf(`(async () => {
		const app = window.jupyterapp;
		await app.restored;
		app.shell.collapseLeft(); // the list of files
		for (const open of [...app.shell.widgets('main')]) open.dispose();
		const widget = await app.commands.execute('docmanager:open', {
			path: %q, factory: 'Notebook',
			kernelPreference: {shouldStart: false, canStart: false},
		});
		await widget.context.ready;
		await widget.revealed;
		window.trusted = [...widget.content.model.cells].
			filter((c) => c.type === 'code' && c.outputs.length).map((c) => c.trusted);
	})()`, path))
	got := chromium.Evaluate[[]bool](t, b, "window.trusted")
	if len(got) == 0 || slices.Contains(got, !trusted) {
		t.Fatalf("%s: cells are trusted: %v; want all %v", path, got, trusted)
	}
	l.until(t, b, "all outputs are there", fmt.Sprintf(
		"document.querySelectorAll('.jp-Notebook .jp-OutputArea-output').length === %d", outputs))
}

// checkConsole checks that the console has no error, and that all requests went to the server.
func (l *jupyterLab) checkConsole(t *testing.T, b *chromium.Browser) {
	t.Helper()
	var messages []chromium.Message
	for _, m := range b.Messages() {
		// Of an image in a text, JupyterLab first asks for the address that the text has, below its
		// own page, and only then for the file.
		if !strings.HasPrefix(m.Source, l.server+"/docs/") {
			messages = append(messages, m)
		}
	}
	checkMessages(t, messages)
	host := strings.TrimPrefix(l.server, "http://")
	for _, address := range b.Requests() {
		if !strings.HasPrefix(address, "http://"+host+"/") &&
			!strings.HasPrefix(address, "ws://"+host+"/") &&
			!strings.HasPrefix(address, "blob:http://"+host+"/") {
			t.Errorf("a request to %s", address)
		}
	}
}

// checkMessages checks that what the console shows are no errors.
func checkMessages(t *testing.T, messages []chromium.Message) {
	t.Helper()
	for _, m := range messages {
		if m.Level != "warning" {
			t.Errorf("console: %s: %s (%s)", m.Level, m.Text, m.Source)
		}
	}
}

// outputsOf returns the kinds of the outputs of a notebook by cell and output: a chart, a picture,
// a table or a text.
func outputsOf(t *testing.T, path string) map[string]string {
	t.Helper()
	var book struct {
		Cells []struct {
			Outputs []struct {
				Data map[string]json.RawMessage `json:"data"`
			} `json:"outputs"`
		} `json:"cells"`
	}
	must(t, json.Unmarshal([]byte(read(t, path)), &book))
	kinds := map[string]string{}
	for i, cell := range book.Cells {
		for k, o := range cell.Outputs {
			markup, chart := string(o.Data["text/html"]), o.Data["image/png"]
			kind := "text"
			switch {
			case chart != nil:
				kind = "chart"
			case strings.Contains(markup, `hm-text`):
				kind = "picture"
			case strings.Contains(markup, `<table`):
				kind = "table"
			}
			kinds[fmt.Sprint(i, ".", k)] = kind
		}
	}
	return kinds
}

// part is an output of a notebook, or a table or an image in it, as the windows show it.
type part struct {
	// Place is the cell, the output and the part, Kind what it is.
	Place, Kind string
	// Box is what the window shows of it, and Size all of it: left, top, width and height; width
	// and height.
	Box  [4]int
	Size [2]int
	// Wide is by how many pixels what is in it is wider, and Scrolls whether it scrolls then.
	Wide    int
	Scrolls bool
	// Error is the text of an output that is an error.
	Error string
	// Painted is the largest share, in a window, of pixels that are not of the background.
	Painted float64 `json:"-"`
}

// walked is what the windows show, by place.
type walked map[string]*part

// labScroller is what a notebook scrolls in.
const labScroller = "document.querySelector('.jp-Notebook .jp-WindowedPanel-outer')"

// walkHeight is the height of a window. A higher one needs fewer steps.
const walkHeight = 1600

// walk goes through the outputs of a page window by window. scroller is an expression: the element
// that scrolls. The screenshots are kept by that name.
func walk(t *testing.T, b *chromium.Browser, scroller, name string) walked {
	t.Helper()
	all := walked{}
	const most = 200 // windows
	for i := range most {
		step := chromium.Evaluate[struct {
			Parts []*part
			Wide  int
			More  bool
		}](t, b, fmt.Sprintf("(%s)(%s, %v)", walkScript, scroller, i == 0), await)
		if step.Wide > 0 {
			t.Errorf("%s: the page is %d pixels wider than the window", name, step.Wide)
		}
		shot := b.Screenshot(t, nil)
		keepScreenshot(t, shot, fmt.Sprintf("%s-%02d", name, i))
		img := decoded(t, shot)
		for _, p := range step.Parts {
			x, y := p.Box[0], p.Box[1]
			p.Painted = painted(img, image.Rect(x, y, x+p.Box[2], y+p.Box[3]))
			if old := all[p.Place]; old != nil {
				p.Painted = max(p.Painted, old.Painted)
			}
			all[p.Place] = p
		}
		if !step.More {
			return all
		}
	}
	t.Fatalf("%s: more than %d windows", name, most)
	return nil
}

// walkScript goes to the next window of the page and returns what it shows when that is drawn.
const walkScript = `async (scroller, first) => {
	const page = scroller === document.documentElement;
	const view = page ? new DOMRect(0, 0, innerWidth, innerHeight) :
		scroller.getBoundingClientRect();
	const overlap = 200; // what is cut by the end of a window is whole in the next one
	// What a reader can open is shown, too; charts and pictures begin as they are.
	scroller.querySelectorAll('.jp-OutputArea-output > div > details').forEach(
		(folded) => { folded.open = true; });
	scroller.scrollTop = first ? 0 : scroller.scrollTop + scroller.clientHeight - overlap;
	const cells = [...scroller.querySelectorAll('.jp-Cell')];
	const cut = (r, by) => {
		const left = Math.max(r.left, by.left), top = Math.max(r.top, by.top);
		const right = Math.min(r.right, by.right), bottom = Math.min(r.bottom, by.bottom);
		return new DOMRect(left, top, Math.max(0, right - left), Math.max(0, bottom - top));
	};
	const seen = () => cells.flatMap((cell, c) => {
		const shown = cut(cell.getBoundingClientRect(), view);
		if (!shown.height) return [];
		return [...cell.querySelectorAll('.jp-OutputArea-child')].flatMap((child, o) => {
			const output = child.querySelector('.jp-OutputArea-output');
			return output && cut(output.getBoundingClientRect(), view).height ?
				[[c + '.' + o, output]] : [];
		});
	});
	const waits = () => seen().some(([, e]) =>
		[...e.querySelectorAll('img')].some((i) => i.checkVisibility() && !i.complete));
	const frame = () => new Promise((done) => requestAnimationFrame(done));
	for (let frames = 0; frames < 3 || waits() && frames < 600; frames++) await frame();
	const parts = seen().flatMap(([place, output]) => {
		const bounds = cut(output.getBoundingClientRect(), view);
		const kind = output.querySelector('.hm-text') ? 'picture' :
			output.matches('.jp-RenderedSVG, .jp-RenderedImage') ? 'chart' :
			output.querySelector('table') ? 'table' : 'text';
		const part = (e, place, kind) => {
			const whole = e.getBoundingClientRect(), r = cut(whole, bounds);
			const x = Math.ceil(r.left), y = Math.ceil(r.top);
			return {
				Place: place, Kind: kind,
				Box: [x, y, Math.floor(r.right) - x, Math.floor(r.bottom) - y],
				Size: [Math.round(whole.width), Math.round(whole.height)],
				Wide: Math.round(Math.max(0, e.scrollWidth - e.clientWidth)),
				Scrolls: ['auto', 'scroll'].includes(getComputedStyle(e).overflowX),
				Error: '',
			};
		};
		const all = part(output, place, kind);
		const type = output.dataset.mimeType || '';
		if (/stderr|error/.test(type) || /^\s*(\w*Error|panic|error)\b/.test(output.innerText)) {
			all.Error = output.innerText;
		}
		const inner = [...output.querySelectorAll('table, img')].
			filter((e) => e.checkVisibility({visibilityProperty: true, opacityProperty: true})).
			map((e, i) => part(e, place + ' ' + e.localName + ' ' + i, e.localName)).
			filter((p) => p.Box[2] > 0 && p.Box[3] > 0 || !p.Size[0] || !p.Size[1]);
		return [all, ...inner];
	});
	return {
		Parts: parts,
		Wide: Math.max(scroller.scrollWidth - scroller.clientWidth,
			document.documentElement.scrollWidth - innerWidth),
		More: scroller.scrollTop + scroller.clientHeight < scroller.scrollHeight - 1,
	};
}`

const (
	// leastPainted is the share of an output that is not background. The least seen is 0.0087, of a
	// short line in a wide cell.
	leastPainted = 0.003
	// leastSize is the width and the height of what a reader can see, in pixels.
	leastSize = 6
)

// check checks that the outputs are all there and that each is painted and fits its cell.
func (w walked) check(t *testing.T, want map[string]string, where string) {
	t.Helper()
	for _, place := range slices.Sorted(maps.Keys(want)) {
		kind := want[place]
		if got := w[place]; got == nil || got.Kind != kind {
			t.Errorf("%s: output %s, a %s, is not there: %+v", where, place, kind, got)
		}
		if (kind == "chart" || kind == "table") && !w.parts(place) {
			t.Errorf("%s: output %s, a %s, shows none", where, place, kind)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(w)) {
		p := w[place]
		if p.Error != "" {
			t.Errorf("%s: output %s is an error: %s", where, place, p.Error)
		}
		if p.Painted < leastPainted || min(p.Size[0], p.Size[1]) < leastSize {
			t.Errorf("%s: %s, a %s, is blank: of %v pixels %.5f are painted", where, place, p.Kind,
				p.Size, p.Painted)
		}
		// A chart or a table may be wider than a narrow window: it scrolls.
		if p.Wide > 1 && (p.Kind == "picture" || !p.Scrolls) {
			t.Errorf("%s: %s, a %s, is %d pixels wider than its cell", where, place, p.Kind, p.Wide)
		}
	}
}

// parts reports whether the windows show a table or an image of an output.
func (w walked) parts(place string) bool {
	for other := range w {
		if strings.HasPrefix(other, place+" ") {
			return true
		}
	}
	return false
}
