// Package render makes pictures of explanations: aligned text for terminals and HTML for notebooks
// and files.
//
// A renderer is a value with a WriteTo method; equal values give equal bytes, for ever:
//
//	render.Text{Heatmap: render.Heatmap{Explanation: e}, Width: 100, Color: true}.WriteTo(os.Stdout)
//
// The HTML is made of tables, spans, details and inline styles with integer rgb() colours only,
// which the sanitisers of notebooks leave alone; every element that sets a background also sets a
// text colour, so it reads the same in light and dark themes. There is no script, style sheet,
// image, id or class in it. A [Page] around it has a style sheet, for dark systems.
//
// Tokens are hostile text. They pass through one function, [Visible], which makes control
// characters, direction marks, zero-width characters and invalid bytes visible, and HTML escapes
// what it returns.
//
// Each picture carries its scale, units, axis titles, totals, warnings and provenance. A sink
// ([attribution.Sink]) is shown as itself, apart, and colours are scaled to the rest.
package render

import (
	"github.com/headwater-ml/headwater/attribution"
)

// Heatmap is the picture of an explanation that all forms share. The zero value of each field but
// Explanation is the default. It is never modified, and its renderers are safe for concurrent use.
type Heatmap struct {
	// Explanation is what is shown. Nil is an empty picture that says so.
	Explanation *attribution.Explanation
	// Methods are the names of the methods to show, in this order; default: all that the
	// explanation has, in its order. A name that the explanation lacks is shown as missing.
	Methods []string
	// Layer is the layer whose values highlight the prompt, 0-based; nil, or a layer that a method
	// has no result for, is the last one that it has. Maps over layers show every layer.
	Layer *int
	// Filter hides prompt tokens from highlighting and from the scale; see
	// [attribution.DefaultFilter]. They stay in the picture, greyed, and in every number.
	Filter attribution.Filter
	// Status is a line shown on top while the explanation grows: "preparing prompt rows, layer 2 of
	// 6".
	Status string
}

// methods returns the names to show.
func (h Heatmap) methods() []string {
	if h.Methods != nil {
		return h.Methods
	}
	return h.Explanation.Order
}
