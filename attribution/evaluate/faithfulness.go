package evaluate

import (
	"context"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// bins are the parts of a text, in [0,1], over which comprehensiveness and sufficiency are averaged
// (DeYoung et al. 2020, §5).
var bins = []float64{.01, .05, .1, .2, .5}

// Faithfulness has measures of how a value f changes when tokens are removed by falling score. f is
// a probability by default.
type Faithfulness struct {
	// Whole is f(x), and None is f of the text without all removable tokens.
	Whole float64 `json:"whole"`
	None  float64 `json:"none"`
	// Deletion is f without the first 0, 1, … tokens of the ranking, and Insertion is f with only
	// these; both are [n+1] for n tokens.
	Deletion  []float64 `json:"deletion"`
	Insertion []float64 `json:"insertion"`
	// DeletionArea and InsertionArea are the means of the curves. A low deletion area and a high
	// insertion area are good.
	DeletionArea  float64 `json:"deletion_area"`
	InsertionArea float64 `json:"insertion_area"`
	// AOPC is the mean over k = 1..n of f(x) - f(x without the first k): high is good. NAOPC is
	// AOPC on a scale from 0, the worst ranking, to 1, the best, for this text and model. It is NaN
	// unless it was asked for, and if all rankings are equal.
	AOPC  float64 `json:"aopc"`
	NAOPC Value   `json:"naopc"`
	// Comprehensiveness is the mean over the bins of f(x) - f(x without them), high is good;
	// Sufficiency of f(x) - f(them alone), low is good.
	Comprehensiveness float64 `json:"comprehensiveness"`
	Sufficiency       float64 `json:"sufficiency"`
	// NormalizedComprehensiveness and NormalizedSufficiency are on a scale from no tokens to all
	// tokens, in [0,1]; high is good. They are NaN if f is as high without tokens as with all.
	NormalizedComprehensiveness Value `json:"normalized_comprehensiveness"`
	NormalizedSufficiency       Value `json:"normalized_sufficiency"`
	// SoftComprehensiveness and SoftSufficiency are normalised in the same way, but parts of every
	// token's embedding are removed instead of whole tokens. They are NaN unless draws were asked
	// for.
	SoftComprehensiveness Value `json:"soft_comprehensiveness"`
	SoftSufficiency       Value `json:"soft_sufficiency"`
}

// Remover is a text from which tokens can be removed, such as [scorer.Removal].
type Remover interface {
	// Removable returns the positions of tokens that can be removed on their own, in rising order.
	Removable() []int
	// Predict returns f of the text without each set of tokens, in the order of sets.
	Predict(ctx context.Context, sets [][]int) ([]float64, error)
	// Soft returns the mean of f over draws in which elements of token j's embedding are kept with
	// probability keep[j].
	Soft(ctx context.Context, keep []float64, draws int) (float64, error)
}

var _ Remover = (*scorer.Removal)(nil)

// Faithful measures a ranking of the tokens of a text by the size of their scores, the largest
// first:
//
//	AOPC = 1/n Σ_{k=1..n} f(x) - f(x without top k)
//	comprehensiveness = 1/|B| Σ_{b∈B} f(x) - f(x without top ⌈bn⌉)
//	sufficiency       = 1/|B| Σ_{b∈B} f(x) - f(top ⌈bn⌉ alone)
//
// AOPC is from Samek et al. 2017, §III, and the other two from DeYoung et al. 2020, §5.
//
// The normalised forms replace each difference by the following, with S(r) = 1 - max(0, f(x) -
// f(r)), where 0 is the text without tokens:
//
//	NC = max(0, f(x) - f(x without r)) / (1 - S(0))      NS = (S(r) - S(0)) / (1 - S(0))
//
// in [0,1] (Carton et al. 2020, §3). The soft forms (Zhao and Aletras 2023, §3) keep elements of
// token j's embedding with probability s_j for sufficiency and 1 - s_j for comprehensiveness, where
// s are the sizes of the scores, mapped linearly to [0,1]. draws is the number of random masks for
// each, 0 for no soft forms.
//
// scores are [T]; those of tokens that cannot be removed do not count. It costs 2n + 1 passes, and
// 2·draws for the soft forms. It returns an error of the model, or one if no token can be removed
// or a score is NaN.
func Faithful(
	ctx context.Context, text Remover, scores []float64, draws int,
) (*Faithfulness, error) {
	order, err := ranking(text, scores)
	if err != nil {
		return nil, err
	}
	n := len(order)
	var sets [][]int
	for k := range n + 1 {
		sets = append(sets, order[:k], order[k:])
	}
	values, err := text.Predict(ctx, sets)
	if err != nil {
		return nil, err
	}
	f := &Faithfulness{
		Whole: values[0], None: values[1], NAOPC: undefined,
		SoftComprehensiveness: undefined, SoftSufficiency: undefined,
	}
	for k := range n + 1 {
		f.Deletion = append(f.Deletion, values[2*k])
		f.Insertion = append(f.Insertion, values[2*k+1])
	}
	f.DeletionArea, f.InsertionArea = mean(f.Deletion), mean(f.Insertion)
	f.AOPC = f.Whole - mean(f.Deletion[1:])
	f.takeBins(n)
	if draws > 0 {
		return f, f.soften(ctx, text, scores, draws)
	}
	return f, nil
}

// ranking returns the tokens that can be removed by falling size of their scores. It returns an
// error if no token can be removed or a score is NaN.
func ranking(text Remover, scores []float64) ([]int, error) {
	tokens := text.Removable()
	n := len(tokens)
	if n == 0 {
		return nil, pkg.Errorf("no token can be taken away; the text needs two or more")
	}
	if last := tokens[n-1]; last >= len(scores) {
		return nil, pkg.Errorf("%d scores for a text whose token %d can be taken away",
			len(scores), last)
	}
	if j := slices.IndexFunc(scores, math.IsNaN); j >= 0 {
		return nil, pkg.Errorf("the score of token %d is NaN", j)
	}
	return rowmath.Falling(sizes(scores), tokens), nil
}

// takeBins sets the measures that are means over [bins], for n tokens.
func (f *Faithfulness) takeBins(n int) {
	for _, b := range bins {
		k := int(math.Ceil(b * float64(n)))
		f.Comprehensiveness += (f.Whole - f.Deletion[k]) / float64(len(bins))
		f.Sufficiency += (f.Whole - f.Insertion[k]) / float64(len(bins))
		f.NormalizedComprehensiveness += f.normalizedC(f.Deletion[k]) / Value(len(bins))
		f.NormalizedSufficiency += f.normalizedS(f.Insertion[k]) / Value(len(bins))
	}
}

// loss returns 1 - S(0), the loss without all removable tokens.
func (f *Faithfulness) loss() float64 { return max(0, f.Whole-f.None) }

// normalizedC returns NC, where without is f of the text without a part.
func (f *Faithfulness) normalizedC(without float64) Value {
	if f.loss() == 0 {
		return undefined
	}
	return Value(min(1, max(0, f.Whole-without)/f.loss()))
}

// normalizedS returns NS, where alone is f of a part alone.
func (f *Faithfulness) normalizedS(alone float64) Value {
	if f.loss() == 0 {
		return undefined
	}
	return Value(min(1, max(0, 1-max(0, f.Whole-alone)/f.loss())))
}

// soften sets the soft measures.
func (f *Faithfulness) soften(
	ctx context.Context, text Remover, scores []float64, draws int,
) error {
	keep := unitScale(sizes(scores))
	alone, err := text.Soft(ctx, keep, draws)
	if err != nil {
		return err
	}
	for j := range keep {
		keep[j] = 1 - keep[j]
	}
	without, err := text.Soft(ctx, keep, draws)
	if err != nil {
		return err
	}
	f.SoftSufficiency, f.SoftComprehensiveness = f.normalizedS(alone), f.normalizedC(without)
	return nil
}

// sizes returns the absolute values.
func sizes(scores []float64) []float64 {
	out := make([]float64, len(scores))
	for i, s := range scores {
		out[i] = math.Abs(s)
	}
	return out
}

// unitScale maps values linearly, the lowest to 0 and the highest to 1; all to ½ if they are equal.
func unitScale(values []float64) []float64 {
	low, high := slices.Min(values), slices.Max(values)
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = .5
		if high > low {
			out[i] = (v - low) / (high - low)
		}
	}
	return out
}
