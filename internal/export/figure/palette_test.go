package figure_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/export/figure"
)

// marked is a heatmap of two cells with a marker of rank 0 and one of rank 7.
func marked() chart.Chart {
	return chart.Chart{
		Kind: chart.Heatmap, Color: chart.Scale{Max: 1},
		Matrix: &chart.Matrix{
			Rows: []string{"a"}, Columns: []string{"b", "c"}, Data: []float64{0.25, 1},
		},
		Series: []chart.Series{{
			Name: "Self", X: []float64{0, 1}, Y: []float64{0, 0}, Symbols: []int{0, 7},
			Color: &chart.RGB{1, 200, 3},
		}},
	}
}

// Markers are drawn on the cells of a heatmap, in the colour of their series: symbols up to rank 5,
// and digits from 6 on. The legend names the series.
func TestMarkers(t *testing.T) {
	d, err := figure.Chart(marked())
	must(t, err)
	f, err := figure.Draw(figure.Options{Format: figure.SVG}, about, d)
	must(t, err)
	text := string(f.Bytes)
	if n := strings.Count(text, "#01C803"); n != 3 { // two markers and the legend
		t.Errorf("%d shapes of the series, want 3", n)
	}
	for _, want := range []string{">7</text>", ">Self</text>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture has no %s", want)
		}
	}
}

// An SVG tells the numbers of what a reader points at, and bars have colours of their own.
func TestTitles(t *testing.T) {
	one := chart.Series{
		X: []float64{0, 1}, Y: []float64{1, 2}, Labels: []string{"<a>", "b"},
		Colors: []chart.RGB{{1, 2, 3}, {4, 5, 6}},
	}
	grid := &chart.Matrix{
		Rows: []string{"r"}, Columns: []string{"a", "b"}, Data: []float64{1, 0.5},
	}
	for _, c := range []struct {
		chart chart.Chart
		want  []string
	}{
		{chart.Chart{
			Kind: chart.Bars, X: chart.Axis{Categories: []string{"his", "her"}},
			Series: []chart.Series{one},
		}, []string{"<title>x his, y 1, label &lt;a&gt;</title>", "#040506"}},
		{chart.Chart{Kind: chart.Scatter, Series: []chart.Series{one}}, []string{
			"<title>x 1, y 2, label b</title>",
		}},
		{chart.Chart{Kind: chart.Heatmap, Matrix: grid}, []string{"<title>r ← a 1</title>"}},
		{chart.Chart{Kind: chart.Layered, Graph: &chart.Graph{
			Tokens: []string{"a"}, Weights: []float64{1},
		}}, []string{"<title>a ← a, weight 1</title>"}},
	} {
		d, err := figure.Chart(c.chart)
		must(t, err)
		f, err := figure.Draw(figure.Options{Format: figure.SVG}, about, d)
		must(t, err)
		for _, want := range c.want {
			if !strings.Contains(string(f.Bytes), want) {
				t.Errorf("%s: the SVG has no %s", c.chart.Kind, want)
			}
		}
	}
}

// A picture for a notebook has a palette with the exact colours of its cells.
func TestScreenPalette(t *testing.T) {
	d, err := figure.Chart(marked())
	must(t, err)
	f, err := figure.Draw(figure.Options{Format: figure.PNG, Screen: true}, about, d)
	must(t, err)
	img, err := png.Decode(bytes.NewReader(f.Bytes))
	must(t, err)
	p, ok := img.(*image.Paletted)
	if !ok {
		t.Fatalf("the picture is a %T, want one with a palette", img)
	}
	for _, v := range []float64{0.25, 1} {
		c := chart.Ramp("", v)
		want := color.RGBA{c[0], c[1], c[2], 0xff}
		if got := p.Palette.Convert(want); got != color.Color(want) {
			t.Errorf("the nearest colour to %v is %v", want, got)
		}
	}
	if got, format, err := figure.About(f.Bytes); got != about || format != figure.PNG {
		t.Errorf("About = %q, %s, %v", got, format, err)
	}
}
