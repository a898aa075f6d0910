package browser

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

//go:embed testdata/sanitise.js
var sanitise string

// sanitised is what sanitise.js makes of markup.
type sanitised struct {
	Original, Sanitised string
	Dropped             []string
}

func sanitiseMarkup(t *testing.T, b *chromium.Browser, markup string) sanitised {
	t.Helper()
	quoted, err := json.Marshal(markup)
	must(t, err)
	return chromium.Evaluate[sanitised](t, b, "("+sanitise+")("+string(quoted)+")")
}

// spared is what a picture can be without where there is no script: what tells a script of colours,
// the keys, and readers of a screen what is what.
var spared = []string{
	"aria-label of <div>", "aria-live of <p>", "data-palette of <div>", "role of <div>",
	"scope of <th>", "tabindex of <div>",
}

// TestUntrusted passes pictures through what a notebook that is not trusted keeps: all of it but
// the script with its numbers and the style sheet.
func TestUntrusted(t *testing.T) {
	b := tab(t)
	for name, picture := range pictures(t) {
		t.Run(name, func(t *testing.T) {
			markup := htmlOf(picture)
			got := sanitiseMarkup(t, b, markup)
			slices.Sort(got.Dropped)
			dropped := slices.DeleteFunc(slices.Compact(got.Dropped), func(what string) bool {
				return slices.Contains(spared, what) || strings.HasPrefix(what, "font:")
			})
			want := []string{"<script>", "<style>"}
			if !strings.Contains(markup, "<script>") { // nothing to choose, or no room
				want = want[1:]
			}
			if !slices.Equal(dropped, want) {
				t.Errorf("dropped %.500q, want %q", dropped, want)
			}
			d := b.Show(t, output(got.Sanitised, "white", "black"))
			checkColors(t, d)
			checkElements(t, d)
			if picture.Explanation == nil {
				return
			}
			// A host may take away all styles: the framed token is bold, and a row is marked.
			bare := b.Show(t, output(styles.ReplaceAllString(got.Sanitised, ""), "white", "black"))
			if marks := chromium.Evaluate[int](t, b,
				"document.querySelectorAll('.hm-text b').length"); len(bare.Colored) > 0 ||
				marks != 1 || name != "short" && !strings.Contains(bare.Text, "▸ ") {
				t.Errorf("without styles %d tokens are marked, and %d are coloured", marks,
					len(bare.Colored))
			}
			for i, g := range picture.Explanation.Steps {
				text := render.Visible(strings.TrimPrefix(g.Text, " "), 40)
				if !strings.Contains(d.Text, text) || !strings.Contains(bare.Text, text) {
					t.Errorf("without the script there is no row of token %d, %q", i, text)
				}
			}
			for _, method := range picture.Explanation.Order {
				if name != "compared" && !strings.Contains(bare.Text, method) {
					t.Errorf("without styles there is no %s", method)
				}
			}
		})
	}
}

// styles are the attributes of elements that have colours.
var styles = regexp.MustCompile(` style="[^"]*"`)

// TestSanitiserDrops makes sure that the test above can fail.
func TestSanitiserDrops(t *testing.T) {
	b := tab(t)
	for _, c := range []struct{ name, markup, want, dropped string }{
		{"script", `<p>a<script>1</script></p>`, `<p>a</p>`, `<script>`},
		{"style element", `<style>p{}</style><p>a</p>`, `<p>a</p>`, `<style>`},
		{"svg", `<p><svg><title>a</title></svg></p>`, `<p></p>`, `<svg>`},
		{"event", `<p onclick="a()">b</p>`, `<p>b</p>`, `onclick of <p>`},
		{"data attribute", `<p data-a="1">b</p>`, `<p>b</p>`, `data-a of <p>`},
		{"hsl", `<p style="color:hsl(0,0%,0%);width:1px">b</p>`, `<p style="width:1px">b</p>`, `color:hsl(0,0%,0%)`},
		{"var", `<p style="color:var(--jp-ui)">b</p>`, `<p style="">b</p>`, `color:var(--jp-ui)`},
		{"rgb with spaces", `<p style="color:rgb(1 2 3 / 50%)">b</p>`, `<p style="">b</p>`, `color:rgb(1 2 3 / 50%)`},
		{"address", `<p style="background:url(x)">b</p>`, `<p style="">b</p>`, `background:url(x)`},
		{"position", `<p style="position:fixed">b</p>`, `<p style="">b</p>`, `position:fixed`},
		{"image", `<img src="x.png" alt="y">`, `<img alt="y">`, `src of <img>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sanitiseMarkup(t, b, c.markup)
			if got.Sanitised != c.want || !slices.Equal(got.Dropped, []string{c.dropped}) {
				t.Errorf("sanitise(%s) = %s without %q, want %s without %q",
					c.markup, got.Sanitised, got.Dropped, c.want, c.dropped)
			}
		})
	}
}
