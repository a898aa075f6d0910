package chart

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
)

// Field is a named value of a point, a cell or an edge.
type Field struct{ Name, Value string }

// number returns a number as tables have it; NaN is empty.
func number(name string, v float64) Field {
	if math.IsNaN(v) {
		return Field{name, ""}
	}
	return Field{name, strconv.FormatFloat(v, 'g', -1, 64)}
}

// Point returns what is known of point i of series k, the columns of the series last. It panics if
// there is no such point.
func (c *Chart) Point(k, i int) []Field {
	s := &c.Series[k]
	all := []Field{{"series", s.Name}}
	switch {
	case c.Kind == Heatmap:
		all = append(all, Field{"row", c.Matrix.Rows[int(s.Y[i])]},
			Field{"column", c.Matrix.Columns[int(s.X[i])]})
	case c.Kind == Bars:
		all = append(all, Field{"x", c.X.Categories[i]}, number("y", s.Y[i]))
	case c.Kind == Histogram:
		all = append(all, number("x", s.Y[i]))
	default:
		all = append(all, number("x", s.X[i]), number("y", s.Y[i]))
	}
	if c.Kind == Ternary {
		all = append(all, number("c", s.C[i]))
	}
	if s.Value != nil {
		all = append(all, number("value", s.Value[i]))
	}
	if s.Labels != nil {
		all = append(all, Field{"label", s.Labels[i]})
	}
	if s.Symbols != nil {
		all = append(all, Field{"symbol", strconv.Itoa(s.Symbols[i])})
	}
	for _, x := range s.Columns {
		f, v := number(x.Name, x.Values[i]), x.Values[i]
		if x.Named && indexOf(v, c.Names) {
			f.Value += " " + c.Names[int(v)]
		}
		all = append(all, f)
	}
	return all
}

// WriteCSV writes the data of the chart as a table in CSV: a line for each cell of a heatmap, each
// edge of a graph and each point, with the names of the columns in the first line. The error is
// that of [Chart.Check] or of w.
func (c *Chart) WriteCSV(w io.Writer) error {
	if err := c.Check(); err != nil {
		return err
	}
	var lines [][]Field
	switch c.Kind {
	case Heatmap:
		for i, row := range c.Matrix.Rows {
			for j, column := range c.Matrix.Columns {
				lines = append(lines, []Field{
					{"row", row}, {"column", column}, number("value", c.Matrix.At(i, j)),
				})
			}
		}
	case Layered:
		for _, e := range c.Graph.Edges() {
			lines = append(lines, []Field{
				{"layer", strconv.Itoa(e.L)},
				{"target", c.Graph.Tokens[e.T]},
				{"source", c.Graph.Tokens[e.S]}, number("weight", e.Weight),
			})
		}
	}
	for k := range c.Series {
		for i := range c.Series[k].Y {
			lines = append(lines, c.Point(k, i))
		}
	}
	out := csv.NewWriter(w)
	_ = out.WriteAll(tableOf(lines)) // Error has it
	return out.Error()
}

// tableOf returns lines with a first one that has the name of each column. A name that a line has
// twice is two columns.
func tableOf(lines [][]Field) [][]string {
	type key struct {
		name  string
		again int
	}
	head, at := []string{}, map[key]int{}
	table := make([][]string, len(lines)+1)
	for i, line := range lines {
		seen := map[string]int{}
		for _, f := range line {
			k := key{f.Name, seen[f.Name]}
			seen[f.Name]++
			column, known := at[k]
			if !known {
				column, at[k] = len(head), len(head)
				head = append(head, f.Name)
			}
			for len(table[i+1]) <= column {
				table[i+1] = append(table[i+1], "")
			}
			table[i+1][column] = f.Value
		}
	}
	for i := range lines {
		table[i+1] = append(table[i+1], make([]string, len(head)-len(table[i+1]))...)
	}
	table[0] = head
	return table
}
