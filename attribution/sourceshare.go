package attribution

import (
	"math"
	"slices"
)

// Link returns the token, or the word, of the source that a token or word of the target is linked
// with: the one that speaks most for it,
//
//	argmax_j scores[j]
//
// the earliest of equals, and -1 if none is above 0. What speaks against a word does not link it.
// Such links are an alignment as Och and Ney 2003 measure it (https://aclanthology.org/J03-1002).
func Link(scores []float64) int {
	at, largest := -1, 0.0
	for j, x := range scores {
		if x > largest {
			at, largest = j, x
		}
	}
	return at
}

// Links returns, for a model of two stacks, the [Link] of each generated token with a token of the
// source, [n], by its row of a method at the level shown. Control tokens have none; several tokens
// of a word are not joined. Links returns nil for other models.
func (e *Explanation) Links(method string) []int {
	r, b := e.Methods[method], e.TargetBegin()
	if r == nil || b < 0 || r.Check(len(e.Prompt.Texts)) != nil {
		return nil
	}
	links := make([]int, r.Shape[0])
	for t := range links {
		links[t] = -1
		if t < len(e.Steps) && e.Steps[t].Special {
			continue
		}
		row := slices.Clone(r.Row(t, r.Level(t))[:b])
		for j := range min(b, len(e.Prompt.Special)) {
			if e.Prompt.Special[j] {
				row[j] = 0
			}
		}
		links[t] = Link(row)
	}
	return links
}

// SourceContribution returns how much of the row of each generated token of a method comes from the
// source, [n], in [0,1], at the level shown, as ALTI+ defines it (Ferrando et al. 2022,
// https://arxiv.org/abs/2205.11631, section 3.3):
//
//	c_t = Σ_{j<b} M[t,j] / (Σ_j M[t,j] + o_t)
//
// The source is the columns before b, [Explanation.TargetBegin], and o_t is what the row has from
// generated tokens, [Result.OtherMass]. The token with which the target begins counts as target,
// and control tokens of the source as source. It is NaN where a value is below 0 or the row is
// empty. SourceContribution returns nil if the model does not have two stacks, or if the values of
// the method are no shares of a row.
func (e *Explanation) SourceContribution(method string) []float64 {
	r, b := e.Methods[method], e.TargetBegin()
	if r == nil || b < 0 || r.Quantity != Share || !r.AddsUp ||
		r.Check(len(e.Prompt.Texts)) != nil || len(r.OtherMass) != r.Shape[0]*r.Shape[2] {
		return nil
	}
	contribution := make([]float64, r.Shape[0])
	for t := range contribution {
		k := r.Level(t)
		source, whole := 0.0, r.OtherMass[t*r.Shape[2]+k]
		least := whole
		for j, x := range r.Row(t, k)[:r.Shape[1]] {
			if whole, least = whole+x, min(least, x); j < b {
				source += x
			}
		}
		contribution[t] = math.NaN()
		if least >= 0 && whole > 0 && !math.IsInf(whole, 0) {
			contribution[t] = source / whole
		}
	}
	return contribution
}
