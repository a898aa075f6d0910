package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// vocabulary has the tokens of the model and the added tokens, by content and by id.
type vocabulary struct {
	ids     map[string]int
	entries []entry // by id; an unused id has no content
}

type entry struct {
	content string
	inModel bool
	special bool
}

// has reports whether an id is used.
func (v *vocabulary) has(id int) bool {
	return id >= 0 && id < len(v.entries) && v.entries[id].content != ""
}

// maxHoles is how many ids may be unused, in addition to one for each that is used.
const maxHoles = 1 << 16

// maxContent is the length of the longest token, in bytes. It bounds the text that many tokens
// spell.
const maxContent = 1 << 12

// newVocabulary makes the vocabulary of a model. If a token is listed twice, the later one counts.
// It returns an error if an id is used twice, for the empty token, and for ids so far apart that a
// table by id would be mostly empty.
func newVocabulary(m modelFile) (vocabulary, error) {
	v := vocabulary{
		ids:     make(map[string]int, len(m.tokens)),
		entries: make([]entry, 0, len(m.tokens)),
	}
	limit := 2*len(m.tokens) + maxHoles
	all := m.tokens
	if m.bytes != nil {
		all = slices.Concat(all, m.bytes)
	}
	for _, t := range all {
		if t.content == "" {
			return v, fmt.Errorf(
				"model.vocab: id %d is the empty token, which spells nothing; remove it", t.id)
		}
		if len(t.content) > maxContent {
			return v, fmt.Errorf("model.vocab: token %.40q... has %d bytes, the limit is %d",
				t.content, len(t.content), maxContent)
		}
		if t.id >= limit {
			return v, fmt.Errorf(
				"model.vocab: token %.80q has id %d, but %d tokens should have ids below %d",
				t.content, t.id, len(m.tokens), limit)
		}
		if v.has(t.id) {
			return v, fmt.Errorf("model.vocab: tokens %.80q and %.80q both have id %d",
				v.entries[t.id].content, t.content, t.id)
		}
		// In an object the key counts once. In a list each place is an id, even if its token comes
		// again.
		if old, ok := v.ids[t.content]; ok && m.scores == nil {
			v.entries[old] = entry{}
		}
		v.set(t.id, entry{content: t.content, inModel: true})
	}
	return v, nil
}

// set puts an entry at its id. Ids between that are not used yet stay empty.
func (v *vocabulary) set(id int, e entry) {
	if id >= len(v.entries) {
		v.entries = append(v.entries, make([]entry, id+1-len(v.entries))...)
	}
	v.entries[id] = e
	v.ids[e.content] = id
}

// add adds an added token. It has the id of the model if the model has the token, else the next
// one. Hugging Face numbers them in this way whatever the file says, so a file that says otherwise
// is refused.
func (v *vocabulary) add(a addedToken, next int) error {
	id, known := v.ids[a.Content]
	if !known {
		id = next
	}
	if int(a.ID) != id {
		return fmt.Errorf("added_tokens: token %.80q has id %d in the file, but it must be %d "+
			"(its id in the model, else the next one)",
			a.Content, a.ID, id)
	}
	if !known && v.has(id) {
		return fmt.Errorf("added_tokens: token %.80q has id %d, which is %.80q in model.vocab",
			a.Content, id, v.entries[id].content)
	}
	v.set(id, entry{content: a.Content, inModel: known, special: a.Special})
	return nil
}

// repeat adds further ids of tokens that are there.
func (v *vocabulary) repeat(repeats []vocabItem) error {
	limit := 2*(len(v.ids)+len(repeats)) + maxHoles
	for _, r := range repeats {
		first, known := v.ids[r.content]
		if !known || v.has(r.id) || r.id >= limit {
			return fmt.Errorf("model.repeats: token %.80q has id %d; want a token of vocab, and "+
				"an id that is free and below %d", r.content, r.id, limit)
		}
		e := v.entries[first]
		e.inModel = false
		v.set(r.id, e)
		v.ids[r.content] = first
	}
	return nil
}

// repeats returns what repeat added, by id.
func (v *vocabulary) repeats() (all modelVocab) {
	for id, e := range v.entries {
		if first, ok := v.ids[e.content]; ok && first != id {
			all = append(all, make(modelVocab, id+1-len(all))...)
			all[id] = entry{content: e.content, inModel: true}
		}
	}
	return all
}

// modelID returns the id of a token of the model, or noSymbol.
func (v *vocabulary) modelID(content string) int32 {
	if id, ok := v.ids[content]; ok && v.entries[id].inModel {
		return int32(id)
	}
	return noSymbol
}

// modelIDs returns the ids of all tokens of the model.
func (v *vocabulary) modelIDs() map[string]int32 {
	ids := make(map[string]int32, len(v.entries))
	for id, e := range v.entries {
		if e.inModel {
			ids[e.content] = int32(id)
		}
	}
	return ids
}

// contents returns the contents by id.
func (v *vocabulary) contents() []string {
	contents := make([]string, len(v.entries))
	for id, e := range v.entries {
		contents[id] = e.content
	}
	return contents
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

// scoredToken is a token of Unigram in a file.
type scoredToken struct {
	content string
	score   float64
}

// MarshalJSON writes ["▁the",-3.5], with the number in the format of Rust.
func (s scoredToken) MarshalJSON() ([]byte, error) {
	content, err := marshal(s.content)
	return fmt.Appendf(nil, "[%s,%s]", content, rustFloat(s.score)), err
}

// rustFloat writes f with the fewest digits that read back as f: always with a point or an
// exponent, and with an exponent only if it is below 1e-5 or at least 1e16.
func rustFloat(f float64) string {
	if a := math.Abs(f); a != 0 && (a < 1e-5 || a >= 1e16) {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		mantissa, exponent, _ := bytes.Cut([]byte(s), []byte("e"))
		n, _ := strconv.Atoi(string(exponent)) // FormatFloat wrote it
		return string(mantissa) + "e" + strconv.Itoa(n)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if f == math.Trunc(f) {
		s += ".0"
	}
	return s
}

// marshal is json.Marshal without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
