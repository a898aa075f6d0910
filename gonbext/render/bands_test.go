package render

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/study/patch"
)

// TestScriptNotes: legends name the tokens that are drawn apart.
func TestScriptNotes(t *testing.T) {
	m := machine(t, commonSource, scaleSource, matrixSource)
	for expression, want := range map[string]string{
		"sinksNote(['a', 'b', 'c'], [])":        "",
		"sinksNote(['a', 'b', 'c'], [0])":       "\u00a0· “a” is a sink, in no scale",
		"sinksNote(['a', 'b', 'c'], [0, 2])":    "\u00a0· “a” and “c” are sinks, in no scale",
		"sinksNote(['a', 'b', 'c'], [0, 1, 2])": "\u00a0· “a” and “b” and others are sinks, in no scale",
	} {
		if got := run[string](t, m, expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}

// TestAxes: matrices of layers and of heads say so, with and without a script.
func TestAxes(t *testing.T) {
	for want, v := range map[string]Picture{
		"<th>layer</th>": Lens{Explanation: lensed()},
		"<th>layer ↓ head →</th>": Patch{
			Explanation: patched(patch.Heads, 0, 0, 0, .5, -.25, .125),
		},
	} {
		if page := written(t, v); !strings.Contains(page, want) {
			t.Errorf("%T lacks %q", v, want)
		}
	}
	drawn, err := drawnOf(
		Patch{Explanation: patched(patch.Heads, 0, 0, 0, .5, -.25, .125)})
	must(t, err)
	if drawn.Target != "layer" || drawn.Source != "head" {
		t.Errorf("axes of the figure are %q and %q", drawn.Target, drawn.Source)
	}
}
