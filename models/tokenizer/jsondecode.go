package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// keyError is an error at a place in the file, such as "normalizer.normalizers[3].content".
type keyError struct {
	key string
	err error
}

func (e *keyError) Error() string { return e.key + ": " + e.err.Error() }

func (e *keyError) Unwrap() error { return e.err }

// decodeStrict reads one JSON value into the structure that v points to; see [jsonReader.value] for
// its types. A key that v does not have is an error, because it could change the result. If a key
// is repeated, the last value counts, as in the reference. Errors name the key and speak of JSON
// alone.
func decodeStrict(data []byte, v any) error {
	r := &jsonReader{data: data}
	if err := r.value(reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	return r.end()
}

// rawType is a []byte in the eyes of reflect, so it is compared before the kinds.
var rawType = reflect.TypeFor[json.RawMessage]()

// value reads the next value into v: a text, a bool, a number, a list, an object, or raw JSON. null
// leaves a pointer nil, a list without items and a text empty.
func (r *jsonReader) value(v reflect.Value) error {
	if v.Type() == rawType {
		raw, err := r.raw()
		if err != nil {
			return err
		}
		v.SetBytes(slices.Clone(raw))
		return nil
	}
	// The last of repeated keys counts, so nothing of the value before may stay.
	v.SetZero()
	if r.isNull() {
		r.at += len("null")
		return nil
	}
	// The one type that is a list in JSON and not in Go.
	if n, ok := v.Addr().Interface().(*namedID); ok {
		return n.read(r)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(v.Elem())
	case reflect.String:
		s, err := r.text("text")
		v.SetString(s)
		return err
	case reflect.Bool:
		b, err := r.bool()
		v.SetBool(b)
		return err
	case reflect.Slice:
		return r.items(v)
	case reflect.Map:
		return r.entries(v)
	case reflect.Struct:
		return r.fields(v)
	}
	return r.numberInto(v)
}

// isNull reports whether null is next.
func (r *jsonReader) isNull() bool {
	r.peek()
	return bytes.HasPrefix(r.data[r.at:], []byte("null"))
}

// text reads a string; the error for another value says what is wanted.
func (r *jsonReader) text(want string) (string, error) {
	if r.peek() != '"' {
		return "", r.errMismatch(want)
	}
	return r.string()
}

func (r *jsonReader) bool() (bool, error) {
	r.peek()
	for word, b := range map[string]bool{"true": true, "false": false} {
		if bytes.HasPrefix(r.data[r.at:], []byte(word)) {
			r.at += len(word)
			return b, nil
		}
	}
	return false, r.errMismatch("true or false")
}

// errMismatch is the error for a value of another type than the one that is wanted.
func (r *jsonReader) errMismatch(want string) error {
	raw, err := r.raw()
	if err != nil {
		return err
	}
	return fmt.Errorf("%s is not %s", shorten(raw), want)
}

// shorten returns a JSON value for an error, shortened if it is long.
func shorten(raw []byte) string {
	const most = 60
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(raw[:min(len(raw), 4*most)]),
		"?")), " ")
	if runes := []rune(text); len(runes) > most || len(raw) > 4*most {
		text = string(runes[:min(len(runes), most)]) + "..."
	}
	return text
}

// items reads a list. An empty one is not nil, so it differs from one that is missing.
func (r *jsonReader) items(v reflect.Value) error {
	if r.peek() != '[' {
		return r.errMismatch("a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	return r.array(func() error {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := r.value(item); err != nil {
			return atKey(fmt.Sprintf("[%d]", v.Len()), err)
		}
		v.Set(reflect.Append(v, item))
		return nil
	})
}

func (r *jsonReader) entries(v reflect.Value) error {
	if r.peek() != '{' {
		return r.errMismatch("an object")
	}
	v.Set(reflect.MakeMap(v.Type()))
	return r.object(func(key string) error {
		item := reflect.New(v.Type().Elem()).Elem()
		err := r.value(item)
		v.SetMapIndex(reflect.ValueOf(key), item)
		return atKey(cutKey(key), err)
	})
}

// fields reads an object into the fields of v, by the names in their tags. A field with the tag
// need must be in the object and not null.
func (r *jsonReader) fields(v reflect.Value) error {
	if r.peek() != '{' {
		return r.errMismatch("an object")
	}
	read := make([]bool, v.NumField())
	err := r.object(func(key string) error {
		var known []string
		// Structures have few fields, so they are searched in order.
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("json")
			if name == "" {
				name = v.Type().Field(i).Name
			}
			if name == key {
				read[i] = !r.isNull()
				return atKey(key, r.value(v.Field(i)))
			}
			known = append(known, name)
		}
		return fmt.Errorf("unknown field %s (known are %s)", strconv.Quote(cutKey(key)),
			strings.Join(known, ", "))
	})
	if err != nil {
		return err
	}
	return missing(v, read)
}

// missing is the error for a needed field that was not read, nil if there is none.
func missing(v reflect.Value, read []bool) error {
	var needed []string
	complete := true
	for i := range read {
		if tag := v.Type().Field(i).Tag; tag.Get("need") != "" {
			needed, complete = append(needed, tag.Get("json")), complete && read[i]
		}
	}
	if complete {
		return nil
	}
	last := len(needed) - 1
	text := strings.TrimPrefix(strings.Join(needed[:last], ", ")+" and "+needed[last], " and ")
	if kind := v.FieldByName("Type"); kind.IsValid() {
		return fmt.Errorf("%s needs %s", kind, text)
	}
	return fmt.Errorf("%s are needed", text)
}

// cutKey returns a key for an error, shortened if it is long.
func cutKey(key string) string {
	if runes := []rune(key); len(runes) > 40 {
		return string(runes[:40]) + "..."
	}
	return key
}

// numberInto reads a number that fits v.
func (r *jsonReader) numberInto(v reflect.Value) error {
	if c := r.peek(); c != '-' && (c < '0' || c > '9') {
		return r.errMismatch("a number")
	}
	text, err := r.number()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%.40s is too large a number", text)
		}
		v.SetFloat(f)
	case reflect.Int:
		// A fraction or an exponent is an error, also 2.0.
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%.40s is not a whole number from %d to %d", text, int64(-1<<63),
				int64(1<<63-1))
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint32:
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("%.40s is not a whole number from 0 to %d", text,
				// The largest number of the type, computed without overflow.
				uint64(1)<<(v.Type().Bits()-1)-1+uint64(1)<<(v.Type().Bits()-1))
		}
		v.SetUint(n)
	default:
		// The types are those of this package.
		panic("tokenizer: no number is read into " + v.Type().String())
	}
	return nil
}

// read reads ["</s>", 2].
func (n *namedID) read(r *jsonReader) error {
	if r.peek() != '[' {
		return r.errMismatch(`a token and its id, as ["</s>", 2]`)
	}
	i := 0
	err := r.array(func() error {
		i++
		switch i {
		case 1:
			return atKey("[0]", r.value(reflect.ValueOf(&n.content).Elem()))
		case 2:
			return atKey("[1]", r.value(reflect.ValueOf(&n.id).Elem()))
		}
		_, err := r.raw()
		return err
	})
	if err == nil && i != 2 {
		return fmt.Errorf("a token and its id are 2 values, not %d", i)
	}
	return err
}

// kindOf returns the type of a part, "" if it has none.
func kindOf(raw json.RawMessage) string {
	kind := ""
	r := &jsonReader{data: raw}
	if r.peek() != '{' {
		return ""
	}
	err := r.object(func(key string) (err error) {
		if key == "type" && r.peek() == '"' {
			kind, err = r.string()
			return err
		}
		_, err = r.raw()
		return err
	})
	if err != nil {
		return ""
	}
	return kind
}

// loneSurrogate reports whether a JSON string, with its quotes, contains half of a character
// written as \uD800 to \uDFFF, and which. The reference refuses it; encoding/json would replace
// each by U+FFFD.
func loneSurrogate(quoted []byte) (string, bool) {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		// A character beyond U+FFFF is two escapes: D800 to DBFF, then DC00 to DFFF.
		high, ok := escapedUnit(quoted[i:])
		// i now is at the character after the backslash, so a backslash after a backslash is passed
		// over.
		if i++; !ok || high < 0xd800 || high > 0xdfff {
			continue
		}
		if low, ok := escapedUnit(quoted[i+5:]); high < 0xdc00 && ok && low >= 0xdc00 &&
			low <= 0xdfff {
			i += 10
			continue
		}
		return string(quoted[i-1 : i+5]), true
	}
	return "", false
}

// escapedUnit reads \uXXXX at the start of s.
func escapedUnit(s []byte) (uint64, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 32)
	return n, err == nil
}

var errAfter = errors.New("there is text after the JSON value")
