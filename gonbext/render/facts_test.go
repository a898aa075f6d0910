package render

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// TestWritersOverflow: of two layers, the facts name no third one where the difference of the
// layers is no finite number.
func TestWritersOverflow(t *testing.T) {
	e := patched(patch.Heads)
	e.Studies = nil
	e.Order, e.Methods = []string{"m"}, map[string]*attribution.Result{"m": {
		Facts: attribution.Facts{
			Quantity: attribution.Amount, AddsUp: true, Combined: true, Scorer: true,
			Evidence: trace.Traced,
		},
		Unit: "unit", Layers: []int{0, 1}, Shape: [3]int{1, 4, 2}, Shown: []int{1},
		OtherMass: []float64{0, 0}, Rows: [][]float64{{0, -1e308, 0, 0}, {0, 1e308, 0, 0}},
	}}
	var text strings.Builder
	must(t, Text(&text, Heatmap{Explanation: e}, Terminal{Width: 200}))
	if want := "“John” mostly written in layers 0 and 1"; !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, text.String())
	}
}
