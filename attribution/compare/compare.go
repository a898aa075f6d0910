// Package compare lines up two explanations, so that each column is the same part of both prompts
// and each row the same generated token. What their values say of each other can then be computed
// column by column:
//
//	p, err := compare.Align(a, b)
//	// p.Sides[0] and p.Sides[1] have the same columns.
//
// Two models may divide one text into different tokens, which are joined to the shortest parts that
// begin at the same places in both. Two prompts may have different words, which are put beside each
// other by a longest common subsequence of their tokens. What one side lacks is a column of zeros.
//
// The package draws nothing and words nothing: [Alignment] holds what a reader has to be told.
package compare

import "github.com/headwater-ml/headwater/attribution"

// Alignment is two explanations with the same columns, and what was done to them.
type Alignment struct {
	// Sides are the explanations; where nothing was to be done, the arguments themselves.
	Sides [2]*attribution.Explanation
	// Parts is the number of columns where tokens of one text were joined; 0 if none were.
	Parts int
	// Common is the number of tokens that two different prompts have in the same order; 0 if the
	// columns of such prompts were left as they are.
	Common int
	// Missing are the tokens of the other side that a side lacks. Its values are 0 there.
	Missing [2][]string
	// Rows is the number of generated tokens that begin at the same place after the same text,
	// where rows without a counterpart were left out; 0 if none were.
	Rows int
}

// Align returns two explanations with the same columns. Neither argument is modified.
//
// Prompts of one text are divided at the places where a token of both begins: with S(p) the places
// where the tokens of prompt p begin, white space before them left out, the columns are the parts
// of the text from each place of S(a) ∩ S(b) to the next one. A column has the sum of the values of
// its tokens. A control token is a column of its own. Of the generated tokens those rows stay that
// begin at the same place after the same text. If the tokens are the same, or a prompt does not say
// where its tokens stand, nothing is changed. Tokens that are grouped already cannot be divided
// again: do not align those of one text.
//
// Prompts of different texts and different numbers of tokens are put beside each other by a longest
// common subsequence of their tokens, in time and memory of the product of the two lengths without
// the tokens that both begin and end with, up to 4,000,000 products. Between two common tokens the
// others are compared in their order. Where no token is common, or both have the same number of
// tokens, nothing is changed.
//
// Align returns an error if an explanation is damaged.
func Align(a, b *attribution.Explanation) (Alignment, error) {
	p := Alignment{Sides: [2]*attribution.Explanation{a, b}}
	if a.Prompt.Text != b.Prompt.Text {
		p.alignPrompts()
		return p, nil
	}
	err := p.alignText()
	return p, err
}

// FirstDifference returns the index of the first token in which two lists differ by more than the
// space around it; the length of the shorter list if there is none.
func FirstDifference(x, y []string) int {
	at := 0
	for at < min(len(x), len(y)) && sameToken(x[at], y[at]) {
		at++
	}
	return at
}
