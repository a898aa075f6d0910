package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// templateFile is the post_processor TemplateProcessing. Pair is about two texts in one, which [Tokenizer.Encode] does
// not take.
type templateFile struct {
	Type          string                      `json:"type"`
	Single        []templatePiece             `json:"single"`
	Pair          json.RawMessage             `json:"pair"`
	SpecialTokens map[string]templateSpecials `json:"special_tokens"`
}

// templatePiece is one of the two: the text itself, which is sequence A, or a name in special_tokens.
type templatePiece struct {
	Sequence     *templateName `json:"Sequence"`
	SpecialToken *templateName `json:"SpecialToken"`
}

type templateName struct {
	ID     string `json:"id"`
	TypeID uint32 `json:"type_id"`
}

type templateSpecials struct {
	ID     string   `json:"id"`
	IDs    []uint32 `json:"ids"`
	Tokens []string `json:"tokens"`
}

func parseTemplate(raw json.RawMessage, vocab *vocabulary) (postProcessor, error) {
	var f templateFile
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	var put around
	texts := 0
	for _, p := range f.Single {
		switch {
		case p.Sequence != nil && p.SpecialToken == nil && p.Sequence.ID == "A":
			texts++
		case p.SpecialToken != nil && p.Sequence == nil:
			tokens, err := f.specials(p.SpecialToken.ID, vocab)
			if err != nil {
				return nil, err
			}
			if texts == 0 {
				put.before = append(put.before, tokens...)
			} else {
				put.after = append(put.after, tokens...)
			}
		default:
			return nil, errors.New("single: a piece is neither sequence A nor a special token")
		}
	}
	if texts != 1 {
		return nil, fmt.Errorf("single: has the text %d times instead of once", texts)
	}
	return put, nil
}

// specials are the tokens that a name stands for.
func (f templateFile) specials(name string, vocab *vocabulary) ([]token, error) {
	s, ok := f.SpecialTokens[name]
	if !ok {
		return nil, fmt.Errorf("single: special token %q is not in special_tokens", name)
	}
	if len(s.IDs) != len(s.Tokens) {
		return nil, fmt.Errorf("special_tokens: %q has %d ids and %d tokens", name, len(s.IDs), len(s.Tokens))
	}
	tokens := make([]token, len(s.IDs))
	for i, id := range s.IDs {
		var err error
		if tokens[i], err = control(vocab, s.Tokens[i], id); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}
