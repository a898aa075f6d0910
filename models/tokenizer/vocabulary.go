package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// vocabulary is every token, of the model and added, both ways.
type vocabulary struct {
	ids     map[string]int
	entries []entry // by id; without content where an id is not used
}

type entry struct {
	content string
	spelled string // the bytes it stands for in a text
	inModel bool
	special bool
}

func (v *vocabulary) has(id int) bool {
	return id >= 0 && id < len(v.entries) && v.entries[id].content != ""
}

// maxHoles is how many ids may be unused, over and above one for each that is used.
const maxHoles = 1 << 16

// newVocabulary takes the vocabulary of the model. It returns an error for an id given twice, for the empty token, and
// for ids so far apart that a table by id would be mostly empty.
func newVocabulary(tokens map[string]uint32) (vocabulary, error) {
	v := vocabulary{ids: make(map[string]int, len(tokens))}
	limit := 2*len(tokens) + maxHoles
	for _, content := range slices.Sorted(maps.Keys(tokens)) {
		id := int(tokens[content])
		if content == "" {
			return v, fmt.Errorf("model.vocab: id %d is the empty token, which spells nothing; remove it", id)
		}
		if id >= limit {
			return v, fmt.Errorf("model.vocab: token %q has id %d, but %d tokens should have ids below %d",
				content, id, len(tokens), limit)
		}
		if v.has(id) {
			return v, fmt.Errorf("model.vocab: tokens %q and %q both have id %d", v.entries[id].content, content, id)
		}
		v.set(id, entry{content: content, spelled: bytesOf(content), inModel: true})
	}
	return v, nil
}

func (v *vocabulary) set(id int, e entry) {
	if id >= len(v.entries) {
		v.entries = append(v.entries, make([]entry, id+1-len(v.entries))...)
	}
	v.entries[id] = e
	v.ids[e.content] = id
}

// add puts an added token in: with the id that the model has for it, else with the next one. That is how Hugging Face
// numbers them, whatever the file says, so a file that says otherwise is refused.
func (v *vocabulary) add(a addedToken, next int) error {
	id, known := v.ids[a.Content]
	if !known {
		id = next
	}
	if int(a.ID) != id {
		return fmt.Errorf("added_tokens: token %q has id %d in the file, but it gets %d (its id in the model, else the next one)",
			a.Content, a.ID, id)
	}
	if !known && v.has(id) {
		return fmt.Errorf("added_tokens: token %q has id %d, which is %q in model.vocab", a.Content, id, v.entries[id].content)
	}
	v.set(id, entry{content: a.Content, spelled: bytesOf(a.Content), inModel: known, special: a.Special})
	return nil
}

// modelVocab is the vocabulary section of a file, written in the order of the ids.
type modelVocab []entry

// MarshalJSON writes one object with the tokens of the model.
func (m modelVocab) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for id, e := range m {
		if !e.inModel {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		key, err := marshal(e.content)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%d", key, id)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal is json.Marshal without the escapes that HTML needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
