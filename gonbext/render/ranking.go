package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// ranked returns the k sources with the largest sizes in row t at the highlighted level. The
// largest comes first; among equal sizes, the earlier token. The sources are those that hidden
// has, [m] or more; sinks, hidden tokens and NaN are left out.
func (v *view) ranked(t, k int, hidden []bool) []int {
	var all []int
	for j := range hidden {
		if !hidden[j] && !v.sink(t, j) && !math.IsNaN(v.at(t, j)) {
			all = append(all, j)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Compare(math.Abs(v.at(t, b)), math.Abs(v.at(t, a)))
	})
	return all[:min(k, len(all))]
}

// sink reports whether a source is a sink in row t.
func (v *view) sink(t, source int) bool {
	return source < len(v.sinks) && v.sinks[source] || v.rowSinks[t] == source
}

// largest returns the largest size in row t at the highlighted level, without sinks, hidden tokens
// and NaN; 0 if there is none.
func (v *view) largest(t int, hidden []bool) float64 {
	x := 0.0
	for j := range hidden {
		if a := math.Abs(v.at(t, j)); !hidden[j] && !v.sink(t, j) && a > x {
			x = a
		}
	}
	return x
}

// defaultTop is the number of tokens whose share of a row a picture shows.
const defaultTop = 3

// topShare returns how much of a row the k largest values of prompt tokens have, by default
// defaultTop: "top 3 hold 71.0 %". With k given, generated tokens count like others. It is empty if
// there are no other values, and if the explanation does not have the part of generated tokens.
func (v *view) topShare(p *picture, t, k int) string {
	hidden := p.hidden[:len(v.sinks)]
	if k > 0 {
		hidden = p.greySources(v, t)
	} else {
		k = defaultTop
	}
	w := v.rowParts(t)
	k = min(k, len(hidden)) // so that k+1 cannot overflow
	ranked := v.ranked(t, k+1, hidden)
	if len(ranked) <= k || math.IsNaN(w.generated) {
		return ""
	}
	// The whole row, with sinks and generated tokens, is 100 %.
	all, topShare := 0.0, 0.0
	if len(hidden) == len(v.sinks) {
		all = math.Abs(w.generated)
	}
	for j := range hidden {
		all += math.Abs(v.at(t, j))
	}
	for _, j := range ranked[:k] {
		topShare += math.Abs(v.at(t, j))
	}
	if !(all > 0) || math.IsInf(all, 0) {
		return ""
	}
	return fmt.Sprintf("top %d hold %s", k, share(min(topShare/all, 1)))
}

// place returns the name of source j, with its position if another token has the same name: "John
// at 3"; of a generated token with its number from 1: "John (generated 2)".
func (p *picture) place(j int) string {
	if m := len(p.e.Prompt.Texts); j >= m {
		return fmt.Sprintf("%s (%s)", p.generatedName(j-m), p.placeOf(j))
	}
	if p.repeated(j) {
		return fmt.Sprintf("%s at %d", p.short(j), j)
	}
	return p.short(j)
}
