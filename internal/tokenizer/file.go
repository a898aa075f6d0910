package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/jsonread"
)

// unsupportedError is the error for a part of a tokenizer.json that is well formed, but not
// supported.
type unsupportedError struct {
	// Key says where the part is in the file: "pre_tokenizer", "model.dropout".
	Key string
	// Value is the value there.
	Value string
	// Supported lists the values that are supported.
	Supported []string
}

func (e *unsupportedError) Error() string {
	return fmt.Sprintf("%s: %s is not supported (supported: %s)", e.Key, e.Value,
		strings.Join(e.Supported, ", "))
}

// file is a tokenizer.json, with the keys of Hugging Face in their order.
type file struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"` // only for writing
}

// addedToken is a token that is searched for in the text before anything else happens to it.
type addedToken struct {
	ID         uint32 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // matches only a whole word
	LStrip     bool   `json:"lstrip"`      // the white space before it belongs to the match
	RStrip     bool   `json:"rstrip"`      // the white space after it belongs to the match
	Normalized bool   `json:"normalized"`  // searched for in the normalised text
	Special    bool   `json:"special"`
}

// Parse reads a tokenizer.json. name appears in errors; it is the path, or another name that helps
// a user to find the file. It returns an error for a part that is not supported, and for a file
// that is malformed or contradicts itself.
func Parse(data []byte, name string) (*Tokenizer, error) {
	t, err := parse(data, func(*file, modelFile) error { return nil })
	if err != nil {
		return nil, pkg.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// parse reads the small sections strictly and the model by hand, because its vocabulary may have
// megabytes. change may change the parts of the file before they are parsed.
func parse(data []byte, change func(*file, modelFile) error) (*Tokenizer, error) {
	var f file
	var section json.RawMessage
	small, err := sections(data, map[string]func(*jsonread.Reader) error{
		"model": func(r *jsonread.Reader) (err error) {
			section, err = r.Raw()
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	if err := decodeStrict(small, &f); err != nil {
		return nil, err
	}
	if f.Version != "1.0" {
		return nil, &unsupportedError{
			Key: "version", Value: fmt.Sprintf("%.80q", f.Version),
			Supported: []string{`"1.0"`},
		}
	}
	if isNull(section) {
		return nil, errors.New("model: missing; is this a tokenizer.json?")
	}
	m, err := readModel(section)
	if err != nil {
		return nil, err
	}
	if err := change(&f, m); err != nil {
		return nil, err
	}
	return build(f, m)
}

// build makes a tokenizer of the parts of a file.
func build(f file, m modelFile) (*Tokenizer, error) {
	if f.AddedTokens == nil {
		f.AddedTokens = []addedToken{} // Hugging Face reads no null here
	}
	vocab, err := newVocabulary(m)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{file: f, vocab: vocab}
	// An added token that the model does not have gets the next id after the model's.
	next := len(m.tokens) + len(m.repeats)
	for _, a := range f.AddedTokens {
		_, known := t.vocab.ids[a.Content]
		if err := t.vocab.add(a, next); err != nil {
			return nil, err
		}
		if !known {
			next++
		}
	}
	if err := t.vocab.repeat(m.repeats); err != nil {
		return nil, err
	}
	if t.model, err = modelKinds[m.kind](m, &t.vocab); err != nil {
		return nil, err
	}
	return t, t.parts()
}

// parts parses all of the file but its model. The normalizer comes first, because added tokens are
// normalised with it.
func (t *Tokenizer) parts() (err error) {
	if t.normalizer, err = parseNormalizer("normalizer", t.file.Normalizer, 0); err != nil {
		return err
	}
	if t.added, err = newAddedTokens(t.file.AddedTokens, t.normalizer); err != nil {
		return err
	}
	if t.pre, err = parsePreTokenizer("pre_tokenizer", t.file.PreTokenizer, 0); err != nil {
		return err
	}
	t.passWordsAsBytes()
	if t.post, err = parsePostProcessor("post_processor", t.file.PostProcessor, &t.vocab,
		0); err != nil {
		return err
	}
	if t.decoder, err = parseDecoder("decoder", t.file.Decoder, 0); err != nil {
		return err
	}
	if err := checkTruncation(t.file.Truncation); err != nil {
		return atKey("truncation", err)
	}
	return atKey("padding", checkPadding(t.file.Padding))
}

// passWordsAsBytes gives words to BPE as bytes, if the last pre-tokenizer would only write the
// bytes as characters, which BPE would read back.
func (t *Tokenizer) passWordsAsBytes() {
	m, ok := t.model.(*bpe)
	if !ok || len(t.pre) == 0 {
		return
	}
	last := len(t.pre) - 1
	if b, ok := t.pre[last].part.(byteLevel); ok && m.useByteSymbols() {
		b.spell = false
		t.pre[last].part = b
	}
}

// atKey adds the key of the place in the file where an error is, in front of the key that the error
// has.
func atKey(key string, err error) error {
	var u *unsupportedError
	switch k, isKey := err.(*keyError); {
	case err == nil:
		return nil
	case isKey:
		return &keyError{joinKeys(key, k.key), k.err}
	case errors.As(err, &u):
		return &unsupportedError{joinKeys(key, u.Key), u.Value, u.Supported}
	}
	return &keyError{key, err}
}

// joinKeys joins the key of a value and a key inside it. The key of an item of a list is [3].
func joinKeys(key, inner string) string {
	if strings.HasPrefix(inner, "[") {
		return key + inner
	}
	return key + "." + inner
}

// names returns the types that a part can have, sorted.
func names[T any](kinds map[string]T) []string { return slices.Sorted(maps.Keys(kinds)) }

// byteLevelFile is ByteLevel as a pre_tokenizer, post_processor or decoder. Each ignores some of
// the keys.
type byteLevelFile struct {
	Type           string `json:"type"`
	AddPrefixSpace bool   `json:"add_prefix_space" need:"true"`
	TrimOffsets    bool   `json:"trim_offsets" need:"true"`
	UseRegex       *bool  `json:"use_regex"`
}

// unsupportedType is the error for a part whose type is unknown or missing.
func unsupportedType(key string, raw json.RawMessage, supported ...string) error {
	slices.Sort(supported)
	value := "a part without a type"
	switch k := kindOf(raw); {
	case isNull(raw):
		value = "null"
	case k != "":
		value = fmt.Sprintf("type %.80q", k)
	}
	return &unsupportedError{Key: key, Value: value, Supported: supported}
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
