package scorer

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/budget"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() {
	register("chefer", cheferInfo, chefer)
	register("gradient-rollout", gradientRolloutInfo, gradientRollout)
}

// chefer follows attention through the layers, but only where more attention would raise the number
// f:
//
//	R_0 = I,  R_l = R_{l-1} + Ā_l R_{l-1},  Ā_l = mean_h max(0, ∂f/∂A_l^h ⊙ A_l^h),  s = R_L[t,:]
//
// (Chefer et al. 2021, Generic Attention-model Explainability, equations 5 and 6, for
// self-attention only). t is the position that predicts. The identity stands for the residual
// connection, so the value of token t itself is 1 or more and a ranking puts it first. f is the
// logit.
//
// Values are [T], not negative. It costs one pass forward and one back, which return attention and
// its gradient, 2·L·H·T² numbers, and L·H·T² multiplications.
func chefer(ctx context.Context, x *question) (*Scores, error) {
	// R_L[t,:] = e_t (I + Ā_L) … (I + Ā_1)
	return x.relevance(ctx, true, func(g trace.Gradient, l, t int) []float64 {
		return x.weighted(g, l, t, func(a float64) float64 { return max(0, a) })
	})
}

var cheferInfo = Info{
	Summary: "attention followed through all layers where more of it would raise the " +
		"prediction",
	Formula: "R_l = R_{l-1} + Ā_l R_{l-1}, Ā = mean_h max(0, ∇A ⊙ A), R_0 = I",
	Paper:   "Chefer et al. 2021 (generic), equations 5 and 6",
	Cost: "one pass forward and one back a token, with L·H·T² numbers of attention and " +
		"as many of its gradient",
	Unit:       "relevance (1 = the token's own)",
	Needs:      "gradients of attention",
	Evidence:   trace.Traced,
	LastAsks:   true,
	Quantities: trace.Quantities(),
	Edits:      true,
}

// gradientRollout is rollout over attention that is weighted by its gradient:
//
//	R_0 = I,  R_l = Â_l R_{l-1},  s = R_L[t,:],
//	Â_l = rownorm(½ max(0, mean_h(A_l^h ⊙ ∂f/∂A_l^h)) + ½ I)
//
// (Gildenblat's vit-explain, VITAttentionGradRollout). Two departures: its code divides columns by
// the sums of rows, here rows are divided by their sums; and it discards the lowest 90 % of the
// entries by default, here none. Attention times gradient is far below 1, so most of each row is on
// the diagonal: most of a token's value stays its own. f is the logit; t is the position that
// predicts.
//
// Values are [T] and sum to 1. It costs what chefer does.
func gradientRollout(ctx context.Context, x *question) (*Scores, error) {
	return x.relevance(ctx, false, func(g trace.Gradient, l, t int) []float64 {
		row := x.weighted(g, l, t, func(a float64) float64 { return a })
		for s := range row {
			row[s] = max(0, row[s])
		}
		rowmath.Normalize(row, t, 0.5)
		return row
	})
}

var gradientRolloutInfo = Info{
	Summary: "rollout over attention times its gradient, where that is positive",
	Formula: "R_l = Â_l R_{l-1}, Â = rownorm(½ max(0, mean_h(A ⊙ ∇A)) + ½ I), R_0 = I",
	Paper:   "Gildenblat, vit-explain (VITAttentionGradRollout)",
	Cost: "one pass forward and one back a token, with L·H·T² numbers of attention and " +
		"as many of its gradient",
	Unit:       "share of attention × gradient",
	Shares:     true,
	Needs:      "gradients of attention",
	Evidence:   trace.Traced,
	LastAsks:   true,
	Quantities: trace.Quantities(),
	Edits:      true,
}

// relevance multiplies the unit row e_t of the predicting position t, or the mean of those of all
// positions if the head reads the mean, by one matrix for each layer,
// from the last layer down: e_t M_L … M_1, or e_t (I + M_L) … (I + M_1) with plusIdentity. row
// returns row t of M_l, [T]. One row is enough, so no layer needs a product of two matrices.
func (x *question) relevance(
	ctx context.Context, plusIdentity bool, row func(g trace.Gradient, l, t int) []float64,
) (*Scores, error) {
	g, err := x.attention(ctx)
	if err != nil {
		return nil, err
	}
	r := make([]float64, len(x.q.IDs))
	r[x.target()] = 1
	if x.info.MeanPooled {
		for t := range r {
			r[t] = 1 / float64(len(r))
		}
	}
	for l := x.info.Layers - 1; l >= 0; l-- {
		next := make([]float64, len(r))
		for t, v := range r {
			floats.AddScaled(next, v, row(g, l, t))
		}
		if plusIdentity {
			floats.Add(next, r)
		}
		r = next
	}
	return &Scores{Values: r, Value: g.Value}, nil
}

// weighted returns the mean over heads of clamp(attention × gradient) for target t in layer l, [T].
func (x *question) weighted(g trace.Gradient, l, t int, clamp func(float64) float64) []float64 {
	T, H := len(x.q.IDs), x.info.Heads
	out := make([]float64, T)
	for h := range H {
		at := ((l*H+h)*T + t) * T
		for s := range out {
			out[s] += clamp(float64(g.Attention[at+s]) * float64(g.AttentionData[at+s]))
		}
	}
	for s := range out {
		out[s] /= float64(H)
	}
	return out
}

// attention returns the gradient with attention and its gradient, [L,H,T,T] each. All their numbers
// are finite.
func (x *question) attention(ctx context.Context) (trace.Gradient, error) {
	T, L, H := len(x.q.IDs), x.info.Layers, x.info.Heads
	what := fmt.Sprintf("%s, attention of %d tokens in %d layers and %d heads and its gradient,",
		x.scorer, T, L, H)
	if err := budget.Check(x.m, 8*float64(L)*float64(H)*float64(T)*float64(T), what,
		"take a shorter text"); err != nil {
		return trace.Gradient{}, err
	}
	g, err := x.gradient(ctx, trace.WithAttention)
	if err != nil {
		return g, err
	}
	for _, data := range [][]float32{g.Attention, g.AttentionData} {
		if len(data) != L*H*T*T {
			return g, x.modelError(
				"%d numbers of attention; want %d for %d layers, %d heads and %d tokens",
				len(data), L*H*T*T, L, H, T,
			)
		}
		if i := slices.IndexFunc(data, rowmath.NotFinite); i >= 0 {
			return g, x.modelError("attention %v from token %d to token %d (id %d) in layer %d",
				data[i], i/T%T, i%T, x.q.IDs[i%T], i/(H*T*T))
		}
	}
	return g, nil
}
