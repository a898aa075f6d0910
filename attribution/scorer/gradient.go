package scorer

import (
	"context"
	"math"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() {
	register("gradient", gradientInfo, gradient)
	register("gradient-x-input", inputGradientInfo, inputGradient)
}

// gradient is how fast the number f changes with each token's embedding e_j, [D]:
//
//	s_j = ‖∂f/∂e_j‖₂
//
// (Simonyan et al. 2014, §3; for words Li et al. 2016a, §5). They use the absolute values of single
// components; later tools for text use the Euclidean norm over them (AllenNLP, Inseq). Abnar and
// Zuidema 2020 use |Σ_D ∂f/∂e_j|, in which components cancel. f is the logit: unlike a probability,
// it still changes where the model is certain.
//
// Values are [T], not negative. It costs one pass forward and one back.
func gradient(ctx context.Context, x *question) (*Scores, error) {
	grad, err := x.gradient(ctx, trace.TrueGradient)
	if err != nil {
		return nil, err
	}
	values, err := x.dotProducts(grad.Data, grad.Data)
	if err != nil {
		return nil, err
	}
	for j, square := range values {
		values[j] = math.Sqrt(square)
	}
	return &Scores{Values: values, Value: grad.Value}, nil
}

var gradientInfo = Info{
	Summary: "how steeply the prediction changes with each token's embedding, whichever way",
	Formula: "s_j = ‖∂f/∂e_j‖₂",
	Paper:   "Simonyan et al. 2014, §3; Li et al. 2016a, §5",
	Cost: "one pass forward and one back a token, two or three times generating it " +
		"without a cache",
	Unit:       "norm of the gradient",
	Needs:      "gradients",
	Evidence:   trace.Traced,
	Quantities: trace.Quantities(),
	Edits:      true,
}

// inputGradient is what a token's embedding contributes to the number f if f is treated as linear:
//
//	s_j = Σ_D e_j ∂f/∂e_j
//
// (Shrikumar et al. 2016, §2; Denil et al. 2014 for text). The sum is signed: positive is for the
// prediction, negative against it. Abnar and Zuidema 2020 use its absolute value. f is the logit,
// as for gradient, and e_j is the row of the embedding before positions are added. What positions
// and biases contribute belongs to no token, so the values need not add up to anything.
//
// Values are [T]. It costs one pass forward and one back.
func inputGradient(ctx context.Context, x *question) (*Scores, error) {
	value, values, err := x.timesInput(ctx, trace.TrueGradient)
	if err != nil {
		return nil, err
	}
	return &Scores{Values: values, Value: value}, nil
}

var inputGradientInfo = Info{
	Summary: "what each token's embedding adds to the prediction if that is taken for " +
		"linear around this text",
	Formula: "s_j = Σ_D e_j ∂f/∂e_j",
	Paper:   "Shrikumar et al. 2016, §2; Denil et al. 2014",
	Cost: "one pass forward and one back a token, two or three times generating it " +
		"without a cache",
	Needs:      "gradients",
	Signed:     true,
	Evidence:   trace.Traced,
	Quantities: trace.Quantities(),
	Edits:      true,
}

// timesInput returns the value explained and gradient × input of each token.
func (x *question) timesInput(
	ctx context.Context, rule trace.Backward,
) (float64, []float64, error) {
	grad, err := x.gradient(ctx, rule)
	if err != nil {
		return 0, nil, err
	}
	e, err := x.inputs(ctx)
	if err != nil {
		return 0, nil, err
	}
	values, err := x.dotProducts(e, grad.Data)
	return grad.Value, values, err
}
