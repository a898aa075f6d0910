package browser

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// TestConverted opens the pages that nbconvert makes of the committed notebooks: every output is
// drawn as in JupyterLab, a click chooses a token, every part is printed, and they ask for nothing.
// The template of nbconvert itself asks the network for two libraries, which are switched off here.
func TestConverted(t *testing.T) {
	b := tab(t)
	if _, err := exec.LookPath("jupyter-nbconvert"); err != nil {
		t.Skip("no nbconvert in the PATH; make test sets it up")
	}
	dir := t.TempDir()
	names := committedNotebooks(t)
	arguments := []string{
		"--to", "html", "--output-dir", dir,
		"--HTMLExporter.mathjax_url=", "--HTMLExporter.require_js_url=",
	}
	for _, name := range names {
		arguments = append(arguments, "../../../"+name)
	}
	convert := exec.CommandContext(t.Context(), "jupyter-nbconvert", arguments...)
	if out, err := convert.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := len(b.Messages())
	b.Resize(t, 1200, walkHeight)
	defer b.Resize(t, 1200, 900)
	for _, name := range names {
		page := strings.TrimSuffix(filepath.Base(name), ".ipynb")
		t.Run(page, func(t *testing.T) {
			// A picture of docs, which a text shows, is a file of its own.
			b.Show(t, strings.ReplaceAll(read(t, filepath.Join(dir, page+".html")),
				`src="../docs/`, `data-src="../docs/`))
			walk(t, b, "document.documentElement", page+"-page").
				check(t, outputsOf(t, "../../../"+name), page)
		})
	}
	checkMessages(t, b.Messages()[before:])
	b.Show(t, read(t, filepath.Join(dir, "00-quickstart.html")))
	const least = 10 // of the notebook's pictures
	if n := chromium.Evaluate[int](t, b, "document.querySelectorAll('.hm').length"); n < least {
		t.Errorf("the page has %d pictures; want %d or more", n, least)
	}
	framed := chromium.Evaluate[int](t, b, `(() => {
		const tokens = [...document.querySelector('.hm-text').querySelectorAll('span,u')];
		tokens[4].click();
		return tokens.findIndex((e) => getComputedStyle(e).outlineStyle === 'solid');
	})()`)
	if framed != 4 {
		t.Errorf("after a click on token 4 token %d is framed", framed)
	}
	emulate(t, b, "print")
	defer emulate(t, b, "")
	hidden := chromium.Evaluate[[]string](t, b, `[...document.querySelectorAll('.hm-text :is(span,u), .hm-lines > div')].
		filter((e) => !e.checkVisibility({contentVisibilityAuto: true})).
		map((e) => e.className + ' ' + e.textContent.slice(0, 40))`)
	if len(hidden) > 0 {
		t.Errorf("not printed: %q", hidden)
	}
	if adjust := chromium.Evaluate[string](t, b, "getComputedStyle(document.querySelector("+
		"'.hm-text span')).printColorAdjust"); adjust != "exact" {
		t.Errorf("colours are printed as %q", adjust)
	}
}
