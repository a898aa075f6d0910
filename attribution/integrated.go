package attribution

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { RegisterScorer("integrated-gradients", integratedGradients{}) }

// integratedGradients is the gradient averaged on the straight way from a text that says nothing, e', to this one, e:
//
//	s_j = Σ_D (e_j - e'_j) ∫_0^1 ∂f/∂e_j (e' + α(e - e')) dα
//
// (Sundararajan et al. 2017, §3). All tokens leave e' at once. e' is all zeros, or the embedding of one token at every place
// ([Scoring.Replacement]); a baseline of zeros is no text that the model ever saw. The integral is Gauss and Legendre's sum over
// [Scoring.Steps] points, where the paper has equal steps: for smooth f it needs far fewer. f is the probability.
//
// Values are [T] and should add up to f(e) - f(e'); the residue is what is missing, by which one sees whether the steps were enough.
// It costs Steps + 2 passes forward and back, a batch at a time.
type integratedGradients struct{}

// Info describes the scorer.
func (integratedGradients) Info() ScorerInfo {
	return ScorerInfo{
		Summary:    "what each token adds on the way from an empty text to this one",
		Formula:    "s_j = Σ_D (e_j - e'_j) ∫₀¹ ∂f/∂e_j(e' + α(e - e')) dα",
		Paper:      "Sundararajan et al. 2017, §3",
		Cost:       "steps + 2 passes forward and back a token, 34 by default",
		Needs:      "gradients",
		Signed:     true,
		Quantities: []trace.Quantity{trace.Probability, trace.LogProbability, trace.Logit},
		Replaces:   true,
		Integrates: true,
	}
}

// Score returns the integrals; see [Scorer].
func (g integratedGradients) Score(ctx context.Context, m Model, q trace.Query, opts Scoring) (*Scores, error) {
	x, err := newQuestion(ctx, "integrated-gradients", g.Info(), m, q, opts)
	if err != nil {
		return nil, err
	}
	e, err := x.inputs(ctx)
	if err != nil {
		return nil, err
	}
	base, err := x.baseline(ctx, len(e)/len(x.q.IDs))
	if err != nil {
		return nil, err
	}
	return x.integrate(ctx, e, base)
}

// baseline returns e', [T,D].
func (x *question) baseline(ctx context.Context, width int) ([]float32, error) {
	kind := x.opts.Replacement
	if kind == "" {
		kind = zeroKind
	}
	r, err := x.replacement(kind)
	if err != nil {
		return nil, err
	}
	switch {
	case r.delete:
		return nil, usagef("%s goes from a text of as many tokens, so none can be deleted; take %s or a token", x.scorer, zeroKind)
	case r.zero:
		return make([]float32, len(x.q.IDs)*width), nil
	}
	row, err := x.embed(ctx, []int{r.id})
	if err != nil {
		return nil, err
	}
	if len(row) != width {
		return nil, x.blame("an embedding of width %d, and of width %d for another token", len(row), width)
	}
	return slices.Repeat(row, len(x.q.IDs)), nil
}

// integrate returns the integrals from base to e, [T,D] each.
func (x *question) integrate(ctx context.Context, e, base []float32) (*Scores, error) {
	n := x.opts.Steps
	at, weight := make([]float64, n), make([]float64, n)
	quad.Legendre{}.FixedLocations(at, weight, 0, 1)
	at, weight = append(at, 0, 1), append(weight, 0, 0) // the ends, for their values
	way := make([]float32, len(e))
	for i := range e {
		way[i] = e[i] - base[i]
	}
	point := func(k int) trace.Query {
		q := x.q
		q.Embeddings = make([]float32, len(e))
		for i := range e {
			q.Embeddings[i] = float32(float64(base[i]) + at[k]*(float64(e[i])-float64(base[i])))
		}
		return q
	}
	values, ends := make([]float64, len(x.q.IDs)), make([]float64, 0, 2)
	err := x.gradients(ctx, len(at), point, trace.TrueGradient, func(k int, g trace.Gradient) error {
		if k >= n {
			ends = append(ends, g.Value)
			return nil
		}
		dots, err := x.dots(way, g.Data)
		for j, d := range dots {
			values[j] += weight[k] * d
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s := parts(ends[1]-ends[0], values)
	s.Value = ends[1]
	return s, nil
}
