package chart_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// marked is a map of two tokens of one name, with a marker of rank 1 on row 1, column 0.
func marked() chart.Chart {
	return chart.Chart{
		Kind: chart.Heatmap, Names: []string{"a", "b,"},
		Matrix: &chart.Matrix{
			Rows: []string{"a", "a"}, Columns: []string{"a", "a"}, Data: []float64{1, 0, 0.1, 0.9},
		},
		Series: []chart.Series{{
			Name: "Other", X: []float64{0}, Y: []float64{1}, Symbols: []int{1},
			Columns: []chart.Column{
				{Name: "bias", Values: []float64{-0.1}},
				{Name: "target", Values: []float64{1}, Named: true},
			},
		}},
	}
}

// layersOf returns the layers of a specification after a trip through JSON.
func layersOf(t *testing.T, c chart.Chart) []any {
	t.Helper()
	made, err := c.VegaLite()
	must(t, err)
	text, err := json.Marshal(made)
	must(t, err)
	var spec map[string]any
	must(t, json.Unmarshal(text, &spec))
	return spec["layer"].([]any)
}

// rowsOf returns the data of a layer.
func rowsOf(layer any) []any {
	return layer.(map[string]any)["data"].(map[string]any)["values"].([]any)
}

// A marker has the names of its row and column, its rank and its columns, one of them with the text
// that its number refers to.
func TestMarkers(t *testing.T) {
	want := []any{map[string]any{
		"series": "Other", "row": "a (1)", "column": "a (0)", "symbol": 1.0, "bias": -0.1,
		"target": 1.0, "target name": "1 b,",
	}}
	if diff := cmp.Diff(want, rowsOf(layersOf(t, marked())[1])); diff != "" {
		t.Errorf("markers (-want +got):\n%s", diff)
	}
}

func TestMarkerErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*chart.Chart)
	}{
		{"marker", "marker 0 is on no cell", func(c *chart.Chart) { c.Series[0].X[0] = 2 }},
		{"symbol", "has symbol 11; want 0 to 10", func(c *chart.Chart) {
			c.Series[0].Symbols[0] = 11
		}},
		{"column", "has 0 bias and 1 y", func(c *chart.Chart) {
			c.Series[0].Columns[0].Values = nil
		}},
		{"names", `the column "target" refers to names`, func(c *chart.Chart) { c.Names = nil }},
	} {
		x := marked()
		c.change(&x)
		if err := x.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// A column with the name of a coordinate, or with characters that lead into other fields, keeps its
// numbers apart from them and its name in the tooltip.
func TestColumnNames(t *testing.T) {
	layer := layersOf(t, chart.Chart{Kind: chart.Scatter, Series: []chart.Series{{
		X: []float64{1}, Y: []float64{2},
		Columns: []chart.Column{
			{Name: "size", Values: []float64{3}},
			{Name: "x", Values: []float64{4}},
			{Name: "a.b['c']", Values: []float64{5}},
			{Name: "size name", Values: []float64{6}},
		},
	}}})[0]
	want := map[string]any{
		"series": "", "x": 1.0, "y": 2.0, "size": 3.0, "column 1": 4.0, "column 2": 5.0,
		"column 3": 6.0,
	}
	if diff := cmp.Diff(want, rowsOf(layer)[0]); diff != "" {
		t.Errorf("the point differs (-want +got):\n%s", diff)
	}
	tips := layer.(map[string]any)["encoding"].(map[string]any)["tooltip"].([]any)
	last := map[string]any{"field": "column 2", "type": "quantitative", "title": "a.b['c']"}
	if diff := cmp.Diff(last, tips[len(tips)-2]); diff != "" {
		t.Errorf("the tooltip of a column differs (-want +got):\n%s", diff)
	}
}
