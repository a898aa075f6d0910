package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonReader reads a JSON text from left to right. A tokenizer.json has megabytes of vocabulary,
// which would take encoding/json seconds.
type jsonReader struct {
	data []byte
	at   int
}

var errJSONEnd = errors.New("the JSON ends in the middle (EOF)")

// peek returns the next byte that is not white space, or 0 at the end.
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

// expect reads the byte c. White space before it is passed over.
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

// list reads items between the bytes open and end, separated by commas.
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
			// A comma before the end is an error, as JSON says.
			return r.expect(end)
		}
		r.at++
	}
}

// array reads an array; each must read one item.
func (r *jsonReader) array(each func() error) error { return r.list('[', ']', each) }

// object reads an object; each must read the value.
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

// string reads a string. Most strings of a vocabulary have no backslash and are copied as they are.
// The others are left to encoding/json, which knows all escapes.
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
			quoted := r.data[begin-1 : r.at]
			if half, ok := loneSurrogate(quoted); ok {
				return "", fmt.Errorf("byte %d of the JSON: %s in a string is half of a "+
					"character; write both halves", begin, half)
			}
			var s string
			if json.Unmarshal(quoted, &s) != nil {
				return "", fmt.Errorf("byte %d of the JSON: the string %s has a backslash that "+
					"means nothing", begin, shorten(quoted))
			}
			return s, nil
		// The next byte may be a quote and is not the end.
		case c == '\\':
			plain = false
			r.at++
		case c < ' ':
			return "", fmt.Errorf("byte %d of the JSON: a control character in a string", r.at)
		}
	}
	return "", errJSONEnd
}

// number reads a number and returns its text. It takes all characters that a number may have, and
// then asks whether they are one.
func (r *jsonReader) number() (string, error) {
	r.peek()
	begin := r.at
	for r.at < len(r.data) && strings.IndexByte("0123456789+-.eE", r.data[r.at]) >= 0 {
		r.at++
	}
	text := r.data[begin:r.at]
	if len(text) == 0 {
		text = r.data[begin:min(len(r.data), begin+20)]
	}
	if !json.Valid(text) || r.at == begin {
		return "", fmt.Errorf("byte %d of the JSON: %s is not a number", begin, shorten(text))
	}
	return string(text), nil
}

// id reads the id of a token. Ids have 32 bits, as in the reference.
func (r *jsonReader) id() (int, error) {
	text, err := r.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("id %.40s is not a number from 0 to %d", text, uint32(1<<32-1))
	}
	return int(n), nil
}

// skipString skips a string without checking it and reports whether it ends.
func (r *jsonReader) skipString() bool {
	for r.at++; r.at < len(r.data); r.at++ {
		switch r.data[r.at] {
		case '"':
			r.at++
			return true
		case '\\':
			r.at++
		}
	}
	return false
}

// raw returns the next value as it stands. It only follows brackets and strings; the code that
// reads the value checks it.
func (r *jsonReader) raw() (json.RawMessage, error) {
	r.peek()
	begin, depth := r.at, 0
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case '"':
			if !r.skipString() {
				return nil, errJSONEnd
			}
			// skipString has gone on to the next byte, which is counted below.
			r.at--
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				return bytes.TrimRight(r.data[begin:r.at], " \t\r\n"), nil
			}
		}
		// The bracket ends the object or list around the value.
		if depth < 0 {
			return bytes.TrimRight(r.data[begin:r.at], " \t\r\n"), nil
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
	return bytes.TrimRight(r.data[begin:r.at], " \t\r\n"), nil
}

// end returns an error if text is left.
func (r *jsonReader) end() error {
	if r.peek(); r.at < len(r.data) {
		return errAfter
	}
	return nil
}

// maxSection is how many bytes a section may have, without vocabulary, merges and added tokens. The
// largest in use, with a map of characters, have about 1 MB.
const maxSection = 8 << 20

// sections reads the object data. The functions in large read the values of their keys; all other
// keys come back as an object, which is not checked yet. So each byte of a file is read once, and
// the large parts without reflection.
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
		// There may be as many added tokens as a vocabulary has.
		if key != "added_tokens" && len(value) > maxSection {
			return atKey(cutKey(key),
				fmt.Errorf("%d bytes, the limit is %d; is this a tokenizer.json?", len(value),
					maxSection))
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
