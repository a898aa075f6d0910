package attribution

import (
	"context"
	"iter"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Model is what an explanation needs of a language model. The package models satisfies it without
// importing this package. A model is safe for concurrent use.
type Model interface {
	// Info describes the model.
	Info() trace.Info
	// Encode returns the tokens of a text. It returns an error for a text without tokens.
	Encode(text string, specials trace.Specials) ([]trace.Token, error)
	// Steps runs the model on ids and generates, one step after another, until the ask is met, the
	// text ends, ctx is done or the caller stops. The error is the last thing it yields. Slices in
	// a step belong to the caller.
	Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error]
}

// Tracer is a model that returns raw tensors of one pass over ids, T tokens: one tensor for each
// tap, in the order asked.
type Tracer interface {
	Trace(ctx context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error)
}

// Limited is a model that knows few words: UnknownWords returns the words of a text that it never
// saw, in order and each once; Examples returns prompts that it handles well, the best first.
type Limited interface {
	UnknownWords(text string) []string
	Examples() []string
}

// Classifier is a model whose head knows classes: Class returns the number of the one of that name
// or number. The error lists them.
type Classifier interface {
	Class(name string) (int, error)
}

// Conversational is a model that was trained on conversations: Chat returns the text that it was
// trained to see when a user says something and it is its turn to answer, control tokens included.
type Conversational interface {
	Chat(user string) (string, error)
}
