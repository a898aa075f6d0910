package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// encoded is an explanation by an encoder among the goldens, which have no tokenizer of their own.
func encoded(t *testing.T, golden, text string, opts attribution.Options) *attribution.Explanation {
	t.Helper()
	dir := t.TempDir()
	for name, from := range map[string]string{
		"config.json": goldens + golden + "/config.json", "model.safetensors": goldens + golden + "/model.safetensors",
		"tokenizer.json": "../../../cmd/headwater/explain/testdata/words.json",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(read(t, from)), 0o600))
	}
	opts.Methods = []string{"rollout", "flow", "value-zeroing"}
	return fixture.Explain(t, fixture.Open(t, dir, "go"), text, opts)
}

// TestEncoderPage opens the pages of encoders: at a mask, at chosen positions, at a class. Each can
// be read in both schemes and tells what it is about and where it was read.
func TestEncoderPage(t *testing.T) {
	b := tab(t)
	for _, c := range []struct {
		name, golden, text string
		opts               attribution.Options
		says               []string
	}{
		{"mask", "bert", "the keys to the [MASK] are here", attribution.Options{}, []string{
			"[MASK] at 6 → ", "probability at this position", "What it could have been",
		}},
		{"positions", "electra", "the keys to the cabinet", attribution.Options{Positions: []int{3, 6}}, []string{
			"s at 3 → ", "cabinet at 6 → ", "2 predictions",
		}},
		{"class", "bert_cls", "the keys to the cabinet are here", attribution.Options{}, []string{
			"class LABEL_", "probability of each class",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			heatmap := render.Heatmap{Explanation: encoded(t, c.golden, c.text, c.opts)}
			page := document(heatmap)
			light, dark := schemes(t, b, page)
			for _, say := range c.says {
				if !strings.Contains(light.Text, say) {
					t.Errorf("the page lacks %q", say)
				}
			}
			for _, wrong := range []string{"enerated", "prompt", "begin-of-text"} {
				if strings.Contains(light.Text, wrong) {
					t.Errorf("the page about an encoder says %q", wrong)
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
