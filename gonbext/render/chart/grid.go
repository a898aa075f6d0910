package chart

import (
	"fmt"
	"slices"
)

// gridWidth is how wide a grid is in a notebook, in pixels.
const gridWidth = 960

// Grid returns charts side by side as one Vega-Lite 5 specification, columns of them in a row. One
// chart is returned as [Chart.VegaLite] does.
func Grid(columns int, charts ...Chart) (map[string]any, error) {
	if len(charts) == 1 {
		return charts[0].VegaLite()
	}
	columns = max(columns, 1)
	var all []any
	var params []any
	for i := range charts {
		spec, err := charts[i].VegaLite()
		if err != nil {
			return nil, err
		}
		for _, p := range charts[i].parameters() { // they stand above the grid
			if !slices.ContainsFunc(params, func(q any) bool {
				return q.(object)["name"] == p.(object)["name"]
			}) {
				params = append(params, p)
			}
		}
		for _, key := range []string{"$schema", "params"} {
			delete(spec, key)
		}
		room := float64(gridWidth)/float64(columns) - 60
		if w, ok := spec["width"].(float64); ok && w > room {
			spec["width"] = room
			if h, ok := spec["height"].(float64); ok && columns > 1 {
				spec["height"] = max(h*room/w, 60)
			}
		}
		all = append(all, spec)
	}
	spec := object{
		"$schema": schema, "columns": columnsOf(columns), "concat": all,
		"resolve": object{"scale": object{"color": "independent"}},
	}
	spec["params"] = params
	return spec, nil
}

// columnsOf returns the number of columns of a grid: one in a window that is too narrow for more.
// Vega, which draws the specification, takes a signal for it.
func columnsOf(columns int) any {
	if columns == 1 {
		return 1.0
	}
	return object{"signal": fmt.Sprintf("windowSize()[0]<%d?1:%d", gridWidth, columns)}
}
