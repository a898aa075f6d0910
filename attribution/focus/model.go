package focus

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Part is a group of quantities that need the same tensors.
type Part int

// The parts. Probabilities, and so Figures 4 to 6, are in each of them.
const (
	// Scores are the terms of the scores: Figures 1 to 3.
	Scores Part = iota
	// Updates are what heads add to the residual stream: Figures 7 to 9.
	Updates
	// Effects are what values could add to it: Figure 10.
	Effects
)

// Taps returns the taps of a model that some parts need, each once. Attention is always among them.
// Updates and Effects record L·H·T·D numbers each.
func Taps(parts ...Part) []trace.Tap {
	taps := []trace.Tap{trace.Attention}
	for _, part := range parts {
		switch part {
		case Scores:
			taps = append(taps, trace.Terms, trace.Scores)
		case Updates:
			taps = append(taps, trace.HeadAdded, trace.Hidden)
		case Effects:
			taps = append(taps, trace.ValueOutput, trace.Hidden)
		}
	}
	slices.Sort(taps)
	return slices.Compact(taps)
}

// Record runs a model once on ids, T tokens, and returns the text with what some parts need. The
// tensors take 4 bytes a number: L·H·T² for attention, 4 times as many for [Scores], L·H·T·D for
// [Updates] and for [Effects]. Errors are those of the model and of [New].
func Record(
	ctx context.Context, m trace.Tracer, ids []int, parts ...Part,
) (*Text, error) {
	tensors, err := m.Trace(ctx, ids, Taps(parts...))
	if err != nil {
		return nil, err
	}
	var opts Options
	if described, ok := m.(interface{ Info() trace.Info }); ok {
		info := described.Info()
		opts.Bidirectional, opts.Sinks = info.Bidirectional, info.Sinks
	}
	return New(tensors, opts)
}

// RecordEach runs a model on each of several texts and calls use with the index of the text and
// what was recorded, one text at a time, so that the tensors of one text are in memory. It ends at
// the first error, of the model or of use, and names the text.
func RecordEach(
	ctx context.Context, m trace.Tracer, texts [][]int, use func(k int, t *Text) error,
	parts ...Part,
) error {
	for k, ids := range texts {
		t, err := Record(ctx, m, ids, parts...)
		if err == nil {
			err = use(k, t)
		}
		if err != nil {
			return fmt.Errorf("text %d: %w", k, err)
		}
	}
	return nil
}
