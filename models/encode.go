package models

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

// Encode returns the tokens of a text. specials chooses the control tokens around it: those that
// the tokenizer adds (such as [CLS] and [SEP] for BERT), none, or at least one before the text,
// which is begin-of-text if the tokenizer adds none; and whether it begins or follows a text.
//
// It returns an error if there are no tokens, if specials asks for a control token that the model
// does not have, and if the tokenizer is missing ([errorkind.Tokenizer]) or cannot encode the text.
func (m *Model) Encode(text string, specials trace.Specials) ([]trace.Token, error) {
	if m.tokenizer == nil {
		return nil, m.textErr
	}
	encoded, err := m.encode(text, specials)
	if err != nil {
		return nil, err
	}
	return m.tokens(text, encoded, specials)
}

// Between implements [trace.Translator].
func (m *Model) Between(from, to string) (trace.Model, error) {
	if m.tokenizer == nil {
		return nil, m.textErr
	}
	view := *m
	inSource := m.tokenizer.TargetInSource()
	for _, l := range []struct {
		name, option, field string
		source              bool
	}{
		{from, "source language", "From", !inSource}, {to, "target language", "To", inSource},
	} {
		id, ok := m.tokenizer.Language(l.name)
		switch {
		case l.name == "":
		case inSource && l.option == "source language" || len(m.tokenizer.Languages()) == 0:
			return nil, usagef("the tokenizer of %s names no %s; leave out %s", m.info.Name,
				l.option, trace.Called(l.option, l.field))
		case !ok:
			return nil, usagef("%s %.60q is not known to %s, which has %s", l.option, l.name,
				m.info.Name, message.Some(m.tokenizer.Languages(), 8))
		case l.source:
			view.tokenizer = m.tokenizer.In(id)
		default:
			view.first = []int{id}
		}
	}
	return &view, nil
}

// targetNamed returns an error if the language of the target is open.
func (m *Model) targetNamed(encoded []tokenizer.Encoded) error {
	t := m.tokenizer
	if len(m.first) > 0 || m.target.IsLanguage(m.spec.TargetStart) || len(t.Languages()) == 0 ||
		t.TargetInSource() && len(encoded) > 0 && t.IsLanguage(encoded[0].ID) {
		return nil
	}
	return usagef("%s needs a language to translate into: give %s as one of %s", m.info.Name,
		trace.Called("target language", "To"), message.Some(t.Languages(), 8))
}

// EncodePair returns the tokens of two texts, as the tokenizer joins a pair; see
// [trace.PairEncoder]. Their types are 0 if the model has only one. It returns an error if a text
// is empty, and those of [Model.Encode].
func (m *Model) EncodePair(first, second string, specials trace.Specials) ([]trace.Token, error) {
	if m.tokenizer == nil {
		return nil, m.textErr
	}
	if first == "" || second == "" {
		return nil, pkg.Errorf("a pair needs two texts, and one is empty")
	}
	encoded, err := m.tokenizer.EncodePair(first, second, specials != trace.SpecialsOff)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", m.info.Name, err)
	}
	if len(encoded) == 0 {
		return nil, pkg.Errorf("the tokenizer of %s has no form for two texts: the pair "+
			"of its post_processor is empty", m.info.Name)
	}
	text, _ := trace.JoinPair(first, second)
	return m.tokens(text, encoded, specials)
}

// tokens returns the encoded tokens of a text as package trace describes them.
func (m *Model) tokens(text string, encoded []tokenizer.Encoded, specials trace.Specials) (
	[]trace.Token, error,
) {
	if specials == trace.SpecialsOn {
		var err error
		if encoded, err = m.begin(encoded); err != nil {
			return nil, err
		}
	}
	if len(encoded) == 0 {
		return nil, pkg.Errorf("the text %q has no tokens", text)
	}
	tokens := make([]trace.Token, len(encoded))
	for i, e := range encoded {
		id, inSource := e.ID, specials != trace.SpecialsFollow
		if inSource && m.spec.SourceVocab > 0 {
			id += m.spec.Vocab
		}
		if !m.spec.Takes(id, inSource) {
			return nil, pkg.Errorf("%s has no embedding of %q, token %d of %d: leave it out of "+
				"the text", m.info.Name, m.TokenText(id), e.ID,
				cmp.Or(m.spec.SourceVocab, m.spec.Vocab))
		}
		tokens[i] = trace.Token{
			ID: id, Text: m.TokenText(id), Begin: e.Begin, End: e.End, Special: e.Special,
		}
		if m.spec.TokenTypes > 1 {
			tokens[i].Type = e.Type
		}
	}
	if m.spec.Encoder == 0 || specials == trace.SpecialsFollow {
		return tokens, nil
	}
	if err := m.targetNamed(encoded); err != nil {
		return nil, err
	}
	for _, id := range append([]int{m.spec.Boundary()}, m.first...) { // the target begins
		tokens = append(tokens, trace.Token{
			ID: id, Text: m.TokenText(id), Begin: len(text), End: len(text), Special: true,
		})
	}
	return tokens, nil
}

// maxEncoded is the largest number of tokens of a text for a model whose context has no limit.
const maxEncoded = 1 << 22

// encode returns the tokens of a text. It stops with an error once there are far more tokens than
// fit the context. If there are only a few too many, the caller reports their exact number.
func (m *Model) encode(text string, specials trace.Specials) ([]tokenizer.Encoded, error) {
	tokens, addSpecials := m.tokenizer, specials <= trace.SpecialsOn
	switch {
	case specials != trace.SpecialsFollow:
	case m.spec.Encoder > 0: // a target is a text of its own
		tokens = m.target
	default:
		tokens = tokens.Following()
	}
	limit, reason := maxEncoded, "tokens are kept in memory"
	if context := m.spec.Context; context > 0 {
		limit = min(limit, 4*context+1<<16)
		reason = fmt.Sprintf("the context of the model is %d", context)
	}
	var encoded []tokenizer.Encoded
	for e, err := range tokens.Each(text, addSpecials) {
		if err != nil {
			return nil, pkg.Errorf("%s: %w", m.info.Name, err)
		}
		if len(encoded) == limit {
			return nil, pkg.Errorf("%s: the text of %d bytes has %d tokens up to byte "+
				"%d alone, and %s: give a shorter text",
				m.info.Name, len(text), limit, encoded[limit-1].End, reason)
		}
		encoded = append(encoded, e)
	}
	return encoded, nil
}

// begin adds begin-of-text before the first token, unless the tokenizer already added a control
// token there.
func (m *Model) begin(encoded []tokenizer.Encoded) ([]tokenizer.Encoded, error) {
	added := func(e tokenizer.Encoded) bool { return e.Special && e.End == 0 }
	bos := m.spec.BOS
	switch {
	case len(encoded) > 0 && (added(encoded[0]) || encoded[0].ID == bos):
		return encoded, nil
	case bos >= 0:
		return slices.Insert(encoded, 0, tokenizer.Encoded{ID: bos, Special: true}), nil
	case slices.ContainsFunc(encoded, added):
		return encoded, nil
	}
	return nil, pkg.Errorf("%s has no begin-of-text token to put in front "+
		"(bos_token_id in config.json)", m.info.Name)
}

// TokenText returns the text of a token in raw bytes, which need not be UTF-8. It is the number of
// the token in brackets if there is no tokenizer or the vocabulary has no such token.
func (m *Model) TokenText(id int) string {
	if m.spec.Encoder > 0 && id == m.spec.Boundary() {
		id = m.spec.TargetStart
	}
	if t, of := m.words(id); t != nil {
		if text := t.TokenText(of); text != "" {
			return text
		}
	}
	return fmt.Sprintf("[%d]", id)
}

// special returns whether a token is a control token.
func (m *Model) special(id int) bool {
	t, of := m.words(id)
	return t != nil && t.IsSpecial(of)
}

// words returns the tokenizer whose vocabulary has a token, nil if there is none, and its id there.
func (m *Model) words(id int) (*tokenizer.Tokenizer, int) {
	switch {
	case m.spec.SourceVocab == 0:
		return m.tokenizer, id
	case id < m.spec.Vocab:
		return m.target, id
	}
	return m.tokenizer, id - m.spec.Vocab
}

// UnknownWords returns the words of a text that an embedded model never saw in training. Other
// models have none.
func (m *Model) UnknownWords(text string) []string {
	if m.toy == nil {
		return nil
	}
	return m.toy.UnknownWords(text)
}

// Examples returns prompts that an embedded model handles well, the best first. Other models have
// none.
func (m *Model) Examples() []string {
	if m.toy == nil {
		return nil
	}
	return m.toy.Examples()
}
