package figures

import (
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/tasks"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// nextSentence is a text that ends before the word that it is about. The paper of Value Zeroing has
// encoders alone: where it masks a word, the text for a decoder ends before that word, and the row
// is that of the last token, which predicts it.
type nextSentence struct {
	evaluate.Case
	// right and wrong are the tokens of a minimal pair.
	right, wrong int
	// other reports whether a plural word is right, or a male pronoun; else a singular word or a
	// female pronoun is.
	other bool
	// swapped is the same text with a subject of the other number; empty in the toy grammar.
	swapped string
}

// The kinds of sentences: the verb and the pronoun of the toy grammar, and the verb of English.
const agreementKind, pronounKind = "agreement", "pronoun"

// nextLength is the largest number of tokens of an English sentence. What a method costs grows with
// the square of it.
const nextLength = 24

// nextSentences returns n sentences of each kind: of the toy grammar, or of English.
func (r *run) nextSentences(n int, kinds ...string) ([]nextSentence, error) {
	if !r.toy() {
		return r.englishVerbs(n)
	}
	var all []nextSentence
	for _, kind := range kinds {
		some, err := r.sentences(tiny.Name, kind, n)
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			male := slices.Contains([]string{"he", "his", "him"}, s.Right)
			x := nextSentence{other: male || s.Form == "plural"}
			x.Case = evaluate.Case{Group: kind, Prompt: s.Text()}
			for _, w := range s.Sources() {
				begin, end := s.Span(w)
				x.Evidence = append(x.Evidence, [2]int{begin, end})
			}
			if err := r.pair(&x, s.Right, s.Wrong); err != nil {
				return nil, err
			}
			all = append(all, x)
		}
	}
	return all, nil
}

// englishVerbs returns n English sentences that end before a verb, whose number is that of a noun
// with others of the other number behind it. Longer ones than [nextLength] are passed over.
func (r *run) englishVerbs(n int) ([]nextSentence, error) {
	candidates, err := tasks.Cases(agreementKind, tasks.Options{Seed: sentenceSeed, N: 8 * n})
	if err != nil {
		return nil, err
	}
	var all []nextSentence
	for _, c := range candidates {
		tokens, _, err := r.encode(c.Prompt)
		if err != nil {
			return nil, err
		}
		if len(tokens) > nextLength {
			continue
		}
		x := nextSentence{other: c.Answers[0] == " are", swapped: c.Counterfactual}
		x.Case = evaluate.Case{Group: c.Group, Prompt: c.Prompt, Evidence: c.Evidence}
		if err := r.pair(&x, c.Answers[0][1:], c.Foils[0][1:]); err != nil {
			return nil, err
		}
		if all = append(all, x); len(all) == n {
			return all, nil
		}
	}
	return nil, lackf("it takes sentences of at most %d tokens, and %s reads %d of %d as so few; "+
		"%d are needed", nextLength, r.info.Name, len(all), len(candidates), n)
}

// pair sets the tokens of a minimal pair.
func (r *run) pair(x *nextSentence, right, wrong string) (err error) {
	if x.right, err = r.candidate(right); err == nil {
		x.wrong, err = r.candidate(wrong)
	}
	return err
}

// cases returns the cases of sentences.
func cases(sentences []nextSentence) []evaluate.Case {
	var all []evaluate.Case
	for _, s := range sentences {
		all = append(all, s.Case)
	}
	return all
}

// noteSentences notes what the sentences are, and in how many the model prefers the right word.
func (r *run) noteSentences(sentences []nextSentence) error {
	right := 0
	for _, s := range sentences {
		_, ids, err := r.encode(s.Prompt)
		if err != nil {
			return err
		}
		v, err := r.predict(trace.Query{IDs: ids, Objective: trace.Objective{
			Quantity: trace.Logit, Position: len(ids) - 1, Token: s.right, Contrast: &s.wrong,
		}})
		if err != nil {
			return err
		}
		if v[0] > 0 {
			right++
		}
	}
	source := "English and end before a verb, with nouns of the other number between it and its " +
		"subject"
	if r.toy() {
		source = "held-out ones of the toy grammar and end before a verb or a pronoun"
	}
	r.note("The %d sentences are %s. %s prefers the right word to the wrong one of its pair in "+
		"%d of them; all of them count.", len(sentences), source, modelName(r.info.Name), right)
	return nil
}

// bySize returns how many sentences a toy reads, or a larger model.
func (r *run) bySize(toy, language int) int {
	if r.toy() {
		return toy
	}
	return language
}

func nextCues(r *run) error {
	n := r.sample(r.bySize(50, 24), r.bySize(6, 3))
	sentences, err := r.nextSentences(n, agreementKind, pronounKind)
	if err != nil {
		return err
	}
	if err := r.alignCues(cases(sentences)); err != nil {
		return err
	}
	r.note("The row is that of the last token, which predicts the word that is left out.")
	return r.noteSentences(sentences)
}

// generatedWords is how many generated tokens of each sentence are explained.
const generatedWords = 3

func nextFaithfulness(r *run) error {
	n := r.sample(r.bySize(40, 8), r.bySize(4, 2))
	sentences, err := r.nextSentences(n, agreementKind, pronounKind)
	if err != nil {
		return err
	}
	rho := map[string][]float64{}
	generated := 0
	for i, s := range sentences {
		e, err := r.explain(s.Prompt, attribution.Options{
			Methods: rolledMethods, MaxTokens: generatedWords,
		})
		if err != nil {
			return err
		}
		for t := range e.Steps {
			words, importance, err := r.erase(e, t)
			if err != nil {
				return err
			}
			compareRows(rho, e, t, words, importance)
			generated++
		}
		r.progress("erasing tokens", "sentence", i+1, len(sentences))
	}
	r.compareRolled(rho, "erasing", fmt.Sprintf("%d generated tokens of %d sentences", generated,
		len(sentences)))
	r.note("For each generated token, every token of the prompt is taken out of the text, one at " +
		"a time, and the probability of the generated token is computed again. The token where " +
		"the prediction is read stays.")
	return r.noteSentences(sentences)
}

// erase returns how far the probability of generated token t moves if each token of the prompt is
// taken out of the text, and the positions of these tokens: all but control tokens and the last
// token of the text, where the prediction is read.
func (r *run) erase(
	e *attribution.Explanation, t int,
) (words []int, importance []float64, err error) {
	ids := slices.Clone(e.Prompt.IDs)
	for _, step := range e.Steps[:t] {
		ids = append(ids, step.ID)
	}
	last := len(ids) - 1
	query := func(ids []int) trace.Query {
		return trace.Query{IDs: ids, Objective: trace.Objective{
			Quantity: trace.Probability, Position: len(ids) - 1, Token: e.Steps[t].ID,
		}}
	}
	queries := []trace.Query{query(ids)}
	for j, special := range e.Prompt.Special {
		if special || j == last {
			continue
		}
		words = append(words, j)
		queries = append(queries, query(slices.Delete(slices.Clone(ids), j, j+1)))
	}
	values, err := r.predict(queries...)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range values[1:] {
		importance = append(importance, math.Abs(values[0]-v))
	}
	return words, importance, nil
}

func nextProbing(r *run) error {
	n := r.sample(r.bySize(150, 60), r.bySize(30, 15))
	sentences, err := r.nextSentences(n, pronounKind)
	if err != nil {
		return err
	}
	x := probed{
		states: make([][]float32, r.info.Layers+1), // of the last token, [N,D]
		what:   "sentences before a pronoun",
	}
	if !r.toy() {
		x.what = "sentences before a verb"
	}
	add := func(prompt string, other bool) error {
		_, ids, err := r.encode(prompt)
		if err != nil {
			return err
		}
		label := 0
		if other {
			label = 1
		}
		x.labels = append(x.labels, label)
		return r.appendStates(x.states, ids, len(ids)-1)
	}
	for i, s := range sentences {
		if err := add(s.Prompt, s.other); err != nil {
			return err
		}
		// The last noun has the other number than the verb. With a subject of the other number in
		// the same text as well, its own number says nothing about that of the verb.
		if s.swapped != "" {
			if err := add(s.swapped, !s.other); err != nil {
				return err
			}
		}
		r.progress("recording hidden states", "sentence", i+1, len(sentences))
	}
	x.cases = cases(sentences[:min(len(sentences), r.sample(r.bySize(50, 24), 6))])
	if err := r.probe(x); err != nil {
		return err
	}
	if r.toy() {
		r.note("The probe reads at the last token whether the pronoun that comes next is male.")
	} else {
		r.note("The probe reads at the last token whether the verb that comes next is in the " +
			"plural. Each text is there twice, with a subject of each number, so the last noun " +
			"does not say it.")
	}
	return r.noteSentences(sentences)
}
