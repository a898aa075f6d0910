// Package jsonread reads JSON that may come from anybody, value by value. Each byte is read once,
// and a caller can refuse a value before the next one takes memory. Errors speak of JSON alone and
// name the place.
package jsonread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how many lists and objects may be within one another; jsontext has this limit.
const maxDepth = 10000

// Reader reads one JSON text from left to right.
type Reader struct {
	text []byte
	dec  *jsontext.Decoder
	// nonFinite reports whether the numbers of nonFinite stand for others.
	nonFinite bool
	// Again is called with a key that comes twice in one object, before its later value is read.
	// An error ends the reading. If it is nil, such keys are not looked for.
	Again func(key string) error
}

// New returns a reader that refuses what could be read in two ways: a key that comes twice in one
// object, and half of a character, such as \ud800.
func New(text []byte) *Reader {
	r := AsRust(text)
	r.Again = func(key string) error { return fmt.Errorf("key %.200q comes twice", key) }
	return r
}

// AsRust returns a reader with the rules of Rust's serde: a key may come twice.
func AsRust(text []byte) *Reader { return read(text, false) }

// Lenient returns a reader for which a key may come twice, and half of a character is U+FFFD.
func Lenient(text []byte) *Reader { return read(text, true) }

// AsPython returns a reader with the rules of Python's json: as [Lenient], and NaN, Infinity and
// -Infinity are numbers.
func AsPython(text []byte) *Reader {
	if bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Infinity")) {
		text = nonFinitePattern.ReplaceAllFunc(text, func(found []byte) []byte {
			for number, word := range nonFinite {
				if string(found) == word {
					return []byte(number)
				}
			}
			return found
		})
	}
	r := Lenient(text)
	r.nonFinite = true
	return r
}

// nonFinite are numbers that stand for the ones that JSON does not have. They have no float64.
var nonFinite = map[string]string{
	"1e919191": "NaN", "1e929292": "Infinity", "-1e929292": "-Infinity",
}

// nonFinitePattern matches a text, or one of the words that Python writes for a number.
var nonFinitePattern = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b`)

// halfPattern matches half of a character at the beginning.
var halfPattern = regexp.MustCompile(`^\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)

func read(text []byte, halves bool) *Reader {
	return &Reader{text: text, dec: jsontext.NewDecoder(bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(halves && utf8.Valid(text)))}
}

// Kind returns how the next value begins: one of { [ " 0 (for a number) t f n, or another byte if
// there is none.
func (r *Reader) Kind() byte { return byte(r.dec.PeekKind()) }

// Object reads an object. value must read the value of each key.
func (r *Reader) Object(value func(key string) error) error {
	if r.Kind() != '{' {
		return r.Not("an object")
	}
	var seen map[string]bool
	if r.Again != nil {
		seen = map[string]bool{}
	}
	if _, err := r.token(); err != nil {
		return err
	}
	for r.Kind() != '}' {
		key, err := r.string()
		if err != nil {
			return err
		}
		if seen[key] {
			if err := r.Again(key); err != nil {
				return err
			}
		} else if seen != nil {
			seen[key] = true
		}
		if err := value(key); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

// List reads a list. item must read each item; i counts from 0.
func (r *Reader) List(item func(i int) error) error {
	if r.Kind() != '[' {
		return r.Not("a list")
	}
	if _, err := r.token(); err != nil {
		return err
	}
	for i := 0; r.Kind() != ']'; i++ {
		if err := item(i); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

// Text reads a text.
func (r *Reader) Text() (string, error) {
	if r.Kind() != '"' {
		return "", r.Not("a text")
	}
	return r.string()
}

// string reads a text or a key. Most of a vocabulary have no backslash and are copied as they are.
func (r *Reader) string() (string, error) {
	quoted, err := r.dec.ReadValue()
	if err != nil {
		return "", r.wrong(err)
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	// The error is about halves of characters, which are U+FFFD in text and have been let through.
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return string(text), nil
}

// Number reads a number and returns it as it is written.
func (r *Reader) Number() (string, error) {
	if r.Kind() != '0' {
		return "", r.Not("a number")
	}
	number, err := r.dec.ReadValue()
	if err != nil {
		return "", r.wrong(err)
	}
	if word := nonFinite[string(number)]; r.nonFinite && word != "" {
		return word, nil
	}
	return string(number), nil
}

// Any reads a value: a map[string]any, []any, string, json.Number, bool or nil.
func (r *Reader) Any() (any, error) {
	switch r.Kind() {
	case '{':
		object := map[string]any{}
		return object, r.Object(func(key string) (err error) {
			object[key], err = r.Any()
			return err
		})
	case '[':
		list := []any{}
		return list, r.List(func(int) error {
			v, err := r.Any()
			list = append(list, v)
			return err
		})
	case '"':
		return r.Text()
	case '0':
		n, err := r.Number()
		return json.Number(n), err
	}
	t, err := r.token()
	if err != nil || t.Kind() == 'n' {
		return nil, err
	}
	return t.Bool(), nil
}

// Raw reads a value and returns it as it stands in the text. It is valid JSON, but the keys in it
// may come twice.
func (r *Reader) Raw() (json.RawMessage, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, r.wrong(err)
	}
	end := int(r.dec.InputOffset())
	return r.text[end-len(v) : end : end], nil
}

// Not reads the next value and returns the error that it is not what is wanted: "3 is not a list".
func (r *Reader) Not(want string) error {
	raw, err := r.Raw()
	if err != nil {
		return err
	}
	return fmt.Errorf("%s is not %s", Shorten(raw), want)
}

// End returns an error if there is more in the text.
func (r *Reader) End() error {
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("not valid JSON: there is more after the value")
	}
	return nil
}

// Check returns an error if a text is not one JSON value. A key may come twice in it.
func Check(text []byte) error {
	r := Lenient(text)
	if _, err := r.Raw(); err != nil {
		return err
	}
	return r.End()
}

// UnknownKey is the error of a key that is not in the type that a text is read into. It is quoted.
type UnknownKey string

// Error implements error.
func (k UnknownKey) Error() string { return "unknown field " + string(k) }

// Into reads one JSON value into what v points to, as [encoding/json] does, and refuses what [New]
// refuses and any [UnknownKey]. An error about the type of a value is a [json.UnmarshalTypeError].
func Into(text []byte, v any) error {
	r := New(text)
	if err := r.skip(); err != nil {
		return err
	}
	if err := r.End(); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err != nil { // encoding/json has no type for it
		if key, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return UnknownKey(key)
		}
	}
	return err
}

// skip reads a value and looks at all of its keys.
func (r *Reader) skip() error {
	switch r.Kind() {
	case '{':
		return r.Object(func(string) error { return r.skip() })
	case '[':
		return r.List(func(int) error { return r.skip() })
	}
	_, err := r.Raw()
	return err
}

func (r *Reader) token() (jsontext.Token, error) {
	t, err := r.dec.ReadToken()
	if err != nil {
		return t, r.wrong(err)
	}
	return t, nil
}

// wrong returns where a text stops being JSON, and what is there: its line, or in a text of one
// line the byte; the pointer to the value; and a few characters.
func (r *Reader) wrong(err error) error {
	var syntax *jsontext.SyntacticError
	at := len(r.text)
	var pointer string
	if errors.As(err, &syntax) {
		at, pointer = min(int(syntax.ByteOffset), at), string(syntax.JSONPointer)
	}
	where := fmt.Sprintf("not valid JSON at byte %d", at+1)
	if bytes.ContainsRune(bytes.TrimSpace(r.text), '\n') {
		where = fmt.Sprintf("not valid JSON in line %d", 1+bytes.Count(r.text[:at], []byte("\n")))
	}
	deep := strings.Count(pointer, "/") >= maxDepth
	if pointer != "" {
		where += ", in " + Shorten([]byte(pointer))
	}
	rest := r.text[at:]
	switch {
	case !utf8.Valid(r.text):
		return errors.New("not valid UTF-8")
	case deep:
		return fmt.Errorf("%s: more than %d lists and objects within one another", where, maxDepth)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: the text ends too early: is it cut off?", where)
	case halfPattern.Match(rest):
		return fmt.Errorf("%s: %s is half of a character; write both halves", where, rest[:6])
	}
	return fmt.Errorf("%s: unexpected %q", where,
		strings.ToValidUTF8(string(rest[:min(len(rest), 20)]), "\uFFFD"))
}

// Shorten returns JSON for an error: on one line, and of at most 60 characters.
func Shorten(raw []byte) string {
	const most = 60
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(raw[:min(len(raw), 4*most)]),
		"?")), " ")
	if runes := []rune(text); len(runes) > most || len(raw) > 4*most {
		text = string(runes[:min(len(runes), most)]) + "..."
	}
	return text
}
