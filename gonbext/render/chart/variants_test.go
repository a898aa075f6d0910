package chart_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// menus is a map of two tokens for two layers of two heads, each with one marker. The number of a
// cell is layer/10 + head/100, and the marker of rank 1 is on the second row and first column.
func menus() chart.Chart {
	data := func(l, h float64) chart.Variant {
		x := l/10 + h/100
		return chart.Variant{
			Options: []string{string(rune('0' + int(l))), string(rune('0' + int(h)))},
			Matrix: &chart.Matrix{
				Rows: []string{"a", "b"}, Columns: []string{"a", "b"},
				Data: []float64{1, math.NaN(), x, 1 - x},
			},
			Series: []chart.Series{{
				Name: "Other", X: []float64{0}, Y: []float64{1}, Symbols: []int{1},
				Columns: []chart.Column{
					{Name: "bias", Values: []float64{-x}}, {Name: "target", Values: []float64{0}, Named: true},
				},
			}},
		}
	}
	own := data(1, 0)
	return chart.Chart{
		Kind: chart.Heatmap, Title: "layer 1, head 0", MenuTitle: "all", Names: []string{"a", "b,"},
		Matrix: own.Matrix, Series: own.Series,
		Choices: []chart.Choice{
			{Name: "layer", Options: []string{"0", "1"}, Shown: "1"},
			{Name: "the head", Options: []string{"0", "1"}, Shown: "0"},
		},
		Variants: []chart.Variant{data(0, 0), data(0, 1), own, data(1, 1)},
	}
}

// layersOf returns the layers of a specification after a trip through JSON.
func layersOf(t *testing.T, c chart.Chart) (spec map[string]any, layers []any) {
	t.Helper()
	made, err := c.VegaLite()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	return spec, spec["layer"].([]any)
}

// records returns the CSV of a layer, the names of the fields first.
func records(t *testing.T, layer any) [][]string {
	t.Helper()
	text := layer.(map[string]any)["data"].(map[string]any)["values"].(string)
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A specification has a menu for each choice, with the option that is shown at first, the data of
// all variants, and a filter for each menu.
func TestMenus(t *testing.T) {
	spec, layers := layersOf(t, menus())
	want := []any{
		map[string]any{"name": "choice_layer", "value": "1", "bind": map[string]any{
			"input": "select", "name": "layer ", "options": []any{"0", "1"},
		}},
		map[string]any{"name": "choice_the_head", "value": "0", "bind": map[string]any{
			"input": "select", "name": "the head ", "options": []any{"0", "1"},
		}},
	}
	params := spec["params"].([]any)
	if diff := cmp.Diff(want, params[:2]); diff != "" {
		t.Errorf("menus (-want +got):\n%s", diff)
	}
	names := params[2].(map[string]any)
	if diff := cmp.Diff([]any{"a", "b,"}, names["value"]); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	cells := [][]string{
		{"cells", "choice_layer", "choice_the_head"},
		{"100/ 100", "0", "0"}, // nothing stands for 0, and the gap at the end is left out
		{"100/1 99", "0", "1"},
		{"100/10 90", "1", "0"},
		{"100/11 89", "1", "1"},
	}
	if diff := cmp.Diff(cells, records(t, layers[0])); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	markers := [][]string{
		{"bias", "choice_layer", "choice_the_head", "symbol", "target", "x", "y"},
		{"0", "0", "0", "1", "0", "0", "1"},
		{"-.01", "0", "1", "1", "0", "0", "1"},
		{"-.1", "1", "0", "1", "0", "0", "1"},
		{"-.11", "1", "1", "1", "0", "0", "1"},
	}
	if diff := cmp.Diff(markers, records(t, layers[1])); diff != "" {
		t.Errorf("markers (-want +got):\n%s", diff)
	}
	for i, layer := range layers {
		transform := layer.(map[string]any)["transform"].([]any)
		for k, filter := range []string{
			"datum.choice_layer === choice_layer", "datum.choice_the_head === choice_the_head",
		} {
			if got := transform[k].(map[string]any)["filter"]; got != filter {
				t.Errorf("layer %d: filter %v, want %s", i, got, filter)
			}
		}
	}
	if title := spec["title"].(map[string]any)["text"]; title != "all" {
		t.Errorf("title %v beside menus, want all", title)
	}
}

// A choice that is fixed leaves the variants of the option that is shown, and one that is thinned
// keeps that option.
func TestFixAndThin(t *testing.T) {
	c := menus()
	c.Fix("layer")
	if len(c.Choices) != 1 || len(c.Variants) != 2 || c.MenuTitle != "all, layer 1" {
		t.Errorf("%d choices, %d variants, title %q; want 1, 2 and the layer", len(c.Choices),
			len(c.Variants), c.MenuTitle)
	}
	if got := c.Variants[1].Matrix.At(1, 0); got != 0.11 {
		t.Errorf("the second variant has %v, want 0.11 of layer 1, head 1", got)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	c.Fix("the head")
	if len(c.Choices)+len(c.Variants) != 0 {
		t.Errorf("%d choices and %d variants are left", len(c.Choices), len(c.Variants))
	}
	spec, _ := layersOf(t, c)
	for _, p := range spec["params"].([]any) {
		if p.(map[string]any)["bind"] != nil {
			t.Errorf("menu %v without a choice", p)
		}
	}
	c = menus()
	c.Thin("layer", 2)
	if len(c.Variants) != 2 || c.Variants[0].Options[0] != "1" {
		t.Errorf("%d variants, the first with options %v; want 2 of layer 1", len(c.Variants),
			c.Variants[0].Options)
	}
	if whole := menus(); len(whole.Variants) != 4 || len(whole.Choices[0].Options) != 2 {
		t.Error("a copy changed")
	}
}

// Charts side by side share the menus of one name, which stand once above the grid.
func TestMenusOfGrid(t *testing.T) {
	spec, err := chart.Grid(2, menus(), menus())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(spec["params"].([]any)); n != 4 {
		t.Errorf("%d parameters, want two menus, one list of names and one for dark pages", n)
	}
	for i, one := range spec["concat"].([]any) {
		if one.(map[string]any)["params"] != nil {
			t.Errorf("chart %d of the grid has parameters of its own", i)
		}
	}
}

// Menus and columns come back from JSON as they were.
func TestMenusJSON(t *testing.T) {
	c := menus()
	c.Variants[0].Series[0].Columns[0].Values[0] = math.NaN()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back chart.Chart
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, back, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestMenuErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*chart.Chart)
	}{
		{"no choice", "4 variants and no choice", func(c *chart.Chart) { c.Choices = nil }},
		{"number of options", "variant 1 has 1 options", func(c *chart.Chart) {
			c.Variants[1].Options = []string{"0"}
		}},
		{"option", `"7" is no option of the choice "layer"`, func(c *chart.Chart) {
			c.Variants[1].Options = []string{"7", "0"}
		}},
		{"shown", "no variant has the options that are shown", func(c *chart.Chart) {
			c.Variants = c.Variants[:2]
		}},
		{"data", "variant 3: chart: a heatmap needs a matrix", func(c *chart.Chart) {
			c.Variants[3].Matrix = nil
		}},
		{"marker", "marker 0 is on no cell", func(c *chart.Chart) { c.Series[0].X[0] = 2 }},
		{"symbol", "has symbol 11; want 0 to 10", func(c *chart.Chart) {
			c.Series[0].Symbols[0] = 11
		}},
		{"column", "has 0 bias and 1 y", func(c *chart.Chart) {
			c.Series[0].Columns[0].Values = nil
		}},
		{"names", `the column "target" refers to names`, func(c *chart.Chart) { c.Names = nil }},
	} {
		x := menus()
		c.change(&x)
		if err := x.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// A column with the name of a coordinate, or with characters that lead into other fields, keeps its
// numbers apart from them and its name in the tooltip.
func TestColumnNames(t *testing.T) {
	c := chart.Chart{Kind: chart.Scatter, Series: []chart.Series{{
		X: []float64{1}, Y: []float64{2},
		Columns: []chart.Column{
			{Name: "size", Values: []float64{3}},
			{Name: "x", Values: []float64{4}},
			{Name: "a.b['c']", Values: []float64{5}},
			{Name: "size parts", Values: []float64{6}},
		},
	}}}
	_, layers := layersOf(t, c)
	layer := layers[0].(map[string]any)
	rows := layer["data"].(map[string]any)["values"].([]any)
	want := map[string]any{
		"series": "", "x": 1.0, "y": 2.0, "size": 3.0, "column 1": 4.0, "column 2": 5.0,
		"column 3": 6.0,
	}
	if diff := cmp.Diff(want, rows[0]); diff != "" {
		t.Errorf("the point differs (-want +got):\n%s", diff)
	}
	tips := layer["encoding"].(map[string]any)["tooltip"].([]any)
	last := map[string]any{"field": "column 2", "type": "quantitative", "title": "a.b['c']"}
	if diff := cmp.Diff(last, tips[len(tips)-2]); diff != "" {
		t.Errorf("the tooltip of a column differs (-want +got):\n%s", diff)
	}
}

// A point that all options of a choice have is one row without an option. One that is missing in
// an option, or stands twice in one, stays as it is.
func TestJoinedRows(t *testing.T) {
	one := func(option string, xs ...float64) chart.Variant {
		return chart.Variant{Options: []string{option}, Series: []chart.Series{{
			Name: "p", X: xs, Y: make([]float64, len(xs)),
		}}}
	}
	c := chart.Chart{
		Kind:    chart.Scatter,
		Choices: []chart.Choice{{Name: "rows", Options: []string{"some", "all"}, Shown: "some"}},
		Variants: []chart.Variant{
			one("some", 1, 3, 3), one("all", 1, 2),
		},
	}
	c.Series = c.Variants[0].Series
	_, layers := layersOf(t, c)
	want := [][]string{
		{"choice_rows", "x", "y"},
		{"", "1", "0"},
		{"some", "3", "0 0"}, // in one line, since their options are the same, and so is their x
		{"all", "2", "0"},
	}
	if diff := cmp.Diff(want, records(t, layers[0])); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Both options have a line for each of two series, whose number stands once in it. Whole numbers
// that count up are their ends, y is where x is, and the bias, which x determines, stands once for
// each x, at its place.
func TestPackedPoints(t *testing.T) {
	c := chart.Chart{
		Kind: chart.Scatter, Choices: []chart.Choice{{
			Name: "layer", Options: []string{"0", "1"}, Shown: "0",
		}},
	}
	for l, option := range c.Choices[0].Options {
		v := chart.Variant{Options: []string{option}}
		for k, name := range []string{"a", "b"} {
			s := chart.Series{Name: name}
			row := chart.Column{Name: "row"}
			bias, other := chart.Column{Name: "bias"}, chart.Column{Name: "other"}
			for i, x := range []float64{0, 3, 0, 3, 0, 3} {
				s.X, s.Y = append(s.X, x), append(s.Y, x)
				row.Values = append(row.Values, float64(4+i))
				bias.Values = append(bias.Values, 0.25+x+float64(l+10*k))
				other.Values = append(other.Values, []float64{7, math.NaN()}[i%2]+float64(i))
			}
			s.Columns = []chart.Column{row, bias, other}
			v.Series = append(v.Series, s)
		}
		c.Variants = append(c.Variants, v)
	}
	c.Series = c.Variants[0].Series
	_, layers := layersOf(t, c)
	want := [][]string{
		{"bias", "choice_layer", "column 0", "other", "series_number", "x"},
		{".25   3.25", "0", "4:9", "7  9  11 ", "0", "0 3 0 3 0 3"},
		{"10.2   13.2", "0", "4:9", "7  9  11 ", "1", "0 3 0 3 0 3"},
		{"1.25   4.25", "1", "4:9", "7  9  11 ", "0", "0 3 0 3 0 3"},
		{"11.2   14.2", "1", "4:9", "7  9  11 ", "1", "0 3 0 3 0 3"},
	}
	if diff := cmp.Diff(want, records(t, layers[0])); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	var steps []string
	for _, step := range layers[0].(map[string]any)["transform"].([]any) {
		if calculate, is := step.(map[string]any)["calculate"].(string); is {
			steps = append(steps, fmt.Sprint(step.(map[string]any)["as"], " = ", calculate))
		}
	}
	for _, step := range []string{
		"bias parts = split(datum['bias'] || '', ' ')",
		"bias = toNumber(datum['bias parts'][datum['x']])",
		"y = datum['x']",
		"column 0 parts = indexof(datum['column 0'] || '', ':') < 0 ? " +
			"split(datum['column 0'] || '', ' ') : sequence(toNumber(" +
			"split(datum['column 0'], ':')[0]), toNumber(split(datum['column 0'], ':')[1]) + 1)",
		"series = [\"a\",\"b\"][datum.series_number]",
	} {
		if !slices.Contains(steps, step) {
			t.Errorf("no transform %s; there are\n%s", step, strings.Join(steps, "\n"))
		}
	}
}

// The bins of a histogram with menus are one text for each series: where they begin, how wide they
// are, and how many values each has, up to the last one that has any.
func TestMenusOfBins(t *testing.T) {
	one := func(option string, a, b []float64) chart.Variant {
		return chart.Variant{Options: []string{option}, Series: []chart.Series{
			{Name: "a", Y: a}, {Name: "b", Y: b},
		}}
	}
	c := chart.Chart{
		Kind: chart.Histogram, Bins: 4,
		Choices: []chart.Choice{{Name: "layer", Options: []string{"0", "1"}, Shown: "0"}},
		Variants: []chart.Variant{
			one("0", []float64{0, 3, 8}, []float64{0.5, 1}), one("1", []float64{1, 5}, nil),
		},
	}
	c.Series = c.Variants[0].Series
	_, layers := layersOf(t, c)
	want := [][]string{
		{"choice_layer", "counts", "from", "order", "series_number", "step"},
		{"0", "1 1 0 1", "0", "0", "0", "2"},
		{"0", "2", "0", "1", "1", "2"},
		{"1", "1 0 0 1", "1", "0", "0", "1"},
	}
	if diff := cmp.Diff(want, records(t, layers[0])); diff != "" {
		t.Errorf("bins (-want +got):\n%s", diff)
	}
}

// No transform replaces a field that one before it reads from the data: a menu has them computed
// again, from what they left the first time.
func TestTransformsCanRunAgain(t *testing.T) {
	points := chart.Chart{
		Kind:    chart.Scatter,
		Choices: []chart.Choice{{Name: "rows", Options: []string{"some", "all"}, Shown: "some"}},
	}
	for _, option := range points.Choices[0].Options {
		points.Variants = append(points.Variants, chart.Variant{
			Options: []string{option}, Series: []chart.Series{
				{Name: "a", X: []float64{1, float64(len(option))}, Y: []float64{1, 2}},
				{Name: "b", X: []float64{3, 4}, Y: []float64{1, 2}},
			},
		})
	}
	points.Series = points.Variants[0].Series
	bins := points
	bins.Kind = chart.Histogram
	for _, c := range []chart.Chart{menus(), points, bins} {
		_, layers := layersOf(t, c)
		for i, layer := range layers {
			fields := map[string]bool{}
			for _, name := range records(t, layer)[0] {
				fields[name] = true
			}
			for _, step := range layer.(map[string]any)["transform"].([]any) {
				step := step.(map[string]any)
				if _, divides := step["flatten"]; divides {
					break // what follows is about new rows
				}
				if as, is := step["as"].(string); is && fields[as] {
					t.Errorf("%s, layer %d: %v replaces a field of the data", c.Kind, i, step)
				}
			}
		}
	}
}
