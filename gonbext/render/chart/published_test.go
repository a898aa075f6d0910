package chart_test

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// The ends of each published palette, as the documents and the programs that drew them have them.
// The red end of blue-red is lighter and the yellow end of viridis darker than theirs.
func TestPublishedEnds(t *testing.T) {
	want := map[string][2]string{
		"blue-red":         {"#121a8c", "#ff6b4a"},
		"blues":            {"#f7fbff", "#08306b"},
		"sky":              {"#e4f5ff", "#004280"},
		"viridis":          {"#440154", "#bddf26"},
		"viridis-reversed": {"#bddf26", "#440154"},
		"yellow-red":       {"#ffffcc", "#800026"},
	}
	names := chart.Published()
	if len(names) != len(want) {
		t.Errorf("palettes %v, want %d", names, len(want))
	}
	for _, name := range names {
		got := [2]string{chart.Ramp(name, 0).String(), chart.Ramp(name, 1).String()}
		if got != want[name] {
			t.Errorf("%s goes from %s to %s, want %v", name, got[0], got[1], want[name])
		}
		if a, b := chart.Ramp(name, -1), chart.Ramp(name, 2); a.String() != got[0] ||
			b.String() != got[1] {
			t.Errorf("%s is not clamped: %v and %v", name, a, b)
		}
	}
	if got := chart.Ramp("sky", 0.5).String(); got != "#729cc0" { // (e4+0)/2, (f5+42)/2, …
		t.Errorf("the middle of sky is %s, want #729cc0", got)
	}
}

// Every tenth of a published palette is lighter or darker in grey than the one before it, always in
// the same direction, and its ends are far apart.
func TestPublishedInGray(t *testing.T) {
	const least = 40 // of 100, between the ends
	for _, name := range chart.Published() {
		gray := func(x float64) float64 { return chart.Ramp(name, x).Gray() }
		sign := 1.0
		if gray(1) < gray(0) {
			sign = -1
		}
		for i := range 10 {
			a, b := gray(float64(i)/10), gray(float64(i+1)/10)
			if sign*(b-a) < 0.5 {
				t.Errorf("%s: lightness %.1f at %d tenths, %.1f at the next", name, a, i, b)
			}
		}
		if d := sign * (gray(1) - gray(0)); d < least {
			t.Errorf("%s: the ends differ by %.1f, want %d", name, d, least)
		}
	}
}

// A scale keeps its palette in every drawing; series have it where no numbers are coloured.
func TestPaletteOfChart(t *testing.T) {
	s := chart.Scale{Palette: "sky"}
	if got := s.At(1, 1, "green-purple").String(); got != "#004280" {
		t.Errorf("the deepest colour is %s, want #004280", got)
	}
	one := chart.Series{X: []float64{0}, Y: []float64{1}}
	c := chart.Chart{
		Kind: chart.Lines, Color: chart.Scale{Palette: "viridis"},
		Series: []chart.Series{one, one, one},
	}
	if a, b := c.SeriesColor(0).String(), c.SeriesColor(2).String(); a != "#440154" ||
		b != "#bddf26" {
		t.Errorf("the series have the colours %s to %s", a, b)
	}
	c = chart.Chart{
		Kind: chart.Heatmap, Color: s,
		Matrix: &chart.Matrix{Rows: []string{"a"}, Columns: []string{"b"}, Data: []float64{1}},
		Series: []chart.Series{{Name: "m", X: []float64{0}, Y: []float64{0}}},
	}
	if got := c.SeriesColor(0); got != chart.SeriesColor(0, 1) {
		t.Errorf("a marker has the colour %v of the cells' palette", got)
	}
}

func TestPaletteErrors(t *testing.T) {
	one := []chart.Series{{Name: "a", X: []float64{0}, Y: []float64{1}}}
	for _, c := range []struct {
		chart chart.Chart
		want  string
	}{
		{
			chart.Chart{Kind: chart.Lines, Series: one, Color: chart.Scale{Palette: "jet"}},
			`palette "jet" is none for values from 0; known are blue-red, blues, sky`,
		},
		{
			chart.Chart{
				Kind: chart.Lines, Series: one,
				Color: chart.Scale{Palette: "sky", Diverging: true},
			},
			`palette "sky" is none`,
		},
		{chart.Chart{Kind: chart.Scatter, Series: one, Opacity: 1.5}, "opacity 1.5; want 0 to 1"},
		{
			chart.Chart{
				Kind: chart.Bars, X: chart.Axis{Categories: []string{"his"}},
				Series: []chart.Series{{Y: []float64{1}, Colors: []chart.RGB{{}, {}}}},
			},
			"has 2 colors and 1 y",
		},
	} {
		err := c.chart.Check()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
