package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// maxPairs is how many pairs of tokens are compared to align two prompts, where they are not the
// same from the beginning or the end: two times 2,000 tokens.
const maxPairs = 4_000_000

// alignPrompts aligns prompts of different texts: a longest common subsequence of their tokens is
// in the same columns, and a token that is left over is a column of zeros on the other side.
func (p *Alignment) alignPrompts() {
	x, y := p.Sides[0].Prompt.Texts, p.Sides[1].Prompt.Texts
	if len(x) == len(y) {
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
	p.Common = len(pairs)
	for side, columns := range from {
		for k, at := range columns {
			if at < 0 && from[1-side][k] >= 0 {
				text := [2][]string{x, y}[1-side][from[1-side][k]]
				p.Missing[side] = append(p.Missing[side], text)
			}
		}
		p.Sides[side] = inColumns(p.Sides[side], columns)
	}
	for k, at := range from[0] { // tokens that differ in the space before them alone
		other := from[1][k]
		if at >= 0 && other >= 0 && sameToken(x[at], y[other]) {
			p.Sides[1].Prompt.Texts[k] = x[at]
		}
	}
}

// sameToken reports whether two tokens are the same but for the space around them.
func sameToken(a, b string) bool {
	return a == b || strings.TrimSpace(a) == strings.TrimSpace(b) && strings.TrimSpace(a) != ""
}

// commonTokens returns a longest common subsequence of two lists of tokens, as pairs of their
// indices, rising. The tokens that both begin and end with are in it. For those between,
//
//	longest(i,j) = 1 + longest(i+1,j+1)                     if x[i] and y[j] are the same,
//	               max(longest(i+1,j), longest(i,j+1))      if not,
//
// unless there would be more than maxPairs to compare; then nothing between is common.
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
		one.Rows, one.Shape[1] = withZeros(r, from), len(from)
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
