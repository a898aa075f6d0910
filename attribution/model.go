package attribution

import (
	"context"
	"iter"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Model is a language model that can be explained. Package models implements it without importing
// this package. A model must be safe for concurrent use.
type Model interface {
	// Info describes the model.
	Info() trace.Info
	// Encode returns the tokens of a text. It returns an error if the text has none.
	Encode(text string, specials trace.Specials) ([]trace.Token, error)
	// Steps runs the model on ids and generates tokens, one step after another, until the ask is
	// met, the text ends, ctx is done or the caller stops. If it fails, it yields the error last.
	// The caller may keep and change the slices in a step.
	Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error]
}

// Tracer is a model that returns raw tensors of one pass over T ids: one tensor for each tap, in
// the order of taps.
type Tracer interface {
	Trace(ctx context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error)
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

// Conversational is a model that was trained on conversations. Chat returns the text that it was
// trained to answer after a user says something: the chat template filled in, control tokens
// included.
type Conversational interface {
	Chat(user string) (string, error)
}
