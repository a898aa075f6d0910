package evaluate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// ldsMeasure and dropMeasure are the names of the measures of ablations.
const ldsMeasure = "linear datamodeling score"

var dropMeasure = fmt.Sprintf("drop of the top %d", topTokens)

// ablations are random sets of tokens of one text, and what the model says without them. They
// measure how well scores predict what removing several tokens does (Cohen-Wang et al. 2024,
// ContextCite, §3).
type ablations struct {
	text    Remover
	removed [][]int
	// logits are ln(p/(1-p)) of the text without each set.
	logits []float64
	// whole is ln p of the whole text.
	whole float64
}

// newAblations removes n random sets of the given tokens, each token with probability ½, from a
// text whose value is a probability. Equal seeds give equal sets. It returns an error of the model.
func newAblations(
	ctx context.Context, text Remover, tokens []int, n int, seed uint64,
) (*ablations, error) {
	a := &ablations{text: text}
	rng := rand.New(rand.NewPCG(seed, uint64(len(tokens))))
	for range n {
		var set []int
		for _, j := range tokens {
			if rng.IntN(2) == 0 {
				set = append(set, j)
			}
		}
		a.removed = append(a.removed, set)
	}
	values, err := text.Predict(ctx, append(slices.Clone(a.removed), nil))
	if err != nil {
		return nil, err
	}
	for _, p := range values[:n] {
		a.logits = append(a.logits, math.Log(p)-math.Log1p(-p))
	}
	a.whole = math.Log(values[n])
	return a, nil
}

// LDS returns the linear datamodeling score: the rank correlation, over the sets, of ln(p/(1-p))
// with the sum of the scores of the tokens that are left. ok is false if one of them is constant.
func (a *ablations) LDS(scores []float64) (lds float64, ok bool) {
	var predicted []float64
	for _, set := range a.removed {
		sum := 0.0
		for _, j := range set {
			sum -= scores[j]
		}
		predicted = append(predicted, sum)
	}
	return Spearman(predicted, a.logits)
}

// Drop returns ln p of the whole text minus that without the k tokens of the highest scores, in
// nats. It returns an error of the model.
func (a *ablations) Drop(
	ctx context.Context, scores []float64, tokens []int, k int,
) (float64, error) {
	top := rowmath.Falling(scores, tokens)
	top = top[:min(k, len(top))]
	values, err := a.text.Predict(ctx, [][]int{top})
	if err != nil {
		return 0, err
	}
	return a.whole - math.Log(values[0]), nil
}
