package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// maxPairs is how many pairs of tokens are compared to align two prompts, where they are not the
// same from the beginning or the end: two times 2,000 tokens.
const maxPairs = 4_000_000

// alignPrompts gives both sides the same columns if their prompts are different texts with
// different numbers of tokens: a longest common subsequence of the tokens is in the same columns.
// Between two common tokens the others are compared in their order, and a token that is left over
// is a column of zeros on the other side. Where no token is common it changes nothing.
func (c *comparison) alignPrompts() {
	a, b := c.sides[0].Explanation, c.sides[1].Explanation
	x, y := a.Prompt.Texts, b.Prompt.Texts
	if a.Prompt.Text == b.Prompt.Text || len(x) == len(y) {
		return
	}
	pairs := commonTokens(x, y)
	if len(pairs) == 0 {
		return
	}
	var from [2][]int
	i, j := 0, 0
	for _, pair := range append(pairs, [2]int{len(x), len(y)}) {
		for i < pair[0] || j < pair[1] { // tokens between two common ones
			left, right := -1, -1
			if i < pair[0] {
				left, i = i, i+1
			}
			if j < pair[1] {
				right, j = j, j+1
			}
			from[0], from[1] = append(from[0], left), append(from[1], right)
		}
		if i < len(x) && j < len(y) {
			from[0], from[1] = append(from[0], i), append(from[1], j)
			i, j = i+1, j+1
		}
	}
	c.warnings = append(c.warnings, fmt.Sprintf("The prompts have %d and %d tokens; the %d that "+
		"both have in the same order are in the same columns.", len(x), len(y), len(pairs)))
	for side, columns := range from {
		var missing []string
		for k, at := range columns {
			if at < 0 && from[1-side][k] >= 0 {
				text := c.sides[1-side].Explanation.Prompt.Texts[from[1-side][k]]
				missing = append(missing, "“"+textName(text)+"”")
			}
		}
		c.warnMissing(side, missing)
	}
	for side := range from {
		c.sides[side].Explanation = inColumns(c.sides[side].Explanation, from[side])
	}
	for k, at := range from[0] { // tokens that differ in the space before them alone
		other := from[1][k]
		if at >= 0 && other >= 0 && sameToken(x[at], y[other]) {
			c.sides[1].Explanation.Prompt.Texts[k] = x[at]
		}
	}
}

// warnMissing says which tokens a side lacks.
func (c *comparison) warnMissing(side int, tokens []string) {
	if len(tokens) == 0 {
		return
	}
	const most = 8
	if len(tokens) > most {
		tokens = append(tokens[:most:most], fmt.Sprintf("and %d more", len(tokens)-most))
	}
	c.warnings = append(c.warnings, fmt.Sprintf("%s has no token %s; its values are 0 there.",
		"AB"[side:side+1], strings.Join(tokens, ", ")))
}

// sameToken reports whether two tokens are the same but for the space around them.
func sameToken(a, b string) bool {
	return a == b || strings.TrimSpace(a) == strings.TrimSpace(b) && strings.TrimSpace(a) != ""
}

// commonTokens returns a longest common subsequence of two lists of tokens, as pairs of their
// numbers, rising. The tokens that both begin and end with are in it. In between, nothing is common
// if there would be more than maxPairs to compare.
func commonTokens(x, y []string) (pairs [][2]int) {
	begin := 0
	for begin < min(len(x), len(y)) && sameToken(x[begin], y[begin]) {
		pairs = append(pairs, [2]int{begin, begin})
		begin++
	}
	end := 0
	for end < min(len(x), len(y))-begin && sameToken(x[len(x)-1-end], y[len(y)-1-end]) {
		end++
	}
	n, m := len(x)-begin-end, len(y)-begin-end
	if n > 0 && m > 0 && n <= maxPairs/m {
		// longest[i*(m+1)+j] is the length for the tokens from i and j on.
		longest := make([]int32, (n+1)*(m+1))
		for i := n - 1; i >= 0; i-- {
			for j := m - 1; j >= 0; j-- {
				at := i*(m+1) + j
				longest[at] = max(longest[at+m+1], longest[at+1])
				if sameToken(x[begin+i], y[begin+j]) {
					longest[at] = longest[at+m+2] + 1
				}
			}
		}
		for i, j := 0, 0; i < n && j < m; {
			switch at := i*(m+1) + j; {
			case sameToken(x[begin+i], y[begin+j]):
				pairs = append(pairs, [2]int{begin + i, begin + j})
				i, j = i+1, j+1
			case longest[at+m+1] >= longest[at+1]:
				i++
			default:
				j++
			}
		}
	}
	for k := end; k > 0; k-- {
		pairs = append(pairs, [2]int{len(x) - k, len(y) - k})
	}
	return pairs
}

// inColumns returns an explanation with the prompt tokens that from names as its columns; -1 is a
// column of zeros without a name.
func inColumns(e *attribution.Explanation, from []int) *attribution.Explanation {
	s := *e
	p := &e.Prompt
	s.Prompt = attribution.Prompt{Text: p.Text, BOSAdded: p.BOSAdded}
	m := len(p.Texts)
	for _, j := range from {
		s.Prompt.Texts = append(s.Prompt.Texts, columnOf(p.Texts, j, ""))
		if len(p.IDs) == m {
			s.Prompt.IDs = append(s.Prompt.IDs, columnOf(p.IDs, j, -1))
		}
		if len(p.Offsets) == m {
			s.Prompt.Offsets = append(s.Prompt.Offsets, columnOf(p.Offsets, j, [2]int{}))
		}
		if len(p.Special) == m {
			s.Prompt.Special = append(s.Prompt.Special, columnOf(p.Special, j, false))
		}
	}
	s.Methods = maps.Clone(e.Methods)
	for name, r := range s.Methods {
		one := *r
		one.Data = withZeros(r.Data, r.Shape[0], m, r.Shape[2], from)
		one.Shape[1] = len(from)
		s.Methods[name] = &one
	}
	s.Steps = slices.Clone(e.Steps)
	for i, step := range s.Steps {
		if step.Position != nil {
			at := slices.Index(from, *step.Position)
			s.Steps[i].Position = &at
		}
	}
	if slices.Contains(from, -1) {
		s.Maps = nil // a map of targets has no row for a token that is not there
	}
	return &s
}

// columnOf returns a value of a list, or none at -1.
func columnOf[T any](all []T, j int, none T) T {
	if j < 0 {
		return none
	}
	return all[j]
}

// firstDifference says where two lists of tokens differ first, and lists the tokens around it.
func firstDifference(x, y []string) string {
	at := 0
	for at < min(len(x), len(y)) && sameToken(x[at], y[at]) {
		at++
	}
	some := func(all []string) string {
		const most = 8
		var names []string
		for j := max(0, at-2); j < min(len(all), at+most); j++ {
			names = append(names, fmt.Sprintf("%d “%s”", j, textName(all[j])))
		}
		if len(all) > at+most {
			names = append(names, "…")
		}
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("they differ first at token %d: %s; and %s", at, some(x), some(y))
}
