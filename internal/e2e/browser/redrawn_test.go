package browser

import (
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// TestTouchSilentSink gives a sink its colour by the switch where it has nearly all of a row, so
// that the row has no other colour: in the text, in the matrix and in the layers.
func TestTouchSilentSink(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Order = []string{"rollout"}
	e.Methods = map[string]*attribution.Result{"rollout": {
		Unit: "share of attention", Layers: []int{0, 1}, Shape: [3]int{2, 4, 2},
		Shown: []int{1, 1},
		Data: []float64{
			0.6, 0.997, 0.2, 0.001, 0.1, 0.001, 0.1, 0.001,
			0.6, 0.997, 0.1, 0.001, 0.2, 0.001, 0.1, 0.001,
		},
		Options: map[string]string{"aggregation": "rollout"},
	}}
	e.OtherMass = map[string][]float64{"rollout": {0, 0, 0, 0}}
	b.Show(t, pageOf(t, e))
	colors := func() string {
		return fmt.Sprint(chromium.Evaluate[[]string](t, b, `[
			document.querySelector('.hw-t > *'), document.querySelector('.hw-r td'),
			...[...document.querySelectorAll('.hw-l')].map((r) => r.cells[1]),
		].map((e) => e.getAttribute('style').match(/#\w+/)[0])`))
	}
	if got := colors(); got != "[#8884 #8884 #8884 #8884]" {
		t.Errorf("at first the sink has %s, want grey", got)
	}
	const sinksToo = "[...document.querySelectorAll('.hw-b button')].find((e) => " +
		"e.textContent === 'sinks too').click()"
	do(t, b, sinksToo)
	if got := colors(); got != "[#27bd #27bd #27bd #27bd]" {
		t.Errorf("with sinks too it has %s, want the deepest blue", got)
	}
	do(t, b, click(".hw-l", 1))
	if got := colors(); got != "[#27bd #27bd #27bd #27bd]" {
		t.Errorf("at the lower layer it has %s, want the deepest blue", got)
	}
	do(t, b, sinksToo)
	if got := colors(); got != "[#8884 #8884 #8884 #8884]" {
		t.Errorf("without the switch it has %s, want grey", got)
	}
}
