package render

import (
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// totals writes the summary of the row of token i: its largest values if [Text.Top] asks for them,
// what a scorer explains, the parts of the row, and what the picture leaves out.
func (t *text) totals(v *view, i int) {
	name := "     " + right(v.label(), t.label)
	if !v.has(i) {
		t.wrapped(name+"  ", t.uncompared(v, i))
		return
	}
	if silence := t.silence(v, i); silence != "" {
		t.wrapped(name+"  ", silence)
		return
	}
	if t.top > 0 {
		strongest := t.strongest(v, i)
		if len(strongest) == 0 {
			strongest = []string{"nothing stands out"}
		}
		t.wrapped(name+"  ", joined(strongest))
	}
	t.wrapped(name+"    ", minus(t.scoredLine(v, i)))
	t.rowEnd(v, i, name)
	if t.drawn != nil && i != t.drawn.chosen {
		t.wrapped(name+"    ", t.drawn.testOf(v, i).String())
	}
}

// strongest lists the tokens of a row with the largest sizes, with their values. Sinks and hidden
// tokens are not among them.
func (t *text) strongest(v *view, i int) (names []string) {
	var steps []int
	if t.calm {
		steps = t.drawn.calm(v, i)
	}
	for _, j := range v.ranked(i, t.top, t.greySources(v, i)) {
		if t.calm && (steps[j] == 0 || !t.drawn.inText(j)) {
			continue
		}
		value := v.rows[i].value(v.at(i, j))
		if v.top.power != 0 {
			value = v.rows[i].number(v.at(i, j)) // the label has their unit
		}
		names = append(names, t.place(j)+" "+minus(value))
	}
	return names
}

// rowEnd writes the parts of a row, and the sum that the picture leaves out. If the values are no
// shares it writes only the sinks, because their sums have no meaning: a flow is the most that
// could pass from one token alone.
func (t *text) rowEnd(v *view, i int, label string) {
	if v.difference {
		t.wrapped(label+"    ", minus(t.comparison.rows[i]))
		return
	}
	if !v.top.percent || t.divided() {
		if sinks := v.sinkNames(t.picture, i); sinks != "" && t.onFirst(v, i) == "" {
			t.wrapped(label+"    ", "sink "+minus(sinks))
		}
		t.wrapped(label+"    ", minus(t.ownPart(v, i)))
		return
	}
	whole, parts := t.describeParts(v, i, t.top)
	if !v.result.Combined &&
		(len(v.result.Layers) > 1 || v.result.Layers[0] == attribution.LayerByToken) {
		parts = append(parts, v.layer(i)) // the legend cannot say which, it may be another for each
	}
	// Σ marks parts that add up to the row.
	mark := " "
	if whole {
		mark = "Σ"
	}
	if folded, sum := t.drawn.foldedSum(v, i); whole && t.top <= 0 && folded > 0 {
		parts = append(parts, countOf(folded, "folded "+t.words.tokens)+": "+v.top.sum(sum))
	}
	t.wrapped(label+"  "+mark+" ", minus(joined(parts)))
}

// joined joins the parts of a line. Lines are not broken inside short parts.
func joined(parts []string) string {
	// Longer parts may break, or a line could be mostly empty.
	const short = 30
	for i, part := range parts {
		if Width(part) <= short {
			parts[i] = strings.ReplaceAll(part, " ", tie)
		}
	}
	return strings.Join(parts, " · ")
}
