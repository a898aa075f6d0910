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
	for _, e := range s.Evidence {
		begin, end := s.Span(e.Word)
		c.Evidence = append(c.Evidence, [2]int{begin, end})
	}
	c.Changes = changesOf(s, 0)
	return c
}

// changesOf are those of the source that decide a word of the target, or leave it.
func changesOf(s tiny.Sentence, word int) (changes []evaluate.Change) {
	for _, change := range s.Changes[word] {
		begin, end := s.Span(change.Word)
		x := evaluate.Change{Span: [2]int{begin, end}, Text: change.With[0].Word}
		if answer := change.With[0].Answer; answer != "" {
			x.Answer = " " + answer
		}
		changes = append(changes, x)
	}
	return changes
}

// alignWords measures how well methods link the words of translations with those of their sources,
// on the sentences of the cases.
func alignWords(
	ctx context.Context, f benchFlags, m trace.Model, toy tiny.Model, opts evaluate.Options,
) (*evaluate.WordReport, error) {
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
	for word := range s.Target {
		t.Changes = append(t.Changes, changesOf(s, word))
	}
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
	a := r.Alignment
	proofs := evaluate.Report{Proofs: a.Proofs, Refuted: a.Refuted}
	if err := proofs.WriteProofs(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nwords of %d translations (mean and 95 %% confidence): the alignment error "+
		"rate of their links (low is good), and the\nrecall of the words of the source that are "+
		"proven to decide each (high is good)\n\n", a.Methods[0].ErrorRate.N)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "method\talignment error rate\trecall\n")
	for _, m := range a.Methods {
		fmt.Fprintf(t, "%s\t%s\t%s\n", m, m.ErrorRate, m.Recall)
	}
	return t.Flush()
}
