package attribution_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// A row is silent where sinks have it, or where it is the same for every token, and not otherwise.
func TestSilent(t *testing.T) {
	e := &attribution.Explanation{
		Methods: map[string]*attribution.Result{},
	}
	for range 10 {
		e.Prompt.Texts = append(e.Prompt.Texts, "w")
		e.Prompt.Special = append(e.Prompt.Special, false)
	}
	add := func(name, scorer string, other float64, rows ...[]float64) {
		r := &attribution.Result{
			Layers: []int{0}, Shape: [3]int{len(rows), 10, 1},
			Facts: attribution.Facts{Scorer: scorer != ""}, Rows: rows,
		}
		for range rows {
			r.OtherMass = append(r.OtherMass, other)
		}
		e.Methods[name] = r
	}
	sink := []float64{1, 1e-5, 3e-5, 2e-5, 4e-5, 0, 6e-5, 5e-5, 7e-5, 8e-5}
	falling := []float64{0, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	halved := []float64{0, 4, 3, 2.9, 2, 1.9, 1, 0.9, 0.5, 0.1}
	rising := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	combined := func(name string, of attribution.Quantity) {
		e.Methods[name].Combined, e.Methods[name].Quantity = true, of
	}
	add("sink", "", 0, sink, sink)
	add("generated", "", 0.1, sink, sink)
	add("same", "", 0, falling, halved, falling)
	add("two", "", 0, falling, halved)
	add("differ", "", 0, falling, rising, falling)
	add("scorer", "direct", 0, falling, falling, falling)
	add("zeros", "", 0, make([]float64, 10), make([]float64, 10), make([]float64, 10))
	early := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	late := []float64{10, 9, 8, 7, 6, 5, 4, 3, 1, 2} // 0.988
	other := []float64{10, 9, 8, 7, 3, 5, 4, 6, 2, 1}
	add("position", "", 0, early, other)
	combined("position", attribution.Share)
	add("nearly", "", 0, early, late)
	combined("nearly", attribution.Amount)
	add("lifted", "", 0, early, other)
	combined("lifted", attribution.Lift)
	add("one layer", "", 0, early, other)
	add("contrast", "direct", 0, make([]float64, 10), falling)
	e.Methods["contrast"].Contrast = " is"
	e.Steps = []attribution.GeneratedToken{{Text: " is"}, {Text: " are"}, {}}
	for name, want := range map[string][]string{
		"contrast":  {"the contrast is the prediction itself", ""},
		"sink":      {"rests on", "rests on"},
		"generated": {"", ""},
		"same":      {"same order", "same order", "same order"},
		"two":       {"", ""},
		"differ":    {"", "", ""},
		"scorer":    {"", "", ""},
		"zeros":     {"", "", ""},
		"position":  {"order of the positions", ""},
		"nearly":    {"order of the positions", "order of the positions"},
		"lifted":    {"", ""},
		"one layer": {"", ""},
	} {
		got, err := e.Silent(name, attribution.ShownLevel)
		must(t, err)
		for i := range want {
			if (want[i] == "") != (got[i] == "") || !strings.Contains(got[i], want[i]) {
				t.Errorf("%s, token %d: %q, want %q", name, i, got[i], want[i])
			}
		}
	}
	if got, _ := e.Silent("sink", 0); got[0] != `99.96 % of the row rests on the sink "w"` {
		t.Errorf("silent: %q", got[0])
	}
	if _, err := e.Silent("none", 0); err == nil {
		t.Error("a method that is not there: no error")
	}
}

// evenRollout returns the row of rollout over a prompt of 10 tokens, [10], for the token after it
// where attention is even: in a decoder with three layers, or in two stacks with nine tokens of the
// source and the begin of the target, three layers in the encoder and one block in the decoder.
func evenRollout(twoStacks bool) []float64 {
	const T, b = 11, 9
	layers := []func(t, s int) bool{}
	for range 3 {
		layers = append(layers, func(t, s int) bool {
			return s <= t && !twoStacks || twoStacks && (t < b && s < b || t == s)
		})
	}
	if twoStacks {
		self := func(t, s int) bool { return t == s || b <= s && s <= t }
		cross := func(t, s int) bool { return t == s && t < b || t >= b && s < b }
		layers = append(layers, self, cross)
	}
	row := make([]float64, T)
	row[T-1] = 1
	for l := len(layers) - 1; l >= 0; l-- { // row · ½(I + A), from the last layer down
		next := make([]float64, T)
		for t, x := range row {
			seen := 0.0
			for s := range T {
				if layers[l](t, s) {
					seen++
				}
			}
			next[t] += x / 2
			for s := range T {
				if layers[l](t, s) {
					next[s] += x / 2 / seen
				}
			}
		}
		row = next
	}
	return row[:T-1]
}

// TestSilentOfTwoStacks: even attention gives the tokens that a decoder reads the order of their
// positions, and all tokens of a source the same. So a row that falls along a source comes
// from what was learnt, and is not silent.
func TestSilentOfTwoStacks(t *testing.T) {
	one, two := evenRollout(false), evenRollout(true)
	for j := range 8 {
		if one[j] <= one[j+1] || math.Abs(two[j]-two[0]) > 1e-12 || two[j] == 0 {
			t.Fatalf("even attention gives %v, and %v in two stacks", one, two)
		}
	}
	for _, c := range []struct {
		row     []float64
		encoder int
		want    bool
	}{{one, 0, true}, {one, 3, false}, {two, 3, false}} {
		e := &attribution.Explanation{Methods: map[string]*attribution.Result{"rollout": {
			Layers: []int{0}, Shape: [3]int{1, 10, 1}, OtherMass: []float64{0.1},
			Facts: attribution.Facts{Combined: true}, Rows: [][]float64{c.row},
		}}, Steps: make([]attribution.GeneratedToken, 1)}
		e.Model.EncoderLayers = c.encoder
		e.Prompt.Texts, e.Prompt.Special = slices.Repeat([]string{"w"}, 10), make([]bool, 10)
		e.Prompt.IDs = make([]int, 10)
		got, err := e.Silent("rollout", attribution.ShownLevel)
		must(t, err)
		if (got[0] != "") != c.want {
			t.Errorf("with %d layers before the target: %q", c.encoder, got[0])
		}
	}
}
