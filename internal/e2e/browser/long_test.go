package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

const (
	longestPrompt = 32_768
	// openWithin is how long the page of the longest prompt may take, in milliseconds, until it
	// has been drawn.
	openWithin = 2000
)

// TestLongPicture: the picture of a prompt of 32,768 tokens opens within two seconds. What stands
// out is not folded away, and all of the text is in the page.
func TestLongPicture(t *testing.T) {
	b := tab(t)
	e := longExplanation(longestPrompt, 4)
	document := pageOf(t, e)
	path := filepath.Join(t.TempDir(), "long.html")
	must(t, os.WriteFile(path, []byte(document), 0o600))
	// The best of three: other programs of the machine may get in the way of one.
	best := 0.0
	for range 3 {
		b.Navigate(t, "file://"+path)
		took := chromium.Evaluate[float64](t, b,
			chromium.Drawing+".then(() => performance.now())", await)
		if best == 0 || took < best {
			best = took
		}
	}
	t.Logf("%d bytes, drawn after %.0f ms", len(document), best)
	if best > openWithin {
		t.Errorf("drawn after %.0f ms, want at most %d", best, openWithin)
	}
	text := chromium.Evaluate[string](t, b, `document.body.textContent`)
	for _, j := range []int{0, 1, longestPrompt / 2, longestPrompt - 1} {
		if word := fmt.Sprintf("w%d", j); !strings.Contains(text, word) {
			t.Errorf("the page lacks the token %s", word)
		}
	}
	visible := chromium.Evaluate[string](t, b, `document.body.innerText`)
	if !strings.Contains(visible, fmt.Sprintf("w%d", longestPrompt/2)) {
		t.Error("the token with the largest share is folded away")
	}
}

// longExplanation is an explanation of two tokens behind a prompt of m, most of which rests on the
// token in the middle.
func longExplanation(m, layers int) *attribution.Explanation {
	e := &attribution.Explanation{
		Version: attribution.Version,
		Model: trace.Info{
			Name: "long", Hash: "0", Family: "llama", Backend: "go", Head: trace.NextToken,
			Layers: layers, Heads: 4, Width: 64, Vocab: 512,
		},
		Order: []string{"rollout"}, Methods: map[string]*attribution.Result{},
		Warnings: []string{},
	}
	var text strings.Builder
	for j := range m {
		word := fmt.Sprintf(" w%d", j)
		e.Prompt.IDs = append(e.Prompt.IDs, j%512)
		e.Prompt.Texts = append(e.Prompt.Texts, word)
		e.Prompt.Offsets = append(e.Prompt.Offsets,
			[2]int{text.Len(), text.Len() + len(word)})
		e.Prompt.Special = append(e.Prompt.Special, false)
		text.WriteString(word)
	}
	e.Prompt.Text = text.String()
	r := &attribution.Result{Unit: "share of attention", Facts: attribution.Facts{Evidence: trace.Traced, Quantity: attribution.Share}, Shape: [3]int{2, m, layers}}
	for l := range layers {
		r.Layers = append(r.Layers, l)
	}
	for t := range 2 {
		e.Steps = append(e.Steps, attribution.GeneratedToken{
			ID: t, Text: fmt.Sprintf(" g%d", t), Probability: 0.5,
			Alternatives: []attribution.Alternative{},
		})
		row := make([]float64, m+t)
		for j := range m {
			row[j] = 0.4 / float64(m) * float64(1+j*7919%100) / 50
		}
		row[m/2] = 0.5
		r.Shown = append(r.Shown, layers-1)
		for range layers {
			r.Rows = append(r.Rows, row)
			r.OtherMass = append(r.OtherMass, 0.1*float64(t))
		}
	}
	e.Methods["rollout"] = r
	return e
}

// clickLimit is how long a text of 2,048 tokens may take from a click to the next frame.
const clickLimit = 100 // milliseconds

// TestClickLatency clicks in a text of 2,048 tokens, up to forty times. The best one counts: the
// machine of a test does other things.
func TestClickLatency(t *testing.T) {
	b := tab(t)
	e := touched()
	m, n := 2048, 16
	e.Prompt.Texts, e.Prompt.Special, e.Steps = nil, make([]bool, m), nil
	for j := range m {
		e.Prompt.Texts = append(e.Prompt.Texts, []string{" word", "s", ","}[j%3])
	}
	for range n {
		e.Steps = append(e.Steps, attribution.GeneratedToken{Text: " next", Probability: 0.5})
	}
	for _, r := range e.Methods {
		r.Shape = [3]int{n, m, r.Shape[2]}
		fill(r, func(i int) float64 { return float64(i*7919%1009) / 1009 })
	}
	b.Show(t, pageOf(t, e))
	took := chromium.Evaluate[[]float64](t, b, `(async () => {
		const tokens = document.querySelectorAll('.hm-text :is(span,u)'), took = [];
		for (let k = 0; k < 40; k++) {
			const start = performance.now();
			tokens[[2048, 2050, 7, 2060, 2052][k % 5]].click();
			document.body.getBoundingClientRect();
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
			took.push(performance.now() - start);
			if (k >= 4 && Math.min(...took) <= 100) {
				break;
			}
		}
		return took;
	})()`, await)
	best := took[0]
	for _, ms := range took {
		best = min(best, ms)
	}
	t.Logf("clicks took %.0f ms", took)
	if best > clickLimit {
		t.Errorf("a click took %.0f ms at best, limit %d", best, clickLimit)
	}
}
