package bench

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// alignmentMethods are those that align words unless --methods names others: attention, what flows
// through all layers, and what scores one prediction.
var alignmentMethods = []string{
	"raw", "rollout", "value-zeroing", "alti", "direct", "alti-logit", "gradient",
	"gradient-x-input", "occlusion",
}

// translator returns the embedded model that translates, if the cases are its own.
func (f *benchFlags) translator() (m tiny.Model, ok bool) {
	if f.input != "" || f.planted || f.grammar {
		return tiny.Model{}, false
	}
	m, ok = tiny.Lookup(f.Model)
	return m, ok && m.Task == tiny.Translation
}

// translationCases are held-out sentences whose answer is the first word of their translation: n of
// each kind to score, and after them others that choose layers. A word is one token.
func translationCases(m tiny.Model, n int, seed uint64, contrast bool) []evaluate.Case {
	var cases []evaluate.Case
	for _, kind := range m.Kinds() {
		for _, s := range m.Sentences(tiny.HeldOut, kind, min(n, tiny.MaxSentences), seed) {
			cases = append(cases, translationCase(s, contrast))
		}
	}
	for _, kind := range m.Kinds() {
		for _, s := range m.Sentences(tiny.HeldOut, kind, min(n, maxSelection), otherSeed(seed)) {
			c := translationCase(s, contrast)
			c.Selection = true
			cases = append(cases, c)
		}
	}
	return cases
}

// translationCase is one sentence, with the changes of its words that prove the evidence.
func translationCase(s tiny.Sentence, contrast bool) evaluate.Case {
	c := evaluate.Case{Group: s.Kind, Prompt: s.Text(), Continuation: " " + s.Right}
	if contrast {
		c.Contrast = " " + s.Wrong
	}
	span := func(word int) [2]int {
		begin, end := s.Span(word)
		return [2]int{begin, end}
	}
	for _, e := range s.Evidence {
		c.Evidence = append(c.Evidence, span(e.Word))
	}
	for _, change := range s.Changes {
		x := evaluate.Change{Span: span(change.Word), Text: change.With[0].Word}
		if answer := change.With[0].Answer; answer != "" {
			x.Answer = " " + answer
		}
		c.Changes = append(c.Changes, x)
	}
	return c
}

// alignWords measures how well methods link the words of translations with those of their sources,
// on the sentences of the cases.
func alignWords(
	ctx context.Context, f benchFlags, m trace.Model, toy tiny.Model, opts evaluate.Options,
) ([]evaluate.WordAlignment, error) {
	translations := func(n int, seed uint64) (all []evaluate.Translation) {
		for _, kind := range toy.Kinds() {
			for _, s := range toy.Sentences(tiny.HeldOut, kind, min(n, tiny.MaxSentences), seed) {
				all = append(all, translationOf(s))
			}
		}
		return all
	}
	return evaluate.AlignWords(ctx, m, translations(min(f.cases, maxSelection), otherSeed(f.seed)),
		translations(f.cases, f.seed), opts)
}

// translationOf is a sentence with its translation and the links between their words.
func translationOf(s tiny.Sentence) evaluate.Translation {
	t := evaluate.Translation{Source: s.Text(), Target: strings.Join(s.Target, " ")}
	for _, l := range s.Links {
		link := [2]int{l.Target, l.Source}
		if l.Agreement {
			t.Possible = append(t.Possible, link)
			continue
		}
		t.Sure = append(t.Sure, link)
	}
	return t
}

// writeAlignment writes how well methods align words.
func (r benchReport) writeAlignment(w io.Writer) error {
	if r.Alignment == nil {
		return nil
	}
	fmt.Fprintf(w, "\nalignment error rate of the words of %d translations (low is good; mean and "+
		"95 %% confidence)\n\n", r.Alignment[0].ErrorRate.N)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "method\tall\n")
	for _, a := range r.Alignment {
		fmt.Fprintf(t, "%s\t%s\n", a, a.ErrorRate)
	}
	return t.Flush()
}
