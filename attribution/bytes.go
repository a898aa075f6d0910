package attribution

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/internal/message"
)

// Bytes returns the bytes of a token that is not a text by itself, such as a part of a character,
// and nil of other tokens. JSON has them beside the text, where each such byte is U+FFFD.
func Bytes(text string) []int {
	if utf8.ValidString(text) {
		return nil
	}
	all := make([]int, len(text))
	for i := range len(text) {
		all[i] = int(text[i])
	}
	return all
}

// restore returns the token whose text and bytes JSON has.
func restore(text string, from []int) (string, error) {
	if from == nil {
		return text, nil
	}
	exact := make([]byte, len(from))
	for i, b := range from {
		exact[i] = byte(b)
	}
	if string([]rune(string(exact))) != text {
		return "", pkg.Errorf("the bytes %v are not those of %s", from, message.Quote(text))
	}
	return string(exact), nil
}

// appendBytes returns the JSON of an object, plain, with one more field, bytes, unless none is
// true. The caller of MarshalJSON decides which characters HTML must not have.
func appendBytes(plain, list any, none bool) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(plain)
	if none || err != nil {
		return b.Bytes(), err
	}
	b.Truncate(b.Len() - len("}\n"))
	b.WriteString(`,"bytes":`)
	err = encoder.Encode(list)
	b.WriteString("}")
	return b.Bytes(), err
}

// readToken reads an object with a text and perhaps its bytes into plain, which has the text.
func readToken(object []byte, plain any, text *string) error {
	if err := json.Unmarshal(object, plain); err != nil {
		return err
	}
	if !strings.ContainsRune(*text, utf8.RuneError) {
		return nil
	}
	var with struct{ Bytes []int }
	if err := json.Unmarshal(object, &with); err != nil {
		return err
	}
	exact, err := restore(*text, with.Bytes)
	*text = exact
	return err
}

// MarshalJSON writes the token, with its [Bytes] if it is no text.
func (t GeneratedToken) MarshalJSON() ([]byte, error) {
	type plain GeneratedToken
	list := Bytes(t.Text)
	return appendBytes(plain(t), list, list == nil)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *GeneratedToken) UnmarshalJSON(object []byte) error {
	type plain GeneratedToken
	return readToken(object, (*plain)(t), &t.Text)
}

// MarshalJSON writes the token, with its [Bytes] if it is no text.
func (a Alternative) MarshalJSON() ([]byte, error) {
	type plain Alternative
	list := Bytes(a.Text)
	return appendBytes(plain(a), list, list == nil)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Alternative) UnmarshalJSON(object []byte) error {
	type plain Alternative
	return readToken(object, (*plain)(a), &a.Text)
}

// MarshalJSON writes the prompt, with the [Bytes] of its tokens, [m], if one of them is no text.
func (p Prompt) MarshalJSON() ([]byte, error) {
	type plain Prompt
	list, none := make([][]int, len(p.Texts)), true
	for j, text := range p.Texts {
		list[j] = Bytes(text)
		none = none && list[j] == nil
	}
	return appendBytes(plain(p), list, none)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Prompt) UnmarshalJSON(object []byte) error {
	type plain Prompt
	var with struct{ Bytes [][]int }
	if err := json.Unmarshal(object, (*plain)(p)); err != nil {
		return err
	}
	if err := json.Unmarshal(object, &with); err != nil {
		return err
	}
	for j := range p.Texts[:min(len(p.Texts), len(with.Bytes))] {
		exact, err := restore(p.Texts[j], with.Bytes[j])
		if err != nil {
			return err
		}
		p.Texts[j] = exact
	}
	return nil
}

// TokenTexts are texts of tokens in what a study finds. In JSON each is a string or, if it is no
// text because the token is a part of a character, the list of its [Bytes].
type TokenTexts []string

// MarshalJSON implements [json.Marshaler].
func (t TokenTexts) MarshalJSON() ([]byte, error) {
	all := make([]any, len(t))
	for i, text := range t {
		if all[i] = text; Bytes(text) != nil {
			all[i] = Bytes(text)
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *TokenTexts) UnmarshalJSON(data []byte) error {
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*t = make(TokenTexts, len(all))
	for i, text := range all {
		var list []int
		if json.Unmarshal(text, &list) != nil {
			if err := json.Unmarshal(text, &(*t)[i]); err != nil {
				return err
			}
			continue
		}
		for _, n := range list {
			if n < 0 || n > 255 {
				return pkg.Errorf("text %d has the byte %d; bytes are 0 to 255", i, n)
			}
			(*t)[i] += string([]byte{byte(n)})
		}
	}
	return nil
}
