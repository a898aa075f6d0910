package evaluate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// patchMeasures are the names of the measures of a [patch].
var patchMeasures = [2]string{
	fmt.Sprintf("drop by patching the top %d", topTokens),
	fmt.Sprintf("restored by the top %d", topTokens),
}

// patch is a pair whose texts have equally many tokens. A token is patched by the token that the
// other text has in its place. d is the logit of the answer minus that of the foil.
type patch struct {
	p              prover
	foil           int
	whole, changed []int // the ids of the prompt x and of the counterfactual x'
	known          map[string]float64
}

// newPatch returns nil if the texts have different numbers of tokens.
func newPatch(p prover, foil int, changed []int) *patch {
	if len(changed) != len(p.prompt.IDs) {
		return nil
	}
	return &patch{p, foil, p.prompt.IDs, changed, map[string]float64{}}
}

// values returns d of the first text with each set of tokens from the second.
func (x *patch) values(ctx context.Context, text, other []int, sets ...[]int) ([]float64, error) {
	values := make([]float64, len(sets))
	for i, set := range sets {
		ids := slices.Clone(text)
		for _, j := range set {
			ids[j] = other[j]
		}
		key := fmt.Sprint(ids)
		if _, ok := x.known[key]; !ok {
			got, err := x.p.predict(ctx, []trace.Query{x.p.against(ids, x.foil)})
			if err != nil {
				return nil, err
			}
			x.known[key] = got[0]
		}
		values[i] = x.known[key]
	}
	return values, nil
}

// suffice reports for each piece of evidence whether the answer stays ahead of the foil in the
// counterfactual with this piece alone from the prompt.
func (x *patch) suffice(ctx context.Context) ([]bool, error) {
	var all []bool
	for _, e := range x.p.c.Evidence {
		var piece []int
		for j, o := range x.p.prompt.Offsets {
			if overlaps(o, e) {
				piece = append(piece, j)
			}
		}
		d, err := x.values(ctx, x.changed, x.whole, piece)
		if err != nil {
			return nil, err
		}
		all = append(all, d[0] > 0)
	}
	return all, nil
}

// measure judges a ranking of tokens, the highest first, by what its first k tokens K do:
//
//	drop = (d(x) - d(x, K from x')) / (d(x) - d(x'))
//	restored = (d(x', K from x) - d(x')) / (d(x) - d(x'))
//
// A token that both texts have changes nothing. Where one of two pieces suffices, a method that
// names one of them restores all and drops nothing. It costs two passes unless the same tokens were
// patched before.
func (x *patch) measure(ctx context.Context, ranking []int) (drop, restored float64, err error) {
	top := ranking[:min(topTokens, len(ranking))]
	without, err := x.values(ctx, x.whole, x.changed, nil, top)
	if err != nil {
		return 0, 0, err
	}
	with, err := x.values(ctx, x.changed, x.whole, nil, top)
	if err != nil {
		return 0, 0, err
	}
	all := without[0] - with[0]
	return (without[0] - without[1]) / all, (with[1] - with[0]) / all, nil
}

// addPatched adds the measures of every method; see [patch.measure].
func (r *Result) addPatched(ctx context.Context) error {
	if r.patch == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Scores)) {
		drop, restored, err := r.patch.measure(ctx, rowmath.Falling(r.Scores[name], r.ranked[name]))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.Measures[name][patchMeasures[0]] = Value(drop)
		r.Measures[name][patchMeasures[1]] = Value(restored)
	}
	return nil
}
