package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// explainAll explains the prompts of a file, one result a line, and ends at the first bad one.
// Results made so far stay: on standard output, or in the part of a file.
func (p *program) explainAll(ctx context.Context, f explainFlags) error {
	input, name, err := p.openInput(ctx, f.input)
	if err != nil {
		return err
	}
	defer input.Close()
	out, err := p.create(f.output)
	if err != nil {
		return err
	}
	defer out.abandon()
	m, err := p.open(ctx, f.modelFlags)
	if err != nil {
		return err
	}
	return out.finish(p.explainLines(ctx, m, f, lines(input, name), name, out))
}

// openInput opens the file that -i names, standard input if that is "-", and says what it is
// called. The caller closes it. Reading ends with ctx.
func (p *program) openInput(ctx context.Context, path string) (io.ReadCloser, string, error) {
	if path == "-" {
		return io.NopCloser(&impatient{ctx: ctx, r: p.stdin}), "standard input", nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("input: %w", err)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, "", fmt.Errorf("input %s is a directory; name a file with a line of "+
			"JSON for each prompt", path)
	}
	return file, path, nil
}

// impatient reads until ctx is done: a terminal or a pipe may never answer.
type impatient struct {
	ctx  context.Context
	r    io.Reader
	rest []byte
	err  error
}

// Read reads what has arrived. When ctx ends, the goroutine that waits for r may go on; it has a
// buffer of its own.
func (i *impatient) Read(b []byte) (int, error) {
	if len(i.rest) == 0 && i.err == nil {
		type piece struct {
			data []byte
			err  error
		}
		got := make(chan piece, 1)
		go func() {
			data := make([]byte, 1<<16)
			n, err := i.r.Read(data)
			got <- piece{data[:n], err}
		}()
		select {
		case p := <-got:
			i.rest, i.err = p.data, p.err
		case <-i.ctx.Done():
			return 0, i.ctx.Err()
		}
	}
	n := copy(b, i.rest)
	if i.rest = i.rest[n:]; len(i.rest) > 0 || n > 0 {
		return n, nil
	}
	return 0, i.err
}

// explainLines writes a result for each line, and each is kept when it is there.
func (p *program) explainLines(
	ctx context.Context, m trace.Model, f explainFlags, all iter.Seq2[line, error], name string,
	out *output,
) error {
	made := 0
	for l, err := range all {
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(l.text)) == 0 {
			continue
		}
		e, err := p.explainLine(ctx, m, l.text, f)
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
func (p *program) explainLine(
	ctx context.Context, m trace.Model, text []byte, f explainFlags,
) (*attribution.Explanation, error) {
	l, err := readPromptLine(text)
	if err != nil {
		return nil, err
	}
	opts := f.opts
	opts.Continuation, opts.Positions = l.Continuation, l.Positions
	if opts.Continuation != "" {
		opts.MaxTokens = 0
	}
	return p.watch(ctx, m, l.Prompt, opts, f.by)
}

// promptLine is a line of --input.
type promptLine struct {
	Prompt, Continuation string
	Positions            []int
}

// readPromptLine reads a line. A key that is given must not be empty, just as --continuation ""
// is refused.
func readPromptLine(text []byte) (l promptLine, err error) {
	o, err := readObject(text, "prompt", "continuation", "positions")
	if err != nil {
		return l, err
	}
	if !o.has("prompt") {
		return l, errors.New(`it has no "prompt"`)
	}
	if l.Prompt, err = o.text("prompt"); err != nil {
		return l, err
	}
	if l.Continuation, err = o.text("continuation"); err != nil {
		return l, err
	}
	if o.has("continuation") && l.Continuation == "" {
		return l, usagef(`"continuation" is empty; leave it out to let the model continue`)
	}
	if l.Positions, err = o.numbers("positions", maxIndex); err != nil {
		return l, err
	}
	if o.has("positions") && len(l.Positions) == 0 {
		return l, usagef(`"positions" is empty; leave it out for those that the model chooses`)
	}
	return l, nil
}
