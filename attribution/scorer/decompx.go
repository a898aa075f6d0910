package scorer

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() { register("decompx", decompXInfo, decompX) }

// decompX follows the part of every token through all layers, as a vector of its own, up to the
// logit:
//
//	x_l[t] = Σ_j x_l[t←j],  s_j = U_w · x_L[t←j]
//
// (Modarressi et al. 2023, §3): attention moves parts by its weights, norms use the scale of the
// whole vector, an activation f becomes the slope f(v)/v, and biases are divided in proportion to
// the size of the parts. The model computes this; the residue is the part that it gives to no
// token.
//
// Values are [T]. The first token costs about T/2 times the products of one pass over the text.
// Each further one costs about one pass where the model keeps what it computed of a text; see
// [trace.TextKeeper]. In a model of two stacks each token costs T passes.
func decompX(ctx context.Context, x *question) (*Scores, error) {
	model, err := requireModel[trace.VectorDecomposer](x,
		"carries every token's part through all layers")
	if err != nil {
		return nil, err
	}
	values, rest, err := model.Decompose(ctx, x.q)
	if err != nil {
		return nil, x.callError(ctx, err)
	}
	if len(values) != len(x.q.IDs) {
		return nil, x.modelError("%d parts for %d tokens", len(values), len(x.q.IDs))
	}
	for j, v := range values {
		if err := x.checkFinite(fmt.Sprintf("as the part of token %d (id %d)", j, x.q.IDs[j]),
			v); err != nil {
			return nil, err
		}
	}
	if err := x.checkFinite("rest", rest); err != nil {
		return nil, err
	}
	return &Scores{Values: values, Value: rowmath.Total(values) + rest, Residue: &rest}, nil
}

var decompXInfo = Info{
	Summary: "each token's own vector carried through all layers, norms and feed-forward " +
		"parts up to the logit",
	Formula: "s_j = U_w · x_L[t←j], Σ_j x_l[t←j] = x_l[t]",
	Paper:   "Modarressi et al. 2023, §3",
	Cost: "about T/2 passes for the first token, then about one over the text a token; of " +
		"two stacks T passes a token",
	Unit:       "part of the logit",
	Needs:      "the parts of the residual stream",
	Signed:     true,
	GoesOn:     true,
	Evidence:   trace.Traced,
	Quantities: []trace.Quantity{trace.Logit},
}
