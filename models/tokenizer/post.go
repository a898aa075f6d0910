package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// postProcessor finishes the tokens of a text, or of each of a pair, in place where it can. It may return any number of
// lists: in the end they are one.
type postProcessor interface {
	process(texts [2]string, lists [][]token, addSpecials bool, m *meter) ([][]token, error)
	// added is how many control tokens there are for one text or a pair.
	added(pair bool) int
}

// finish applies the post_processor and puts the lists together.
func (t *Tokenizer) finish(texts [2]string, lists [][]token, addSpecials bool, m *meter) ([]token,
	error,
) {
	lists, err := t.post.process(texts, lists, addSpecials, m)
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

// postProcessors is one post_processor after the other; none if the file has none. A Sequence in a
// Sequence is the same.
type postProcessors []postPart

type postPart struct {
	place
	postProcessor
}

// tokenSteps is about how many steps of a byte a token takes when it is copied.
const tokenSteps = 8

func (s postProcessors) process(texts [2]string, lists [][]token, addSpecials bool,
	m *meter,
) ([][]token, error) {
	for _, p := range s {
		before := countTokens(lists)
		err := m.step(tokenSteps * (before + 1))
		if err == nil {
			lists, err = p.process(texts, lists, addSpecials, m)
		}
		if err != nil {
			return nil, p.blame(err)
		}
	}
	return lists, nil
}

// countTokens is how many tokens all lists have.
func countTokens(lists [][]token) int {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	return n
}

func (s postProcessors) added(pair bool) int {
	n := 0
	for _, p := range s {
		n += p.added(pair)
	}
	return n
}

// finishPlan is what the post_processors do to one text, when its tokens come a few at a time.
type finishPlan struct {
	stream        bool // they can: the text is there once
	before, after []token
	trims         []trimAt
}

// trimAt is a trim of the tokens of the text, the first of which is number at of its list then.
type trimAt struct {
	trim
	place
	at int
}

// plan processes a list of one mark instead of a text, and looks what becomes of it.
func (s postProcessors) plan(addSpecials bool, m *meter) (finishPlan, error) {
	const mark = -1
	var plan finishPlan
	lists := [][]token{{{Encoded: Encoded{ID: mark}}}}
	for _, p := range s {
		if t, ok := p.postProcessor.(trim); ok {
			for _, l := range lists {
				if at := slices.IndexFunc(l, func(t token) bool { return t.ID == mark }); at >= 0 {
					plan.trims = append(plan.trims, trimAt{t, p.place, at})
				}
			}
		}
		var err error
		if lists, err = (postProcessors{p}).process([2]string{}, lists, addSpecials,
			m); err != nil {
			return plan, err
		}
	}
	marks := 0
	for _, l := range lists {
		for _, t := range l {
			switch {
			case t.ID == mark:
				marks++
			case marks == 0:
				plan.before = append(plan.before, t)
			default:
				plan.after = append(plan.after, t)
			}
		}
	}
	plan.stream = marks == 1
	return plan, nil
}

// trim is the post_processor ByteLevel with trim_offsets.
type trim struct{ addPrefixSpace bool }

func (p trim) process(texts [2]string, lists [][]token, _ bool, m *meter) ([][]token, error) {
	for _, l := range lists {
		if err := trimOffsets(texts, l, p.addPrefixSpace, 0, m); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

func (trim) added(bool) int { return 0 }

// around puts control tokens before and after texts: BertProcessing, and the second half of RobertaProcessing, which has
// one more between the two of a pair and calls all tokens type 0.
type around struct {
	cls, sep token
	roberta  bool
}

func (p around) process(_ [2]string, lists [][]token, addSpecials bool, _ *meter) ([][]token,
	error,
) {
	if p.roberta {
		for _, l := range lists {
			for i := range l {
				l[i].typeID = 0
			}
		}
	}
	if !addSpecials {
		return lists, nil
	}
	for i, l := range lists {
		before, after := []token{p.cls}, p.sep
		switch {
		case i > 0 && p.roberta:
			before[0] = p.sep
		case i > 0:
			before, after.typeID = nil, 1
		}
		all := make([]token, 0, len(l)+2)
		lists[i] = append(append(append(all, before...), l...), after)
	}
	return lists, nil
}

func (p around) added(pair bool) int {
	switch {
	case pair && p.roberta:
		return 4
	case pair:
		return 3
	}
	return 2
}

// postProcessorKinds reads the post-processors of each type.
var postProcessorKinds = map[string]func(raw json.RawMessage, vocab *vocabulary) ([]postProcessor,
	error){
	"BertProcessing":     parseBertProcessing,
	"ByteLevel":          parseTrim,
	"RobertaProcessing":  parseRoberta,
	"Sequence":           nil, // see parsePostProcessor
	"TemplateProcessing": parseTemplate,
}

// parsePostProcessor reads a post_processor as a list.
func parsePostProcessor(key string, raw json.RawMessage, vocab *vocabulary,
	depth int,
) (postProcessors, error) {
	if isNull(raw) && depth == 0 {
		return nil, nil
	}
	kind := kindOf(raw)
	if kind == "Sequence" {
		return parsePostProcessors(key, raw, vocab, depth)
	}
	parse, ok := postProcessorKinds[kind]
	if !ok {
		return nil, unsupportedType(key, raw, names(postProcessorKinds)...)
	}
	each, err := parse(raw, vocab)
	if err != nil {
		return nil, under(key, err)
	}
	var all postProcessors
	for _, p := range each {
		all = append(all, postPart{place{key, kind}, p})
	}
	return all, nil
}

func parsePostProcessors(key string, raw json.RawMessage, vocab *vocabulary,
	depth int,
) (all postProcessors, err error) {
	var s struct {
		Type string            `json:"type"`
		Each []json.RawMessage `json:"processors"`
	}
	if err := decodeStrict(raw, &s); err != nil {
		return nil, under(key, err)
	}
	if depth == maxNesting {
		return nil, errNesting(key)
	}
	for i, r := range s.Each {
		p, err := parsePostProcessor(fmt.Sprintf("%s.processors[%d]", key, i), r, vocab, depth+1)
		if err != nil {
			return nil, err
		}
		if all = append(all, p...); len(all) > maxParts {
			return nil, errParts(key, len(all))
		}
	}
	return all, nil
}

func parseTrim(raw json.RawMessage, _ *vocabulary) ([]postProcessor, error) {
	b, err := parseByteLevel(raw)
	if err != nil {
		return nil, err
	}
	if !*b.TrimOffsets {
		return nil, nil
	}
	return []postProcessor{trim{*b.AddPrefixSpace}}, nil
}

// namedID is a token with its id as RobertaProcessing writes it: ["</s>", 2].
type namedID struct {
	content string
	id      uint32
}

func parseBertProcessing(raw json.RawMessage, vocab *vocabulary) ([]postProcessor, error) {
	var f struct {
		Type string   `json:"type"`
		Sep  *namedID `json:"sep"`
		Cls  *namedID `json:"cls"`
	}
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	if f.Sep == nil || f.Cls == nil {
		return nil, errors.New("BertProcessing needs sep and cls")
	}
	put, err := newAround(*f.Cls, *f.Sep, vocab)
	return []postProcessor{put}, err
}

func parseRoberta(raw json.RawMessage, vocab *vocabulary) ([]postProcessor, error) {
	var f struct {
		Type           string   `json:"type"`
		Sep            *namedID `json:"sep"`
		Cls            *namedID `json:"cls"`
		TrimOffsets    *bool    `json:"trim_offsets"`
		AddPrefixSpace *bool    `json:"add_prefix_space"`
	}
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	if f.Sep == nil || f.Cls == nil || f.TrimOffsets == nil || f.AddPrefixSpace == nil {
		return nil, errors.New("RobertaProcessing needs sep, cls, trim_offsets and add_prefix_space")
	}
	put, err := newAround(*f.Cls, *f.Sep, vocab)
	put.roberta = true
	if !*f.TrimOffsets {
		return []postProcessor{put}, err
	}
	return []postProcessor{trim{*f.AddPrefixSpace}, put}, err
}

func newAround(cls, sep namedID, vocab *vocabulary) (put around, err error) {
	if put.cls, err = control(vocab, cls.content, cls.id); err != nil {
		return put, err
	}
	put.sep, err = control(vocab, sep.content, sep.id)
	return put, err
}

// control is a control token that is put around texts.
func control(vocab *vocabulary, content string, id uint32) (token, error) {
	if !vocab.has(int(id)) {
		return token{}, fmt.Errorf("token %.80q has id %d, which is not in the vocabulary", content, id)
	}
	return token{Encoded: Encoded{ID: int(id), Special: true}, text: content}, nil
}
