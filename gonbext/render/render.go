// Package render makes pictures of explanations: aligned text for terminals and HTML for notebooks
// and files.
//
// A picture is a value, a [Picture], and three functions write it. Equal values always give equal
// bytes:
//
//	h := render.Heatmap{Explanation: e}
//	render.Text(os.Stdout, h, render.Terminal{Color: true})
//
// The HTML has layers, and each is complete without the next: text and numbers; colours as short
// inline styles and images, which the sanitisers of notebooks do not change; a style sheet; and a
// script that adds touch. Colours are half transparent and texts take the colour of the host, so
// that a picture fits light and dark themes. There is no id in it, no address but data, and no
// request.
//
// Tokens may be hostile text. All pass through one function, [Visible], which makes control
// characters, direction marks, zero-width characters and invalid bytes visible. HTML then escapes
// its result.
//
// Each picture carries its scale, units, axis titles, totals, warnings and provenance. A sink
// ([attribution.Sink]) is grey and named separately, and colours are scaled to the other tokens.
// Numbers for the script are in an attribute; no token is in it, in the script or in a style.
package render

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("render")

// Heatmap is an explanation as a text and a matrix:
//
//   - the prompt and the generated tokens as a text, coloured by the row of one generated token;
//   - a sentence that says what the colours say;
//   - a matrix for each method: a line for each generated token, a column for each token that
//     it may come from, and below it the layers of the chosen token;
//   - each token's strongest sources, and the tokens that might have come instead.
//
// A text of it has the sentence first, and then, for each generated token, the probability, the
// alternatives, and under the prompt tokens a line of numbers for each method, on the colours of a
// page (24-bit ANSI escapes) or with a bar after each number.
//
// The zero value of each field other than Explanation is its default. Nobody modifies it, so it is
// safe for concurrent use.
type Heatmap struct {
	// Explanation is what is shown. Nil gives a picture that says that there is nothing to show
	// yet.
	Explanation *attribution.Explanation
	// Methods are the names of the methods to show, in this order; default: all methods of the
	// explanation, in its order. If the explanation does not have a method, the picture says so.
	Methods []string
	// Words has a row and a column for each word, see [attribution.Explanation.Words], in place of
	// one for each token. Explanations whose tokens are grouped already stay as they are, and so do
	// two that are compared, and those of models that predict at tokens of a text.
	Words bool
	// Layer is the layer whose values highlight the prompt, 0-based. If it is nil, or a method has
	// no values for it, each token has the layer that [attribution.Result.Level] names. Maps over
	// layers show every layer.
	Layer *int
	// Token is the generated token that HTML shows first, 0-based; nil, and one that does not
	// exist, is that of [Show.Opened].
	Token *int
	// Filter excludes prompt tokens from highlighting and from the scale; see
	// [attribution.DefaultFilter]. They stay in the picture in grey, and they count in every
	// number.
	Filter attribution.Filter
	// Alignment draws which token of the source a method links each token of the target with, in a
	// model of two stacks: a page has lines between them, which a switch draws too, a text lists
	// them, and a figure frames them.
	Alignment bool
	// Strip draws in a figure the text in colours in place of the matrix, before Token or before
	// each generated token.
	Strip bool
	// Look has the colours and the caption; an unknown palette is the default.
	Look
	// Status is a line at the top while the explanation grows: "preparing prompt rows, layer 2 of
	// 6".
	Status string
	// Next, if not empty, is a sentence on what a reader can do next, such as how to save the
	// picture. It is in the part on how to read it.
	Next string
	// MaxBytes is the approximate limit of the picture in bytes; default 480,000, of a page
	// 5,000,000. See [HTML].
	MaxBytes int
	// Top, if above 0, is how many tokens of each row a text lists, those with the largest sizes
	// first, and if below 0 it has all in order. The default is up to 12 of those that stand out.
	Top int

	comparison *comparison // of two sides; see [Compare]
}

// methods returns the names of the methods to show.
func (h Heatmap) methods() []string {
	if h.Methods != nil {
		return h.Methods
	}
	return h.Explanation.Order
}

// inWords returns the heatmap of the words of its explanation if that is asked for.
func (h Heatmap) inWords() Heatmap {
	if !h.Words || h.comparison != nil || h.Explanation == nil {
		return h
	}
	if info := h.Explanation.Model; info.Reads() && !info.Head.WholeText() {
		return h // whose predictions are at tokens
	}
	e, err := h.Explanation.Words(h.Layer != nil)
	if err != nil || e == h.Explanation {
		return h // of a damaged one the picture of tokens says what is damaged
	}
	if h.Token != nil {
		at := slices.IndexFunc(e.Steps, func(g attribution.GeneratedToken) bool {
			return g.Tokens[0] <= *h.Token && *h.Token < g.Tokens[1]
		})
		h.Token = &at
	}
	h.Explanation = e
	return h
}

// usagef returns a [trace.UsageError] of this package with a formatted reason.
func usagef(format string, args ...any) error {
	return &trace.UsageError{Package: "render", Reason: fmt.Sprintf(format, args...)}
}
