package render

import (
	"cmp"
	"fmt"
	"slices"
)

// listedEdges is how many edges between tokens a text lists.
const listedEdges = 12

// plain implements [Picture].
func (r Flow) plain(look Terminal) *text {
	t := newText(Terminal{Width: look.Width})
	f := r.open()
	t.picture = f.picture
	t.head()
	t.line("")
	for _, s := range f.sentences() {
		t.wrapped("", s)
	}
	t.line("")
	from := ""
	for i, j := range f.rows {
		if flow := f.flowFrom(j); flow != "" {
			if i > 0 {
				from += " · "
			}
			from += f.placedName(j) + " " + flow
		}
	}
	t.wrapped("flow from  ", from)
	t.line("")
	left := ", sinks left out:"
	if f.sinkEdges {
		left = ":"
	}
	t.wrapped("", "Edges between tokens with the widest paths to the target"+left)
	edges := slices.DeleteFunc(slices.Clone(f.edges), func(e flowEdge) bool {
		return e.u == e.v || f.leftOut(e.v)
	})
	slices.SortStableFunc(edges, func(a, b flowEdge) int {
		return cmp.Or(cmp.Compare(b.strength, a.strength), cmp.Compare(b.width, a.width))
	})
	for _, e := range edges[:min(len(edges), listedEdges)] {
		t.line(fmt.Sprintf("  %s%s  %s → %s  %s", f.layerWord(1),
			right(f.e.Model.LayerLabel(f.g.Layers[e.l]), 2), f.placedName(e.v),
			f.placedName(e.u), fixed(e.width, 3)))
	}
	t.line("")
	t.wrapped("", flowLegend)
	t.model()
	return t
}
