package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// benchCases returns the cases of a file, of a circuit, of tasks or of a grammar.
func benchCases(f benchFlags, m trace.Model) ([]evaluate.Case, error) {
	if f.circuit() {
		return plantedCases(f.Model, f.cases, f.seed, !f.noContrast)
	}
	if toy, ok := f.translator(); ok {
		return translationCases(toy, f.cases, f.seed, !f.noContrast), nil
	}
	if f.tasked() {
		return f.taskCases(m)
	}
	if f.input == "" {
		cases := grammarCases(m, f.cases, f.seed, !f.noContrast)
		if len(cases) == 0 {
			return nil, fmt.Errorf("no answer of the grammar is one token of %s: it was not "+
				"trained on the grammar", m.Info().Name)
		}
		return cases, nil
	}
	cases := slices.Clone(f.given)
	for i := range cases {
		// The foil of a pair is its other answer, which proves the evidence: scorers leave it out.
		if f.noContrast && cases[i].Counterfactual == "" {
			cases[i].Contrast = ""
		}
	}
	return cases, nil
}

// readCases reads the cases of a file, a line of JSON each.
func readCases(ctx context.Context, k *cli.Kit, path string) ([]evaluate.Case, error) {
	cases, name, err := cli.ReadLines(ctx, k, path, readCase)
	if err == nil && len(cases) == 0 {
		err = fmt.Errorf("%s has no cases", name)
	}
	if err != nil {
		return nil, err
	}
	return cases, nil
}

// maxSelection is how many sentences of each kind choose the layers at most.
const maxSelection = 50

// otherSeed is the seed of the sentences that choose layers: far from any that a user takes next.
func otherSeed(seed uint64) uint64 { return math.MaxUint64 - seed }

// grammarCases are held-out sentences whose answers and pieces of evidence are one token each: n of
// each kind to score, and after them others that choose layers.
func grammarCases(m trace.Model, n int, seed uint64, contrast bool) []evaluate.Case {
	var cases []evaluate.Case
	prompts := map[string]bool{}
	for _, selection := range []bool{false, true} {
		if selection {
			n, seed = min(n, maxSelection), otherSeed(seed)
		}
		for _, kind := range tiny.Kinds() {
			taken := 0
			for i, d := range tiny.New(tiny.HeldOut).Test(kind, min(3*n+20, tiny.MaxTest), seed) {
				// A list asks for each of its places, other documents ask once.
				c, ok := grammarCase(m, d, d.Answers[i%len(d.Answers)], contrast)
				if taken == n || !ok || prompts[c.Prompt] {
					continue
				}
				taken++
				prompts[c.Prompt], c.Selection = true, selection
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// grammarCase is an answer of a document with its evidence and the changes that prove it; with
// contrast its foil is the first that is one token. ok is false if the answer or a piece of
// evidence is not one token, or no such word can take the place of a piece of evidence.
func grammarCase(
	m trace.Model, d tiny.Document, a tiny.Answer, contrast bool,
) (c evaluate.Case, ok bool) {
	c = evaluate.Case{
		Group: d.Kind.String(), Prompt: d.Prompt(a),
		Continuation: " " + d.Words[a.Word],
	}
	if !oneToken(m, c.Continuation) {
		return c, false
	}
	foil := slices.IndexFunc(a.Alternatives,
		func(word string) bool { return oneToken(m, " "+word) })
	if contrast && foil >= 0 {
		c.Contrast = " " + a.Alternatives[foil]
	}
	for _, e := range a.Evidence {
		begin, end := d.BareSpan(e.Word)
		c.Evidence = append(c.Evidence, [2]int{begin, end})
	}
	for _, change := range d.Changes(a) {
		begin, end := d.BareSpan(change.Word)
		span := [2]int{begin, end}
		found := grammarChanges(m, c.Prompt, span, change)
		if slices.Contains(c.Evidence, span) &&
			(len(found) == 0 || !oneToken(m, " "+d.Words[change.Word])) {
			return c, false
		}
		c.Changes = append(c.Changes, found...)
	}
	return c, true
}

// grammarChanges are those of one word that leave the number of tokens as it is: all of a word of
// form, which is needed only if none of them does as well, and the first of other words.
func grammarChanges(
	m trace.Model, prompt string, span [2]int, change tiny.Change,
) []evaluate.Change {
	var found []evaluate.Change
	for _, s := range change.With {
		c := evaluate.Change{Span: span, Text: s.Word, Form: change.Form}
		if s.Answer != "" {
			c.Answer = " " + s.Answer
		}
		if fits, err := c.Fits(m, prompt, trace.SpecialsAuto); err != nil || !fits {
			continue
		}
		if found = append(found, c); !change.Form {
			break
		}
	}
	return found
}

// oneToken is whether a text is one token after another text.
func oneToken(m trace.Model, text string) bool {
	tokens, err := m.Encode(text, trace.SpecialsFollow)
	return err == nil && len(tokens) == 1
}
