package scorer

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/budget"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() { Register("alti-logit", altiLogit{}) }

// altiLogit splits what attention wrote into the logit in each layer among that layer's sources,
// and follows these down to the input:
//
//	s_j = Σ_l Σ_s Δ_l[s] M_{l-1}[s,j],  M_0 = I,  M_l = C_l M_{l-1}
//
// (Ferrando et al. 2023, §3, equation 11). Δ_l[s] is the part of the logit that attention wrote
// from source s in layer l, with the scale of the final norm fixed at that of this text. C_l are
// the rows of the mixing alti, which contain the residual. With a contrast, Δ are parts of the
// difference of two logits. As in the paper, what the feed-forward layers, the biases and the
// token's own embedding wrote belongs to no token. It is the residue, which often is most of the
// logit.
//
// Values are [T]. It costs one pass for the parts, one pass with the mixing's rows for all
// positions, and L·T² multiplications.
type altiLogit struct{}

// Info describes the scorer.
func (altiLogit) Info() Info {
	return Info{
		Summary: "what attention wrote into the logit in each layer, followed down to the " +
			"input by the mixing alti",
		Formula: "s_j = Σ_l Σ_s Δ_l[s] M_{l-1}[s,j], M_l = C_l M_{l-1}, M_0 = I",
		Paper:   "Ferrando et al. 2023, §3, equation 11",
		Cost: "two passes through the model a token, without its cache, one of them with " +
			"the rows of alti",
		Unit:       "part of the logit",
		Needs:      "the parts of a logit, and the mixing alti",
		Signed:     true,
		Quantities: []trace.Quantity{trace.Logit},
	}
}

// Score returns the parts of the logit; see [Scorer].
func (a altiLogit) Score(
	ctx context.Context, m trace.Model, q trace.Query, opts Options,
) (*Scores, error) {
	x, err := newQuestion(ctx, "alti-logit", a.Info(), m, q, opts)
	if err != nil {
		return nil, err
	}
	if x.q.Embeddings != nil {
		return nil, trace.Usagef("alti-logit asks for rows of the text's own embeddings; leave " +
			"the query's out")
	}
	d, err := requireModel[trace.LogitDecomposer](x, "takes a logit apart")
	if err != nil {
		return nil, err
	}
	rows, err := x.rows(ctx, "alti")
	if err != nil {
		return nil, err
	}
	terms, err := d.LogitTerms(ctx, x.q)
	if err != nil {
		return nil, x.callError(ctx, err)
	}
	if err := x.checkTerms(terms); err != nil {
		return nil, err
	}
	return parts(terms.Value, sumOverLayers(terms, rows)), nil
}

// sumOverLayers returns Σ_l Δ_l M_{l-1}, [T]. It goes from the top down, so that it needs no
// product of two matrices: the sum over layer l and those above is one row, which is multiplied by
// the rows of the layer below.
func sumOverLayers(terms *trace.LogitTerms, rows aggregation.Rows) []float64 {
	T := terms.S
	var sum []float64
	for l := terms.L - 1; l >= 0; l-- {
		mixed := slices.Clone(rowmath.At(terms.Attention, l, T))
		for s, v := range sum {
			floats.AddScaled(mixed, v, rows.Row(l, s))
		}
		sum = mixed
	}
	return sum
}

// checkTerms returns an error if the sizes of the parts do not fit the text, or one is NaN or
// infinite.
func (x *question) checkTerms(t *trace.LogitTerms) error {
	T, L := len(x.q.IDs), x.info.Layers
	if t == nil {
		return x.modelError("no parts")
	}
	if t.L != L || t.S != T || len(t.Attention) != L*T {
		return x.modelError("parts of %d layers and %d sources, %d in all; want %d layers and "+
			"%d sources", t.L, t.S, len(t.Attention), L, T)
	}
	for i, v := range t.Attention {
		if err := x.checkFinite(fmt.Sprintf("a part from token %d (id %d) in layer %d of", i%T,
			x.q.IDs[i%T], i/T), v); err != nil {
			return err
		}
	}
	return x.checkFinite("logit", t.Value)
}

// rows returns the rows of a mixing that contains the residual, for all T targets of the question,
// [L,T,T], each divided by its sum.
func (x *question) rows(ctx context.Context, mixing string) (aggregation.Rows, error) {
	T, L := len(x.q.IDs), x.info.Layers
	what := fmt.Sprintf("%s of %d tokens in %d layers", x.scorer, T, L)
	if err := budget.Check(x.m, 12*float64(L)*float64(T)*float64(T), what,
		"take a shorter text"); err != nil {
		return aggregation.Rows{}, err
	}
	ask := trace.Ask{Mixings: []trace.MixingAsk{{Name: mixing, AllRows: true}}}
	if x.info.Bidirectional {
		ask.Positions = []int{x.q.Position}
	} else {
		ask.MaxTokens = 1
	}
	reader := aggregation.Reader{
		Last:          L - 1,
		Bidirectional: x.info.Bidirectional,
		Asks:          ask.Mixings,
	}
	for step, err := range x.m.Steps(ctx, x.q.IDs, ask) {
		if err != nil {
			return aggregation.Rows{}, x.callError(ctx, err)
		}
		rows, err := reader.Read(step, 0)
		if err != nil {
			return aggregation.Rows{}, x.callError(ctx, err)
		}
		if rows[0].N != T {
			return aggregation.Rows{}, x.modelError("the rows of %d tokens of %d", rows[0].N, T)
		}
		for l := range L {
			for t := range T {
				rowmath.DivideBySum(rows[0].Row(l, t))
			}
		}
		return rows[0], nil
	}
	return aggregation.Rows{}, x.modelError("no rows of %s", mixing)
}
