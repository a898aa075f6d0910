package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// bpeFile is the model section of a tokenizer.json of type BPE.
type bpeFile struct {
	Type                    string            `json:"type"`
	Dropout                 *float64          `json:"dropout"`
	UnkToken                *string           `json:"unk_token"`
	ContinuingSubwordPrefix *string           `json:"continuing_subword_prefix"`
	EndOfWordSuffix         *string           `json:"end_of_word_suffix"`
	FuseUnk                 bool              `json:"fuse_unk"`
	ByteFallback            bool              `json:"byte_fallback"`
	IgnoreMerges            bool              `json:"ignore_merges"`
	Vocab                   map[string]uint32 `json:"vocab"`
	Merges                  []mergeText       `json:"merges"`
}

// mergeText is a merge as the file writes it: ["a","b"], or "a b" in older files. nil is the comment "#version" of those.
type mergeText []string

// UnmarshalJSON reads both forms.
func (m *mergeText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(m))
	}
	var line string
	if err := json.Unmarshal(data, &line); err != nil {
		return err
	}
	if strings.HasPrefix(line, "#version") {
		*m = nil
		return nil
	}
	*m = strings.Split(line, " ")
	return nil
}

// parseModel reads a model section and refuses whatever would change the result and is not built.
func parseModel(raw json.RawMessage) (bpeFile, error) {
	var m bpeFile
	if k := kindOf(raw); k != "BPE" {
		return m, unsupportedType("model", raw, "BPE")
	}
	if err := decodeStrict(raw, &m); err != nil {
		return m, fmt.Errorf("model: %w", err)
	}
	if m.Vocab == nil || m.Merges == nil {
		return m, errors.New("model: BPE needs vocab and merges")
	}
	if m.Dropout != nil && *m.Dropout != 0 {
		return m, &UnsupportedError{"model.dropout", fmt.Sprint(*m.Dropout), []string{"null", "0: it makes the result random"}}
	}
	if s := m.ContinuingSubwordPrefix; s != nil && *s != "" {
		return m, &UnsupportedError{"model.continuing_subword_prefix", fmt.Sprintf("%.80q", *s), []string{"null", `""`}}
	}
	if s := m.EndOfWordSuffix; s != nil && *s != "" {
		return m, &UnsupportedError{"model.end_of_word_suffix", fmt.Sprintf("%.80q", *s), []string{"null", `""`}}
	}
	if m.ByteFallback {
		return m, &UnsupportedError{"model.byte_fallback", "true", []string{"false"}}
	}
	return m, nil
}

// newBPE makes the model of a file.
func newBPE(m bpeFile, vocab *vocabulary) (*bpe, error) {
	b := &bpe{unk: noSymbol, fuseUnk: m.FuseUnk, cache: newWordCache(), contents: make([]string, len(vocab.entries))}
	for id, e := range vocab.entries {
		b.contents[id] = e.content
	}
	complete := true
	for c, r := range byteChar {
		b.symbols[c] = noSymbol
		if id, ok := m.Vocab[string(r)]; ok {
			b.symbols[c] = int32(id)
		} else {
			complete = false
		}
	}
	if m.UnkToken != nil && !complete {
		id, ok := m.Vocab[*m.UnkToken]
		if !ok {
			return nil, fmt.Errorf("model.unk_token: %q is needed, because vocab lacks some bytes, and is not in vocab", *m.UnkToken)
		}
		b.unk = int32(id)
	}
	if m.IgnoreMerges {
		b.whole = make(map[string]int32, len(m.Vocab))
		for content, id := range m.Vocab {
			b.whole[content] = int32(id)
		}
	}
	var err error
	b.merges, err = newMerges(m)
	return b, err
}

// newMerges ranks the merges by their order. A pair that is named again takes the later rank.
func newMerges(m bpeFile) (map[pair]merge, error) {
	merges := make(map[pair]merge, len(m.Merges))
	rank := int32(0)
	for i, text := range m.Merges {
		if text == nil {
			continue
		}
		if len(text) != 2 {
			return nil, fmt.Errorf("model.merges[%d]: %d tokens instead of 2", i, len(text))
		}
		var ids [3]int32
		for k, content := range []string{text[0], text[1], text[0] + text[1]} {
			id, ok := m.Vocab[content]
			if !ok {
				return nil, fmt.Errorf("model.merges[%d]: token %.80q is not in vocab", i, content)
			}
			ids[k] = int32(id)
		}
		merges[pair{ids[0], ids[1]}] = merge{rank: rank, id: ids[2]}
		rank++
	}
	return merges, nil
}
