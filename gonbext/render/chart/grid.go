package chart

import "fmt"

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
	var widths []float64
	for i := range charts {
		spec, err := charts[i].VegaLite()
		if err != nil {
			return nil, err
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
		widths = append(widths, charts[i].drawnWidth(spec["width"].(float64)))
	}
	spec := object{
		"$schema": schema, "columns": columnsOf(columns, widths), "concat": all,
		"resolve": object{"scale": object{"color": "independent"}},
	}
	spec["params"] = []any{darkParameter()} // it stands above the grid
	return spec, nil
}

// gap is the distance of two columns of a grid in Vega, in pixels.
const gap = 20

// columnsOf returns the number of columns of a grid of charts that are so wide: as many as the
// window has room for. Vega, which draws the specification, takes a signal for it.
func columnsOf(columns int, widths []float64) any {
	columns = min(columns, len(widths))
	if columns == 1 {
		return 1.0
	}
	signal := "1"
	for n := 2; n <= columns; n++ {
		widest := make([]float64, n) // of each column
		for i, w := range widths {
			widest[i%n] = max(widest[i%n], w)
		}
		room := float64(labMargin + (n-1)*gap)
		for _, w := range widest {
			room += w
		}
		signal = fmt.Sprintf("windowSize()[0]<%v?(%s):%d", room, signal, n)
	}
	return object{"signal": signal}
}
