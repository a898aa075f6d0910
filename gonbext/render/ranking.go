package render

import (
	"fmt"
	"math"
	"sort"
)

// ranked returns the k prompt tokens with the largest sizes in row t at the highlighted level, the
// largest first and the earlier first among equals; sinks, hidden tokens and what is no number are
// left out.
func (v *view) ranked(t, k int, hidden []bool) []int {
	var all []int
	for j := range hidden {
		if !hidden[j] && !v.sinks[j] && !math.IsNaN(v.at(t, j)) {
			all = append(all, j)
		}
	}
	sort.SliceStable(all, func(a, b int) bool {
		return math.Abs(v.at(t, all[a])) > math.Abs(v.at(t, all[b]))
	})
	return all[:min(k, len(all))]
}

// heldTop is of how many tokens a picture says how much they hold.
const heldTop = 3

// held says how much of a row its k strongest tokens hold, by default heldTop: "top 3 hold 71.0 %".
// It is empty if those are all, and where the explanation does not say what rests on generated
// tokens.
func (v *view) held(p *picture, t, k int) string {
	if k <= 0 {
		k = heldTop
	}
	w := v.mass(t)
	k = min(k, len(p.hidden)) // any number means all
	ranked := v.ranked(t, k+1, p.hidden)
	if len(ranked) <= k || math.IsNaN(w.generated) {
		return ""
	}
	all, held := math.Abs(w.generated), 0.0
	for j := range v.sinks {
		all += math.Abs(v.at(t, j))
	}
	for _, j := range ranked[:k] {
		held += math.Abs(v.at(t, j))
	}
	if !(all > 0) || math.IsInf(all, 0) {
		return ""
	}
	return fmt.Sprintf("top %d hold %s", k, share(min(held/all, 1)))
}

// place names prompt token j, with its position if another has the same name.
func (p *picture) place(j int) string {
	name := p.short(j)
	for i := range p.e.Prompt.Texts {
		if i != j && p.short(i) == name {
			return fmt.Sprintf("%s at %d", name, j)
		}
	}
	return name
}
