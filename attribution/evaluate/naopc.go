package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// exactTokens is the largest number of tokens n for which the best and the worst ranking are found
// exactly, from 2^n texts.
const exactTokens = 10

// Normalize fills in NAOPC:
//
//	NAOPC = (AOPC - min) / (max - min)
//
// (Edin et al. 2024, §4), where min and max are over all rankings of the tokens of this text for
// this model, so NAOPC can be compared between models. Up to ten tokens the extremes are exact: f
// of every set of tokens is computed once, in 2^n passes, and the best ranking is the best path
// from the whole set to the empty one. For more tokens a beam search that keeps beam sets finds
// them approximately, in beam·n²/2 passes. exact reports whether the
// extremes are exact. Normalize returns an error of the model, or one if beam is below 1.
func (f *Faithfulness) Normalize(
	ctx context.Context, text Remover, beam int,
) (exact bool, err error) {
	if beam < 1 {
		return false, pkg.Errorf("a beam of %d; it must be 1 or more", beam)
	}
	tokens := text.Removable()
	n := len(tokens)
	low, high := 0.0, 0.0
	if exact = n <= exactTokens; exact {
		low, high, err = exactExtremes(ctx, text, tokens)
	} else if low, err = beamExtreme(ctx, text, tokens, beam, 1); err == nil {
		high, err = beamExtreme(ctx, text, tokens, beam, -1)
	}
	if err != nil {
		return exact, err
	}
	// low and high are means of f along a ranking; the lowest mean has the highest AOPC.
	best, worst := f.Whole-low, f.Whole-high
	if !exact {
		best, worst = max(best, f.AOPC), min(worst, f.AOPC)
	}
	f.NAOPC = undefined
	if best > worst {
		f.NAOPC = Value((f.AOPC - worst) / (best - worst))
	}
	return exact, nil
}

// exactExtremes returns the lowest and the highest mean of f along a ranking of a few tokens.
func exactExtremes(ctx context.Context, text Remover, tokens []int) (low, high float64, err error) {
	n := len(tokens)
	// Set s has the tokens whose bits are 1 in s. All of them are predicted in one call.
	sets := make([][]int, 1<<n)
	for s := range sets {
		for i, t := range tokens {
			if s>>i&1 == 1 {
				sets[s] = append(sets[s], t)
			}
		}
	}
	f, err := text.Predict(ctx, sets)
	if err != nil {
		return 0, 0, err
	}
	lows, highs := make([]float64, len(sets)), make([]float64, len(sets))
	// sums from the whole text to set s; smaller sets have smaller numbers
	for s := 1; s < len(sets); s++ {
		lows[s], highs[s] = math.Inf(1), math.Inf(-1)
		for rest := s; rest != 0; rest &= rest - 1 {
			// Each token of s may be the one that was removed last.
			before := s &^ (1 << bits.TrailingZeros(uint(rest)))
			lows[s], highs[s] = min(lows[s], lows[before]), max(highs[s], highs[before])
		}
		lows[s], highs[s] = lows[s]+f[s], highs[s]+f[s]
	}
	all := len(sets) - 1
	return lows[all] / float64(n), highs[all] / float64(n), nil
}

// beamExtreme returns the extreme mean of f along a ranking that a beam search finds: the lowest if
// sign is 1, the highest if it is -1.
func beamExtreme(
	ctx context.Context, text Remover, tokens []int, beam int, sign float64,
) (float64, error) {
	type way struct {
		set []int // sorted
		sum float64
	}
	ways := []way{{}}
	for range tokens {
		var next []way
		var sets [][]int
		seen := map[string]int{}
		for _, w := range ways {
			for _, t := range tokens {
				at, there := slices.BinarySearch(w.set, t)
				if there {
					continue
				}
				set := slices.Insert(slices.Clone(w.set), at, t)
				key := fmt.Sprint(set)
				if i, ok := seen[key]; ok {
					next[i].sum = min(next[i].sum, w.sum)
					continue
				}
				seen[key] = len(next)
				next, sets = append(next, way{set, w.sum}), append(sets, set)
			}
		}
		f, err := text.Predict(ctx, sets)
		if err != nil {
			return 0, err
		}
		for i := range next {
			next[i].sum += sign * f[i]
		}
		slices.SortStableFunc(next, func(a, b way) int { return cmp.Compare(a.sum, b.sum) })
		ways = next[:min(len(next), beam)]
	}
	return sign * ways[0].sum / float64(len(tokens)), nil
}
