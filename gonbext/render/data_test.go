package render

import (
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// TestPacked formats the values of the script as sentences do: no last digit and no colour differs.
// One value far above all others, and three digits of small ones, need larger counts.
func TestPacked(t *testing.T) {
	const m, n = 40, 5
	for _, c := range []struct {
		name, unit    string
		first, others float64
		parts         float64 // into which the largest value of a row is divided at most
	}{
		{"scores", "part of the logit", 11, 3, 1 << 11},
		{"beside a large one", "part of the logit", 400, 3, 1 << 15},
		{"shares", "share of attention", 0.7, 0.2, 1 << 11},
		{"lifts", "lift", 3, 2, 1 << 11},
		{"small", "part of the logit", 0.004, 0.001, 1 << 15},
	} {
		r := &attribution.Result{
			Unit: c.unit, Layers: []int{0}, Shape: [3]int{n, m, 1},
			Facts: ofUnit(c.unit),
		}
		r.Scorer = true
		for i := range n * m {
			x := c.others * math.Abs(math.Sin(float64(i*i+1)))
			if i == 0 {
				x = c.first
			}
			if c.unit == "part of the logit" && i%3 == 1 {
				x = -x
			}
			r.Data = append(r.Data, x)
		}
		e := &attribution.Explanation{
			Order: []string{"x"}, Methods: map[string]*attribution.Result{"x": r},
			Prompt: attribution.Prompt{Texts: make([]string, m)},
			Steps:  make([]attribution.GeneratedToken, n),
		}
		p := Heatmap{Explanation: e}.picture(true)
		v := &p.views[0]
		for row, want := range v.rows {
			packed := v.packed(row, 0, true)
			for j := range packed.counts {
				x, y := r.Data[row*m+j], v.unlinear(packed.value(j))
				if v.colors.step(x) != v.colors.step(y) ||
					v.colors.step(x) != 0 && want.value(x) != want.value(y) {
					t.Errorf("%s: %v is shown as %s in row %d, the sentence has %s", c.name, x,
						want.value(y), row, want.value(x))
				}
			}
			end := v.linear(v.colors.limit)
			if top := largest(r.Data[row*m : (row+1)*m]); !v.top.lift {
				end = min(end, top)
			}
			if packed.unit < end/c.parts {
				t.Errorf("%s: row %d counts %v, which is finer than it needs", c.name, row,
					packed.unit)
			}
			// Rounded values have their colours and two digits or so.
			rounded := v.packed(row, 0, false)
			for j := range m {
				x, y := r.Data[row*m+j], v.unlinear(rounded.value(j))
				if v.colors.step(x) != v.colors.step(y) ||
					math.Abs(v.linear(x)-v.linear(y)) > v.linear(v.colors.limit)/34 {
					t.Errorf("%s: %v is rounded to %v", c.name, x, y)
				}
			}
		}
	}
}

// largest returns the largest size of values.
func largest(values []float64) (top float64) {
	for _, x := range values {
		top = max(top, math.Abs(x))
	}
	return top
}
