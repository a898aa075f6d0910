package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headwater-ml/headwater/attribution"
)

// promptLine is a line of --input.
type promptLine struct {
	Prompt       *string `json:"prompt"`
	Continuation string  `json:"continuation"`
	Positions    []int   `json:"positions"`
}

// explainAll explains the prompts of a file, one result a line, and ends at the first bad one. Results made so far stay.
func (p *program) explainAll(ctx context.Context, f explainFlags) error {
	input, name, err := p.openInput(f.input)
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
	made, err := p.explainLines(ctx, m, f, lines(input, name), name, out)
	if err != nil && made == 0 {
		return err
	}
	if err != nil && f.output != "" {
		err = fmt.Errorf("%w (%d results before it are in %s)", err, made, f.output)
	}
	return errors.Join(out.commit(), err)
}

// openInput opens the file that -i names, standard input if that is "-", and says what it is called. The caller closes it.
func (p *program) openInput(path string) (io.ReadCloser, string, error) {
	if path == "-" {
		return io.NopCloser(p.stdin), "standard input", nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("input: %w", err)
	}
	return file, path, nil
}

// explainLines writes a result for each line and returns how many there are.
func (p *program) explainLines(
	ctx context.Context, m attribution.Model, f explainFlags, all func(func(line, error) bool), name string, out *output,
) (made int, err error) {
	for l, err := range all {
		if err != nil {
			return made, err
		}
		if len(bytes.TrimSpace(l.text)) == 0 {
			continue
		}
		e, err := p.explainLine(ctx, m, l.text, f)
		if err == nil {
			err = errors.Join(writeJSON(out, e), out.Flush())
		}
		if err != nil {
			return made, fmt.Errorf("%s line %d: %w", name, l.number, err)
		}
		made++
	}
	return made, nil
}

// explainLine explains one line.
func (p *program) explainLine(ctx context.Context, m attribution.Model, text []byte, f explainFlags) (*attribution.Explanation, error) {
	var l promptLine
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return nil, badPromptLine(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more after the JSON object")
	}
	if l.Prompt == nil {
		return nil, fmt.Errorf(`it has no "prompt"`)
	}
	opts := f.opts
	opts.Continuation, opts.Positions = l.Continuation, l.Positions
	return p.watch(ctx, m, *l.Prompt, opts, f.by)
}

// badPromptLine says what is wrong with a line in words of the line.
func badPromptLine(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field == "positions" {
		return fmt.Errorf(`"positions" has a %s; want a list of numbers from 0`, wrong.Value)
	}
	if wrong != nil && wrong.Field != "" {
		return fmt.Errorf("%q is a %s; want a string", wrong.Field, wrong.Value)
	}
	if wrong != nil {
		return fmt.Errorf(`it is a %s; want an object {"prompt":…}`, wrong.Value)
	}
	return fmt.Errorf(`want {"prompt":…} and, if needed, "continuation" or "positions": %w`, err)
}
