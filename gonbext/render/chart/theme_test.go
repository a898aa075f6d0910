package chart_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// A colour on a dark background has contrast 3 with it: bright ones stay, black becomes nearly
// white, and others keep their hue.
func TestOnDark(t *testing.T) {
	if c := (chart.RGB{0xe7, 0x8b, 0x30}); chart.OnDark(c) != c {
		t.Errorf("orange, which is bright, becomes %v", chart.OnDark(c))
	}
	if c := chart.OnDark(chart.Black); c[0] < 0xe0 || c[0] != c[1] || c[1] != c[2] {
		t.Errorf("black becomes %v, want nearly white", c)
	}
	if c := chart.OnDark(chart.RGB{0xc6, 0x28, 0x28}); c[0] < 0xd0 || c[1] > 0x80 || c[2] > 0x80 {
		t.Errorf("red becomes %v, want a lighter red", c)
	}
	for i := range 8 {
		// Contrast 3 with #333, of luminance 0.0331, is luminance 0.1994 or lightness 51.8.
		if g := chart.Gray(chart.OnDark(chart.SeriesColor(i, 8))); g < 51.7 {
			t.Errorf("series %d has lightness %.1f, want 51.8 or more", i, g)
		}
	}
}

// A viewer chooses the background, a plot is narrower in a narrow window, and a grid has one column
// there.
func TestFits(t *testing.T) {
	for name, c := range charts() {
		spec, err := c.VegaLite()
		must(t, err)
		text, err := json.Marshal(spec)
		must(t, err)
		if strings.Contains(string(text), `"background":`) {
			t.Errorf("%s has a background of its own: %s", name, text)
		}
		if !strings.Contains(string(text), `"name":"width"`) {
			t.Errorf("%s has the same width in every window: %s", name, text)
		}
	}
	c := charts()["lines"]
	titled := c
	titled.Subtitle = strings.Repeat("long", 15) // 60 letters of 6.5 pixels
	// In three columns a plot has 260 pixels and its axis 60. JupyterLab takes 154, a gap 20.
	for _, g := range []struct {
		charts []chart.Chart
		want   string
	}{
		{[]chart.Chart{c, c}, "windowSize()[0]<814?(1):2"},
		{[]chart.Chart{c, c, c}, "windowSize()[0]<1154?(windowSize()[0]<814?(1):2):3"},
		{[]chart.Chart{c, c, titled, c}, "windowSize()[0]<1224?(windowSize()[0]<884?(1):2):3"},
	} {
		grid, err := chart.Grid(3, g.charts...)
		must(t, err)
		signal, _ := grid["columns"].(map[string]any)
		if signal["signal"] != g.want {
			t.Errorf("columns of a grid of %d: %v, want %s", len(g.charts), signal, g.want)
		}
	}
}

// TestTitleLines divides titles that are wider than a narrow cell between words.
func TestTitleLines(t *testing.T) {
	word := strings.Repeat("w", 44)
	for subtitle, want := range map[string]any{
		"short":            "short",
		word:               word,
		word + " x":        []any{word, "x"},
		"a " + word + " b": []any{"a", word, "b"},
		"a b " + word[:41]: "a b " + word[:41],
		word + word:        word + word,
	} {
		c := charts()["lines"]
		c.Subtitle = subtitle
		spec, err := c.VegaLite()
		must(t, err)
		title, _ := spec["title"].(map[string]any)
		if diff := cmp.Diff(want, title["subtitle"]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", subtitle, diff)
		}
	}
}

var must = testhelp.Must // ends a test at an error
