package attribution

import "math"

// Links returns, for a model of two stacks, the token of the source that a method links each
// generated token with, [n]: the one with the largest size in its row at the level shown,
//
//	argmax_{j<b} |M[t,j]|
//
// over tokens that are no control tokens, the earliest of equals; -1 if all are 0, and for control
// tokens of the target. Such links are an alignment as Och and Ney 2003 measure it
// (https://aclanthology.org/J03-1002); several tokens of a word are not joined. Links returns nil
// for other models.
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
		largest := 0.0
		for j, x := range r.Row(t, r.Level(t))[:b] {
			if j < len(e.Prompt.Special) && e.Prompt.Special[j] {
				continue
			}
			if size := math.Abs(x); size > largest {
				links[t], largest = j, size
			}
		}
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
