package browser

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
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

// TestSourcesTouch chooses another palette in a picture of sources and points at a source of each
// method's documents: both have the colours of the palette, and a line says the score.
func TestSourcesTouch(t *testing.T) {
	b := tab(t)
	page := document(render.Sources{Result: caused(t)})
	everywhere(t, b, func(t *testing.T) {
		b.Show(t, page)
		got := chromium.Evaluate[[]string](t, b, `(() => {
			const colors = () => [...document.querySelectorAll('.hm-text .p6,.hm-list .p6')].
				map((e) => getComputedStyle(e).backgroundColor);
			const before = colors();
			document.querySelector('[data-palette=green-purple]').click();
			const after = colors();
			const said = [...document.querySelectorAll('.hm-text')].map((text) => {
				text.querySelector('span').click();
				return text.previousElementSibling.textContent;
			});
			return [before.length > 1 && before.every((c, i) => c !== after[i]), ...said].map(String);
		})()`)
		checkColors(t, b.Inspect(t, "document.body"))
		if len(got) != 3 || got[0] != "true" {
			t.Fatalf("colours changed, and what the lines say: %q", got)
		}
		for _, line := range got[1:] {
			if !sourceLine.MatchString(line) {
				t.Errorf("the line of the first source says %q", line)
			}
		}
	})
}

// sourceLine is a score and the first source.
var sourceLine = regexp.MustCompile(`^[+−]?\d+\.\d+ mary has the red key \.$`)

// mapped are maps of three layers over a text: at layer l a target has l+1 of three parts from the
// token before it and the rest from itself.
func mapped(e *attribution.Explanation) render.Maps {
	const L = 3
	T := len(e.Prompt.Texts) + len(e.Steps)
	m := &attribution.Map{
		Unit: "share of attention", Facts: attribution.Facts{Evidence: trace.Traced, AddsUp: true, Quantity: attribution.Share}, Layers: []int{0, 1, 2}, Shape: [3]int{L, T, T},
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
