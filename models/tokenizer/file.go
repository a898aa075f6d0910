package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// UnsupportedError is a part of a tokenizer.json that is well formed and not built here.
type UnsupportedError struct {
	// Key is where the part stands in the file: "pre_tokenizer", "model.dropout".
	Key string
	// Value is what stands there.
	Value string
	// Supported lists what could.
	Supported []string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: %s is not supported (supported: %s)", e.Key, e.Value, strings.Join(e.Supported, ", "))
}

// file is a tokenizer.json. The keys and their order are those of Hugging Face.
type file struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

// addedToken is a token that is looked for in the text before anything else is done with it.
type addedToken struct {
	ID         uint32 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only where no word goes on before or after it
	LStrip     bool   `json:"lstrip"`      // takes the white space before it along
	RStrip     bool   `json:"rstrip"`      // takes the white space after it along
	Normalized bool   `json:"normalized"`  // looked for in the normalised text
	Special    bool   `json:"special"`
}

// Parse reads a tokenizer.json. The name, its path or whatever helps a user to find it, is for errors. They are an
// [UnsupportedError] for a part that this package does not build, and others for what is malformed or contradicts itself.
func Parse(data []byte, name string) (*Tokenizer, error) {
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %s: %w", name, err)
	}
	return t, nil
}

func parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := decodeStrict(data, &f); err != nil {
		return nil, err
	}
	if f.Version != "1.0" {
		return nil, &UnsupportedError{Key: "version", Value: fmt.Sprintf("%q", f.Version), Supported: []string{`"1.0"`}}
	}
	if isNull(f.Model) {
		return nil, errors.New("model: missing; is this a tokenizer.json?")
	}
	m, err := parseModel(f.Model)
	if err != nil {
		return nil, err
	}
	vocab, err := newVocabulary(m.Vocab)
	if err != nil {
		return nil, err
	}
	return build(f, m, vocab)
}

// build puts the parts of a file together. vocab holds the model's tokens.
func build(f file, m bpeFile, vocab vocabulary) (*Tokenizer, error) {
	if f.AddedTokens == nil {
		f.AddedTokens = []addedToken{} // Hugging Face reads no null here
	}
	t := &Tokenizer{file: f, vocab: vocab}
	next := len(m.Vocab)
	for _, a := range f.AddedTokens {
		_, known := t.vocab.ids[a.Content]
		if err := t.vocab.add(a, next); err != nil {
			return nil, err
		}
		if !known {
			next++
		}
	}
	var err error
	if t.added, err = newAddedTokens(f.AddedTokens); err != nil {
		return nil, err
	}
	if !isNull(f.Normalizer) {
		return nil, unsupportedType("normalizer", f.Normalizer, "null")
	}
	if t.pre, err = parsePreTokenizer("pre_tokenizer", f.PreTokenizer, 0); err != nil {
		return nil, err
	}
	if t.model, err = newBPE(m, &t.vocab); err != nil {
		return nil, err
	}
	if t.post, err = parsePostProcessor("post_processor", f.PostProcessor, &t.vocab, 0); err != nil {
		return nil, err
	}
	if kindOf(f.Decoder) != "ByteLevel" {
		return nil, unsupportedType("decoder", f.Decoder, "ByteLevel")
	}
	if _, err = parseByteLevel(f.Decoder); err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	m.Vocab, m.Merges = nil, nil
	if t.file.Model, err = marshal(m); err != nil {
		return nil, err
	}
	return t, nil
}

// maxNesting is how deep one Sequence may stand in another.
const maxNesting = 8

func errNesting(key string) error {
	return fmt.Errorf("%s: Sequence stands in Sequence more than %d deep", key, maxNesting)
}

// parsePreTokenizer reads ByteLevel, or a Sequence of that alone: other kinds, and text that is not taken byte by byte,
// are not built yet.
func parsePreTokenizer(key string, raw json.RawMessage, depth int) (preTokenizer, error) {
	switch kindOf(raw) {
	case "ByteLevel":
		p, err := parseByteLevel(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		return byteLevel{*p.AddPrefixSpace, p.UseRegex == nil || *p.UseRegex}, nil
	case "Sequence":
		var s struct {
			Type string            `json:"type"`
			Each []json.RawMessage `json:"pretokenizers"`
		}
		if err := decodeStrict(raw, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if depth == maxNesting {
			return nil, errNesting(key)
		}
		for i, r := range s.Each {
			if k := kindOf(r); k != "ByteLevel" && k != "Sequence" {
				return nil, unsupportedType(fmt.Sprintf("%s.pretokenizers[%d]", key, i), r, "ByteLevel", "Sequence")
			}
		}
		if len(s.Each) != 1 {
			return nil, &UnsupportedError{key, fmt.Sprintf("a Sequence of %d", len(s.Each)), []string{"a Sequence of one ByteLevel"}}
		}
		return parsePreTokenizer(key+".pretokenizers[0]", s.Each[0], depth+1)
	}
	return nil, unsupportedType(key, raw, "ByteLevel", "Sequence")
}

// byteLevelFile is ByteLevel wherever it stands: pre_tokenizer, post_processor or decoder.
type byteLevelFile struct {
	Type           string `json:"type"`
	AddPrefixSpace *bool  `json:"add_prefix_space"`
	TrimOffsets    *bool  `json:"trim_offsets"`
	UseRegex       *bool  `json:"use_regex"`
}

func parseByteLevel(raw json.RawMessage) (byteLevelFile, error) {
	var b byteLevelFile
	if err := decodeStrict(raw, &b); err != nil {
		return b, err
	}
	if b.AddPrefixSpace == nil || b.TrimOffsets == nil {
		return b, errors.New("ByteLevel needs add_prefix_space and trim_offsets")
	}
	return b, nil
}

// kindOf is the type of a part, "" if it has none.
func kindOf(raw json.RawMessage) string {
	var k struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &k) != nil {
		return ""
	}
	return k.Type
}

func unsupportedType(key string, raw json.RawMessage, supported ...string) error {
	slices.Sort(supported)
	value := "a part without a type"
	switch k := kindOf(raw); {
	case isNull(raw):
		value = "null"
	case k != "":
		value = fmt.Sprintf("type %.80q", k)
	}
	return &UnsupportedError{Key: key, Value: value, Supported: supported}
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// decodeStrict reads one JSON value. A key that v does not have is an error: it could change the result.
func decodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is text after the JSON value")
	}
	return nil
}
