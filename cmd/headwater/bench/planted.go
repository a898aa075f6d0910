package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/models"
)

// benchPart is a model and cases that it is asked.
type benchPart struct {
	model *models.Model
	cases []evaluate.Case
}

// benchParts opens the models to measure: the planted circuits, or one model.
func benchParts(ctx context.Context, k *cli.Kit, f benchFlags) ([]benchPart, error) {
	names := []string{f.Model}
	if f.planted {
		names = planted.Names()
	}
	var parts []benchPart
	for i, name := range names {
		f.Model = name
		open := k.Open
		if i > 0 {
			open = k.OpenSilently // the first one has said what computes
		}
		m, err := open(ctx, f.ModelFlags)
		if err != nil {
			return nil, err
		}
		cases, err := benchCases(f, m)
		if err != nil {
			return nil, err
		}
		parts = append(parts, benchPart{m, cases})
	}
	return parts, nil
}

// circuit is whether the model is one of the planted ones, and its own texts are its cases.
func (f *benchFlags) circuit() bool {
	return f.input == "" && slices.Contains(planted.Names(), f.Model)
}

// plantedTies makes equal what differs by rounding: a circuit has many scores that are 0 or the
// same by construction, and the derivative of its norms, which do nothing else, leaves up to 1e-13
// of the largest.
const plantedTies = 1e-9

// plantedLeast is how much of an answer's logit a word of evidence moves at least, as a part of it:
// of the sum 1 of 19. No other word moves it by more than rounding.
const plantedLeast = 0.01

// plantedCases are n texts of the circuit of that name, and as many others that choose layers but
// 50 at most; with contrast each has its foil. One other word in the place of each word proves the
// evidence.
func plantedCases(name string, n int, seed uint64, contrast bool) ([]evaluate.Case, error) {
	c, err := planted.Lookup(name)
	if err != nil {
		return nil, err
	}
	var cases []evaluate.Case
	for _, t := range c.Texts(n, seed) {
		cases = append(cases, plantedCase(c, t, contrast))
	}
	for _, t := range c.Texts(min(n, maxSelection), otherSeed(seed)) {
		e := plantedCase(c, t, contrast)
		e.Selection = true
		cases = append(cases, e)
	}
	return cases, nil
}

// plantedCase is one text of a circuit.
func plantedCase(c *planted.Circuit, t planted.Text, contrast bool) evaluate.Case {
	e := evaluate.Case{Group: groupOf(c), Prompt: t.Prompt(), Continuation: " " + t.Answer}
	if contrast {
		e.Contrast = " " + t.Foil
	}
	for i := range t.Words {
		begin, end := t.Span(i)
		if slices.Contains(t.Evidence, i) {
			e.Evidence = append(e.Evidence, [2]int{begin, end})
		}
		e.Changes = append(e.Changes,
			evaluate.Change{Span: [2]int{begin, end}, Text: c.Others(t, i)[0]})
	}
	return e
}

// joined are the cases of all parts.
func joined(parts []benchPart) []evaluate.Case {
	var cases []evaluate.Case
	for _, part := range parts {
		cases = append(cases, part.cases...)
	}
	return cases
}

// describe describes the model, or all models together.
func describe(parts []benchPart) trace.Info {
	info := parts[0].model.Info()
	if len(parts) == 1 {
		return info
	}
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part.model.Info().Hash)) // a hash never returns an error
	}
	return trace.Info{
		Name: "planted circuits", Hash: hex.EncodeToString(h.Sum(nil)),
		Family: info.Family, Backend: info.Backend, Note: info.Note,
	}
}

// rules returns the rules of the circuits whose own texts are measured, by group, or nil.
func rules(parts []benchPart) map[string]string {
	var all map[string]string
	for _, part := range parts {
		c, err := planted.Lookup(part.model.Info().Name)
		if err != nil {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[groupOf(c)] = c.Rule
	}
	return all
}

// groupOf is what the cases of a circuit are summarised as.
func groupOf(c *planted.Circuit) string { return strings.TrimPrefix(c.Name, planted.Prefix) }

// measure asks each model its cases and reports on all together: what the models before it gave
// counts as done.
func measure(
	ctx context.Context, parts []benchPart, opts evaluate.Options,
) (report *evaluate.Report, err error) {
	done, total := map[int]*evaluate.Result{}, len(joined(parts))
	keep, show := opts.OnResult, opts.OnProgress
	maps.Copy(done, opts.Done)
	opts.Done = done
	opts.OnResult = func(r *evaluate.Result) error {
		done[r.Case] = r
		return keep(r)
	}
	opts.OnProgress = func(at trace.Progress) {
		at.Total = total
		show(at)
	}
	for i, part := range parts {
		if report, err = evaluate.Run(ctx, part.model, joined(parts[:i+1]), opts); err != nil {
			return nil, err
		}
	}
	return report, nil
}
