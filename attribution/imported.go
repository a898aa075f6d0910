package attribution

import (
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Explanation returns the maps of an attribution as an explanation, so that rows from any program
// are shown like ours. texts are the T tokens, of which the last generated ones were generated:
//
//	M[t,j,l] = map_l[m+t-1, j]     m = T - generated, j < m
//
// The row that predicts a token is that of the token before it. If generated is 0, there is one
// step without a text: what would follow. A bidirectional text has a step for each token instead,
// which is explained by its own row, and generated must be 0. Probabilities are not known, so every
// step is [GeneratedToken.Unscored]. The model is what the caller knows of it.
//
// Explanation returns a [trace.UsageError] if generated is out of range, and another error if the
// number of texts is not T.
func (a *Attribution) Explanation(
	texts []string, generated int, model trace.Info,
) (*Explanation, error) {
	T := len(texts)
	for _, name := range a.Order {
		if got := a.Methods[name].Shape[1]; got != T {
			return nil, pkg.Errorf("there are %d tokens, and the rows are of %d "+
				"targets; want as many", T, got)
		}
	}
	if T == 0 || generated < 0 || generated >= T {
		return nil, trace.Usagef("%d of %d tokens were generated; want 0 to %d", generated, T,
			max(T-1, 0))
	}
	if a.Bidirectional && generated > 0 {
		return nil, trace.Usagef("some targets look at later sources, so the text is taken for "+
			"an encoder's, which generates nothing, and %s said to be generated; say that none is",
			message.Count(generated, "token")+" "+message.IsOrAre(generated))
	}
	m := T - generated
	e := &Explanation{
		Version: Version, Model: model, Order: a.Order, Methods: map[string]*Result{},
		Warnings: a.Warnings,
		Prompt: Prompt{
			Text: strings.Join(texts[:m], ""), Texts: texts[:m], IDs: make([]int, m),
			Offsets: make([][2]int, m), Special: make([]bool, m),
		},
	}
	e.Model.Bidirectional, e.Model.Sinks = a.Bidirectional, a.Sinks
	end := 0
	for j, text := range e.Prompt.Texts {
		e.Prompt.Offsets[j] = [2]int{end, end + len(text)}
		end += len(text)
	}
	rows := a.steps(e, texts, generated)
	if a.Bidirectional {
		e.Maps = a.Methods
	}
	for _, name := range a.Order {
		e.Methods[name] = a.Methods[name].result(rows, m)
	}
	return e, nil
}

// steps adds the steps of an explanation and returns the row that explains each.
func (a *Attribution) steps(e *Explanation, texts []string, generated int) (rows []int) {
	switch {
	case a.Bidirectional:
		for t, text := range texts {
			e.Steps = append(e.Steps, GeneratedToken{
				Text: text, Position: &t, Unscored: true, Alternatives: []Alternative{},
			})
			rows = append(rows, t)
		}
	case generated == 0:
		e.Steps = []GeneratedToken{{Text: "…", Unscored: true, Alternatives: []Alternative{}}}
		rows = []int{len(texts) - 1}
	default:
		for t := len(texts) - generated; t < len(texts); t++ {
			e.Steps = append(e.Steps, GeneratedToken{
				Text: texts[t], Unscored: true, Alternatives: []Alternative{},
			})
			rows = append(rows, t-1)
		}
	}
	return rows
}

// result returns the rows of some targets over the first columns, the prompt, and over the
// generated tokens before the one that each target predicts, and the sums of what lies after the
// prompt, [n,L].
func (m *Map) result(targets []int, columns int) *Result {
	n, L := len(targets), m.Shape[0]
	r := &Result{
		Options: m.Options, Facts: m.Facts, Layers: m.Layers, Shape: [3]int{n, columns, L},
		Unit: m.Unit, OtherMass: make([]float64, n*L),
	}
	for t, target := range targets {
		for l := range L {
			row := m.Row(l, target)
			r.Rows = append(r.Rows, slices.Clone(row[:min(columns+t, len(row))]))
			for _, x := range row[columns:] {
				if !math.IsNaN(x) {
					r.OtherMass[t*L+l] += x
				}
			}
		}
	}
	return r
}
