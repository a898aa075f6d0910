package render

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestChanged says what stands out in a row and did not in the row before.
func TestChanged(t *testing.T) {
	e := example()
	r := &attribution.Result{
		Unit: "share of attention", Facts: attribution.Facts{Evidence: trace.Traced, Quantity: attribution.Share}, Layers: []int{5}, Shape: [3]int{3, 7, 1},
		Rows: [][]float64{
			{0, 0.6, 0.3, 0.01, 0, 0, 0},
			{0, 0.6, 0.02, 0.3, 0, 0, 0, 0.2},
			{0, 0.6, 0.02, 0.3, 0, 0, 0, 0.3, 0},
		},
		Shown:   []int{5, 5, 5},
		Options: map[string]string{}, OtherMass: []float64{0, 0.2, 0.3},
	}
	e.Order = []string{"rollout"}
	e.Methods = map[string]*attribution.Result{"rollout": r}
	p := Heatmap{Explanation: e}.picture(true)
	for i, want := range []string{
		"",
		"since “are”: now “to” 1.0 % → 30.0 %, “are” (generated 1) 20.0 %; " +
			"no longer “keys” 30.0 % → 2.0 %",
		"since “here”: the same sources",
	} {
		if got := p.changed(&p.views[0], i); got != want {
			t.Errorf("token %d: %q, want %q", i, got, want)
		}
	}
	if got := written(t, Heatmap{Explanation: e}); !strings.Contains(got,
		"since “are”: now “to” 1.0 % → 30.0 %") {
		t.Error("the picture does not say what changed")
	}
}

// Tokens that differ by the space before them alone are told apart, and no others.
func TestAlternativeName(t *testing.T) {
	g := attribution.GeneratedToken{Text: " height", Alternatives: []attribution.Alternative{
		{Text: " height"}, {Text: "height"}, {Text: " width"}, {Text: "depth"}, {Text: " depth"},
	}}
	want := []string{
		"height (after a space)", "height (no space)", "width", "depth (no space)",
		"depth (after a space)",
	}
	for i, a := range g.Alternatives {
		if got := alternativeName(g, a); got != want[i] {
			t.Errorf("%q is %q, want %q", a.Text, got, want[i])
		}
	}
}
