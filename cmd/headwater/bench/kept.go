package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
)

// kept is a file with the results of a run: a first line that identifies the run, then a line for
// each result. Without a file it keeps nothing.
type kept struct {
	file *os.File
	done map[int]*evaluate.Result
}

// keptHead is the first line.
type keptHead struct {
	// Run is the SHA-256 of the program's version, the model's hash, the type of its weights, the
	// cases and the options.
	Run string `json:"headwater_bench"`
}

// openKept reads the results that a file has, if there is one, and makes it ready for more. A last
// line that was not finished is dropped.
func openKept(
	path string, info trace.Info, dtype string, cases []evaluate.Case, opts evaluate.Options,
) (*kept, error) {
	if path == "" {
		return &kept{}, nil
	}
	head, err := headOf(info, dtype, cases, opts)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666) //nolint:gosec // the umask decides
	if err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	k := &kept{file: f, done: map[int]*evaluate.Result{}}
	if err := k.read(head); err != nil {
		return nil, errors.Join(fmt.Errorf("resume: %s: %w", path, err), f.Close())
	}
	return k, nil
}

// headOf returns the line that identifies a run. Ablations are not part of it, because they can be
// measured after the rest.
func headOf(
	info trace.Info, dtype string, cases []evaluate.Case, opts evaluate.Options,
) (keptHead, error) {
	text, err := json.Marshal([]any{
		cli.Release(), info.Hash, info.Backend, dtype, cases, opts.Methods, opts.Explain,
		opts.Faithful, opts.Draws, opts.Beam, opts.Ties, opts.Least, opts.Scoring,
		opts.References, opts.Alone, opts.SkipFirst,
	})
	sum := sha256.Sum256(text)
	return keptHead{hex.EncodeToString(sum[:])}, err
}

var errOtherRun = errors.New("it is of another run: other cases, options or weights, or " +
	"another version of the program; name another file, or delete it")

// read takes what the file has and leaves it at the end of its last whole line.
func (k *kept) read(head keptHead) error {
	const most = 1 << 30
	info, err := k.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > most || !info.Mode().IsRegular() {
		return fmt.Errorf("it must be a file of at most %d bytes", most)
	}
	data, err := os.ReadFile(k.file.Name())
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if begun, err := json.Marshal(head); err != nil || whole == 0 && !bytes.HasPrefix(begun, data) {
		return errOtherRun // and no file that a run was cut in
	}
	data = data[:whole]
	for i, line := range slices.Collect(bytes.Lines(data)) {
		if i == 0 {
			var have keptHead
			if err := json.Unmarshal(line, &have); err != nil || have != head {
				return errOtherRun
			}
			continue
		}
		var r evaluate.Result
		if err := json.Unmarshal(line, &r); err != nil || r.Model == "" {
			return fmt.Errorf("line %d is no result; remove it, or name another file", i+1)
		}
		k.done[r.Case] = &r
	}
	if err := k.file.Truncate(int64(len(data))); err != nil {
		return err
	}
	if _, err := k.file.Seek(int64(len(data)), 0); err != nil {
		return err
	}
	if len(data) > 0 {
		return nil
	}
	return k.write(head)
}

// add keeps a result.
func (k *kept) add(r *evaluate.Result) error {
	if k.file == nil {
		return nil
	}
	return k.write(r)
}

// write writes a line.
func (k *kept) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := k.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return nil
}

// Close closes the file.
func (k *kept) Close() error {
	if k.file == nil {
		return nil
	}
	return k.file.Close()
}

// cost is what explaining tokens after their prompt takes.
type cost struct {
	Milliseconds float64 `json:"ms"`
	// Multiple is that of plain tokens with their prompt.
	Multiple float64 `json:"multiple"`
}

// plainLine is generation without a method.
const plainLine = "plain generation"

// costs measures each method on cases, in turns with plain generation, and takes medians of three
// rounds. So many tokens are generated and explained after each prompt; if it is one, that is the
// case's own.
func costs(
	ctx context.Context, m trace.Model, cases []evaluate.Case, opts evaluate.Options, tokens int,
) (map[string]cost, error) {
	names := append([]string{plainLine}, opts.Methods...)
	times := map[string][]float64{}
	for round := range 4 {
		for _, c := range cases {
			for _, name := range names {
				start := time.Now()
				if err := once(ctx, m, c, name, opts, tokens); err != nil {
					return nil, err
				}
				if round > 0 { // the first one warms up
					times[name] = append(times[name], time.Since(start).Seconds()*1e3)
				}
			}
		}
	}
	all := map[string]cost{}
	plain := median(times[plainLine])
	for name, t := range times {
		all[name] = cost{median(t), median(t) / plain}
	}
	return all, nil
}

// once explains a case by one method, or generates its tokens without any.
func once(
	ctx context.Context, m trace.Model, c evaluate.Case, method string, opts evaluate.Options,
	tokens int,
) error {
	if tokens > 1 {
		c.Continuation = ""
	}
	if method != plainLine {
		o, err := opts.Explain.For(method)
		if err != nil {
			return err
		}
		o.Continuation = c.Continuation
		if c.Continuation == "" {
			o.MaxTokens = tokens
		}
		if info := m.Info(); info.Reads() {
			o.MaxTokens = 0
			if c.Position != nil {
				o.Positions = []int{*c.Position}
			}
		}
		if described, err := attribution.LookupMethod(method); err == nil &&
			described.Scorer != "" && !opts.Alone {
			o.Contrast = c.Contrast
		}
		_, err = attribution.Explain(ctx, m, c.Prompt, o)
		return err
	}
	prompt, err := m.Encode(c.Prompt, trace.SpecialsAuto)
	if err != nil {
		return err
	}
	ids := trace.IDs(prompt)
	ask := trace.Ask{MaxTokens: tokens}
	if m.Info().Reads() {
		ask = trace.Ask{Positions: []int{0}}
	}
	for _, err := range m.Steps(ctx, ids, ask) {
		if err != nil {
			return err
		}
	}
	return nil
}

// median returns the middle of values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
