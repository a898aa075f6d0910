package scorer

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() { Register("direct", direct{}) }

// direct is direct logit attribution by source: what attention read from each token and wrote
// straight into the logit, in all layers and heads (Elhage et al. 2021; the first half of
// ALTI-Logit, Ferrando et al. 2023, §3):
//
//	s_j = Σ_l Δ_l[j],  Δ_l[j] = Σ_h α^h_l[t,j] v^h_j · (W_O^h)ᵀ u
//
// t is the position that predicts and u the row of the unembedding of the predicted token, less
// that of the contrast or, of classes, the mean row of the foils, pulled back through the norms
// between layer l and the logit with the scale that they have for this text. Tokens are those that
// a layer reads, not those of the prompt: where an earlier layer has moved what matters to another
// position, that position is named. alti-logit follows it further down.
//
// Values are [T] and signed; Δ_l is [Scores.ByLayer]. What the feed-forward layers, the biases and
// the token's own embedding wrote belongs to no token; it is the residue. While a decoder generates
// it costs a product by each layer's output projection, L·D² multiplications, and L·H·T·E.
type direct struct{}

// Info describes the scorer.
func (direct) Info() Info {
	return Info{
		Summary: "what attention read from each token and wrote straight into the logit, over " +
			"all layers; after labels by example it needs a contrast to find the word that decides",
		Formula:    "s_j = Σ_l Δ_l[j], Δ_l[j] = Σ_h α^h[t,j] v^h_j · (W_O^h)ᵀ u",
		Paper:      "Elhage et al. 2021; Ferrando et al. 2023, §3",
		Cost:       "a product by each layer's output projection, in a few small graphs",
		Unit:       "part of the logit",
		Needs:      "the parts of a logit",
		Signed:     true,
		Foils:      true,
		LastAsks:   true,
		ByLayer:    true,
		Evidence:   trace.Written,
		Quantities: []trace.Quantity{trace.Logit},
	}
}

// Mixing is empty: no rows are needed.
func (direct) Mixing() string { return "" }

// ScoreTerms returns the values; see [Live].
func (direct) ScoreTerms(terms *trace.AttentionTerms, _ *History) (*Scores, error) {
	values := make([]float64, terms.S)
	for l := range terms.L {
		floats.Add(values, rowmath.At(terms.Attention, l, terms.S))
	}
	s := parts(terms.Value, values)
	s.ByLayer = slices.Clone(terms.Attention)
	return s, nil
}

// Score returns the parts of the logit; see [Scorer].
func (d direct) Score(
	ctx context.Context, m trace.Model, q trace.Query, opts Options,
) (*Scores, error) {
	return scoreTerms(ctx, "direct", d, m, q, opts)
}
