package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// postProcessor finishes the tokens of a text, or of each of a pair, in place where it can. It may return any number of
// lists: in the end they are one.
type postProcessor interface {
	process(texts [2]string, lists [][]token, addSpecials bool) ([][]token, error)
	// added is how many control tokens there are for one text or a pair.
	added(pair bool) int
}

// finish applies the post_processor and puts the lists together.
func (t *Tokenizer) finish(texts [2]string, lists [][]token, addSpecials bool) ([]token, error) {
	lists, err := t.post.process(texts, lists, addSpecials)
	if err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	if len(lists) == 1 {
		return lists[0], nil
	}
	var all []token
	for _, l := range lists {
		all = append(all, l...)
	}
	return all, nil
}

// postProcessors is one post_processor after the other; none if the file has none.
type postProcessors []postProcessor

func (s postProcessors) process(texts [2]string, lists [][]token, addSpecials bool) (_ [][]token, err error) {
	for _, p := range s {
		if lists, err = p.process(texts, lists, addSpecials); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

func (s postProcessors) added(pair bool) int {
	n := 0
	for _, p := range s {
		n += p.added(pair)
	}
	return n
}

// trim is the post_processor ByteLevel with trim_offsets.
type trim struct{ addPrefixSpace bool }

func (p trim) process(texts [2]string, lists [][]token, _ bool) ([][]token, error) {
	for _, l := range lists {
		trimOffsets(texts, l, p.addPrefixSpace)
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

func (p around) process(_ [2]string, lists [][]token, addSpecials bool) ([][]token, error) {
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
var postProcessorKinds = map[string]func(raw json.RawMessage, vocab *vocabulary) (postProcessor, error){
	"BertProcessing":     parseBertProcessing,
	"ByteLevel":          parseTrim,
	"RobertaProcessing":  parseRoberta,
	"Sequence":           nil, // see parsePostProcessor
	"TemplateProcessing": parseTemplate,
}

func parsePostProcessor(key string, raw json.RawMessage, vocab *vocabulary, depth int) (postProcessor, error) {
	if isNull(raw) && depth == 0 {
		return postProcessors{}, nil
	}
	kind := kindOf(raw)
	if kind == "Sequence" {
		return parsePostProcessors(key, raw, vocab, depth)
	}
	parse, ok := postProcessorKinds[kind]
	if !ok {
		return nil, unsupportedType(key, raw, names(postProcessorKinds)...)
	}
	p, err := parse(raw, vocab)
	return p, under(key, err)
}

func parsePostProcessors(key string, raw json.RawMessage, vocab *vocabulary, depth int) (postProcessor, error) {
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
	all := make(postProcessors, len(s.Each))
	for i, r := range s.Each {
		var err error
		if all[i], err = parsePostProcessor(fmt.Sprintf("%s.processors[%d]", key, i), r, vocab, depth+1); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func parseTrim(raw json.RawMessage, _ *vocabulary) (postProcessor, error) {
	b, err := parseByteLevel(raw)
	if err != nil {
		return nil, err
	}
	if !*b.TrimOffsets {
		return postProcessors{}, nil
	}
	return trim{*b.AddPrefixSpace}, nil
}

// namedID is a token with its id as RobertaProcessing writes it: ["</s>", 2].
type namedID struct {
	content string
	id      uint32
}

// UnmarshalJSON reads the two.
func (n *namedID) UnmarshalJSON(data []byte) error {
	var both []json.RawMessage
	if err := json.Unmarshal(data, &both); err != nil {
		return err
	}
	if len(both) != 2 {
		return fmt.Errorf("a token and its id are 2 values, not %d", len(both))
	}
	if err := json.Unmarshal(both[0], &n.content); err != nil {
		return err
	}
	return json.Unmarshal(both[1], &n.id)
}

func parseBertProcessing(raw json.RawMessage, vocab *vocabulary) (postProcessor, error) {
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
	return newAround(*f.Cls, *f.Sep, vocab)
}

func parseRoberta(raw json.RawMessage, vocab *vocabulary) (postProcessor, error) {
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
		return put, err
	}
	return postProcessors{trim{*f.AddPrefixSpace}, put}, err
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
