// Package compare compares two explanations. [Align] lines them up, so that each column is the same
// part of both prompts and each row the same generated token. [New] subtracts their values column
// by column, and [Comparison.Agree] tells how far their rows agree:
//
//	c, err := compare.New(compare.Side{Explanation: a}, compare.Side{Explanation: b})
//	difference := c.Results[compare.Difference].Row(0, 0) // of the first generated token
//
// Two models may divide one text into different tokens, which are joined to the shortest parts that
// begin at the same places in both. Two prompts may have different words, which are put beside each
// other by a longest common subsequence of their tokens. What one side lacks is a column of zeros.
//
// The package draws nothing and words nothing: [Alignment] and [Comparison] hold what a reader has
// to be told.
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
	// Difference is the first generated token that is not the same on both sides; nil if there is
	// none, and for encoders. No row follows it.
	Difference *Unequal
}

// Unequal is a generated token that is not the same on both sides.
type Unequal struct {
	Row     int       // the row of the token, from 0; N if the tokens begin at different places
	Texts   [2]string // the token of each side
	Answers [2]string // what each side generated up to it, and it
}

// Align returns two explanations with the same columns. Neither argument is modified.
//
// Prompts of one text are divided at the places where a token of both begins: with S(p) the places
// where the tokens of prompt p begin, white space before them left out, the columns are the parts
// of the text from each place of S(a) ∩ S(b) to the next one. A column has the sum of the values of
// its tokens. A control token is a column of its own. If the tokens are the same or grouped
// already, or a prompt does not say where its tokens stand, the columns stay as they are.
//
// Prompts of different texts and different numbers of tokens are put beside each other by a longest
// common subsequence of their tokens, in time and memory of the product of the two lengths without
// the tokens that both begin and end with, up to 4,000,000 products. Between two common tokens the
// others are compared in their order. Where no token is common, or both have the same number of
// tokens, the columns stay as they are.
//
// Of the generated tokens those rows stay that begin at the same place after the same text, up to
// the first token that is not the same. The space before an answer is no difference, nor is the
// division of one text into different tokens. An encoder has a row for each of its positions, and
// they stay.
//
// Align returns an error if an explanation is damaged.
func Align(a, b *attribution.Explanation) (Alignment, error) {
	p := Alignment{Sides: [2]*attribution.Explanation{a, b}}
	switch {
	case a.Prompt.Text != b.Prompt.Text:
		p.alignPrompts()
	case !a.Spans() && !b.Spans():
		if err := p.alignText(); err != nil {
			return p, err
		}
	}
	p.alignRows()
	return p, nil
}
