package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/message"
)

// explainAll explains the prompts of a file, one result a line, and ends at the first bad one.
// Results made so far stay: on standard output, or in the part of a file.
func explainAll(ctx context.Context, k *program, f explainFlags) error {
	input, name, err := k.openInput(ctx, f.input)
	if err != nil {
		return fmt.Errorf("--input: %w", err)
	}
	defer input.Close()
	out, err := k.create(ctx, f.paths[0])
	if err != nil {
		return err
	}
	defer out.abandon()
	m, err := k.open(ctx, f.modelFlags)
	if err != nil {
		return err
	}
	return out.finish(explainLines(ctx, k, m, f, lines(input, name), name, out))
}

// explainLines writes a result for each line, and each is kept when it is there.
func explainLines(
	ctx context.Context, k *program, m trace.Model, f explainFlags, all iter.Seq2[line, error],
	name string, out *output,
) error {
	made := 0
	for l, err := range all {
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(l.text)) == 0 {
			continue
		}
		e, err := explainLine(ctx, k, m, l.text, f)
		if err == nil {
			made++
			err = errors.Join(writeJSON(out, e), out.keep(message.Count(made, "result")))
		}
		if err != nil {
			return fmt.Errorf("%s line %d: %w", name, l.number, err)
		}
	}
	return nil
}

// explainLine explains one line. Its own keys stand for flags; --max-tokens goes for the lines
// without a continuation, all of which is explained.
func explainLine(
	ctx context.Context, k *program, m trace.Model, text []byte, f explainFlags,
) (*attribution.Explanation, error) {
	l, err := readPromptLine(text)
	if err != nil {
		return nil, err
	}
	opts := corpus.OptionsOf(f.opts, l.Record)
	opts.Positions = l.Positions
	if opts.InChat() {
		opts.Conversation.Date = today(m, l.Prompt, opts.Conversation)
	}
	return watch(ctx, k, m, l.Prompt, opts)
}

// promptLine is a line of --input.
type promptLine struct {
	corpus.Record
	Positions []int
}

// readPromptLine reads a line. A key that is given must not be empty, just as --continuation ""
// is refused.
func readPromptLine(text []byte) (l promptLine, err error) {
	o, err := readObject(text, slices.Concat(corpus.TextKeys(), []string{"positions"})...)
	if err != nil {
		return l, err
	}
	if l.Positions, err = o.numbers("positions", maxIndex); err != nil {
		return l, err
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if string(o[key]) == `""` || key == "positions" && o.has(key) && len(l.Positions) == 0 {
			return l, usagef("%q is empty; leave it out, or give it a value", key)
		}
	}
	return l, l.SetTexts(o)
}
