package tokenizer

import (
	"encoding/json"
	"fmt"
)

// noPost is a file without post_processor.
type noPost struct{}

func (noPost) process(_ string, tokens []token, _ bool) []token { return tokens }

// trim is the post_processor ByteLevel with trim_offsets.
type trim struct{ addPrefixSpace bool }

func (p trim) process(text string, tokens []token, _ bool) []token {
	trimOffsets(text, tokens, p.addPrefixSpace)
	return tokens
}

// around puts control tokens before and after a text: TemplateProcessing, and the second half of RobertaProcessing.
type around struct{ before, after []token }

func (p around) process(_ string, tokens []token, addSpecials bool) []token {
	if !addSpecials {
		return tokens
	}
	all := make([]token, 0, len(p.before)+len(tokens)+len(p.after))
	return append(append(append(all, p.before...), tokens...), p.after...)
}

// postSequence is one post_processor after the other.
type postSequence []postProcessor

func (s postSequence) process(text string, tokens []token, addSpecials bool) []token {
	for _, p := range s {
		tokens = p.process(text, tokens, addSpecials)
	}
	return tokens
}

func parsePostProcessor(key string, raw json.RawMessage, vocab *vocabulary, depth int) (p postProcessor, err error) {
	if isNull(raw) {
		return noPost{}, nil
	}
	switch kindOf(raw) {
	case "ByteLevel":
		p, err = parseTrim(raw)
	case "RobertaProcessing":
		p, err = parseRoberta(raw, vocab)
	case "TemplateProcessing":
		p, err = parseTemplate(raw, vocab)
	case "Sequence":
		return parsePostSequence(key, raw, vocab, depth)
	default:
		return nil, unsupportedType(key, raw, "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return p, nil
}

func parsePostSequence(key string, raw json.RawMessage, vocab *vocabulary, depth int) (postProcessor, error) {
	var s struct {
		Type string            `json:"type"`
		Each []json.RawMessage `json:"processors"`
	}
	if err := decodeStrict(raw, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if depth == maxNesting {
		return nil, errNesting(key)
	}
	all := make(postSequence, len(s.Each))
	for i, r := range s.Each {
		inner := fmt.Sprintf("%s.processors[%d]", key, i)
		var err error
		if all[i], err = parsePostProcessor(inner, r, vocab, depth+1); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func parseTrim(raw json.RawMessage) (postProcessor, error) {
	b, err := parseByteLevel(raw)
	if err != nil {
		return nil, err
	}
	if !*b.TrimOffsets {
		return noPost{}, nil
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

func parseRoberta(raw json.RawMessage, vocab *vocabulary) (postProcessor, error) {
	var r struct {
		Type           string   `json:"type"`
		Sep            *namedID `json:"sep"`
		Cls            *namedID `json:"cls"`
		TrimOffsets    *bool    `json:"trim_offsets"`
		AddPrefixSpace *bool    `json:"add_prefix_space"`
	}
	if err := decodeStrict(raw, &r); err != nil {
		return nil, err
	}
	if r.Sep == nil || r.Cls == nil || r.TrimOffsets == nil || r.AddPrefixSpace == nil {
		return nil, fmt.Errorf("RobertaProcessing needs sep, cls, trim_offsets and add_prefix_space")
	}
	cls, err := control(vocab, r.Cls.content, r.Cls.id)
	if err != nil {
		return nil, err
	}
	sep, err := control(vocab, r.Sep.content, r.Sep.id)
	if err != nil {
		return nil, err
	}
	put := around{before: []token{cls}, after: []token{sep}}
	if !*r.TrimOffsets {
		return put, nil
	}
	return postSequence{trim{*r.AddPrefixSpace}, put}, nil
}

// control is a control token that is put around texts.
func control(vocab *vocabulary, content string, id uint32) (token, error) {
	if !vocab.has(int(id)) {
		return token{}, fmt.Errorf("token %q has id %d, which is not in the vocabulary", content, id)
	}
	return token{Encoded{ID: int(id), Special: true}, content}, nil
}
