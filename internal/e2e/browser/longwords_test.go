package browser

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// wordy is an explanation in which every text that a user gave is one long word.
func wordy(e *attribution.Explanation) *attribution.Explanation {
	word := strings.Repeat("word", 250)
	e.Model.Name, e.Model.Note, e.Model.Title = word, word, word
	for j := range e.Prompt.Texts {
		e.Prompt.Texts[j] = word
	}
	for i := range e.Steps {
		e.Steps[i].Text = word
	}
	for _, r := range e.Methods {
		r.Contrast = word
	}
	e.Prompt.Text = strings.Join(e.Prompt.Texts, "")
	e.Warnings = append(e.Warnings, word)
	return e
}

// TestLongWords: no page is wider than its window where a caption, a name, a title of a document or
// a token is one long word.
func TestLongWords(t *testing.T) {
	b := tab(t)
	look := render.Look{Caption: strings.Repeat("caption", 142)}
	heads, flow, routes, maps := attended(), flowing(t), routed(), mapped(touched())
	for _, e := range []*attribution.Explanation{
		heads.Explanation, flow.Explanation, routes.Explanation, maps.Explanation,
	} {
		wordy(e)
	}
	heads.Look, flow.Look, routes.Look, maps.Look = look, look, look, look
	documents := caused(t)
	documents.Names[0], documents.Model.Name = look.Caption, look.Caption
	documents.Documents[0] = strings.Repeat("d", len(documents.Documents[0]))
	documents.Answer, documents.Target = look.Caption, look.Caption
	plain := render.Heatmap{Explanation: wordy(touched()), Look: look}
	for name, page := range map[string]render.Picture{
		"heatmap": plain, "heads": heads, "flow": flow, "experts": routes, "maps": maps,
		"layers": render.Layers{Heatmap: plain}, "sources": render.Sources{Result: documents},
	} {
		for _, width := range []int64{1200, 500} {
			b.Resize(t, width, 900)
			b.Show(t, document(page))
			wide := chromium.Evaluate[[]string](t, b, `(() => {
				if (document.documentElement.scrollWidth <= innerWidth) return [];
				return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).
					slice(0, 12).map((e) => e.tagName + '.' + e.className + ' ' + Math.round(e.getBoundingClientRect().right) +
						' ' + e.textContent.slice(0, 12));
			})()`)
			if len(wide) > 0 {
				t.Errorf("%s in a window of %d: %s", name, width, strings.Join(wide, "; "))
			}
		}
	}
	b.Resize(t, 1200, 900)
}
