package models

import (
	"fmt"

	"github.com/headwater-ml/headwater/models/tokenizer"
)

// openText reads the tokenizer, the ids that end a text, the id of the mask token and the chat
// template. The tokenizer may be missing, because a model can run on ids without it.
func (m *Model) openText(from source) error {
	data, err := from.TokenizerJSON()
	if err != nil && from.HasTokenizer() {
		return err
	}
	if err != nil {
		m.textErr = &NoTokenizerError{Model: from.Label(), Err: err}
	} else if m.tokenizer, err = tokenizer.Parse(data, from.TokenizerName()); err != nil {
		return err
	}
	if err := m.checkVocabulary(from.TokenizerName()); err != nil {
		return err
	}
	eos, err := from.EOS()
	if err != nil {
		return err
	}
	m.ends = map[int]bool{}
	for _, id := range append(eos, m.spec.EOS...) {
		m.ends[id] = true
	}
	specials, err := from.SpecialTokens()
	if err != nil {
		return err
	}
	m.mask = m.maskID(specials["mask_token"])
	m.standIns = m.findStandIns(from.padIDs(), specials, append(eos, m.spec.EOS...))
	m.openChats(from, specials)
	return nil
}

// checkVocabulary returns an error if the tokenizer has tokens of text without an embedding, which
// means that it belongs to another model. Control tokens may lack one, as the token for images does
// in the text models of Gemma 3; [Model.Encode] returns an error for these.
func (m *Model) checkVocabulary(name string) error {
	if m.tokenizer == nil {
		return nil
	}
	for id := m.spec.Vocab; id < m.tokenizer.VocabSize(); id++ {
		if !m.tokenizer.IsSpecial(id) {
			return fmt.Errorf("models: %s has %d tokens, the embedding has %d: "+
				"the two are of different models",
				name, m.tokenizer.VocabSize(), m.spec.Vocab)
		}
	}
	return nil
}

// maskID returns the id of the mask token, or -1 if there is none. Its text is named, which comes
// from the configuration of the tokenizer, or one of the texts that most encoders use.
func (m *Model) maskID(named string) int {
	if m.tokenizer == nil {
		return -1
	}
	for _, text := range []string{named, "[MASK]", "<mask>"} {
		if id, ok := m.tokenizer.ID(text); ok && text != "" {
			return id
		}
	}
	return -1
}
