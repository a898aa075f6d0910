package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// jsonReader reads a JSON text from left to right. A tokenizer.json is megabytes of vocabulary, which encoding/json
// takes seconds for; what is small in it is handed to encoding/json as it is.
type jsonReader struct {
	data []byte
	at   int
}

var errJSONEnd = errors.New("unexpected end of JSON input (EOF)")

// peek returns the next byte that is not white space, 0 at the end.
func (r *jsonReader) peek() byte {
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// expect takes the byte c.
func (r *jsonReader) expect(c byte) error {
	got := r.peek()
	switch {
	case got == c && c != 0:
		r.at++
		return nil
	case r.at == len(r.data):
		return errJSONEnd
	}
	return fmt.Errorf("byte %d of the JSON: %q instead of %q", r.at, got, c)
}

// list reads what stands between open and end, separated by commas.
func (r *jsonReader) list(open, end byte, each func() error) error {
	if err := r.expect(open); err != nil {
		return err
	}
	if r.peek() == end {
		return r.expect(end)
	}
	for {
		if err := each(); err != nil {
			return err
		}
		if r.peek() != ',' {
			return r.expect(end)
		}
		r.at++
	}
}

func (r *jsonReader) array(each func() error) error { return r.list('[', ']', each) }

// object reads an object; each has to read the value.
func (r *jsonReader) object(each func(key string) error) error {
	return r.list('{', '}', func() error {
		key, err := r.string()
		if err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		return each(key)
	})
}

// string reads a string.
func (r *jsonReader) string() (string, error) {
	if err := r.expect('"'); err != nil {
		return "", err
	}
	begin, plain := r.at, true
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			if plain {
				return string(r.data[begin : r.at-1]), nil
			}
			var s string
			err := json.Unmarshal(r.data[begin-1:r.at], &s)
			return s, err
		case c == '\\':
			plain = false
			r.at++
		case c < ' ':
			return "", fmt.Errorf("byte %d of the JSON: a control character in a string", r.at)
		}
	}
	return "", errJSONEnd
}

// number reads a number, as text.
func (r *jsonReader) number() (string, error) {
	r.peek()
	begin := r.at
	for r.at < len(r.data) && (r.data[r.at] >= '0' && r.data[r.at] <= '9' || bytes.IndexByte([]byte("+-.eE"), r.data[r.at]) >= 0) {
		r.at++
	}
	text := r.data[begin:r.at]
	if !json.Valid(text) {
		return "", fmt.Errorf("byte %d of the JSON: not a number", begin)
	}
	return string(text), nil
}

// id reads a token's number.
func (r *jsonReader) id() (int, error) {
	text, err := r.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("id %s is not a number from 0 to %d", text, uint32(1<<32-1))
	}
	return int(n), nil
}

// raw takes any value as it is. Brackets and strings are followed, the rest is left to whoever reads it.
func (r *jsonReader) raw() (json.RawMessage, error) {
	r.peek()
	begin, depth := r.at, 0
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case '"':
			if _, err := r.string(); err != nil {
				return nil, err
			}
			r.at--
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				return r.data[begin:r.at], nil
			}
		}
		if depth < 0 {
			return r.data[begin:r.at], nil
		}
		r.at++
		if depth == 0 {
			if c := r.data[r.at-1]; c == '"' || c == '}' || c == ']' {
				break
			}
		}
	}
	if depth > 0 || begin == r.at {
		return nil, errJSONEnd
	}
	return r.data[begin:r.at], nil
}

// end returns an error unless all is read.
func (r *jsonReader) end() error {
	if r.peek(); r.at < len(r.data) {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// sections reads the object data: what large has for a key reads its value, and all others come back as an object. That
// is not checked: decodeStrict does.
func sections(data []byte, large map[string]func(*jsonReader) error) (small []byte, err error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the JSON is not valid UTF-8")
	}
	r := &jsonReader{data: data}
	small = []byte{'{'}
	err = r.object(func(key string) error {
		if read, ok := large[key]; ok {
			return read(r)
		}
		value, err := r.raw()
		if err != nil {
			return err
		}
		name, err := marshal(key)
		if err != nil {
			return err
		}
		if len(small) > 1 {
			small = append(small, ',')
		}
		small = append(append(append(small, name...), ':'), value...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(small, '}'), r.end()
}
