package corpus

import (
	"cmp"
	"context"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/study/scores"
	"github.com/headwater-ml/headwater/internal/study/without"
)

// Explainer explains records with a model that is open. It must be safe for concurrent use.
type Explainer interface {
	// Explain calls each once for every record, with its index and its result, in any order but
	// not at the same time. The records have no Err, and texts of like length, so that they can be
	// computed together. What is wrong with one record is in its result, in words that are the same
	// on every machine. The error is for what concerns more than a record: a [ShardError] if it
	// would come again, a [RetryError] or that of ctx if not.
	//
	// Results must not depend on which other records are explained at the same time by other
	// calls. They may depend on the records of this call, which are the same on every run.
	Explain(ctx context.Context, records []Record, each func(i int, result Result)) error
}

// Result is what is known of one record after it was explained. n is the number of generated
// tokens, m that of prompt tokens. See the columns for the meaning of each list.
type Result struct {
	// Err is why there is no explanation; the other fields are then empty.
	Err string
	// Text is the prompt as the model saw it.
	Text        string
	PromptIDs   []int32  // [m]
	PromptTexts []string // [m]
	PromptBegin []int32  // [m]
	PromptEnd   []int32  // [m]
	IDs         []int32  // [n]
	Texts       []string // [n]
	Probability []float64
	// Scores has the scores of the generated tokens, KL and Gain what a part of the prompt changes,
	// [n], and PromptScores those of the prompt's tokens, [m].
	Scores, PromptScores TokenScores
	KL, Gain             []float64
	Warnings             []string
	Methods              []Scores // in the order of the manifest
}

// lists returns pointers to the lists in the order of their columns.
func (r *Result) lists() []any {
	all := []any{
		&r.PromptIDs, &r.PromptTexts, &r.PromptBegin, &r.PromptEnd, &r.IDs, &r.Texts,
		&r.Probability, &r.Scores.Entropy, &r.Scores.Surprisal, &r.Scores.Rank, &r.KL, &r.Gain,
		&r.PromptScores.Entropy, &r.PromptScores.Surprisal, &r.PromptScores.Rank, &r.Warnings,
	}
	for i := range r.Methods {
		s := &r.Methods[i]
		all = append(all, &s.Scores, &s.Generated, &s.Shown, &s.Layers, &s.Totals, &s.Firsts)
	}
	return all
}

// TokenScores are those of several tokens.
type TokenScores struct {
	Entropy, Surprisal []float64
	Rank               []int32
}

// add appends the scores of a token, 0 for none.
func (s *TokenScores) add(of *trace.TokenScores) {
	one := trace.TokenScores{}
	if of != nil {
		one = *of
	}
	s.Entropy, s.Surprisal = append(s.Entropy, one.Entropy), append(s.Surprisal, one.Surprisal)
	s.Rank = append(s.Rank, small(one.Rank))
}

// Scores is the result of one method for one record. l is the number of levels.
type Scores struct {
	Scores    []float32 // [n,m]
	Generated []float32 // [n]
	Shown     []int32   // [n]
	Layers    []int32   // [l]
	Totals    []float32 // [n,l]
	Firsts    []float32 // [n,l]
}

// Together is an [Explainer] that runs texts of like length through the model together.
type Together struct {
	Model trace.Model
	// Options are those of the manifest, and Methods its methods in their order.
	Options attribution.Options
	Methods []string
}

// Explain explains the records by [attribution.ExplainAll].
func (o Together) Explain(
	ctx context.Context, records []Record, each func(i int, result Result),
) error {
	texts := func(yield func(attribution.Text) bool) {
		for _, r := range records {
			if !yield(r.text()) {
				return
			}
		}
	}
	longest := 0
	for _, r := range records {
		longest = max(longest, textBytes(r))
	}
	how := attribution.Batching{Texts: textsAtOnce(longest), Window: len(records)}
	for e := range attribution.ExplainAll(ctx, o.Model, texts, o.Options, how) {
		if e.Err != nil {
			if err := ForAll(ctx, e.Err); err != nil {
				return err
			}
			each(e.Index, Result{Err: e.Err.Error()})
			continue
		}
		each(e.Index, ResultOf(e.Explanation, o.Methods))
	}
	return ctx.Err()
}

// A pass of the model has at most mostTexts texts, of mostBytes together: about 2,000 tokens.
const (
	mostTexts = 32
	mostBytes = 8 << 10
)

// textsAtOnce is how many texts of at most so many bytes run through the model at a time: 32, and
// for long texts half of that again and again. It may not depend on the memory of the machine,
// because texts of a batch change each other's last digits.
func textsAtOnce(longest int) int {
	n := mostTexts
	for n > 1 && n*longest > mostBytes {
		n /= 2
	}
	return n
}

// OptionsOf returns the options for one record, as [attribution.ExplainAll] takes them.
func OptionsOf(opts attribution.Options, r Record) attribution.Options {
	return r.text().Options(opts)
}

// text returns the record as a text to explain.
func (r *Record) text() attribution.Text {
	return attribution.Text{
		Prompt: r.Prompt, Continuation: r.Continuation, Pair: r.Pair, Messages: r.Messages,
		Tools: r.Tools,
	}
}

// ForAll returns the error of an explanation if it concerns more than one record, otherwise nil:
// that of ctx, and that the machine has too little memory, which another machine may have.
func ForAll(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errorkind.Of(err) == errorkind.Memory:
		return &ShardError{Err: err}
	}
	return nil
}

// ResultOf returns what a shard keeps of an explanation.
func ResultOf(e *attribution.Explanation, methods []string) Result {
	r := Result{Text: e.Prompt.Text, Warnings: e.Warnings}
	for j, id := range e.Prompt.IDs {
		r.PromptIDs = append(r.PromptIDs, small(id))
		r.PromptTexts = append(r.PromptTexts, e.Prompt.Texts[j])
		r.PromptBegin = append(r.PromptBegin, small(e.Prompt.Offsets[j][0]))
		r.PromptEnd = append(r.PromptEnd, small(e.Prompt.Offsets[j][1]))
	}
	for _, step := range e.Steps {
		r.IDs = append(r.IDs, small(step.ID))
		r.Texts = append(r.Texts, step.Text)
		r.Probability = append(r.Probability, step.Probability)
		s := cmp.Or(step.Scores, &trace.TokenScores{})
		r.Scores.add(s)
		if part := without.OfToken(step); part != nil {
			r.KL, r.Gain = append(r.KL, part.KL), append(r.Gain, part.Gain)
		}
	}
	for _, s := range scores.Of(e) {
		r.PromptScores.add(s)
	}
	for _, name := range methods {
		r.Methods = append(r.Methods, scoresOf(e.Methods[name]))
	}
	return r
}

// scoresOf returns what a shard keeps of the result of a method.
func scoresOf(r *attribution.Result) Scores {
	n, m, levels := r.Shape[0], r.Shape[1], r.Shape[2]
	s := Scores{Scores: make([]float32, 0, n*m)}
	for _, layer := range r.Layers {
		s.Layers = append(s.Layers, small(layer))
	}
	for t := range n {
		shown := r.Level(t)
		s.Shown = append(s.Shown, small(r.Layer(t, shown)))
		for j := range m {
			s.Scores = append(s.Scores, float32(r.At(t, j, shown)))
		}
		generated := 0.0
		for _, x := range r.Row(t, shown)[m:] {
			generated += x
		}
		s.Generated = append(s.Generated, float32(generated))
		for k := range levels {
			total := 0.0
			for j := range m {
				total += r.At(t, j, k)
			}
			s.Totals = append(s.Totals, float32(total))
			first := 0.0
			if m > 0 {
				first = r.At(t, 0, k)
			}
			s.Firsts = append(s.Firsts, float32(first))
		}
	}
	return s
}

// small returns a position, an id or a layer, which are far below the end of int32.
func small(x int) int32 { return int32(x) } //nolint:gosec // see above
