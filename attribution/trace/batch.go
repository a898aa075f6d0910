package trace

import (
	"context"
	"iter"
)

// Batcher is a model that generates several texts together, so that it reads its weights once for
// all of them. A text gets the tokens and, up to rounding, the numbers that it gets alone.
type Batcher interface {
	Model
	// CheckBatch returns an error that says why texts of at most so many tokens in the end cannot
	// run together with what is asked of them; nil if they can.
	CheckBatch(ask Ask, tokens int) error
	// BatchBytes returns about how many bytes so many texts take together beside the weights if
	// they have at most so many tokens in the end.
	BatchBytes(ask Ask, texts, tokens int) int64
	// Batch runs all texts, at most so many of them at a time, and yields what each pass gives:
	// the next step of each of its texts, as [Model.Steps] would yield it, but without
	// [Step.RowsOfLayer]. Texts of like length run together, and when one ends, another takes its
	// place. The texts must ask for the same mixings, and all or none for terms. The order of
	// passes depends on the texts alone. An error is the last value and ends all texts.
	Batch(ctx context.Context, texts []BatchText, most int) iter.Seq2[[]BatchStep, error]
}

// BatchText is one text of a batch and what is asked of it.
type BatchText struct {
	// IDs are the tokens of the prompt.
	IDs []int
	Ask Ask
}

// BatchStep is one step of one text of a batch.
type BatchStep struct {
	// Text is the index of the text.
	Text int
	Step Step
	// Err is why the model refuses the text, which then has no steps. Other texts go on.
	Err error
	// Last reports whether no step of the text follows.
	Last bool
}
