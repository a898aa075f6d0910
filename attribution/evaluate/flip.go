package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// flipMeasures are the names of the flip rates, without the top token and without the top fifth.
var flipMeasures = [2]string{"flip rate of the top token", "flip rate of the top 20 %"}

// flip reports whether the model's answer changes when the first tokens of a ranking are removed:
//
//	top = margin(x without top 1) ≤ 0        fifth = margin(x without top ⌈n/5⌉) ≤ 0
//
// The value of text must be a margin: the logit of the answer minus the largest logit of any other
// token ([trace.Margin]). So the answer has changed if another token is at least as probable,
// whichever it is. Tokens are ranked as by [Faithful]: by the size of their scores, the largest
// first, of the n tokens that can be removed. The mean over cases is the flip rate; high is good.
//
// scores are [T]. It costs two passes. It returns an error of the model, or one as [Faithful] does.
func flip(ctx context.Context, text Remover, scores []float64) (top, fifth bool, err error) {
	order, err := ranking(text, scores)
	if err != nil {
		return false, false, err
	}
	values, err := text.Predict(ctx, [][]int{order[:1], order[:(len(order)+4)/5]})
	if err != nil {
		return false, false, err
	}
	return values[0] <= 0, values[1] <= 0, nil
}

// rememberedText is a text that remembers its values, because the rankings of several methods
// often begin with the same tokens.
type rememberedText struct {
	Remover
	known map[string]float64
}

// Predict returns the value of the text without each set of tokens. It asks only for new ones.
func (x rememberedText) Predict(ctx context.Context, sets [][]int) ([]float64, error) {
	values := make([]float64, len(sets))
	for i, set := range sets {
		key := fmt.Sprint(slices.Sorted(slices.Values(set)))
		if _, ok := x.known[key]; !ok {
			value, err := x.Remover.Predict(ctx, [][]int{set})
			if err != nil {
				return nil, err
			}
			x.known[key] = value[0]
		}
		values[i] = x.known[key]
	}
	return values, nil
}

// flip measures for every method whether the answer changes without its top tokens. The rates are
// undefined if the model would not have chosen the token explained: another token is its answer
// even before a token is removed.
func (o Options) flip(
	ctx context.Context, m trace.Model, q trace.Query, r *Result, names []string,
) error {
	opts := o.Scoring
	opts.Quantity = trace.Margin
	removal, err := scorer.NewRemoval(ctx, m, q, opts)
	if err != nil {
		return err
	}
	text := rememberedText{textOnly{removal, r.Words}, map[string]float64{}}
	for _, name := range names {
		rates := [2]Value{undefined, undefined}
		if r.Chosen {
			top, fifth, err := flip(ctx, text, r.Scores[name])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			rates = [2]Value{indicator(top), indicator(fifth)}
		}
		for k, rate := range rates {
			r.Measures[name][flipMeasures[k]] = rate
		}
	}
	return nil
}

// indicator returns 1 for true and 0 for false.
func indicator(is bool) Value {
	if is {
		return 1
	}
	return 0
}
