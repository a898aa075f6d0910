package models

import (
	"slices"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// Sentence is a text for an embedded model of which it is known what decides the answer.
type Sentence struct {
	Text string
	// Kind is the phenomenon that the sentence shows, such as pronoun; for a circuit it is the rule
	// by which the answer follows.
	Kind string
	// Right is the answer and Wrong another one: two words that stand for the mask token, or follow
	// the text if it has none, or two classes.
	Right, Wrong string
	// Evidence are the words that decide the answer, each as the bytes [begin,end) of Text.
	Evidence [][2]int
}

// Sentences returns n different held-out sentences of a kind for an embedded model: the words that
// matter were never together in its training. "" is the first kind that the model has. Equal
// arguments give equal sentences. It is a [*trace.UsageError] if there is no such embedded model or
// kind, or not as many sentences.
func Sentences(model, kind string, n int, seed uint64) ([]Sentence, error) {
	if !slices.Contains(Builtin(), model) {
		return nil, usagef("no embedded model is called %.60q; %s", model,
			message.KnownAre(model, Builtin()))
	}
	if n < 0 || n > tiny.MaxSentences {
		return nil, usagef("%d sentences; want 0 to %d", n, tiny.MaxSentences)
	}
	var found []Sentence
	if circuit, err := planted.Lookup(model); err == nil {
		if kind != "" && kind != circuit.Rule {
			return nil, usagef("%s has sentences of one kind, not of %.60q", model, kind)
		}
		for _, t := range circuit.Texts(n, seed) {
			found = append(found, Sentence{
				t.Prompt(), circuit.Rule, t.Answer, t.Foil, spans(t.Span, t.Evidence),
			})
		}
		return found, nil
	}
	toy, _ := tiny.Lookup(model)
	if kinds := toy.Kinds(); kind == "" {
		kind = kinds[0]
	} else if !slices.Contains(kinds, kind) {
		return nil, usagef("%s has no sentences of the kind %.60q; %s", model, kind,
			message.KnownAre(kind, kinds))
	}
	for _, s := range toy.Sentences(tiny.HeldOut, kind, n, seed) {
		var words []int
		for _, e := range s.Evidence {
			words = append(words, e.Word)
		}
		found = append(found, Sentence{
			s.Text(), kind, s.Right, s.Wrong, spans(s.Span, words),
		})
	}
	return found, nil
}

// spans returns the span of each of the words.
func spans(span func(word int) (begin, end int), words []int) [][2]int {
	var all [][2]int
	for _, w := range words {
		begin, end := span(w)
		all = append(all, [2]int{begin, end})
	}
	return all
}
