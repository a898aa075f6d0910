package figures

import (
	"context"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// CompareTo compares with other records than those of the program.
var CompareTo = compare

// VerdictTable returns the table of verdicts that the gallery has.
var VerdictTable = verdicts

// Against writes two numbers that a claim compares.
var Against = against

// Sunk reports whether nearly all rollout rests on the first token, and LastSpread returns the last
// level at which it has less than half.
var Sunk, LastSpread = sunk, lastSpread

// SpacedLayers returns layers at equal distances.
var SpacedLayers = spacedLayers

// Erase returns what erasing each token of an explained prompt does to generated token t.
func Erase(
	ctx context.Context, m trace.Model, e *attribution.Explanation, t int,
) (words []int, importance []float64, err error) {
	r := &run{ctx: ctx, m: m, info: m.Info()}
	return r.erase(e, t)
}

// NextSentence is a sentence that ends before the word that it is about.
type NextSentence struct {
	Prompt   string
	Evidence []string
	Right    int
	Wrong    int
	Other    bool
	Swapped  string
}

// NextSentences returns n of these sentences of each kind for a model.
func NextSentences(m trace.Model, n int, kinds ...string) ([]NextSentence, error) {
	r := &run{ctx: context.Background(), m: m, info: m.Info()}
	some, err := r.nextSentences(n, kinds...)
	var all []NextSentence
	for _, s := range some {
		x := NextSentence{
			Prompt: s.Prompt, Right: s.right, Wrong: s.wrong, Other: s.other,
			Swapped: s.swapped,
		}
		for _, span := range s.Evidence {
			x.Evidence = append(x.Evidence, s.Prompt[span[0]:span[1]])
		}
		all = append(all, x)
	}
	return all, err
}

// Gradients returns the norm of each word's gradient, and the size of the sum of its components.
func Gradients(
	ctx context.Context, m trace.Model, tokens []trace.Token,
) (norms, sums []float64, err error) {
	r := &run{ctx: ctx, m: m, info: m.Info()}
	x := &reading{tokens: tokens}
	norms, err = r.gradients(x)
	return norms, x.sums, err
}
