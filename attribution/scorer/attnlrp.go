package scorer

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { register("attn-lrp", attnLRPInfo, attnLRP) }

// attnLRP distributes the logit among the tokens, layer by layer from the top, by rules that keep
// its sum:
//
//	s_j = Σ_D e_j ∂̃f/∂e_j
//
// where ∂̃ is the gradient with three changes: norms and activations count as constant factors,
// softmax is expanded at its own scores, and each factor of a product of two activations gets half
// (Achtibat et al. 2024, §3; as gradient × input in Arras et al. 2025). The ε of the paper's rules
// is 0. What biases, positions and softmax absorb belongs to no token: the residue is f - Σ_j s_j.
//
// Values are [T]. It costs one pass forward and one back.
func attnLRP(ctx context.Context, x *question) (*Scores, error) {
	value, values, err := x.timesInput(ctx, trace.RelevanceGradient)
	if err != nil {
		return nil, err
	}
	return parts(value, values), nil
}

var attnLRPInfo = Info{
	Summary: "the logit shared out among the tokens, from the top down, by rules that " +
		"lose only what biases add",
	Formula:    "s_j = Σ_D e_j ∂̃f/∂e_j, ∂̃ with the rules of layer-wise relevance propagation",
	Paper:      "Achtibat et al. 2024, §3",
	Cost:       "one pass forward and one back a token, as gradient",
	Unit:       "part of the logit",
	Needs:      "gradients with the rules of relevance",
	Signed:     true,
	Evidence:   trace.Traced,
	LastAsks:   true,
	Quantities: []trace.Quantity{trace.Logit},
	Edits:      true,
}
