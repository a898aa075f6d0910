package render

import (
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// TestCodes decodes the values of the script and formats them as sentences do: no last digit
// differs. One value far above all others, and three digits of small ones, need the wide codes.
func TestCodes(t *testing.T) {
	const m, n = 40, 5
	for _, c := range []struct {
		name, unit    string
		first, others float64
		narrow        bool
	}{
		{"scores", "part of the logit", 11, 3, true},
		{"beside a large one", "part of the logit", 400, 3, false},
		{"shares", "share of attention", 0.7, 0.2, true},
		{"lifts", "lift", 3, 2, true},
		{"small", "part of the logit", 0.004, 0.001, false},
	} {
		r := &attribution.Result{
			Unit: c.unit, Layers: []int{0}, Shape: [3]int{n, m, 1},
			Facts: ofUnit(c.unit),
		}
		r.Scorer = true
		fill(r, func(i int) float64 {
			x := c.others * math.Abs(math.Sin(float64(i*i+1)))
			if i == 0 {
				x = c.first
			}
			if c.unit == "part of the logit" && i%3 == 1 {
				x = -x
			}
			return x
		})
		e := &attribution.Explanation{
			Order: []string{"x"}, Methods: map[string]*attribution.Result{"x": r},
			Prompt: attribution.Prompt{Texts: make([]string, m)},
			Steps:  make([]attribution.GeneratedToken, n),
		}
		p := Heatmap{Explanation: e}.picture(true)
		v := &p.views[0]
		for _, most := range []int{codeMax, wideMax} {
			top, rows, same := v.codes(most)
			if want := c.narrow || most == wideMax; same != want {
				t.Errorf("%s, codes up to %d: all as in sentences %t, want %t", c.name, most, same,
					want)
			}
			size := map[int]int{codeMax: 2, wideMax: 3}[most]
			if len(rows) != size*n*m {
				t.Fatalf("%s: %d characters, want %d", c.name, len(rows), size*n*m)
			}
			for i, x := range slices.Concat(r.Rows...) {
				code := 0
				for _, digit := range rows[size*i : size*(i+1)] {
					code = code<<6 | indexOf(digit)
				}
				row := v.rows[i/m]
				y := v.unlinear(float64(code-most-1) / float64(most) * top)
				if same && v.colors.step(x) != 0 && row.value(x) != row.value(y) {
					t.Errorf("%s: %v is shown as %s, the sentence has %s", c.name, x,
						row.value(y), row.value(x))
				}
			}
		}
	}
}

func indexOf(digit rune) int {
	for i, d := range digits64 {
		if d == digit {
			return i
		}
	}
	return -1
}
