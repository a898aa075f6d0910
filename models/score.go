package models

import (
	"encoding/json"
	"strconv"
)

// Replacement returns a token that can replace another one, and whether the model has it. kind is
// mask, unknown, pad or end. The token is the one that the configuration of the model names or, if
// it names none, the one with the usual text. Some checkpoints use one token for several kinds.
func (m *Model) Replacement(kind string) (id int, ok bool) {
	id, ok = m.standIns[kind]
	return id, ok
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
	add("mask", m.mask)
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
	if m.tokenizer == nil {
		return found
	}
	for _, named := range []struct{ kind, text string }{
		{"unknown", specials["unk_token"]},
		{"unknown", "[UNK]"},
		{"unknown", "<unk>"},
		{"pad", specials["pad_token"]},
		{"pad", "[PAD]"},
		{"pad", "<pad>"},
		{"end", specials["eos_token"]},
		{"end", specials["sep_token"]},
		{"end", "[SEP]"},
		{"end", "</s>"},
	} {
		if id, ok := m.tokenizer.ID(named.text); ok && named.text != "" {
			add(named.kind, id)
		}
	}
	return found
}
