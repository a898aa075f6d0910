package scorer

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() { Register("alti-logit", altiLogit{}) }

// altiLogit splits what attention wrote into the logit in each layer among that layer's sources,
// and follows these down to the input:
//
//	s_j = Σ_l Σ_s Δ_l[s] M_{l-1}[s,j],  M_0 = I,  M_l = C_l M_{l-1}
//
// (Ferrando et al. 2023, §3, equation 11). Δ_l[s] is the part of the logit that attention wrote
// from source s in layer l, with the scale of the final norm fixed at that of this text; see
// [direct]. C_l are the rows of the mixing alti, which contain the residual. As in the paper, what
// the feed-forward layers, the biases and the token's own embedding wrote belongs to no token. It
// is the residue, which often is most of the logit.
//
// Values are [T]. While a decoder generates, the parts and the rows of one more token come from the
// cache. Elsewhere it costs one pass for the parts and one with the mixing's rows for all
// positions. Both take L·T² multiplications besides.
type altiLogit struct{}

// Info describes the scorer.
func (altiLogit) Info() Info {
	return Info{
		Summary: "what attention wrote into the logit in each layer, followed down to the " +
			"input by the mixing alti",
		Formula: "s_j = Σ_l Σ_s Δ_l[s] M_{l-1}[s,j], M_l = C_l M_{l-1}, M_0 = I",
		Paper:   "Ferrando et al. 2023, §3, equation 11",
		Cost: "as alti, and a product by each output projection; before the first token " +
			"T²/2 vectors a layer for the prompt's rows",
		Unit:       "part of the logit",
		Needs:      "the parts of a logit, and the mixing alti",
		Signed:     true,
		Foils:      true,
		Evidence:   trace.Traced,
		Quantities: []trace.Quantity{trace.Logit},
	}
}

// Mixing is alti, whose rows of all tokens are needed.
func (altiLogit) Mixing() string { return "alti" }

// ScoreTerms returns the values; see [Live].
func (altiLogit) ScoreTerms(terms *trace.AttentionTerms, rows *History) (*Scores, error) {
	return parts(terms.Value, sumOverLayers(terms, rows)), nil
}

// ScoreProducts returns the values without rows that are stored; see [LiveByProducts].
func (altiLogit) ScoreProducts(terms *trace.AttentionTerms, multiply Products) (*Scores, error) {
	T := terms.S
	sum := slices.Clone(rowmath.At(terms.Attention, terms.L-1, T))
	for l := terms.L - 2; l >= 0; l-- {
		mixed, err := multiply(l, sum)
		if err != nil {
			return nil, err
		}
		sum = mixed
		floats.Add(sum, rowmath.At(terms.Attention, l, T))
	}
	return parts(terms.Value, sum), nil
}

// Score returns the parts of the logit; see [Scorer].
func (a altiLogit) Score(
	ctx context.Context, m trace.Model, q trace.Query, opts Options,
) (*Scores, error) {
	return scoreTerms(ctx, "alti-logit", a, m, q, opts)
}

// sumOverLayers returns Σ_l Δ_l M_{l-1}, [T]. It goes from the top down, so that it needs no
// product of two matrices: the sum over layer l and those above is one row, which is multiplied by
// the rows of the layer below.
func sumOverLayers(terms *trace.AttentionTerms, rows *History) []float64 {
	T := terms.S
	var sum []float64
	for l := terms.L - 1; l >= 0; l-- {
		mixed := slices.Clone(rowmath.At(terms.Attention, l, T))
		for s, v := range sum {
			for j, c := range rows.Row(l, s) {
				mixed[j] += v * float64(c)
			}
		}
		sum = mixed
	}
	return sum
}
