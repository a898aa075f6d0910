package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// hostSchemes are pages of notebooks and editors, and whether a heatmap on them is dark. A dark
// system alone makes no output of a notebook dark.
var hostSchemes = []struct {
	name, attribute, system string
	dark                    bool
}{
	{"light notebook", `data-jp-theme-light="true"`, "light", false},
	{"light notebook, dark system", `data-jp-theme-light="true"`, "dark", false},
	{"dark notebook", `data-jp-theme-light="false"`, "light", true},
	{"dark editor", `class="vscode-dark"`, "light", true},
	{"unknown host", "", "dark", false},
}

// TestHeatmapHosts opens a heatmap with values of both signs on hosts, with text and cells of every
// palette: it has the colours of the host, texts can be read, what speaks against a token is
// hatched in cells and dotted in the text, and forced colours leave the colours as they are.
func TestHeatmapHosts(t *testing.T) {
	b := tab(t)
	defer emulate(t, b, "")
	e := touched()
	copy(e.Methods["direct"].Rows[0], []float64{-2, -1.2, 0.3, 2})
	for _, host := range hostSchemes {
		for _, palette := range render.PaletteNames() {
			markup := htmlOf(render.Heatmap{
				Explanation: e, Look: render.Look{Palette: palette},
			})
			const read = `['.hm-text :is(span,u)', '.hm-matrix tbody tr:first-child td[data-c]'].map((s) =>
				[...document.querySelectorAll(s)].slice(0, 4).map((e) => getComputedStyle(e)).map((c) =>
				c.backgroundColor + ' ' + /repeating/.test(c.backgroundImage) + ' ' + /dotted/.test(c.textDecoration)))`
			emulate(t, b, "", scheme, host.system)
			d := b.Show(t, `<!DOCTYPE html><meta charset="utf-8"><body `+host.attribute+
				`><div id="output">`+markup+`</div>`)
			checkColors(t, d)
			if l := luminance(t, d.Texts[0].Background); (l < 0.05) != host.dark || l > 0.05 &&
				l < 0.9 {
				t.Errorf("%s: the picture stands on %s", host.name, d.Texts[0].Background)
			}
			got := chromium.Evaluate[[2][]string](t, b, read)
			different := map[string]bool{}
			for i, signs := range [2]string{" false true", " true false"} {
				for j, s := range got[i] {
					if want := j < 2; strings.HasSuffix(s, signs) != want {
						t.Errorf("%s, %s: token %d is drawn as %q, against it: %t", host.name,
							palette, j, s, want)
					}
					different[strings.SplitAfter(s, ")")[0]] = true
				}
			}
			if len(different) != 5 { // four in cells, and none in the text for what is against it
				t.Errorf("%s, %s: %d colours of %q, want 5", host.name, palette, len(different),
					got)
			}
			emulate(t, b, "", scheme, host.system, "forced-colors", "active")
			if forced := chromium.Evaluate[[2][]string](t, b,
				read); fmt.Sprint(forced) != fmt.Sprint(got) {
				t.Errorf("%s, %s: forced colours change %q to %q", host.name, palette, got, forced)
			}
		}
	}
}
