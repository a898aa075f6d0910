package browser

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/sources"
)

// caused is the sentence of two documents that the embedded model has its answer from; one sentence
// has a negative score.
func caused(t *testing.T) *sources.Result {
	t.Helper()
	r, err := sources.Ask{
		Documents: []string{
			"mary has the red key . john has the blue lamp .", "anna has the old book . mary has <b>.",
		},
		Names: []string{"house.txt", "<i>other</i>"}, Question: "who has the lamp ?", Answer: "john",
		Options: sources.Options{Ablations: 16, HeldOut: 8},
	}.Explain(t.Context(), embedded(t))
	must(t, err)
	return r
}

// TestViewsNarrow opens the views in a window as wide as an output beside a file browser: nothing
// but matrices and graphs is scrolled from side to side.
func TestViewsNarrow(t *testing.T) {
	b := tab(t)
	b.Resize(t, 446, 900)
	defer b.Resize(t, 1200, 900)
	wide := render.Heatmap{Explanation: lengthenedBy(touched(), 20)}
	for name, page := range map[string]string{
		"layers":  document(render.Layers{Heatmap: wide}),
		"heads":   document(attended()),
		"flow":    document(flowing(t)),
		"sources": document(render.Sources{Result: caused(t)}),
	} {
		if d := b.Show(t, page); d.Wide > 0 {
			t.Errorf("%s are %d pixels wider than a window of 446", name, d.Wide)
		}
	}
}

// TestSourcesPage opens the sources of an answer as a page, light and dark, and through what a
// notebook that is not trusted keeps: the sentences and their scores stay.
func TestSourcesPage(t *testing.T) {
	b := tab(t)
	r := caused(t)
	page := document(render.Sources{Result: r})
	got := sanitiseMarkup(t, b, htmlOf(render.Sources{Result: r}))
	if dropped := strings.Join(got.Dropped, " "); dropped != "data-hw of <div> <style> <script>" {
		t.Errorf("dropped %q", dropped)
	}
	light, dark := schemes(t, b, page)
	untrusted := b.Show(t, output(got.Sanitised, "rgb(17,17,17)", "rgb(255,255,255)"))
	for name, d := range map[string]chromium.Drawn{
		"light": light, "dark": dark, "untrusted": untrusted,
	} {
		checkColors(t, d)
		checkElements(t, d)
		for _, want := range []string{
			"john has the blue lamp .", "mary has <b>.", "house.txt", "<i>other</i>", "LDS ",
			"drop without the top 1: ", "leave-one-out", "context-cite",
		} {
			if !strings.Contains(d.Text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		if d.Wide > 0 {
			t.Errorf("%s is %d pixels wider than a window of 1200", name, d.Wide)
		}
	}
}
