package attribution

import (
	"context"
	"math"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() {
	RegisterScorer("gradient", gradient{})
	RegisterScorer("gradient-x-input", inputGradient{})
}

// gradient is how steeply the number changes with each token's embedding e_j, [D]:
//
//	s_j = ‖∂f/∂e_j‖₂
//
// (Simonyan et al. 2014, §3; for words Li et al. 2016, §5). They take absolute values of single
// components; the Euclidean norm over them is what tools for text do since (AllenNLP, Inseq). Abnar
// and Zuidema 2020 sum the components before the absolute value, |Σ_D ∂f/∂e_j|, in which components
// cancel. f is the logit, which does not flatten where the model is certain, as probability does.
//
// Values are [T], not negative. It costs one pass forward and one back.
type gradient struct{}

// Info describes the scorer.
func (gradient) Info() ScorerInfo {
	return ScorerInfo{
		Summary: "how steeply the prediction changes with each token's embedding, whichever way",
		Formula: "s_j = ‖∂f/∂e_j‖₂",
		Paper:   "Simonyan et al. 2014, §3; Li et al. 2016, §5",
		Cost: "one pass forward and one back a token, two or three times generating it " +
			"without a cache",
		Unit:       "norm of the gradient",
		Needs:      "gradients",
		Quantities: trace.Quantities(),
	}
}

// Score returns the norms; see [Scorer].
func (g gradient) Score(
	ctx context.Context, m Model, q trace.Query, opts Scoring,
) (*Scores, error) {
	x, err := newQuestion(ctx, "gradient", g.Info(), m, q, opts)
	if err != nil {
		return nil, err
	}
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

// inputGradient is what a token's embedding contributes if the number is taken for linear in it:
//
//	s_j = Σ_D e_j ∂f/∂e_j
//
// (Shrikumar et al. 2016, §2; Denil et al. 2014 for text). The sum is signed, so that it says for
// or against; Abnar and Zuidema 2020 take its absolute value. f is the logit, as for gradient, and
// e_j the row of the embedding before positions are added: what positions and biases contribute is
// nobody's, and there is no sum that the values must have.
//
// Values are [T]. It costs one pass forward and one back.
type inputGradient struct{}

// Info describes the scorer.
func (inputGradient) Info() ScorerInfo {
	return ScorerInfo{
		Summary: "what each token's embedding adds to the prediction if that is taken for " +
			"linear around this text",
		Formula: "s_j = Σ_D e_j ∂f/∂e_j",
		Paper:   "Shrikumar et al. 2016, §2; Denil et al. 2014",
		Cost: "one pass forward and one back a token, two or three times generating it " +
			"without a cache",
		Needs:      "gradients",
		Signed:     true,
		Quantities: trace.Quantities(),
	}
}

// Score returns the products; see [Scorer].
func (g inputGradient) Score(
	ctx context.Context, m Model, q trace.Query, opts Scoring,
) (*Scores, error) {
	x, err := newQuestion(ctx, "gradient-x-input", g.Info(), m, q, opts)
	if err != nil {
		return nil, err
	}
	value, values, err := x.timesInput(ctx, trace.TrueGradient)
	if err != nil {
		return nil, err
	}
	return &Scores{Values: values, Value: value}, nil
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
