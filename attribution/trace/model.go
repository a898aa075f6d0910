package trace

import (
	"context"
	"iter"

	"github.com/headwater-ml/headwater/internal/message"
)

// Model is a language model that can be explained. Package models implements it. A model must be
// safe for concurrent use.
type Model interface {
	// Info describes the model.
	Info() Info
	// Encode returns the tokens of a text. It returns an error if the text has none.
	Encode(text string, specials Specials) ([]Token, error)
	// Steps runs the model on ids and generates tokens, one step after another, until the ask is
	// met, the text ends, ctx is done or the caller stops. If it fails, it yields the error last.
	// The caller may keep and change the slices in a step.
	Steps(ctx context.Context, ids []int, ask Ask) iter.Seq2[Step, error]
}

// Tracer is a model that returns raw tensors of one pass over T ids: one tensor for each tap, in
// the order of taps.
type Tracer interface {
	Trace(ctx context.Context, ids []int, taps []Tap) ([]Tensor, error)
}

// TypedTracer is a [Tracer] that can be told the token types of a text, [T].
type TypedTracer interface {
	Tracer
	TraceTypes(ctx context.Context, ids, types []int, taps []Tap) ([]Tensor, error)
}

// Limited is a model that knows few words. UnknownWords returns the words of a text that were not
// in its training text, in order and each once. Examples returns prompts that it handles well, the
// best first.
type Limited interface {
	UnknownWords(text string) []string
	Examples() []string
}

// Classifier is a model whose head predicts classes. Class returns the number of a class given by
// its name or number. The error lists the classes.
type Classifier interface {
	Class(name string) (int, error)
}

// PairEncoder is a model that can encode two texts as one, such as a question and what may answer
// it. Begin and End of the tokens are bytes of the text that [JoinPair] returns.
type PairEncoder interface {
	EncodePair(first, second string, specials Specials) ([]Token, error)
}

// Translator is a model that translates between languages. Between returns it for sources and
// targets in languages given by the names that its tokenizer has for them, "" for those that the
// model has by default; the error lists some of them.
type Translator interface {
	Between(from, to string) (Model, error)
}

// Between returns the model for texts in these languages: m itself if none is given. It returns a
// [UsageError] if the model does not translate or does not know a language.
func Between(m Model, from, to string) (Model, error) {
	if from == "" && to == "" {
		return m, nil
	}
	t, ok := m.(Translator)
	if !ok || m.Info().EncoderLayers == 0 {
		return nil, Usagef("%s does not translate; leave out %s and %s", message.Quote(
			m.Info().Name), Called("source language", "From"), Called("target language", "To"))
	}
	return t.Between(from, to)
}

// JoinPair returns the text of two texts, one below the other, and the byte at which the second
// begins.
func JoinPair(first, second string) (text string, begin int) {
	return first + "\n" + second, len(first) + 1
}

// Conversational is a model that was trained on conversations. Converse returns the text that it
// was trained to continue with its answer: the chat template filled in with the messages of
// [Conversation.Turns], control tokens included. The parts are those of the text.
type Conversational interface {
	Converse(c Conversation, prompt string) (text string, parts []Part, err error)
}

// Differentiable is a model that returns gradients.
type Differentiable interface {
	Model
	// Embed returns the embeddings of ids, [T,D], the rows that [Query.Embeddings] replace.
	Embed(ctx context.Context, ids []int) ([]float32, error)
	// Gradients returns the gradient of each query by a rule. All queries have the same length.
	Gradients(ctx context.Context, queries []Query,
		rule Backward) ([]Gradient, error)
}

// LayerReader is a model that can compute rows of a single layer after it chose a token.
// ReadsLayers reports whether its steps have [Step.RowsOfLayer].
type LayerReader interface {
	Model
	ReadsLayers() bool
}

// Predictor is a model that computes one number for each of several texts.
type Predictor interface {
	Model
	// Predict returns the number that each query asks for, in their order. Texts may have different
	// lengths.
	Predict(ctx context.Context, queries []Query) ([]float64, error)
}

// ContinuationPredictor is a model that computes how probable one text is after each of several
// others.
type ContinuationPredictor interface {
	Model
	// PredictContinuation returns how probable a continuation of C tokens is after each of P
	// prompts. What prompts have in common at their beginning may be read once. done, if not nil,
	// is called after each prompt with the number of prompts so far.
	PredictContinuation(ctx context.Context, prompts [][]int, continuation []int,
		done func(prompts int)) (*Continuations, error)
}

// Continuations returns how probable a continuation is after each of several prompts.
type Continuations struct {
	// LogProbabilities are [P,C]: the log-probability of each token of the continuation after the
	// prompt and the tokens before it, in nats.
	LogProbabilities [][]float64
	// Read is how many tokens the model ran, and Whole how many they would be if every prompt had
	// been read alone.
	Read, Whole int
}

// Replacer is a model with tokens that can replace others: kind is mask, unknown, pad or end. ok is
// false if the model has no such token.
type Replacer interface {
	Replacement(kind string) (id int, ok bool)
}

// SourceReplacer is a [Replacer] whose source has a vocabulary of its own, see [Info.SourceVocab]:
// SourceReplacement is the token that replaces those of the source, Replacement one of the target.
type SourceReplacer interface {
	SourceReplacement(kind string) (id int, ok bool)
}

// TokenTexter is a model that knows the text of every token. TokenText returns that of a token by
// its id. The default replacement of a scorer depends on it.
type TokenTexter interface {
	TokenText(id int) string
}

// LogitDecomposer is a model that splits a logit into parts.
type LogitDecomposer interface {
	Model
	// LogitTerms returns the parts of the query's logit; its quantity must be [Logit].
	LogitTerms(ctx context.Context, q Query) (*LogitTerms, error)
}

// VectorDecomposer is a model that follows every token's part of the residual stream through all
// layers.
type VectorDecomposer interface {
	Model
	// Decompose returns the part of the query's logit that comes from each token, [T], and the rest
	// that belongs to none.
	Decompose(ctx context.Context, q Query) (parts []float64, rest float64, err error)
}

// TextKeeper is a model that answers the queries about a text that grows faster if it keeps what it
// computed of the text so far. It is kept for one explanation, not with the model: else what an
// earlier explanation left would decide the last digits of the next one.
type TextKeeper interface {
	Model
	// ForText returns the model for one text, to be used by one goroutine, and a function that
	// frees what it keeps.
	ForText() (m Model, free func())
}
