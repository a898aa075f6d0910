package chart_test

import (
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

func ptr(x float64) *float64 { return &x }

// charts are one of each kind.
func charts() map[string]chart.Chart {
	nan := math.NaN()
	return map[string]chart.Chart{
		"lines": {
			Kind: chart.Lines, Title: "t", X: chart.Axis{Title: "layer"},
			Y:      chart.Axis{Title: "cosine", Min: ptr(-1), Max: ptr(1)},
			Series: []chart.Series{{Name: "a", X: []float64{2, 0, 1}, Y: []float64{1, nan, 0}}},
			Rules:  []chart.Rule{{Horizontal: true, At: 0.5, Label: "chance"}},
		},
		"bars": {
			Kind: chart.Bars, X: chart.Axis{Categories: []string{"his", "her", "his"}},
			Series: []chart.Series{{Name: "p", Y: []float64{1, 2, 3}}},
		},
		"histogram": {
			Kind: chart.Histogram, Bins: 2,
			Series: []chart.Series{{Name: "a", Y: []float64{0, 1, 4}}, {Name: "b", Y: []float64{2}}},
		},
		"scatter": {
			Kind: chart.Scatter, Color: chart.Scale{Title: "p"},
			Series: []chart.Series{{
				Name: "a", X: []float64{1}, Y: []float64{2}, Value: []float64{3},
				Labels: []string{`</script><script>"`},
			}},
			Ellipses: []chart.Ellipse{{X: 1, Y: 1, RadiusX: 2, RadiusY: 1, Label: "token 0"}},
		},
		"heatmap": {
			Kind: chart.Heatmap, Color: chart.Scale{Title: "share", Percent: true},
			Matrix: &chart.Matrix{
				Rows: []string{"is"}, Columns: []string{"the", "key", "the"},
				Data: []float64{0.9, 0.1, nan}, Muted: []bool{true, false, false},
			},
		},
		"layered": {
			Kind: chart.Layered, X: chart.Axis{Title: "layer"},
			Graph: &chart.Graph{
				Tokens: []string{"the", "key"}, Weights: []float64{1, 0, 0.25, 0.75},
			},
		},
		"ternary": {
			Kind: chart.Ternary, Corners: [3]string{"content", "bias", "alibi"},
			Series: []chart.Series{{
				Name: "a", X: []float64{1, 0}, Y: []float64{0, 1}, C: []float64{0, 1},
			}},
		},
	}
}

// Values in two bins from 0 to 4: 0 and 1 lie below 2, and 2 and the end belong to the second.
func TestHistogram(t *testing.T) {
	c := charts()["histogram"]
	bins := c.Histogram()
	if len(bins) != 2 {
		t.Fatalf("%d bins, want 2", len(bins))
	}
	if b := bins[0]; b.Low != 0 || b.High != 2 || b.Counts[0] != 2 || b.Counts[1] != 0 {
		t.Errorf("first bin %+v, want [0,2) with 2 and 0", b)
	}
	if b := bins[1]; b.Low != 2 || b.High != 4 || b.Counts[0] != 1 || b.Counts[1] != 1 {
		t.Errorf("second bin %+v, want [2,4] with 1 and 1", b)
	}
	if one := (&chart.Chart{Kind: chart.Histogram}).Histogram(); one != nil {
		t.Errorf("a histogram without values has %d bins", len(one))
	}
}

// Data that do not fit are refused with what does not fit.
func TestCheck(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		want  string
		chart chart.Chart
	}{
		{"unknown kind \"pie\"; known are bars", chart.Chart{Kind: "pie"}},
		{"needs a matrix", chart.Chart{Kind: chart.Heatmap}},
		{"has 1 numbers; want 2", chart.Chart{Kind: chart.Heatmap, Matrix: &chart.Matrix{
			Rows: []string{"a"}, Columns: []string{"b", "c"}, Data: []float64{1},
		}}},
		{"1 x and 2 y", chart.Chart{Kind: chart.Lines, Series: []chart.Series{{
			X: []float64{1}, Y: []float64{1, 2},
		}}}},
		{"point 0 is +Inf", chart.Chart{Kind: chart.Histogram, Series: []chart.Series{{
			Y: []float64{inf},
		}}}},
		{"a number of 0 or more", chart.Chart{Kind: chart.Ternary, Series: []chart.Series{{
			X: []float64{1}, Y: []float64{1}, C: []float64{-1},
		}}}},
		{"2 bars and the axis 1 categories", chart.Chart{
			Kind: chart.Bars, X: chart.Axis{Categories: []string{"a"}},
			Series: []chart.Series{{Y: []float64{1, 2}}},
		}},
		{"needs a graph", chart.Chart{Kind: chart.Layered}},
		{"3 weights for 2 tokens", chart.Chart{Kind: chart.Layered, Graph: &chart.Graph{
			Tokens: []string{"a", "b"}, Weights: []float64{1, 0, 1},
		}}},
		{"target 2; there are 2", chart.Chart{Kind: chart.Layered, Graph: &chart.Graph{
			Tokens: []string{"a", "b"}, Weights: []float64{1, 0, 1, 0}, Targets: []int{2},
		}}},
		{"1001 bins; want 1 to 1000", chart.Chart{Kind: chart.Histogram, Bins: 1001}},
		{"height -1; want 40 to 2000 pixels, or 0", chart.Chart{Kind: chart.Lines, Height: -1}},
		{"height NaN; want 40", chart.Chart{Kind: chart.Lines, Height: math.NaN()}},
		{"height 2001; want 40", chart.Chart{Kind: chart.Lines, Height: 2001}},
	} {
		err := c.chart.Check()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
}

// The ramp begins at the same neutral colour on both sides and gets darker with every step, so it
// reads the same in grey.
func TestRamp(t *testing.T) {
	for _, sign := range []float64{1, -1} {
		before := 101.0
		for i := range 33 {
			gray := chart.Ramp("", sign*float64(i)/32).Gray()
			if gray >= before {
				t.Errorf("step %v of the ramp has lightness %.1f, the one before %.1f",
					sign*float64(i), gray, before)
			}
			before = gray
		}
	}
	if chart.Ramp("", math.NaN()) != chart.Missing || chart.Ramp("", 2) != chart.Ramp("", 1) {
		t.Error("NaN or a value beyond the end has another colour than stated")
	}
}

// Up to six series of bars can be told apart in grey, and of lines any number up to the last
// colour: lines also differ in dashes.
func TestGrayWarnings(t *testing.T) {
	of := func(kind chart.Kind, n int) []string {
		c := chart.Chart{Kind: kind}
		for i := range n {
			c.Series = append(c.Series, chart.Series{Name: string(rune('a' + i))})
		}
		return c.GrayWarnings()
	}
	if w := of(chart.Bars, 6); len(w) > 0 {
		t.Errorf("six series of bars: %q", w)
	}
	if w := of(chart.Bars, 8); len(w) == 0 {
		t.Error("eight series of bars have no warning")
	}
	if w := of(chart.Lines, 8); len(w) > 0 {
		t.Errorf("eight lines: %q", w)
	}
}
