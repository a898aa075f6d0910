package render

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// colors returns the colours of a step on a light page: that of a cell and that of letters on it.
// Step 0 is white with black letters.
func (t theme) colors(step int) (cell, ink chart.RGB) {
	switch {
	case step > 0:
		return rgbOf(t.above[step-1]), rgbOf(letters[step-1])
	case step < 0:
		return rgbOf(t.below[-step-1]), rgbOf(letters[-step-1])
	}
	return chart.White, chart.Black
}

// rgbOf returns a colour from its hex digits after a #.
func rgbOf(hex string) chart.RGB {
	n, _ := strconv.ParseUint(hex[1:], 16, 32) // the themes are valid
	return chart.RGB{uint8(n >> 16), uint8(n >> 8), uint8(n)}
}

// columnsOf returns the columns with a source of row t by any method.
func (d *drawing) columnsOf(t int) []TextColumn {
	n := 0
	for n < len(d.columns) && d.columns[n].From < d.rowSources(t) {
		n++
	}
	return d.columns[:n]
}

// rowSources returns how many sources row t has by any method.
func (d *drawing) rowSources(t int) (n int) {
	for i := range d.views {
		if v := &d.views[i]; v.has(t) {
			n = max(n, v.sources(t))
		}
	}
	return n
}

// foldName returns the name of a folded column: how many tokens of the prompt it has, or whose
// message the template in it precedes; what the template adds, tools and a system prompt have
// columns of their own.
func (d *drawing) foldName(c TextColumn) string {
	if d.tokens[c.From].role == inPrompt {
		return "⋯ " + thousands(c.To-c.From)
	}
	return "⋯ " + d.turnOf(c.To-1).name
}

// foldedUpTo returns the end of the folded tokens of a message from j on, before end; j if there
// are none. The message of a system is folded as one, if a token of it is: its beginning alone
// tells what it is, and pieces of it do not.
func (d *drawing) foldedUpTo(j, end int) int {
	role, whole := d.tokens[j].role, j
	if role == inSystem {
		end = min(end, d.turnOf(j).body[1])
	}
	for whole < end && d.tokens[whole].role == role && (role == inSystem ||
		role == inPrompt && d.isFolded(whole)) {
		whole++
	}
	if role == inSystem && !slices.ContainsFunc(d.columns, func(c TextColumn) bool {
		return c.Folded && c.From < whole && j < c.To
	}) {
		return j
	}
	return whole
}

// wasAdded reports whether token j is of no text of a user or a model: a chat template, the
// tokenizer or the end of an answer added it.
func (d *drawing) wasAdded(j int) bool {
	switch prompt := &d.e.Prompt; d.tokens[j].role {
	case ending:
		return true
	case inTemplate:
		return d.chat() || j == 0 && prompt.BOSAdded ||
			prompt.Placed() && prompt.Offsets[j][0] == prompt.Offsets[j][1]
	}
	return false
}

// foldedText returns what stands in a running text for the folded tokens [from,to): how many there
// are, and how the message of a system begins, with what the sentence that the picture opens with
// names of it.
func (d *drawing) foldedText(from, to int) string {
	s := "⋯ " + countOf(to-from, "tokens")
	if d.tokens[from].role == inSystem {
		begin, end := d.e.Prompt.Offsets[from][0], d.e.Prompt.Offsets[to-1][1]
		s += " · " + fewColumns(d.e.Prompt.Text[begin:end], true, d.namedIn(from, to), shortColumns)
	}
	return s
}

// namedIn returns the strongest word in tokens [from,to) that the sentence names which the picture
// opens with, "" if there is none.
func (d *drawing) namedIn(from, to int) string {
	if d.lead < 0 || !d.views[d.lead].has(d.chosen) {
		return ""
	}
	named, _ := d.namedSources(&d.views[d.lead], d.chosen)
	for _, j := range named {
		if from <= j && j < to {
			return d.wordOf(j).String()
		}
	}
	return ""
}

// foldedSum returns how many prompt tokens are folded, and the sum of row t over those of them that
// are no sinks.
func (d *drawing) foldedSum(v *view, t int) (n int, sum float64) {
	for _, c := range d.columns {
		for j := c.From; j < c.To && c.Folded; j++ {
			if n++; !v.sink(t, j) {
				sum += v.at(t, j)
			}
		}
	}
	return n, sum
}

// strongestIn returns the token of a column before end with the largest size: a grey one only if
// there is no other, -1 if there is none.
func strongestIn(
	c TextColumn, end int, size func(j int) float64, grey func(j int) bool,
) int {
	best := -1
	for j := c.From; j < min(c.To, end); j++ {
		if best < 0 || !grey(j) && (grey(best) || size(j) > size(best)) {
			best = j
		}
	}
	return best
}

// strongestIn returns the source of a column with the largest size in row t: a sink or a hidden one
// only if there is no other, -1 if there is none.
func (p *picture) strongestIn(v *view, t int, c TextColumn) int {
	if !v.has(t) {
		return -1
	}
	return strongestIn(c, v.sources(t),
		func(j int) float64 { return math.Abs(v.colors.at(v.at(t, j))) },
		func(j int) bool { return p.grey(v, t, j) })
}

// stepBegins returns the value at which the colour of a step begins, with two significant digits,
// in the unit of cells. least is the place on the scale at which the first colours begin.
func (v *view) stepBegins(step int, least float64) string {
	s := v.colors
	if step == 0 {
		if s.lift {
			return "1"
		}
		return "0"
	}
	place := max(stepsAt[max(step, -step)-1], least)
	sign, end := "", ""
	switch {
	case s.lift && step < 0:
		sign = "÷"
	case s.lift:
		sign = "×"
	case step < 0:
		sign = "−"
	}
	if s.lift {
		return sign + significant(math.Pow(s.limit, place))
	}
	if s.percent {
		end = " %"
	}
	return sign + significant(s.scaled(place*s.limit)) + end
}

// significant returns a positive number with two significant digits.
func significant(x float64) string {
	text := strconv.FormatFloat(x, 'e', 1, 64)
	rounded, _ := strconv.ParseFloat(text, 64)
	exponent, _ := strconv.Atoi(text[strings.Index(text, "e")+1:])
	if exponent < -4 || exponent > 4 {
		return text
	}
	return strconv.FormatFloat(rounded, 'f', max(1-exponent, 0), 64)
}
