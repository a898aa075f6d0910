// Package chart describes charts: lines, bars, histograms, scatter plots, heatmaps, ternary plots
// and ellipses, all as one value, [Chart].
//
//	c := chart.Chart{
//		Kind: chart.Lines, Title: "Rank correlation with blank-out",
//		X: chart.Axis{Title: "layer"}, Y: chart.Axis{Title: "Spearman"},
//		Series: []chart.Series{{Name: "rollout", X: layers, Y: rollout}},
//	}
//	err := c.WriteCSV(os.Stdout) // its numbers; a cell draws it with gonbext.ShowChart
//
// The package computes the parts that all drawings share: checks, bins, the place of a point in a
// triangle, colours. Package internal/export/figure draws a chart into SVG, PDF, PNG and TeX, and
// [Chart.WriteCSV] writes its data. Equal charts give equal bytes.
//
// Texts are taken as they are. A caller that has tokens makes them visible first, with
// render.Visible.
//
// The package imports the standard library alone.
package chart

import (
	"fmt"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("chart")

// Kind is a kind of charts.
type Kind string

// The kinds.
const (
	// Lines connects the points of each series, in the order of their x.
	Lines Kind = "lines"
	// Bars has one bar for each category of X and each series.
	Bars Kind = "bars"
	// Histogram counts the values Y of each series in equal bins and stacks the counts.
	Histogram Kind = "histogram"
	// Scatter draws the points of each series.
	Scatter Kind = "scatter"
	// Heatmap colours the cells of a Matrix.
	Heatmap Kind = "heatmap"
	// Ternary draws each point by its three shares A, B and C in a triangle.
	Ternary Kind = "ternary"
	// Layered draws a graph of tokens through layers, its edges as thick as their weights: layers
	// from left to right and tokens from the top down, as Figure 1 of Abnar and Zuidema (2020) has
	// them. Only pictures of explanations have layer 0 at the bottom.
	Layered Kind = "layered"
)

// Chart is a figure. The zero value of every field but Kind and the data is its default.
type Chart struct {
	Kind            Kind
	Title, Subtitle string
	// X and Y are the axes. In a histogram X is the axis of the values and Y that of the counts.
	X, Y Axis
	// Corners are the names of the three corners of a ternary plot: left, right, top.
	Corners [3]string
	// Series are the data of every kind but Heatmap. In a Heatmap they are markers on its cells: X
	// is the index of the column and Y that of the row.
	Series []Series
	// Matrix is the data of a Heatmap, and Graph that of Layered.
	Matrix *Matrix
	Graph  *Graph
	// Color maps the numbers of cells, and the Value of points, to colours.
	Color Scale
	// Height is that of the area between the axes in a notebook, where it is 480 pixels wide, for
	// lines, bars, histograms and scatter plots; 0 is 280. Files keep the proportion. The other
	// kinds are as high as their data need.
	Height float64 `json:",omitempty"`
	// Opacity is that of points, from 0 to 1; 0 is one by their number.
	Opacity float64 `json:",omitempty"`
	// Bins is the number of bins of a histogram, from 1 to 1000; 0 is 30.
	Bins int
	// Rules are reference lines; Ellipses are drawn above the data.
	Rules    []Rule
	Ellipses []Ellipse
	// Names are the texts that columns of points can refer to.
	Names []string `json:",omitempty"`
}

// Axis is one axis.
type Axis struct {
	// Title names the quantity and Unit its unit, which stands in brackets behind the title.
	Title, Unit string
	// Categories, if not nil, are the names of the places 0, 1, 2 … of a heatmap or of bars.
	Categories []string
	// Min and Max, if not nil, are the ends of the axis; else those of the data.
	Min, Max *float64
	// Reversed puts the smallest value at the top or at the right.
	Reversed bool
	// Whole is set where only whole numbers mean something, such as numbers of tokens and layers.
	Whole bool `json:",omitempty"`
	// Hidden leaves out the numbers, as where only the relation of heights is meant.
	Hidden bool
}

// Label returns the title with the unit: "share of attention (%)".
func (a Axis) Label() string {
	if a.Unit == "" {
		return a.Title
	}
	return fmt.Sprintf("%s (%s)", a.Title, a.Unit)
}

// Series is a set of points with a name.
type Series struct {
	Name string
	// X and Y are the coordinates, of equal length. Bars need no X: value i belongs to category i.
	// A histogram reads Y alone.
	X, Y []float64
	// C is, for a ternary plot, the third share; X and Y are the first two.
	C []float64
	// Value, if not nil, colours each point by the scale of the chart.
	Value []float64
	// Labels, if not nil, has the text that an SVG shows where a reader points at a point.
	Labels []string
	// Symbols, if not nil, has the number of the symbol of each point, from 0 to 10; else a point
	// has that of its series. Numbers from 6 on are shown as digits.
	Symbols []int `json:",omitempty"`
	// Columns are more numbers of each point.
	Columns []Column `json:",omitempty"`
	// Color, if not nil, is the colour of the series; else it has that of its place. Colors, if not
	// nil, has the colour of each bar.
	Color  *RGB
	Colors []RGB `json:",omitempty"`
}

// Matrix is a grid of numbers with a name for each row and column.
type Matrix struct {
	// Rows and Columns are the names; the first row is drawn at the top.
	Rows, Columns []string
	// Data is [len(Rows),len(Columns)], row-major. NaN is drawn as a gap.
	Data []float64
	// Muted, if not nil, has the columns that are drawn in grey, without a colour of the scale.
	Muted []bool
	// RowNotes, if not nil, are remarks on the right of each row.
	RowNotes []string
}

// At returns the number of a row and a column. It panics if an index is out of range.
func (m *Matrix) At(row, column int) float64 { return m.Data[row*len(m.Columns)+column] }

// Scale maps numbers to colours. The neutral colour stands for 0; a diverging scale has a second
// arm for negative numbers.
type Scale struct {
	// Title is the meaning of a colour, with its unit.
	Title string
	// Diverging uses both arms, from -Max to Max; otherwise colours go from 0 to Max.
	Diverging bool
	// Max is the number with the deepest colour; 0 is the largest magnitude of the data.
	Max float64
	// Percent writes numbers of the scale as percentages.
	Percent bool
	// Palette, if not empty, is one of [Ramp]: that in which a picture was published. It is
	// used whatever palette the drawing has, and for series where no numbers are coloured.
	Palette string `json:",omitempty"`
}

// Rule is a dashed reference line at one value of an axis.
type Rule struct {
	// Horizontal reports whether At is a value of the Y axis; else it is one of the X axis.
	Horizontal bool
	At         float64
	Label      string
}

// Ellipse is an ellipse with axes parallel to those of the chart, in their units.
type Ellipse struct {
	X, Y, RadiusX, RadiusY float64
	Label                  string
}

const (
	defaultBins = 30
	maxBins     = 1000
	// defaultHeight and the width beside it are those of a plot in a notebook, in pixels.
	defaultHeight, defaultWidth = 280, 480
	minHeight, maxHeight        = 40, 2000
	// symbols is how many symbols points have.
	symbols = 11
)

// MaxPoints is how many points or cells a chart may have in all: a picture with more would not fit
// in a notebook.
const MaxPoints = 250_000

// Check returns an error if the data do not fit the kind: lengths that differ, numbers that are
// infinite, shares below 0.
func (c *Chart) Check() error {
	if c.Bins < 0 || c.Bins > maxBins {
		return pkg.Errorf("%d bins; want 1 to %d, or 0 for %d", c.Bins, maxBins, defaultBins)
	}
	if c.Height != 0 && !(c.Height >= minHeight && c.Height <= maxHeight) {
		return pkg.Errorf("height %v; want %d to %d pixels, or 0 for %d", c.Height,
			minHeight, maxHeight, defaultHeight)
	}
	if !(c.Opacity >= 0 && c.Opacity <= 1) {
		return pkg.Errorf("opacity %v; want 0 to 1", c.Opacity)
	}
	if p := c.Color.Palette; p != "" && (published[p] == nil || c.Color.Diverging) {
		return pkg.Errorf("palette %.40q is none for values from 0; known are %s", p,
			strings.Join(publishedNames(), ", "))
	}
	switch c.Kind {
	case Heatmap:
		if err := c.checkMatrix(); err != nil {
			return err
		}
		return c.checkMarkers()
	case Layered:
		return c.Graph.check()
	case Lines, Bars, Histogram, Scatter, Ternary:
		return c.checkSeries()
	}
	return pkg.Errorf("unknown kind %.40q; known are %s, %s, %s, %s, %s, %s, %s", c.Kind,
		Bars, Heatmap, Histogram, Layered, Lines, Scatter, Ternary)
}

func (c *Chart) checkMatrix() error {
	m := c.Matrix
	if m == nil {
		return pkg.Errorf("a heatmap needs a matrix")
	}
	if len(m.Data) != len(m.Rows)*len(m.Columns) {
		return pkg.Errorf("a matrix of %d rows and %d columns has %d numbers; want %d",
			len(m.Rows), len(m.Columns), len(m.Data), len(m.Rows)*len(m.Columns))
	}
	if len(m.Data) > MaxPoints {
		return pkg.Errorf("%d cells; at most %d can be drawn", len(m.Data), MaxPoints)
	}
	if m.Muted != nil && len(m.Muted) != len(m.Columns) {
		return pkg.Errorf("%d marks of muted columns; want one for each of %d columns",
			len(m.Muted), len(m.Columns))
	}
	if m.RowNotes != nil && len(m.RowNotes) != len(m.Rows) {
		return pkg.Errorf("%d notes; want one for each of %d rows", len(m.RowNotes), len(m.Rows))
	}
	for i, v := range m.Data {
		if math.IsInf(v, 0) {
			return pkg.Errorf("row %d column %d is %v; want a number", i/len(m.Columns),
				i%len(m.Columns), v)
		}
	}
	return nil
}

// checkMarkers returns an error for a marker that is on no cell.
func (c *Chart) checkMarkers() error {
	for i, s := range c.Series {
		for k := range s.Y {
			if len(s.X) != len(s.Y) || !indexOf(s.X[k], c.Matrix.Columns) ||
				!indexOf(s.Y[k], c.Matrix.Rows) {
				return pkg.Errorf("series %d marker %d is on no cell of the matrix", i, k)
			}
		}
	}
	return c.checkSeries()
}

// indexOf reports whether x is an index of names.
func indexOf(x float64, names []string) bool {
	return x == math.Trunc(x) && x >= 0 && x < float64(len(names))
}

func (c *Chart) checkSeries() error {
	points := 0
	for i, s := range c.Series {
		want := len(s.Y)
		points += want
		if points > MaxPoints {
			return pkg.Errorf("more than %d points cannot be drawn", MaxPoints)
		}
		xs := c.Kind != Bars && c.Kind != Histogram
		for _, list := range []struct {
			name string
			n    int
			need bool
		}{
			{"x", len(s.X), xs},
			{"c", len(s.C), c.Kind == Ternary},
			{"values", len(s.Value), s.Value != nil},
			{"labels", len(s.Labels), s.Labels != nil},
			{"symbols", len(s.Symbols), s.Symbols != nil},
			{"colors", len(s.Colors), s.Colors != nil},
		} {
			if list.need && list.n != want {
				return pkg.Errorf("series %d has %d %s and %d y; want as many", i, list.n,
					list.name, want)
			}
		}
		for _, x := range s.Columns {
			if x.Named && c.Names == nil && c.Kind != Histogram {
				return pkg.Errorf("series %d: the column %q refers to names, and there are "+
					"none", i, x.Name)
			}
			if len(x.Values) != want {
				return pkg.Errorf("series %d has %d %s and %d y; want as many", i,
					len(x.Values), x.Name, want)
			}
		}
		for k, symbol := range s.Symbols {
			if symbol < 0 || symbol >= symbols {
				return pkg.Errorf("series %d point %d has symbol %d; want 0 to %d", i, k,
					symbol, symbols-1)
			}
		}
		if c.Kind == Bars && want > len(c.X.Categories) {
			return pkg.Errorf("series %d has %d bars and the axis %d categories", i, want,
				len(c.X.Categories))
		}
		for _, list := range [][]float64{s.X, s.Y, s.C, s.Value} {
			for k, v := range list {
				if math.IsInf(v, 0) || c.Kind == Ternary && v < 0 && len(s.C) > 0 {
					return pkg.Errorf("series %d point %d is %v; want a number%s", i, k, v,
						map[bool]string{true: " of 0 or more"}[c.Kind == Ternary])
				}
			}
		}
	}
	return nil
}

// Limit returns the number with the deepest colour: Color.Max, or else the largest magnitude of the
// cells or values that are not muted; 1 if there is none.
func (c *Chart) Limit() float64 {
	if c.Color.Max > 0 {
		return c.Color.Max
	}
	largest := 0.0
	see := func(v float64) {
		if !math.IsNaN(v) {
			largest = max(largest, math.Abs(v))
		}
	}
	if m := c.Matrix; m != nil {
		for i, v := range m.Data {
			if m.Muted == nil || !m.Muted[i%len(m.Columns)] {
				see(v)
			}
		}
	}
	for _, s := range c.Series {
		for _, v := range s.Value {
			see(v)
		}
	}
	if largest == 0 {
		return 1
	}
	return largest
}

// Proportion returns the height of a plot with axes as a part of its width, or 0 if the chart has
// no height of its own.
func (c *Chart) Proportion() float64 { return c.Height / defaultWidth }

// Colored reports whether points or cells are coloured by numbers, so that the chart needs a colour
// bar.
func (c *Chart) Colored() bool {
	if c.Kind == Heatmap {
		return true
	}
	for _, s := range c.Series {
		if s.Value != nil {
			return true
		}
	}
	return false
}
