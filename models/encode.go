package models

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/tiny"
	"github.com/headwater-ml/headwater/models/tokenizer"
)

// Encode returns the tokens of a text, with the control tokens that specials asks for. It returns an error if that makes no
// tokens, if begin-of-text is asked for and the model has none, or if the directory has no tokenizer.json.
func (m *Model) Encode(text string, specials trace.Specials) ([]trace.Token, error) {
	if m.tokenizer == nil {
		return nil, fmt.Errorf("models: %s has no tokenizer.json, so it takes token ids and no text", m.info.Name)
	}
	encoded := m.tokenizer.Encode(text, specials != trace.SpecialsOff)
	bos := m.spec.BOS
	if specials == trace.SpecialsOn && (len(encoded) == 0 || encoded[0].ID != bos) {
		if bos < 0 {
			return nil, fmt.Errorf("models: %s has no begin-of-text token to put in front (bos_token_id in config.json)", m.info.Name)
		}
		encoded = slices.Insert(encoded, 0, tokenizer.Encoded{ID: bos, Special: true})
	}
	if len(encoded) == 0 {
		return nil, fmt.Errorf("models: the text %q has no tokens", text)
	}
	tokens := make([]trace.Token, len(encoded))
	for i, e := range encoded {
		tokens[i] = trace.Token{ID: e.ID, Text: m.tokenText(e.ID), Begin: e.Begin, End: e.End, Special: e.Special}
	}
	return tokens, nil
}

// tokenText is what a token spells, in raw bytes; its number where there is no tokenizer or the vocabulary has a gap.
func (m *Model) tokenText(id int) string {
	if m.tokenizer != nil {
		if text := m.tokenizer.TokenText(id); text != "" {
			return text
		}
	}
	return fmt.Sprintf("[%d]", id)
}

// special is whether a token is control and not text.
func (m *Model) special(id int) bool {
	return m.tokenizer != nil && m.tokenizer.IsSpecial(id)
}

// UnknownWords returns the words of a text that the embedded model never saw; none for other models.
func (m *Model) UnknownWords(text string) []string {
	if !m.grammar {
		return nil
	}
	return tiny.UnknownWords(text)
}

// Examples returns prompts that the embedded model handles well, the best first; none for other models.
func (m *Model) Examples() []string {
	if !m.grammar {
		return nil
	}
	var prompts []string
	for _, e := range tiny.Examples() {
		prompts = append(prompts, e.Prompt)
	}
	return prompts
}
