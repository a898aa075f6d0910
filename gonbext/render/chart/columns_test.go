package chart_test

import (
	"strings"
	"testing"

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
