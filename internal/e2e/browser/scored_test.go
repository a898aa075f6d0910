package browser

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// TestScoredPage opens the pages of scorers, by tokens and by sentences: each says what it explains
// and what speaks against it, in both schemes.
func TestScoredPage(t *testing.T) {
	b := tab(t)
	e := pictures(t)["contrast"].Explanation
	sentences := divided(t, e, "sentence")
	for name, c := range map[string]struct {
		html render.Heatmap
		says []string
	}{
		"tokens": {render.Heatmap{Explanation: e}, []string{
			"rather than mary", "john rather than mary: logit difference ", ", parts add up to ", "john and not mary came a little from john and .", "×10⁻³", "layer 5",
			"+ for the prediction and - for mary", "(top 3 hold ", "18 prompt tokens",
		}},
		"sentences": {render.Heatmap{Explanation: sentences}, []string{
			"john has the blue lamp .", "4 spans of the prompt, the first of them begin-of-text",
			"by sentence", "spans of the prompt (sources)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			light, dark := schemes(t, b, document(c.html))
			for _, say := range c.says {
				if !strings.Contains(light.Text, say) {
					t.Errorf("the page lacks %q:\n%s", say, light.Text)
				}
			}
			for _, d := range []chromium.Drawn{light, dark} {
				checkColors(t, d)
				checkElements(t, d)
				if d.Wide > 0 {
					t.Errorf("the page is %d pixels wider than a window of 1200", d.Wide)
				}
			}
		})
	}
}
