package chart

import (
	"encoding/json"
	"io"
	"math"
)

// MIME is the media type of the specification in a notebook.
const MIME = "application/vnd.vegalite.v5+json"

const schema = "https://vega.github.io/schema/vega-lite/v5.json"

// object is a JSON object. Go writes its keys in order, so equal objects give equal bytes.
type object = map[string]any

// VegaLite returns the chart as a Vega-Lite 5 specification. It holds all its data and asks for no
// font, image or script. It consists of maps with string keys, slices of any, strings, float64 and
// bool only, the types that GoNB can pass on.
func (c *Chart) VegaLite() (map[string]any, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	spec := object{
		"$schema": schema, "width": float64(defaultWidth), "height": float64(defaultHeight),
	}
	if c.Height > 0 {
		spec["height"] = c.Height
	}
	if c.Title != "" {
		title := object{"text": broken(c.Title), "anchor": "start"}
		if c.Subtitle != "" {
			title["subtitle"] = broken(c.Subtitle)
		}
		spec["title"] = title
	}
	var layers []any
	switch c.Kind {
	case Heatmap:
		spec["width"] = float64(min(max(20*len(c.Matrix.Columns), 120), 900))
		spec["height"] = float64(min(max(20*len(c.Matrix.Rows), 60), 900))
		layers = append(layers, c.cells())
		if len(c.Series) > 0 {
			layers = append(layers, c.markers())
			spec["resolve"] = object{"scale": object{"color": "independent"}}
		}
	case Bars:
		layers = append(layers, c.bars())
	case Histogram:
		layers = append(layers, c.bins())
	case Ternary:
		spec["width"], spec["height"] = 360.0, 360*Height
		layers = append(layers, c.triangle()...)
		layers = append(layers, c.points("point"))
	case Layered:
		spec["height"] = float64(min(max(24*len(c.Graph.Tokens), 120), 900))
		layers = append(layers, c.Graph.layers(c.X, c.Y)...)
	case Lines:
		layers = append(layers, c.points("line"))
	default:
		layers = append(layers, c.points("point"))
	}
	for _, r := range c.Rules {
		layers = append(layers, r.layer())
	}
	if layer := c.ellipses(); layer != nil {
		layers = append(layers, layer)
	}
	spec["layer"] = layers
	spec["params"] = append([]any{darkParameter()}, c.fits(spec)...)
	return spec, nil
}

// WriteVegaLite writes the specification as JSON on one line. The characters <, > and & are
// escaped, so that it can stand inside HTML.
func (c *Chart) WriteVegaLite(w io.Writer) error {
	spec, err := c.VegaLite()
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(spec)
}

// Colours of lines and ellipses.
var (
	ruleColor    = RGB{0x44, 0x44, 0x44}
	ellipseColor = RGB{0xc6, 0x28, 0x28}
)

// data returns inline data.
func data(rows []any) object { return object{"values": rows} }

// number returns a number as JSON has it; NaN is null.
func number(v float64) any {
	if math.IsNaN(v) {
		return nil
	}
	return v
}

// axis returns the encoding of a quantitative axis.
func (a Axis) axis(field string) object {
	scale := object{"zero": false} // a scale without ends is nice
	if a.Min != nil && a.Max != nil {
		scale["domain"] = []any{*a.Min, *a.Max}
	} else if a.Min != nil {
		scale["domainMin"], scale["nice"] = *a.Min, true
	} else if a.Max != nil {
		scale["domainMax"], scale["nice"] = *a.Max, true
	}
	if a.Reversed {
		scale["reverse"] = true
	}
	e := object{"field": field, "type": "quantitative", "title": a.Label(), "scale": scale}
	if a.Whole {
		e["axis"] = object{"tickMinStep": 1.0, "format": "d"}
	}
	if a.Hidden {
		e["axis"] = object{"labels": false, "ticks": false}
	}
	return e
}

// category returns the encoding of an axis of names, in their order, which is that of the domain.
func (a Axis) category(field string, names []string) object {
	return object{
		"field": field, "type": "ordinal", "title": a.Label(),
		"scale": object{"domain": anys(names)},
	}
}

// seriesNames returns the names of the series in their order.
func (c *Chart) seriesNames() []any {
	var names []any
	for _, s := range c.Series {
		names = append(names, s.Name)
	}
	return names
}

// legend returns the encoding of colour by series.
func (c *Chart) legend() object {
	names := c.seriesNames()
	var colors []any
	for i := range c.Series {
		colors = append(colors, themed(c.SeriesColor(i)))
	}
	e := object{
		"field": "series", "type": "nominal", "title": nil,
		"scale": object{"domain": names, "range": colors},
	}
	if len(c.Series) < 2 {
		e["legend"] = nil
	}
	return e
}

// rampStops is the number of colours that stand for a ramp; Vega-Lite interpolates between them.
const rampStops = 9

// ramp returns the encoding of colour by a number.
func (c *Chart) ramp(field string) object {
	limit := c.Limit()
	from := 0.0
	if c.Color.Diverging {
		from = -1
	}
	var domain, colors []any
	for i := range rampStops {
		x := from + (1-from)*float64(i)/(rampStops-1)
		domain = append(domain, x*limit)
		colors = append(colors, RampOf(c.Color.Palette, x).String())
	}
	legend := object{}
	if c.Color.Percent {
		legend["format"] = ".0%"
	}
	return object{
		"field": field, "type": "quantitative", "title": c.Color.Title, "legend": legend,
		"scale": object{"domain": domain, "range": colors, "clamp": true},
	}
}
