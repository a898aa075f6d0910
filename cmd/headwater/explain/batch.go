package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/message"
)

// explainAll explains the prompts of a file, one result a line, and ends at the first bad one.
// Results made so far stay: on standard output, or in the part of a file.
func explainAll(ctx context.Context, k *cli.Kit, f explainFlags) error {
	input, name, err := k.OpenInput(ctx, f.input)
	if err != nil {
		return fmt.Errorf("--input: %w", err)
	}
	defer input.Close()
	out, err := k.Create(ctx, f.paths[0])
	if err != nil {
		return err
	}
	defer out.Abandon()
	m, err := f.open(ctx, k)
	if err != nil {
		return err
	}
	return outputSet{out}.finish(f.outputFlags,
		explainLines(ctx, k, m, f, cli.Lines(input, name), name, out))
}

// explainLines writes a result for each line, and each is kept when it is there.
func explainLines(
	ctx context.Context, k *cli.Kit, m trace.Model, f explainFlags, all iter.Seq2[cli.Line, error],
	name string, out *cli.Output,
) error {
	made := 0
	for l, err := range all {
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(l.Text)) == 0 {
			continue
		}
		e, err := explainLine(ctx, k, m, l.Text, f)
		if err == nil {
			made++
			err = errors.Join(cli.WriteJSON(out, export.Document(e)),
				out.Keep(message.Count(made, "result")))
		}
		if err != nil {
			return fmt.Errorf("%s line %d: %w", name, l.Number, err)
		}
	}
	if made == 0 {
		k.Say(`note: %s has no prompt, which is a line such as {"prompt": "…"}`, name)
	}
	return nil
}

// explainLine explains one line. Its own keys stand for flags; --max-tokens goes for the lines
// without a continuation, all of which is explained.
func explainLine(
	ctx context.Context, k *cli.Kit, m trace.Model, text []byte, f explainFlags,
) (*attribution.Explanation, error) {
	l, err := readPromptLine(text)
	if err != nil {
		return nil, err
	}
	opts := corpus.OptionsOf(f.opts, l.Record)
	opts.Positions, opts.Opens = l.Positions, f.show.Opening
	if opts.InChat() {
		opts.Conversation.Date = cli.Today(m, l.Prompt, opts.Conversation)
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
	const positions = "positions"
	o, err := cli.ReadValues(text, slices.Concat(corpus.TextKeys(), []string{positions}))
	if err != nil && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		err = fmt.Errorf(`%w; want an object a line, such as {"prompt": "…"}`, err)
	}
	if err != nil {
		return l, err
	}
	if err := cli.ReadKeys(o, cli.ListKey(positions, fmt.Sprintf("whole numbers from 0 to %d",
		cli.MaxIndex), &l.Positions, func(v json.RawMessage) (int, error) {
		return cli.WholeOf(v, cli.MaxIndex)
	})); err != nil {
		return l, err
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		none := key == positions && l.Positions != nil && len(l.Positions) == 0
		if none || string(o[key]) == `""` {
			return l, cli.Usagef("%q is empty; leave it out, or give it a value", key)
		}
	}
	return l, l.SetTexts(o)
}
