// Package sources finds which sentence of a user's documents caused an answer, or a part of it.
//
//	documents, err := sources.NewContext([]string{text}, sources.Division{})
//	…
//	answer, err := sources.EncodeAnswer(model, "", " Paris")
//	…
//	result, err := sources.Explain(ctx, model, sources.Question{
//		Context: documents, Prompt: prompt, Answer: answer,
//	}, sources.Options{})
//
// A source is a sentence, a paragraph or a span of bytes. Two methods take sources out of the text
// and ask the model how probable the same answer still is:
//
//	leave-one-out  one source at a time; in long documents first paragraphs, then the sentences
//	               of the strongest ones
//	context-cite   random halves of the sources, and a linear model of what is left (Cohen-Wang
//	               et al. 2024)
//
// The model must be a [trace.ContinuationPredictor]: what two texts have in common at their
// beginning is read once.
//
// What it cannot say: two sentences that say the same hide each other from leave-one-out. A text
// without a sentence may be one that the model would not meet, such as one with a pronoun for a
// name that is gone. A score is what this model does with this answer, not that the answer is
// right or that the sentence supports it.
package sources

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("attribution")

// The methods.
const (
	LeaveOneOut = "leave-one-out"
	ContextCite = "context-cite"
)

// Methods returns the names of all methods, in a fixed order.
func Methods() []string { return []string{ContextCite, LeaveOneOut} }

// Question is what is asked about an answer.
type Question struct {
	// Context has the documents. Names are their names, for a reader; nil for none.
	Context *Context
	Names   []string
	// Prompt returns the whole text that the model continues, given the text of the documents.
	Prompt func(documents string) (string, error)
	// Specials are the control tokens that [Explain] adds to the prompt.
	Specials trace.Specials
	// Answer is the answer, whose tokens stay the same whatever is taken out; see [EncodeAnswer]
	// and [Generate].
	Answer Answer
	// Target are the tokens [Target[0],Target[1]) of the answer that are explained; see
	// [Answer.Part]. The zero value is the whole answer.
	Target [2]int
}

// Answer is what a model says after a prompt, or might say.
type Answer struct {
	// Text is the text, and Tokens are its tokens with their bytes of it.
	Text   string
	Tokens []trace.Token
}

// Options has the options of [Explain]. The zero value of every field is its default.
type Options struct {
	// Methods are names of [Methods]; default: all.
	Methods []string
	// Ablations is the number of random ablations that ContextCite fits, in [8,4096], default 64.
	// HeldOut is the number of further ones, on which both methods are measured, in [8,4096],
	// default 32.
	Ablations, HeldOut int
	// Passes is the most texts that leave-one-out asks for, in [4,65536], default 64. Documents
	// with more sources are searched from paragraphs to sentences.
	Passes int
	// Penalty is λ of the lasso, for values of a token in units of the deviation of a column, in
	// [0,100]. Default 0.01, as in ContextCite's code. See [Lasso].
	Penalty *float64
	// Seed starts the random source of ablations.
	Seed uint64
	// OnProgress, if not nil, is told how many texts the model has read.
	OnProgress func(trace.Progress) `json:"-"`
}

const (
	defaultAblations = 64
	defaultHeldOut   = 32
	defaultPasses    = 64
	defaultPenalty   = 0.01
	leastAblations   = 8
	mostAblations    = 4096
	leastPasses      = 4
	mostPasses       = 1 << 16
	mostPenalty      = 100
)

// WithDefaults returns the options with every default filled in, or a [trace.UsageError] for the
// first that is out of range.
func (o Options) WithDefaults() (Options, error) {
	if len(o.Methods) == 0 {
		o.Methods = Methods()
	}
	seen := map[string]bool{}
	for _, name := range o.Methods {
		if name != LeaveOneOut && name != ContextCite {
			return o, trace.Usagef("method %s of sources is unknown; %s", message.Quote(name),
				message.KnownAre(name, Methods()))
		}
		if seen[name] {
			return o, trace.Usagef("method %s is given twice", name)
		}
		seen[name] = true
	}
	for _, n := range []struct {
		name                   string
		field                  *int
		least, most, byDefault int
	}{
		{"ablations", &o.Ablations, leastAblations, mostAblations, defaultAblations},
		{"held-out ablations", &o.HeldOut, leastAblations, mostAblations, defaultHeldOut},
		{"passes", &o.Passes, leastPasses, mostPasses, defaultPasses},
	} {
		if *n.field == 0 {
			*n.field = n.byDefault
		}
		if *n.field < n.least || *n.field > n.most {
			return o, trace.Usagef("%s %d; the number must be in [%d,%d], or 0 for %d", n.name,
				*n.field, n.least, n.most, n.byDefault)
		}
	}
	if o.Penalty == nil {
		penalty := float64(defaultPenalty)
		o.Penalty = &penalty
	}
	if p := *o.Penalty; !(p >= 0 && p <= mostPenalty) {
		return o, trace.Usagef("penalty %v; it must be in [0,%d]", p, mostPenalty)
	}
	return o, nil
}

// Result has the scores of the sources for a target.
type Result struct {
	Model trace.Info `json:"model"`
	// Documents are the texts of the documents, Names their names, nil if they have none, and
	// Sources their parts.
	Documents []string `json:"documents"`
	Names     []string `json:"names,omitempty"`
	Sources   []Source `json:"sources"`
	// Prompt is the text with all sources. Answer is the whole answer, and Target the part of it
	// that is explained, tokens [TargetTokens[0],TargetTokens[1]) of AnswerTokens.
	Prompt       string   `json:"prompt"`
	Answer       string   `json:"answer"`
	AnswerTokens []string `json:"answer_tokens"`
	Target       string   `json:"target"`
	TargetTokens [2]int   `json:"target_tokens"`
	// LogProbability is ln p of the target after the whole prompt and the answer before it, in
	// nats; WithoutSources is the same without any source.
	LogProbability float64 `json:"log_probability"`
	WithoutSources float64 `json:"log_probability_without_sources"`
	// Methods has the scores of each method, in the order of [Options.Methods].
	Methods []Scores `json:"methods"`
	// Ablations, HeldOut, Seed and Penalty are those of the options. Ablations is 0 without
	// ContextCite.
	Ablations int     `json:"ablations"`
	HeldOut   int     `json:"held_out"`
	Seed      uint64  `json:"seed"`
	Penalty   float64 `json:"penalty"`
	// Passes is how many texts the model was asked for. TokensRead is how many tokens it ran for
	// them, and TokensWhole how many they would be without what texts have in common.
	Passes      int `json:"passes"`
	TokensRead  int `json:"tokens_read"`
	TokensWhole int `json:"tokens_whole"`
	// Warnings are remarks for a reader.
	Warnings []string `json:"warnings"`
}

// Scores are the results of one method.
type Scores struct {
	Method string `json:"method"`
	// Unit is the unit of a score.
	Unit string `json:"unit"`
	// Values has a score for each source, NaN (null) for one that leave-one-out did not take out on
	// its own. A positive score speaks for the target.
	Values []evaluate.Value `json:"values"`
	// Groups are the sets of adjacent sources that leave-one-out took out together.
	Groups []Group `json:"groups,omitempty"`
	// Intercept is what ContextCite predicts without any source, in log-odds.
	Intercept *float64 `json:"intercept,omitempty"`
	// LDS is the linear datamodeling score on held-out ablations, in [-1,1]: the rank correlation
	// of the log-odds of the target with the sum of the scores of the sources that are left; NaN
	// (null) if one of the two is constant. A source of a group without a score of its own counts
	// with its part of the group's score.
	LDS evaluate.Value `json:"lds"`
	// Drops are how much the log-probability falls without the first sources of [Scores.Strongest].
	Drops []Drop `json:"drops"`
	// Passes is how many texts the method asked for, without those for LDS and drops.
	Passes int `json:"passes"`
}

// Group is a set of adjacent sources [First,End).
type Group struct {
	First int     `json:"first"`
	End   int     `json:"end"`
	Value float64 `json:"value"`

	divided bool // its parts have been taken out too
}

// Drop is ln p of the target with all sources minus that without the K strongest, in nats.
type Drop struct {
	K    int     `json:"k"`
	Nats float64 `json:"nats"`
}

// EncodeAnswer returns the tokens of an answer to a prompt, by [trace.EncodeAfter]. The prompt may
// be empty, for one that is not known. It returns a [trace.UsageError] if the answer has no tokens,
// or if the model does not know one of its words.
func EncodeAnswer(m trace.Model, prompt, answer string) (Answer, error) {
	if strings.TrimSpace(answer) == "" {
		return Answer{}, trace.Usagef("the answer is empty; give some text")
	}
	if limited, ok := m.(trace.Limited); ok {
		if words := limited.UnknownWords(answer); len(words) > 0 {
			return Answer{}, trace.Usagef("the answer has %s, which is not in the vocabulary of "+
				"%s; give an answer in words that the model knows", message.Quote(words[0]),
				m.Info().Name)
		}
	}
	tokens, _, err := trace.EncodeAfter(m, prompt, answer)
	if err != nil {
		return Answer{}, pkg.Errorf("answer: %w", err)
	}
	replacer, ok := m.(trace.Replacer)
	for _, t := range tokens {
		if !ok || t.Special {
			continue
		}
		if id, known := replacer.Replacement("unknown"); known && t.ID == id {
			return Answer{}, trace.Usagef("the answer has %s, which is not in the vocabulary of %s",
				message.Quote(answer[t.Begin:t.End]), m.Info().Name)
		}
	}
	return Answer{answer, tokens}, nil
}

// ErrNoAnswer is in the error of [Generate] if the model ends the text at once.
var ErrNoAnswer = errors.New("the model gives no answer: it ends the text at once")

// Generate returns the answer that the model gives to a prompt: the most probable token each time,
// at most so many, without the one that ends the text. It returns a [trace.UsageError] if the model
// cannot generate or the prompt is too long, an error that wraps [ErrNoAnswer] if the answer is
// empty, otherwise an error of the model.
func Generate(
	ctx context.Context, m trace.Model, prompt string, specials trace.Specials, most int,
) (Answer, error) {
	if _, err := predictor(m); err != nil {
		return Answer{}, err
	}
	tokens, err := m.Encode(prompt, specials)
	if err != nil {
		return Answer{}, pkg.Errorf("prompt: %w", err)
	}
	room := m.Info().Room(trace.IDs(tokens))
	if room < 1 {
		return Answer{}, tooLong(m, len(tokens), 1)
	}
	most = min(most, room)
	var answer Answer
	for step, err := range m.Steps(ctx, trace.IDs(tokens), trace.Ask{MaxTokens: most}) {
		if err != nil {
			return Answer{}, err
		}
		if step.Next != nil && !step.Next.Stop {
			answer.Tokens = append(answer.Tokens, step.Next.Token)
			if !step.Next.Token.Special {
				answer.Text += step.Next.Token.Text
			}
		}
	}
	if len(answer.Tokens) == 0 {
		return Answer{}, pkg.Errorf("%s: %w; give an answer, or ask otherwise",
			m.Info().Name, ErrNoAnswer)
	}
	return answer, nil
}

// Part returns the tokens [first,end) of a part of the answer: a text that the answer contains
// once, or bytes of the answer as BEGIN:END, counted from 0 and without END. A token belongs to the
// part if it has one of its characters other than white space. The empty part is the whole answer.
// Part returns a [trace.UsageError] if there is no such part.
func (a Answer) Part(part string) ([2]int, error) {
	if part == "" {
		return [2]int{0, len(a.Tokens)}, nil
	}
	r, isRange := [2]int{}, false
	if all, ok := units.ParseRanges(part); ok && len(all) == 1 {
		r, isRange = all[0], true
	}
	count := strings.Count(a.Text, part)
	switch {
	case count == 1:
		begin := strings.Index(a.Text, part)
		r = [2]int{begin, begin + len(part)}
	case count > 1:
		return r, trace.Usagef("the answer has %s %d times; give bytes of the answer as BEGIN:END",
			message.Quote(part), count)
	case !isRange:
		return r, trace.Usagef("the answer %s does not contain %s; give a part of it, or bytes of "+
			"it as BEGIN:END", message.Quote(a.Text), message.Quote(part))
	case r[1] > len(a.Text):
		return r, trace.Usagef("target %s; the answer has bytes 0 to %d", part, len(a.Text))
	}
	first, end := -1, 0
	for i, t := range a.Tokens {
		begin, last := max(r[0], t.Begin), min(r[1], t.End)
		if begin < last && strings.TrimSpace(a.Text[begin:last]) != "" {
			if first < 0 {
				first = i
			}
			end = i + 1
		}
	}
	if first < 0 {
		return r, trace.Usagef("target %s of the answer is white space", message.Quote(part))
	}
	return [2]int{first, end}, nil
}

// predictor returns the model as one that computes how probable an answer is.
func predictor(m trace.Model) (trace.ContinuationPredictor, error) {
	p, ok := m.(trace.ContinuationPredictor)
	info := m.Info()
	if !ok || info.Bidirectional || info.Head != trace.NextToken && info.Head != "" {
		return nil, trace.Usagef("%s does not continue a text, so it gives no answer; take a "+
			"model that generates", message.Quote(info.Name))
	}
	return p, nil
}

// tooLong reports whether a prompt and an answer are longer than the context.
func tooLong(m trace.Model, prompt, answer int) error {
	return trace.Usagef("the prompt has %d tokens and the answer %d, and %s reads at most %d in "+
		"all; give fewer or shorter documents", prompt, answer, m.Info().Name, m.Info().Context)
}

// logOdds returns ln(p/(1-p)) for ln p. A probability above 1 - 1e-7, which float32 does not tell
// from 1, counts as that.
func logOdds(lnP float64) float64 {
	lnP = min(lnP, -1e-7)
	return lnP - math.Log(-math.Expm1(lnP))
}
