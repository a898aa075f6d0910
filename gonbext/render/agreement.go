package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// elsewhere returns which other method says more of row t, "" if none does.
func (d *drawing) elsewhere(v *view, t int) string {
	for i := range d.views {
		if w := &d.views[i]; w != v && w.has(t) && !w.alike() &&
			d.strongest(w, t) > 0 {
			return "; " + Visible(w.name, nameLimit) + " says more"
		}
	}
	return ""
}

// others compares what other methods put first in row t with the sources for the token that the
// sentence of this method names. Those agree that put the same word first. against, for the
// sentence, is the source of the largest group of methods that put first what the sentence does not
// name; rest, for the facts, has the other groups and the methods that agree. A method is left out
// if attention rests on what it puts first, because that tells nothing of the word there, and if
// one of the two answers a contrast and the other does not.
func (d *drawing) others(v *view, t int, named []int) (against, rest string) {
	words, best := map[int]bool{}, -1
	for _, j := range slices.Backward(named) {
		best, _ = d.wordAround(j)
		words[best] = true
	}
	var order []int
	var agree []string
	methods := map[int][]string{} // by the first token of the word that they put first
	for i := range d.views {
		w := &d.views[i]
		if w == v || d.comparison != nil || v.alike() || w.alike() || !w.has(t) ||
			w.result.Evidence == trace.Chance || v.contrast() != w.contrast() {
			continue
		}
		sources, above := d.namedSources(w, t)
		if !above || len(sources) == 0 || d.functionWord(sources[0]) {
			continue
		}
		name := Visible(w.name, nameLimit)
		first, _ := d.wordAround(sources[0])
		if first == best {
			agree = append(agree, name)
			continue
		}
		if methods[first] == nil {
			order = append(order, first)
		}
		methods[first] = append(methods[first], name)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(len(methods[b]), len(methods[a]))
	})
	for _, first := range order {
		place := ""
		if d.repeats(first, v.sources(t)) {
			place = " (" + d.placeOf(first) + ")"
		}
		says := fmt.Sprintf("%s “%s”%s", subject(methods[first], "say"), d.wordOf(first), place)
		if against == "" && !words[first] {
			against = "; " + says
		} else {
			rest += " · " + says
		}
	}
	if agree != nil {
		rest += " · " + subject(agree, "agree")
	}
	return against, rest
}

// subject returns names with "and" before the last one, and a verb in its form for them.
func subject(names []string, verb string) string {
	if len(names) == 1 {
		return names[0] + " " + verb + "s"
	}
	return and(names) + " " + verb
}
