package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/compare"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Facts name up to mostFor sources for a token and mostAgainst against it.
const (
	mostFor     = 4
	mostAgainst = 2
)

// listedSources returns the sources that the facts of row t list, the strongest first: those of the
// side that its sentence names, and those of the other one.
func (d *drawing) listedSources(v *view, t int) (named, others []int) {
	s := d.standing(v, t)
	named, others = s.above, s.below
	if _, above := d.namedSources(v, t); v.difference && !above {
		named, others = others, named
	}
	return named[:min(len(named), mostFor)], others[:min(len(others), mostAgainst)]
}

// onlySources returns, for each side of a difference, the strongest sources of row t that it alone
// has, those above the neutral value first.
func (d *drawing) onlySources(v *view, t int) (sources [][]int) {
	for side := 0; v.difference && side < compare.Difference; side++ {
		s := d.standing(&d.views[side], t)
		only := slices.DeleteFunc(slices.Concat(s.above, s.below), func(j int) bool {
			return d.only(j) != side
		})
		sources = append(sources, only[:min(len(only), mostAgainst)])
	}
	return sources
}

// facts returns the strongest sources of row t with their values, the unit, and the layer.
func (d *drawing) facts(v *view, t int) (s Phrase) {
	above := d.standing(v, t).above
	named, others := d.listedSources(v, t)
	only := d.onlySources(v, t)
	names, all := map[int]Phrase{}, slices.Concat(append(only, named, others)...)
	for i, name := range d.calledAs(quotedMark, v.sources(t), all...) {
		names[all[i]] = name
	}
	list := func(label string, v *view, sources []int) {
		for i, j := range sources {
			switch {
			case i > 0:
				s.Say(", ")
			case len(s) > 0:
				s.Say(" · " + label)
			default:
				s.Say(label)
			}
			s = append(s, names[j]...)
			s.Say(" " + minus(v.rows[t].value(v.at(t, j))))
		}
	}
	if _, first := d.namedSources(v, t); v.difference && !first {
		list("more in B ", v, named)
		list("more in A ", v, others)
	} else {
		list("", v, named)
		list(againstWords(v)+" ", v, others)
	}
	for side, sources := range only {
		list("only in "+"AB"[side:side+1]+" ", &d.views[side], sources)
	}
	if len(s) > 0 {
		s.Say(" · ")
	}
	s.Say(Visible(v.top.unit, 2*nameLimit) + " · ")
	if d.writtenByOthers(v, t) != "" {
		s.Say(minus(d.scored(v, t)) + " · ")
	}
	s.Say(d.writtenIn(v, t, above))
	if v.difference {
		if d.comparison.about != nil {
			s.Say(" · p " + d.comparison.chances(t))
		}
		s.Say(" · " + minus(d.comparison.rows[t]))
	} else if j := v.rowSinks[t]; j >= 0 && j < v.sources(t) {
		why := " · %s rests on %s, a sink in this row"
		if v.result.LastAsks {
			why = " · %s is on %s, which asks for the prediction"
		}
		s.Say(fmt.Sprintf(why, minus(v.top.sum(v.at(t, j))), d.sourceName(j)))
	}
	return s
}

// againstWords returns what the sources of a row are that are below the neutral value. Without a
// word that is only written against an answer, the answer may well be less probable.
func againstWords(v *view) (what string) {
	what = "against it"
	switch {
	case v.difference:
		return "more in B"
	case v.top.lift:
		return "less than position explains"
	case v.contrast() != "":
		what = "for “" + v.contrast() + "”"
	}
	if v.result.Evidence == trace.Written {
		what = "written " + what
	}
	return what
}

// writtenIn returns the layer of row t: of a method whose values add up over layers, those that
// wrote the strongest source.
func (d *drawing) writtenIn(v *view, t int, strongest []int) string {
	r := v.result
	switch {
	case len(strongest) > 0 && d.byLayer(v) && v.level(t) == r.Top():
		return "“" + d.wordOf(strongest[0]).String() + "” " + d.writers(v, t, strongest[0])
	case r.LayerChosen && v.fixed < 0 && !v.difference:
		return v.layer(t) + ", whose attention wrote more of the token than that of any other"
	}
	return v.layer(t)
}

// mostWriters is how many layers are named.
const mostWriters = 3

// writers returns the layers that wrote source j of row t: the fewest that wrote more than half of
// it, by the sizes of their parts. Where these are too many to be named, it returns the range
// without the tenth of it at either end.
func (d *drawing) writers(v *view, t, j int) string {
	sizes, order, whole := make([]float64, v.result.Shape[2]), []int{}, 0.0
	for k := range sizes {
		sizes[k] = math.Abs(d.part(v, t, j, k))
		order, whole = append(order, k), whole+sizes[k]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	n := 0
	// No sum is above half of a whole that is not finite.
	for sum := 0.0; n < len(order) && n <= mostWriters && (n == 0 || sum <= whole/2); n++ {
		sum += sizes[order[n]]
	}
	var names []string
	slices.Sort(order[:n])
	for _, k := range order[:n] {
		names = append(names, d.e.Model.LayerLabel(v.result.Layer(t, k)))
	}
	switch {
	case n <= mostWriters:
		return "mostly written in " + d.layerWord(n) + and(names)
	}
	first, last, sum := 0, 0, 0.0
	for k, x := range sizes {
		if sum < whole/10 {
			first = k
		}
		if sum < whole*9/10 {
			last = k
		}
		sum += x
	}
	return "spread over " + d.e.Model.LayerRange(v.result.Layer(t, first), v.result.Layer(t, last))
}

// byLayer reports whether a method has the part of each layer: its values of several layers are
// parts of one sum.
func (d *drawing) byLayer(v *view) bool {
	return v.wrong == "" && v.result.Scorer && v.result.Combined && v.result.AddsUp &&
		v.result.Shape[2] > 1
}

// part returns what layer k wrote of source j in row t: s_k − s_{k−1} of values that add up over
// layers, else the value at that layer.
func (d *drawing) part(v *view, t, j, k int) float64 {
	x := v.atLevel(t, j, k)
	if d.byLayer(v) && k > 0 {
		x -= v.atLevel(t, j, k-1)
	}
	return x
}
