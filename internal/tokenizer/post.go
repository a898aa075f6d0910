package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
)

// postProcessor finishes the lists of tokens, in place where it can. The text is one list at first.
// A post-processor may return any number of lists; they are joined in the end. A list after the
// first counts as a second text, as in the reference.
type postProcessor interface {
	process(text string, lists [][]token, addSpecials bool, m *meter) ([][]token, error)
}

// finish applies the post_processor and joins the lists. Most texts stay one list, which is not
// copied.
func (t *Tokenizer) finish(
	text string, lists [][]token, addSpecials bool, m *meter,
) ([]token, error) {
	lists, err := t.post.process(text, lists, addSpecials, m)
	if err != nil {
		return nil, err
	}
	if len(lists) == 1 {
		return lists[0], nil
	}
	all := make([]token, 0, countTokens(lists))
	for _, l := range lists {
		all = append(all, l...)
	}
	return all, nil
}

// postProcessors are applied one after the other. A Sequence inside a Sequence is flattened.
type postProcessors []partOf[postProcessor]

// tokenSteps is how many steps it counts to copy a token.
const tokenSteps = 8

// process applies all post-processors, each to the lists of the one before.
func (s postProcessors) process(
	text string, lists [][]token, addSpecials bool, m *meter,
) ([][]token, error) {
	for _, p := range s {
		before := countTokens(lists)
		err := m.step(tokenSteps * (before + 1))
		if err == nil {
			lists, err = p.part.process(text, lists, addSpecials, m)
		}
		if err != nil {
			return nil, p.wrap(err)
		}
	}
	return lists, nil
}

// countTokens returns the number of tokens in all lists.
func countTokens(lists [][]token) int {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	return n
}

// finishPlan is what the post-processors do to a text whose tokens come a few at a time.
type finishPlan struct {
	streams       bool // the text appears once, so its tokens need not be kept
	before, after []token
	trims         []plannedTrim
}

// plannedTrim is a trim of the tokens of the text. index is that of the first of them in its list.
type plannedTrim struct {
	trim
	place
	index int
}

// plan applies the post-processors to a list with one placeholder instead of a text, and records
// what happens to it. A text that is read from a stream has no end yet, so what surrounds it must
// be known before.
func (s postProcessors) plan(addSpecials bool, m *meter) (finishPlan, error) {
	const placeholder = -1
	var plan finishPlan
	lists := [][]token{{{Encoded: Encoded{ID: placeholder}}}}
	for _, p := range s {
		// A trim looks at the text, so it is noted here and applied when the tokens come.
		if t, ok := p.part.(trim); ok {
			for _, l := range lists {
				at := slices.IndexFunc(l, func(t token) bool { return t.ID == placeholder })
				// at tokens come before the text in this list.
				if at >= 0 {
					plan.trims = append(plan.trims, plannedTrim{t, p.place, at})
				}
			}
		}
		var err error
		lists, err = (postProcessors{p}).process("", lists, addSpecials, m)
		if err != nil {
			return plan, err
		}
	}
	placeholders := 0
	for _, l := range lists {
		for _, t := range l {
			switch {
			case t.ID == placeholder:
				placeholders++
			case placeholders == 0:
				plan.before = append(plan.before, t)
			default:
				plan.after = append(plan.after, t)
			}
		}
	}
	// A template may leave the text out or repeat it; then its tokens must be kept.
	plan.streams = placeholders == 1
	return plan, nil
}

// trim is the post_processor ByteLevel with trim_offsets.
type trim struct{ addPrefixSpace bool }

// process changes only offsets: they no longer cover white space at the ends of tokens.
func (p trim) process(text string, lists [][]token, _ bool, m *meter) ([][]token, error) {
	for _, l := range lists {
		if err := trimOffsets(text, l, p.addPrefixSpace, 0, m); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// bertProcessor adds control tokens: BertProcessing puts cls before a text and sep after each text.
// RobertaProcessing, of which this is the second half, also puts sep before a second text.
type bertProcessor struct {
	cls, sep token
	roberta  bool
}

// process adds [CLS] A [SEP], or for two texts [CLS] A [SEP] B [SEP], where B and its [SEP] are of
// type 1; with roberta <s> A </s></s> B </s>, all of type 0.
func (p bertProcessor) process(
	_ string, lists [][]token, addSpecials bool, _ *meter,
) ([][]token, error) {
	for i, l := range lists {
		k := i
		if p.roberta {
			k = 0
		}
		if !addSpecials {
			typed(l, k)
			continue
		}
		all := make([]token, 0, len(l)+2)
		switch {
		case i == 0:
			all = append(all, p.cls)
		case p.roberta:
			all = append(all, p.sep)
		}
		lists[i] = typed(append(append(all, l...), p.sep), k)
	}
	return lists, nil
}

// postProcessorKinds parses the post-processors, by type.
var postProcessorKinds = map[string]func(json.RawMessage, *vocabulary) ([]postProcessor, error){
	"BertProcessing":     readingWith(newBertProcessing),
	"ByteLevel":          readingWith(newTrim),
	"RobertaProcessing":  readingWith(newRoberta),
	"TemplateProcessing": readingWith(newTemplate),
}

// readingWith is [reading] for parts that name tokens of the vocabulary.
func readingWith[F any](part func(F, *vocabulary) ([]postProcessor, error)) func(
	json.RawMessage, *vocabulary,
) ([]postProcessor, error) {
	return func(raw json.RawMessage, vocab *vocabulary) ([]postProcessor, error) {
		return reading(func(f F) ([]postProcessor, error) { return part(f, vocab) })(raw)
	}
}

// parsePostProcessor parses a post_processor as a list. A type may be no or several parts.
func parsePostProcessor(
	key string, raw json.RawMessage, vocab *vocabulary, depth int,
) (postProcessors, error) {
	parse := func(kind string, raw json.RawMessage) ([]postProcessor, error) {
		return postProcessorKinds[kind](raw, vocab)
	}
	return sectionParser[postProcessor]{"processors", names(postProcessorKinds), parse}.parts(
		key, raw, depth)
}

// newTrim makes ByteLevel, which does nothing without trim_offsets.
func newTrim(b byteLevelFile, _ *vocabulary) ([]postProcessor, error) {
	if !b.TrimOffsets {
		return nil, nil
	}
	return []postProcessor{trim{b.AddPrefixSpace}}, nil
}

// namedID is a token with its id as RobertaProcessing writes it: ["</s>", 2].
type namedID struct {
	content string
	id      uint32
}

func newBertProcessing(f struct {
	Type string  `json:"type"`
	Sep  namedID `json:"sep" need:"true"`
	Cls  namedID `json:"cls" need:"true"`
}, vocab *vocabulary) ([]postProcessor, error) {
	put, err := newBertProcessor(f.Cls, f.Sep, vocab)
	return []postProcessor{put}, err
}

// newRoberta makes RobertaProcessing. With trim_offsets it is two post-processors, of which the
// trim comes first.
func newRoberta(f struct {
	Type           string  `json:"type"`
	Sep            namedID `json:"sep" need:"true"`
	Cls            namedID `json:"cls" need:"true"`
	TrimOffsets    bool    `json:"trim_offsets" need:"true"`
	AddPrefixSpace bool    `json:"add_prefix_space" need:"true"`
}, vocab *vocabulary) ([]postProcessor, error) {
	put, err := newBertProcessor(f.Cls, f.Sep, vocab)
	put.roberta = true
	if !f.TrimOffsets {
		return []postProcessor{put}, err
	}
	return []postProcessor{trim{f.AddPrefixSpace}, put}, err
}

func newBertProcessor(cls, sep namedID, vocab *vocabulary) (put bertProcessor, err error) {
	if put.cls, err = controlToken(vocab, cls.content, cls.id); err != nil {
		return put, err
	}
	put.sep, err = controlToken(vocab, sep.content, sep.id)
	return put, err
}

// controlToken returns a control token that is added to texts. The id counts, also if the
// vocabulary has another content for it.
func controlToken(vocab *vocabulary, content string, id uint32) (token, error) {
	if !vocab.has(int(id)) {
		return token{}, fmt.Errorf("token %.80q has id %d, which is not in the vocabulary", content,
			id)
	}
	return token{Encoded: Encoded{ID: int(id), Special: true}, text: content}, nil
}
