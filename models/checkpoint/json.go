package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decodeObject decodes a JSON object and keeps numbers as they are written. A key that comes twice
// is an error: Python keeps the last, and whoever wrote the other would not learn that it does
// nothing.
func decodeObject(text []byte) (map[string]any, error) {
	if err := checkJSON(text); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := decodeValue(dec)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("not a JSON object, but %s", shown(v))
	}
	return object, nil
}

// decodeValue decodes one value. Nothing else of the text is read more often than once, and the
// text, which [checkJSON] has seen, is nested at most 10000 deep.
func decodeValue(dec *json.Decoder) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		object := map[string]any{}
		for dec.More() {
			key, err := readString(dec)
			if err != nil {
				return nil, err
			}
			if _, twice := object[key]; twice {
				return nil, fmt.Errorf("key %s comes twice; remove the one that does not count",
					quoted(key))
			}
			if object[key], err = decodeValue(dec); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	return t, nil
}

// checkJSON returns an error that says where a text is not one JSON value: the line, the last key
// before it, and what stands there.
func checkJSON(text []byte) error {
	var whole json.RawMessage
	err := json.Unmarshal(text, &whole)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return errors.New("not valid JSON")
	}
	at := max(0, min(int(syntax.Offset)-1, len(text)))
	line := 1 + bytes.Count(text[:at], []byte("\n"))
	where := fmt.Sprintf("not valid JSON in line %d", line)
	if key := lastKey(text[:at]); key != "" {
		where += ", after the key " + quoted(key)
	}
	if syntax.Offset >= int64(len(text)) && strings.Contains(syntax.Error(), "unexpected end") {
		return fmt.Errorf("%s: the text ends too early: is the file cut off?", where)
	}
	if strings.Contains(syntax.Error(), "max depth") {
		return fmt.Errorf("%s: more than 10000 lists and objects within one another", where)
	}
	rest := text[at:]
	for _, word := range []string{"-Infinity", "NaN", "Infinity"} {
		if begin := max(0, at-strings.Count(word, "-")); bytes.HasPrefix(text[begin:],
			[]byte(word)) {
			return fmt.Errorf("%s: %s is not a JSON number; write a number", where, word)
		}
	}
	return fmt.Errorf("%s: unexpected %s", where,
		quoted(strings.ToValidUTF8(string(rest[:min(len(rest), 20)]), "\uFFFD")))
}

// keyPattern is a key with its colon.
var keyPattern = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"\s*:`)

// lastKey returns the last key of the end of a text; the empty text if there is none.
func lastKey(text []byte) string {
	const most = 4096
	found := keyPattern.FindAllSubmatch(text[max(0, len(text)-most):], -1)
	if len(found) == 0 {
		return ""
	}
	return string(found[len(found)-1][1])
}

// quoted is a name or a text of a file in quotes, cut if it is long.
func quoted(name string) string {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strconv.Quote(name)
}

// shown is a value or a token of a file for a message, cut if it is long.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return quoted(v)
	case json.Number:
		return strings.Trim(quoted(v.String()), `"`)
	case json.Delim:
		return map[json.Delim]string{
			'{': "an object", '[': "a list", '}': "the end of the object",
			']': "the end of the list",
		}[v]
	case []any:
		if len(v) == 0 {
			return "an empty list"
		}
		return "a list that begins with " + shownInside(v[0])
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(v)
}

func shownInside(v any) string {
	if _, ok := v.([]any); ok {
		return "a list"
	}
	return shown(v)
}

// readObject reads an object and calls value for every key; value reads what the key stands for. A
// key that comes twice is an error: encoding/json would quietly keep the last one.
func readObject(dec *json.Decoder, value func(key string) error) error {
	if err := readDelim(dec, '{'); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for dec.More() {
		key, err := readString(dec)
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %s comes twice", quoted(key))
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return readDelim(dec, '}')
}

// readNaturals reads an array of at most limit integers, none negative.
func readNaturals(dec *json.Decoder, limit int) ([]int64, error) {
	if err := readDelim(dec, '['); err != nil {
		return nil, err
	}
	ns := []int64{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		number, _ := t.(json.Number)
		n, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s is not a whole number from 0", shown(t))
		}
		if len(ns) == limit {
			return nil, fmt.Errorf("more than %d numbers", limit)
		}
		ns = append(ns, n)
	}
	return ns, readDelim(dec, ']')
}

func readString(dec *json.Decoder) (string, error) {
	t, err := dec.Token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("%s is not a text", shown(t))
	}
	return s, nil
}

func readDelim(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%s where %s was expected", shown(t), shown(want))
	}
	return nil
}

// validText returns an error if a text is not UTF-8, which encoding/json would not say.
func validText(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("not valid UTF-8")
	}
	return nil
}
