// Package tasks has texts for real language models whose evidence can be proven: pairs of a prompt
// and a counterfactual, in which a few words are replaced so that another answer becomes right.
//
//	cases, err := tasks.Cases("facts", tasks.Options{N: 100, Seed: 1})
//	for i := range cases {
//		cases[i].Changes = tasks.Changes(model, cases[i])
//	}
//	report, err := evaluate.Run(ctx, model, cases, evaluate.Options{Limit: 30})
//
// The texts are made from templates and lists of words. They are candidates: [evaluate.Run] asks
// the model and scores only those in which the model gives the answer, the counterfactual changes
// it, and no change of another word does. So a kind that a model cannot do has few cases or none.
//
// Evidence stands early, in the middle or late in a prompt, with sentences that say nothing about
// the answer before and after it, and never at the first token, which models use as a sink. Every
// word list and every template belongs to one [Split], so that a choice made on one half can be
// tested on the other.
package tasks

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Split is a half of the word lists and templates.
type Split string

// The splits.
const (
	// HeldOut is for figures that are published. It is the default.
	HeldOut Split = "held-out"
	// Dev is for choices, such as that of a layer or a default.
	Dev Split = "dev"
)

// ParseSplit reads the name of a split; the empty string is [HeldOut].
func ParseSplit(s string) (Split, error) {
	switch split := cmp.Or(Split(s), HeldOut); split {
	case HeldOut, Dev:
		return split, nil
	}
	return "", trace.Usagef("split %s is unknown; it is %s or %s", message.Quote(s), HeldOut, Dev)
}

// kind is a kind of task. draw makes one text at random.
type kind struct {
	name string
	draw func(*source) *draft
}

// kinds are all kinds in the order of reports.
var kinds = []kind{
	{"indirect-object", indirectObject}, // of two people, who gets something
	{"facts", facts},                    // a made-up fact that the prompt states
	{"analogy", analogy},                // the second word of a pair: a capital, an opposite
	{"induction", induction},            // the next word of a list that repeats
	{"agreement", agreement},            // the number of a verb, across nouns of the other number
	{"greater-than", greaterThan},       // a year that is not before another
	{"copying", copying},                // the next word of a sentence that is repeated
	{"variable", variable},              // in code, the parameter that is not used yet
	{"function", function},              // in code, the name of the only function
	{"bracket", bracket},                // in code, what closes the innermost open bracket
}

// Kinds returns the names of all kinds of task, in the order of reports.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// MaxCases is the largest number of cases of a kind that [Cases] makes.
const MaxCases = 2000

// Options choose the cases to make.
type Options struct {
	// Split is the half of the words and templates; default [HeldOut].
	Split Split
	// Seed chooses the cases. Equal seeds give equal cases in equal order, and more cases of a seed
	// begin with those of fewer.
	Seed uint64
	// N is how many cases to make, in [1,MaxCases]. Fewer are returned if the words do not give as
	// many different texts.
	N int
}

// Cases returns candidates of one kind, without changes; see [Changes]. It returns a
// [trace.UsageError] for an unknown kind, an unknown split or N out of range.
func Cases(name string, opts Options) ([]evaluate.Case, error) {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if at < 0 {
		return nil, trace.Usagef("kind %s is unknown; %s", message.Quote(name),
			message.KnownAre(name, Kinds()))
	}
	split, err := ParseSplit(string(opts.Split))
	if err != nil {
		return nil, err
	}
	if opts.N < 1 || opts.N > MaxCases {
		return nil, trace.Usagef("%d cases of a kind; want 1 to %d", opts.N, MaxCases)
	}
	h := fnv.New64a()
	fmt.Fprint(h, name, " ", split)
	s := &source{rand.New(rand.NewPCG(opts.Seed, h.Sum64())), split, wordsOf(split)}
	var cases []evaluate.Case
	seen := map[string]bool{}
	// A kind with few texts repeats itself: the search ends after many draws in a row gave nothing.
	for tries := 0; len(cases) < opts.N && tries < 1000; tries++ {
		d := kinds[at].draw(s)
		c := d.testCase(name)
		if seen[c.Prompt] {
			continue
		}
		seen[c.Prompt], tries = true, 0
		cases = append(cases, c)
	}
	return cases, nil
}

// source draws words at random from the lists of one split.
type source struct {
	*rand.Rand
	split Split
	*words
}

// pick returns n different words of a list, in random order.
func (s *source) pick(list []string, n int) []string {
	order := s.Perm(len(list))[:n]
	out := make([]string, n)
	for i, k := range order {
		out[i] = list[k]
	}
	return out
}

// one returns one word of a list.
func (s *source) one(list []string) string { return list[s.IntN(len(list))] }

// template returns a template of a kind of task.
func (s *source) template(kind string) string { return s.one(s.half(texts.Templates[kind])) }

// half returns the templates of the split: those at even places of the list are held out.
func (s *source) half(list []string) []string {
	var out []string
	for i, t := range list {
		if (i%2 == 0) == (s.split == HeldOut) {
			out = append(out, t)
		}
	}
	return out
}

// draft is a prompt and its counterfactual while they are written.
type draft struct {
	prompt, counterfactual strings.Builder
	evidence, question     [][2]int
	answers, foils         []string
}

// slot is what stands in a place of a template: a word, and for evidence another word that the
// counterfactual has instead. asks reports whether the word tells which thing is asked for.
type slot struct {
	word, other string
	asks        bool
}

// fill adds a template, in which {name} is the place of a slot. Its own words ask the question. It
// panics if there is no such slot.
func (d *draft) fill(template string, slots map[string]slot) {
	for template != "" {
		text, rest, found := strings.Cut(template, "{")
		d.add(slot{word: text, asks: true})
		if !found {
			return
		}
		name, after, closed := strings.Cut(rest, "}")
		s, ok := slots[name]
		if !ok || !closed {
			panic(fmt.Sprintf("tasks: the template %q has no slot %q", template, name))
		}
		d.add(s)
		template = after
	}
}

// add adds a word.
func (d *draft) add(s slot) {
	begin := d.prompt.Len()
	d.prompt.WriteString(s.word)
	d.counterfactual.WriteString(cmp.Or(s.other, s.word))
	span := [2]int{begin, d.prompt.Len()}
	switch {
	case s.other != "" && s.other != s.word:
		d.evidence = append(d.evidence, span)
	case s.asks && span[0] < span[1]:
		d.question = append(d.question, span)
	}
}

// testCase returns the text as a case.
func (d *draft) testCase(group string) evaluate.Case {
	c := evaluate.Case{
		Group: group, Prompt: d.prompt.String(), Counterfactual: d.counterfactual.String(),
		Evidence: d.evidence, Question: d.question,
	}
	if len(d.answers) == 1 && len(d.foils) == 1 {
		c.Continuation, c.Contrast = d.answers[0], d.foils[0]
		return c
	}
	c.Answers, c.Foils = d.answers, d.foils
	return c
}

// places are where the evidence stands: how many sentences that say nothing about the answer stand
// before the fact, and between the fact and the question.
var places = [][2]int{{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}}

// compose writes filler, the fact, more filler, and the question.
func (s *source) compose(fact, question string, slots map[string]slot) *draft {
	d := &draft{}
	place := places[s.IntN(len(places))]
	filler := s.pick(s.Lists["fillers"], place[0]+place[1])
	for _, text := range filler[:place[0]] {
		d.add(slot{word: text + " "})
	}
	d.fill(fact+" ", slots)
	for _, text := range filler[place[0]:] {
		d.add(slot{word: text + " "})
	}
	d.fill(question, slots)
	return d
}

// code writes a template after up to three lines of other code. A bar is where others may stand.
func (s *source) code(template string, slots map[string]slot) *draft {
	d := &draft{}
	lines := s.pick(s.Lists["snippets"], 5)
	before, after, cut := strings.Cut(template, "|")
	for _, line := range lines[:s.IntN(4)] {
		d.add(slot{word: line, asks: true})
	}
	d.fill(before, slots)
	if cut {
		indent := after[:len(after)-len(strings.TrimLeft(after, " "))]
		for _, line := range lines[3:][:s.IntN(3)] {
			d.add(slot{word: indent + line, asks: true})
		}
		d.fill(after, slots)
	}
	return d
}

// lead writes up to two sentences of filler before a text that cannot be divided.
func (s *source) lead(text string, slots map[string]slot) *draft {
	d := &draft{}
	for _, filler := range s.pick(s.Lists["fillers"], s.IntN(3)) {
		d.add(slot{word: filler + " "})
	}
	d.fill(text, slots)
	return d
}
