package chart

import (
	"fmt"
)

// points returns a layer of points or lines.
func (c *Chart) points(mark string) object {
	var rows []any
	colored, labelled, symbolic := c.Colored(), false, false
	for _, s := range c.Series {
		labelled = labelled || s.Labels != nil
		symbolic = symbolic || s.Symbols != nil
		for i := range s.Y {
			row := c.point(s, i)
			x, y := s.X[i], s.Y[i]
			if c.Kind == Ternary {
				row["a"], row["b"], row["c"] = number(x), number(y), number(s.C[i])
				x, y = Place(x, y, s.C[i])
			}
			row["x"], row["y"] = number(x), number(y)
			rows = append(rows, row)
		}
	}
	encoding := object{"x": c.X.axis("x"), "y": c.Y.axis("y")}
	names := [][2]string{{"x", c.X.Label()}, {"y", c.Y.Label()}}
	if c.Kind == Ternary {
		encoding["x"], encoding["y"] = bare("x", 1), bare("y", Height)
		names = [][2]string{{"a", c.Corners[0]}, {"b", c.Corners[1]}, {"c", c.Corners[2]}}
	}
	encoding["color"] = c.legend()
	if colored {
		encoding["color"] = c.ramp("value")
	}
	encoding["tooltip"] = c.pointTips(names, labelled)
	if symbolic {
		encoding["shape"] = shape()
	}
	m := object{"type": mark, "filled": true, "opacity": 0.8}
	if colored {
		m["stroke"], m["strokeWidth"] = outline(), 0.7
	}
	if c.Opacity > 0 {
		m["opacity"] = c.Opacity
	}
	if mark == "line" {
		m = object{"type": "line", "point": true}
		if Ordered(len(c.Series)) { // small points, which have the tooltips
			m["point"] = object{"size": 12.0}
			if !labelled {
				m["point"] = false
			}
		}
		if !Ordered(len(c.Series)) && len(c.Series) > 1 {
			encoding["strokeDash"] = object{
				"field": "series", "type": "nominal", "title": nil,
				"scale": object{"domain": c.seriesNames()},
			}
		}
	}
	return object{"data": data(rows), "mark": m, "encoding": encoding}
}

// pointTips returns the tooltip of a point: fields with their titles, among others.
func (c *Chart) pointTips(fields [][2]string, labelled bool) (tips []any) {
	if labelled {
		tips = append(tips, object{"field": "label", "type": "nominal", "title": " "})
	}
	if len(c.Series) > 1 {
		tips = append(tips, object{"field": "series", "type": "nominal"})
	}
	for _, f := range fields {
		tips = append(tips, object{"field": f[0], "type": "quantitative", "title": f[1]})
	}
	tips = append(tips, c.columnTips()...)
	if c.Colored() {
		tips = append(tips, object{
			"field": "value", "type": "quantitative", "title": c.Color.Title,
		})
	}
	return tips
}

// point returns the fields of point i of a series, but for its place.
func (c *Chart) point(s Series, i int) object {
	row := object{"series": s.Name}
	if s.Value != nil {
		row["value"] = number(s.Value[i])
	}
	if s.Labels != nil {
		row["label"] = s.Labels[i]
	}
	if s.Symbols != nil {
		row["symbol"] = float64(s.Symbols[i])
	}
	for _, x := range s.Columns {
		field := c.columnField(x.Name)
		row[field] = number(x.Values[i])
		if x.Named {
			row[field+" name"] = c.name(x.Values[i])
		}
	}
	return row
}

// symbols are the shapes of points by their number, those of files first.
var symbols = []string{
	"circle", "square", "triangle-up", "diamond", "triangle-down",
	"M1,0L.5,.87L-.5,.87L-1,0L-.5,-.87L.5,-.87Z", "cross", "triangle-right", "triangle-left",
	"arrow", "wedge",
}

// shape returns the encoding of symbols.
func shape() object {
	var domain []any
	for i := range symbols {
		domain = append(domain, float64(i))
	}
	return object{
		"field": "symbol", "type": "nominal", "title": "rank",
		"scale": object{"domain": domain, "range": anys(symbols)},
	}
}

// markers returns a layer of markers on the cells of a heatmap.
func (c *Chart) markers() object {
	m := c.Matrix
	rows, columns := unique(m.Rows), unique(m.Columns)
	var all []any
	symbolic := false
	for _, s := range c.Series {
		symbolic = symbolic || s.Symbols != nil
		for i := range s.Y {
			row := c.point(s, i)
			row["row"], row["column"] = rows[int(s.Y[i])], columns[int(s.X[i])]
			all = append(all, row)
		}
	}
	tips := []any{
		object{"field": "row", "type": "nominal", "title": c.Y.Label()},
		object{"field": "column", "type": "nominal", "title": c.X.Label()},
		object{"field": "series", "type": "nominal", "title": "kind"},
	}
	if symbolic {
		tips = append(tips, object{"field": "symbol", "type": "quantitative", "title": "rank"})
	}
	encoding := object{
		"x": c.X.category("column", columns), "y": c.Y.category("row", rows), "color": c.legend(),
		"tooltip": append(tips, c.columnTips()...),
	}
	encoding["x"].(object)["axis"] = columnAxis()
	if symbolic {
		encoding["shape"] = shape()
	}
	return object{
		"data":     data(all),
		"mark":     object{"type": "point", "filled": true, "size": 55.0, "opacity": 0.95},
		"encoding": encoding,
	}
}

// bare returns the encoding of an axis without numbers, from 0 to high.
func bare(field string, high float64) object {
	return object{
		"field": field, "type": "quantitative", "axis": nil,
		"scale": object{"domain": []any{-0.08, high + 0.08}, "nice": false},
	}
}

// triangle returns the sides, grid and corners of a ternary plot.
func (c *Chart) triangle() []any {
	var lines []any
	add := func(side int, a, b [3]float64, grid bool) {
		for order, p := range [][3]float64{a, b} {
			x, y := Place(p[0], p[1], p[2])
			lines = append(lines, object{
				"x": x, "y": y, "side": float64(side), "order": float64(order), "grid": grid,
			})
		}
	}
	for i, l := range TriangleLines() {
		add(i, l.From, l.To, l.Grid)
	}
	position := object{"x": bare("x", 1), "y": bare("y", Height)}
	sides := object{
		"data": data(lines), "mark": object{"type": "line", "strokeWidth": 1.0},
		"encoding": object{
			"x": position["x"], "y": position["y"],
			"detail": object{"field": "side", "type": "nominal"},
			"order":  object{"field": "order", "type": "quantitative"},
			"color": object{
				"condition": object{"test": "datum.grid", "value": object{
					"expr": "dark?'#666':'#ddd'",
				}},
				"value": themed(ruleColor),
			},
		},
	}
	corners := []any{
		object{"x": 0.0, "y": -0.05, "name": c.Corners[0]},
		object{"x": 1.0, "y": -0.05, "name": c.Corners[1]},
		object{"x": 0.5, "y": Height + 0.04, "name": c.Corners[2]},
	}
	names := object{
		"data": data(corners), "mark": object{
			"type": "text", "fontSize": 12.0, "color": themed(Black),
		},
		"encoding": object{
			"x": position["x"], "y": position["y"],
			"text": object{"field": "name", "type": "nominal"},
		},
	}
	return []any{sides, names}
}

// TriangleLine is a side or a grid line of a ternary plot, between two points of three shares.
type TriangleLine struct {
	From, To [3]float64
	Grid     bool
}

// TriangleLines returns the grid lines at each fifth, then the three sides.
func TriangleLines() []TriangleLine {
	var lines []TriangleLine
	const parts = 5
	for i := 1; i < parts; i++ {
		f := float64(i) / parts
		lines = append(lines,
			TriangleLine{[3]float64{f, 1 - f, 0}, [3]float64{f, 0, 1 - f}, true},
			TriangleLine{[3]float64{1 - f, f, 0}, [3]float64{0, f, 1 - f}, true},
			TriangleLine{[3]float64{1 - f, 0, f}, [3]float64{0, 1 - f, f}, true})
	}
	return append(lines,
		TriangleLine{[3]float64{1, 0, 0}, [3]float64{0, 1, 0}, false},
		TriangleLine{[3]float64{0, 1, 0}, [3]float64{0, 0, 1}, false},
		TriangleLine{[3]float64{0, 0, 1}, [3]float64{1, 0, 0}, false})
}

// bars returns a layer of grouped bars.
func (c *Chart) bars() object {
	names := unique(c.X.Categories)
	var rows []any
	for _, s := range c.Series {
		for i, v := range s.Y {
			row := object{"x": names[i], "y": number(v), "series": s.Name}
			if s.Labels != nil {
				row["label"] = s.Labels[i]
			}
			if s.Colors != nil {
				row["color"] = s.Colors[i].String()
			}
			rows = append(rows, row)
		}
	}
	y := c.Y.axis("y")
	y["scale"].(object)["zero"] = true
	encoding := object{
		"x": c.X.category("x", names), "y": y, "color": c.legend(),
		"tooltip": []any{
			object{"field": "x", "type": "nominal", "title": c.X.Label()},
			object{"field": "series", "type": "nominal"},
			object{"field": "y", "type": "quantitative", "title": c.Y.Label()},
		},
	}
	if len(c.Series) > 1 {
		encoding["xOffset"] = object{
			"field": "series", "type": "nominal", "scale": object{"domain": c.seriesNames()},
		}
	}
	if len(c.Series) == 1 && c.Series[0].Colors != nil {
		encoding["color"] = object{"field": "color", "type": "nominal", "scale": nil}
	}
	mark := object{"type": "bar"}
	if len(c.Series) == 1 && c.Series[0].Colors != nil {
		mark["stroke"] = outline()
	}
	return object{"data": data(rows), "mark": mark, "encoding": encoding}
}

// bins returns a layer of stacked bins.
func (c *Chart) bins() object {
	var rows []any
	for _, b := range c.Histogram() {
		for k, s := range c.Series {
			if b.Counts[k] > 0 {
				rows = append(rows, object{
					"low": b.Low, "high": b.High, "count": float64(b.Counts[k]),
					"series": s.Name, "order": float64(k),
				})
			}
		}
	}
	return object{"data": data(rows), "mark": object{"type": "bar"}, "encoding": object{
		"x": object{
			"field": "low", "bin": "binned", "type": "quantitative", "title": c.X.Label(),
		},
		"x2": object{"field": "high"},
		"y": object{
			"field": "count", "type": "quantitative", "title": c.Y.Label(), "stack": "zero",
		},
		"order": object{"field": "order", "type": "quantitative"},
		"color": c.legend(),
		"tooltip": []any{
			object{"field": "low", "type": "quantitative", "title": "from"},
			object{"field": "high", "type": "quantitative", "title": "to"},
			object{"field": "series", "type": "nominal"},
			object{"field": "count", "type": "quantitative"},
		},
	}}
}

// cells returns a layer of coloured cells. Names that stand for several rows or columns, as a token
// that occurs twice, get their position.
func (c *Chart) cells() object {
	m := c.Matrix
	rows, columns := unique(m.Rows), unique(m.Columns)
	var all []any
	for i, r := range rows {
		for j, column := range columns {
			cell := object{"row": r, "column": column, "value": number(m.At(i, j))}
			if m.Muted != nil && m.Muted[j] {
				cell["muted"] = true
			}
			all = append(all, cell)
		}
	}
	x := c.X.category("column", columns)
	x["axis"] = columnAxis()
	y := c.Y.category("row", rows)
	color := c.ramp("value")
	if m.Muted != nil {
		ramp := color
		color = object{"condition": ramp, "value": Muted.String()}
		ramp["test"] = "!datum.muted"
	}
	return object{"data": data(all), "mark": object{"type": "rect"}, "encoding": object{
		"x": x, "y": y, "color": color,
		"tooltip": []any{
			object{"field": "row", "type": "nominal", "title": c.Y.Label()},
			object{"field": "column", "type": "nominal", "title": c.X.Label()},
			object{"field": "value", "type": "quantitative", "title": c.Color.Title},
		},
	}}
}

// columnAxis is the axis of the columns of a heatmap.
func columnAxis() object { return object{"labelAngle": -60.0, "orient": "top"} }

// layer returns a reference line.
func (r Rule) layer() object {
	row, axis := object{"at": r.At, "label": r.Label}, "x"
	if r.Horizontal {
		axis = "y"
	}
	return object{
		"data": data([]any{row}),
		"mark": object{"type": "rule", "strokeDash": []any{4.0, 3.0}, "color": themed(ruleColor)},
		"encoding": object{
			axis:      object{"field": "at", "type": "quantitative"},
			"tooltip": object{"field": "label", "type": "nominal"},
		},
	}
}

// ellipses returns a layer of ellipses, or nil if there are none.
func (c *Chart) ellipses() object {
	var rows []any
	for i, e := range c.Ellipses {
		rows = append(rows, object{
			"label": e.Label, "ellipse": float64(i), "cx": e.X, "cy": e.Y, "rx": e.RadiusX,
			"ry": e.RadiusY,
		})
	}
	if rows == nil {
		return nil
	}
	angle := fmt.Sprintf("(2 * PI * datum.order / %d)", outlinePoints)
	return object{
		"data": data(rows),
		"mark": object{"type": "line", "color": themed(ellipseColor)},
		"encoding": object{
			"x":       object{"field": "x", "type": "quantitative"},
			"y":       object{"field": "y", "type": "quantitative"},
			"order":   object{"field": "order", "type": "quantitative"},
			"detail":  object{"field": "ellipse", "type": "nominal"},
			"tooltip": object{"field": "label", "type": "nominal"},
		},
		"transform": []any{
			object{"calculate": fmt.Sprintf("sequence(%d)", outlinePoints+1), "as": "order"},
			object{"flatten": []any{"order"}},
			object{"calculate": "datum.cx + datum.rx * cos" + angle, "as": "x"},
			object{"calculate": "datum.cy + datum.ry * sin" + angle, "as": "y"},
		},
	}
}

// unique returns names that are all different: one that occurs again gets its position.
func unique(names []string) []string {
	count := map[string]int{}
	for _, n := range names {
		count[n]++
	}
	used := map[string]bool{}
	out := make([]string, len(names))
	for i, n := range names {
		name := n
		if count[n] > 1 {
			name = fmt.Sprintf("%s (%d)", n, i)
		}
		for used[name] {
			name += "'"
		}
		used[name], out[i] = true, name
	}
	return out
}

// anys returns strings as a JSON list.
func anys(names []string) []any {
	out := make([]any, len(names))
	for i, n := range names {
		out[i] = n
	}
	return out
}
