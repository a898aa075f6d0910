package models

import (
	"encoding/json"
	"strconv"
)

// Replacement returns a token that can replace another one, and whether the model has it. kind is
// mask, unknown, pad or end. The token is the one that the files of the model name. If they name
// none, mask, pad and end are the control token with the usual text; a token of text is not taken
// for one because of its name. Some checkpoints use one token for several kinds. Where the source
// has a vocabulary of its own, it is a token of the target.
func (m *Model) Replacement(kind string) (id int, ok bool) {
	id, ok = m.standIns[kind]
	return id, ok
}

// SourceReplacement is [Model.Replacement] in the source of a model of two stacks: the token with
// the same text in the vocabulary of the source, or its own unknown one; ok is false if there is
// none.
func (m *Model) SourceReplacement(kind string) (id int, ok bool) {
	id, ok = m.standIns[kind]
	if !ok || m.spec.SourceVocab == 0 {
		return id, ok
	}
	if m.tokenizer != m.target {
		text := m.TokenText(id)
		if id, ok = m.tokenizer.ID(text); !ok && kind == "unknown" {
			id, ok = m.tokenizer.Unknown()
		}
	}
	return m.spec.Vocab + id, ok && id < m.spec.SourceVocab
}

// findStandIns returns the tokens of [Model.Replacement] by their kind. pads has values of
// pad_token_id, specials the special tokens by their role, and eos the end-of-text ids.
func (m *Model) findStandIns(pads []any, specials map[string]string, eos []int) map[string]int {
	found := map[string]int{}
	add := func(kind string, id int) {
		if _, known := found[kind]; !known && id >= 0 && id < m.spec.Vocab {
			found[kind] = id
		}
	}
	words := m.tokenizer
	if m.spec.SourceVocab > 0 {
		words = m.target
	}
	if words == m.tokenizer {
		add("mask", m.mask)
	}
	for _, value := range pads {
		if number, ok := value.(json.Number); ok {
			if id, err := strconv.Atoi(number.String()); err == nil {
				add("pad", id)
			}
		}
	}
	for _, id := range eos {
		add("end", id)
	}
	if words == nil {
		return found
	}
	for _, t := range []struct {
		kind, text string
		named      bool
	}{
		{"unknown", specials["unk_token"], true}, {"pad", specials["pad_token"], true},
		{"pad", "[PAD]", false}, {"pad", "<pad>", false},
		{"end", specials["eos_token"], true}, {"end", specials["sep_token"], true},
		{"end", "[SEP]", false}, {"end", "</s>", false},
	} {
		if id, ok := words.ID(t.text); ok && (t.named || m.special(id)) {
			add(t.kind, id)
		}
	}
	if id, ok := words.Unknown(); ok {
		add("unknown", id)
	}
	return found
}
