package render

import (
	"fmt"
	"strings"
)

// totals writes what is strongest in the row of token i, if that is asked for, what it explains,
// where it rests and what the picture leaves out.
func (t *text) totals(v *view, i int) {
	if !v.has(i) {
		return
	}
	name := "     " + right(v.label(), t.label)
	if t.top > 0 {
		t.wrapped(name+"  ", joined(t.strongest(v, i)))
	}
	t.wrapped(name+"    ", t.scored(v, i))
	t.rowEnd(v, i, name)
}

// strongest lists the strongest tokens of a row with their values.
func (t *text) strongest(v *view, i int) (names []string) {
	for _, j := range v.ranked(i, t.top, t.hidden) {
		value := v.rows[i].value(v.at(i, j))
		if v.top.power != 0 {
			value = v.rows[i].number(v.at(i, j)) // the label has their unit
		}
		names = append(names, t.place(j)+" "+value)
	}
	return names
}

// rowEnd writes where a row rests, and what of it the picture leaves out. Of other values than
// shares it writes the sinks alone, because no sum of them means something: a flow is the most that
// could pass from one token alone.
func (t *text) rowEnd(v *view, i int, label string) {
	if !v.top.percent {
		if sinks := v.sinkNames(t.picture, i); sinks != "" {
			t.wrapped(label+"    ", "sink "+sinks)
		}
		return
	}
	whole, parts := t.rests(v, i, t.top)
	mark := " "
	if whole {
		mark = "Σ"
	}
	if columns := t.columns(i, i+1, textColumns); whole && t.top <= 0 &&
		len(columns) < len(t.e.Prompt.Texts) {
		rest := v.mass(i).prompt
		for _, j := range columns {
			if !v.sinks[j] {
				rest -= v.at(i, j)
			}
		}
		parts = append(parts, fmt.Sprintf("of it on the %d %s not shown %s",
			len(t.e.Prompt.Texts)-len(columns), t.words.tokens, v.top.sum(rest)))
	}
	t.wrapped(label+"  "+mark+" ", joined(parts))
}

// joined joins parts of a line, which is not broken inside of short ones.
func joined(parts []string) string {
	const short = 30
	for i, part := range parts {
		if Width(part) <= short {
			parts[i] = strings.ReplaceAll(part, " ", tie)
		}
	}
	return strings.Join(parts, " · ")
}
