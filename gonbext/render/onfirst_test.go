package render

import (
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// TestOnFirst: a scorer's row says how much of its sizes the first token has, by hand; no other row
// does.
func TestOnFirst(t *testing.T) {
	e := scoredExample()
	e.Methods["parts"].Generated = [][]float64{{}, {-2.5}, {1, 0}}
	p := Heatmap{Explanation: e, Methods: []string{"parts", "small", "rollout"}}.picture(true)
	// |base| = 1.5 0.25 4 0.002 0 0.5 3.25, whose sum is 9.502; row t begins 2t places later.
	for _, c := range []struct {
		view, row int
		want      string
	}{
		{0, 0, "first token <bos> -1.50, 15.8 % of the sizes of the row"}, // 1.5 / 9.502
		{0, 1, "first token <bos> +4.00, 33.3 % of the sizes of the row"}, // 4 / (9.502 + 2.5)
		{0, 2, "first token <bos> 0.00, 0.0 % of the sizes of the row"},   // 0 / 10.502
		{1, 0, "first token <bos> -0.0015, 15.8 % of the sizes of the row"},
		{1, 1, ""}, // the values of its generated tokens are not known
		{2, 0, ""}, // shares have a line of their own
	} {
		if got := p.onFirst(&p.views[c.view], c.row); got != c.want {
			t.Errorf("%s, row %d: %q, want %q", p.views[c.view].name, c.row, got, c.want)
		}
	}
	for _, picture := range []string{
		written(t, Text{Heatmap: Heatmap{Explanation: e}, Width: 200}),
		written(t, HTML{Heatmap: Heatmap{Explanation: e}}),
	} {
		if n := strings.Count(picture, "33.3 % of the sizes of the row"); n != 1 {
			t.Errorf("the line of the second row is there %d times, want once:\n%s", n, picture)
		}
	}
}

// TestOnFirstUnknown: where there is nothing to compare with, nothing is said.
func TestOnFirstUnknown(t *testing.T) {
	for name, change := range map[string]func(*attribution.Explanation){
		"all zero": func(e *attribution.Explanation) { clear(e.Methods["parts"].Data) },
		"NaN":      func(e *attribution.Explanation) { e.Methods["parts"].Data[3] = math.NaN() },
		"infinite": func(e *attribution.Explanation) { e.Methods["parts"].Data[3] = math.Inf(1) },
		"encoder":  func(e *attribution.Explanation) { e.Model.Bidirectional = true },
	} {
		e := scoredExample()
		change(e)
		p := Heatmap{Explanation: e, Methods: []string{"parts"}}.picture(true)
		if got := p.onFirst(&p.views[0], 0); got != "" {
			t.Errorf("%s: it says %q, want nothing", name, got)
		}
	}
}
