package attribution_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// A row whose values are nearly all the whole probability says nothing, and the explanation says
// so. The model's prediction is lost without token 2 (id 3), and, if it is fragile, without any.
func TestFlatRows(t *testing.T) {
	const prompt = "w1 w2 w3 w4 w5 w6"
	for name, c := range map[string]struct {
		left     float64 // of the probability, 0.5, without a token other than w2
		quantity trace.Quantity
		prompt   string
		want     bool
	}{
		"a token counts":       {left: .4, prompt: prompt},
		"every token counts":   {left: .02, prompt: prompt, want: true},
		"a logit has no whole": {left: .02, prompt: prompt, quantity: trace.Logit},
		"few tokens":           {left: .02, prompt: "w1 w2 w3 w4"},
		"nothing is explained": {left: -1, prompt: prompt}, // as where the contrast is the prediction
	} {
		m := fakemodel.NewScored(1)
		m.Kinds = map[string]int{"mask": 9}
		m.Predicted = func(q trace.Query) float64 {
			switch {
			case c.left < 0:
				return 0
			case !slices.Contains(q.IDs, 9):
				return .5
			case q.IDs[1] == 9:
				return 0
			}
			return c.left
		}
		e, err := attribution.Explain(t.Context(), m, c.prompt, attribution.Options{
			Methods: []string{"occlusion"}, MaxTokens: 1,
			Scoring: scorer.Options{Quantity: c.quantity},
		})
		must(t, err)
		warnings := strings.Join(e.Warnings, "\n")
		if got := strings.Contains(warnings, "occlusion: for 1 of 1 token, first for "+
			`"w7", nearly every value is the whole probability`); got != c.want {
			t.Errorf("%s: warnings %q, want one about a flat row: %v", name, warnings, c.want)
		}
		if c.want && !strings.Contains(warnings, `another replacement than "mask"`) {
			t.Errorf("%s: %q does not name the replacement", name, warnings)
		}
		if got := e.Methods["occlusion"].Options["replacement"]; got != "mask" {
			t.Errorf("%s: the result says replacement %q, want mask", name, got)
		}
	}
}
