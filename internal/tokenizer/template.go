package tokenizer

import (
	"errors"
	"fmt"
)

// templateFile is the post_processor TemplateProcessing: what surrounds one text, and two.
type templateFile struct {
	Type          string                      `json:"type"`
	Single        []templatePiece             `json:"single" need:"true"`
	Pair          []templatePiece             `json:"pair" need:"true"`
	SpecialTokens map[string]templateSpecials `json:"special_tokens" need:"true"`
}

// templatePiece is a text, which is sequence A or B, or a name in special_tokens: one of the two is
// set.
type templatePiece struct {
	Sequence     *templateName `json:"Sequence"`
	SpecialToken *templateName `json:"SpecialToken"`
}

// templateName is a reference to a text or to control tokens. TypeID is for models that are told
// which of two texts a token belongs to.
type templateName struct {
	ID     string `json:"id"`
	TypeID uint32 `json:"type_id"`
}

// templateSpecials are the control tokens that a name stands for.
type templateSpecials struct {
	ID     string   `json:"id"`
	IDs    []uint32 `json:"ids"`
	Tokens []string `json:"tokens"`
}

// template is a parsed templateFile.
type template struct{ single, pair []templatePart }

// templatePart is a text, given by its index, or control tokens.
type templatePart struct {
	text    int // if it is not special
	tokens  []token
	special bool
	typeID  int
}

// newTemplate makes TemplateProcessing, such as single: <s> A, pair: <s> A <s> B.
func newTemplate(f templateFile, vocab *vocabulary) ([]postProcessor, error) {
	var t template
	var err error
	if t.single, err = f.parts(f.Single, vocab, 1); err != nil {
		return nil, fmt.Errorf("single: %w", err)
	}
	if t.pair, err = f.parts(f.Pair, vocab, 2); err != nil {
		return nil, fmt.Errorf("pair: %w", err)
	}
	return []postProcessor{t}, nil
}

const (
	// maxTemplate is how many pieces a template may have.
	maxTemplate = 64
	// maxControls is how many control tokens a template may add to a text.
	maxControls = 1024
)

// parts resolves the pieces of a template for one or two texts. Its limits hold for the whole
// template, because every text gets all of it.
func (f templateFile) parts(
	pieces []templatePiece, vocab *vocabulary, texts int,
) ([]templatePart, error) {
	if len(pieces) > maxTemplate {
		return nil, fmt.Errorf("%d pieces, the limit is %d; leave some out", len(pieces),
			maxTemplate)
	}
	var parts []templatePart
	controls := 0
	for _, p := range pieces {
		switch {
		case p.Sequence != nil && p.SpecialToken == nil:
			text, ok := map[string]int{"A": 0, "B": 1}[p.Sequence.ID]
			if !ok || text >= texts {
				return nil, fmt.Errorf("sequence %.80q is not one of the %d texts, A and B",
					p.Sequence.ID, texts)
			}
			parts = append(parts, templatePart{text: text, typeID: int(p.Sequence.TypeID)})
		case p.SpecialToken != nil && p.Sequence == nil:
			tokens, err := f.specials(*p.SpecialToken, vocab)
			if err != nil {
				return nil, err
			}
			// A name may be used several times.
			if controls += len(tokens); controls > maxControls {
				return nil, fmt.Errorf("%d control tokens up to %.80q, the limit is %d; leave "+
					"some out", controls, p.SpecialToken.ID, maxControls)
			}
			parts = append(parts, templatePart{
				tokens: tokens, special: true, typeID: int(p.SpecialToken.TypeID),
			})
		default:
			return nil, errors.New("a piece must be a Sequence or a SpecialToken")
		}
	}
	return parts, nil
}

// specials returns the tokens that a name stands for.
func (f templateFile) specials(name templateName, vocab *vocabulary) ([]token, error) {
	s, ok := f.SpecialTokens[name.ID]
	if !ok {
		return nil, fmt.Errorf("special token %.80q is not in special_tokens", name.ID)
	}
	if len(s.IDs) != len(s.Tokens) {
		return nil, fmt.Errorf("special_tokens: %.80q has %d ids and %d tokens", name.ID,
			len(s.IDs), len(s.Tokens))
	}
	if len(s.IDs) > maxControls {
		return nil, fmt.Errorf("special_tokens: %.80q has %d ids, the limit is %d", name.ID,
			len(s.IDs), maxControls)
	}
	tokens := make([]token, len(s.IDs))
	for i, id := range s.IDs {
		var err error
		if tokens[i], err = controlToken(vocab, s.Tokens[i], id); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// process puts the lists into the template: the one for one text, or that for two. Without
// addSpecials only the texts stay.
func (t template) process(
	_ string, lists [][]token, addSpecials bool, m *meter,
) ([][]token, error) {
	parts := t.single
	switch len(lists) {
	case 1:
	case 2:
		parts = t.pair
	default:
		return nil, fmt.Errorf(
			"TemplateProcessing takes 1 or 2 lists of tokens, got %d; put it last", len(lists))
	}
	all := make([][]token, 0, len(parts))
	var used [2]bool
	for _, p := range parts {
		if p.special {
			if addSpecials {
				all = append(all, typed(append([]token{}, p.tokens...), p.typeID))
			}
			continue
		}
		if used[p.text] { // a repeated token needs memory
			if err := m.grow(len(lists[p.text])); err != nil {
				return nil, err
			}
		}
		used[p.text] = true
		list := append([]token{}, lists[p.text]...) // the template may repeat it
		all = append(all, typed(list, p.typeID))
	}
	return all, nil
}

// typed gives all tokens of a list a type.
func typed(list []token, k int) []token {
	for i := range list {
		list[i].Type = k
	}
	return list
}
