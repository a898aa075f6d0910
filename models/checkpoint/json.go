package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decodeObject decodes a JSON object as Python does: of a key that comes twice the last value
// counts, and NaN, Infinity and -Infinity are numbers. Numbers stay as they are written. twice is
// the first ten keys that come twice in one object. It does not decode into Go types, because
// package family has to see every key.
func decodeObject(text []byte) (object map[string]any, twice []string, err error) {
	text = withNonFinite(text)
	if err := checkJSON(text); err != nil {
		return nil, nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := decodeValue(dec, &twice)
	if err != nil {
		return nil, nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("not a JSON object, but %s", shown(v))
	}
	return object, twice, nil
}

// nonFinite are numbers that stand for the ones that JSON does not have. They have no float64.
var nonFinite = map[string]string{
	"1e919191": "NaN", "1e929292": "Infinity", "-1e929292": "-Infinity",
}

// nonFinitePattern matches a text, or one of the words that Python writes for a number.
var nonFinitePattern = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b`)

// withNonFinite returns a JSON text with the numbers of nonFinite for the words that they stand
// for.
func withNonFinite(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	return nonFinitePattern.ReplaceAllFunc(text, func(found []byte) []byte {
		for number, word := range nonFinite {
			if string(found) == word {
				return []byte(number)
			}
		}
		return found
	})
}

// decodeValue decodes one value. It reads every part of the text once. The text has passed
// [checkJSON], so it is nested at most 10000 levels deep. It returns a map, a list, a text, a
// json.Number, a bool or nil.
func decodeValue(dec *json.Decoder, twice *[]string) (any, error) {
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
			if _, again := object[key]; again && !slices.Contains(*twice, key) && len(*twice) < 10 {
				*twice = append(*twice, key)
			}
			if object[key], err = decodeValue(dec, twice); err != nil {
				return nil, err
			}
		}
		// the closing brace
		_, err = dec.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decodeValue(dec, twice)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		// the closing bracket
		_, err = dec.Token()
		return list, err
	}
	if n, isNumber := t.(json.Number); isNumber {
		if word, ok := nonFinite[n.String()]; ok {
			return json.Number(word), nil
		}
	}
	return t, nil
}

// checkJSON returns an error if the text is not one JSON value in UTF-8. The error on JSON says
// where: the line, the last key before it, and what is there. The errors of encoding/json give an
// offset in bytes, which helps nobody in a file of a thousand lines.
func checkJSON(text []byte) error {
	if err := validText(text); err != nil {
		return err
	}
	var whole json.RawMessage
	err := json.Unmarshal(text, &whole)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return errors.New("not valid JSON")
	}
	// Offset counts the bytes read, the wrong one included.
	at := max(0, min(int(syntax.Offset)-1, len(text)))
	line := 1 + bytes.Count(text[:at], []byte("\n"))
	where := fmt.Sprintf("not valid JSON in line %d", line)
	if key := lastKey(text[:at]); key != "" {
		where += ", after the key " + quoted(key)
	}
	// All of it has been read, and a value or a bracket is missing.
	if syntax.Offset >= int64(len(text)) && strings.Contains(syntax.Error(), "unexpected end") {
		return fmt.Errorf("%s: the text ends too early: is the file cut off?", where)
	}
	// encoding/json has a limit, so that hostile nesting cannot exhaust the stack.
	if strings.Contains(syntax.Error(), "max depth") {
		return fmt.Errorf("%s: more than 10000 lists and objects within one another", where)
	}
	rest := text[at:]
	return fmt.Errorf("%s: unexpected %s", where,
		quoted(strings.ToValidUTF8(string(rest[:min(len(rest), 20)]), "\uFFFD")))
}

// keyPattern matches a key with its colon.
var keyPattern = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"\s*:`)

// lastKey returns the last key near the end of a text. It is empty if there is none. A text with a
// quoted word and a colon may look like a key; then the message is less helpful.
func lastKey(text []byte) string {
	// Only the end is searched: a header may have 100 MB.
	const most = 4096
	found := keyPattern.FindAllSubmatch(text[max(0, len(text)-most):], -1)
	if len(found) == 0 {
		return ""
	}
	return string(found[len(found)-1][1])
}

// quoted returns a name or a text from a file in quotes, cut if it is long. Names in a hostile file
// may be long or have control characters.
func quoted(name string) string {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strconv.Quote(name)
}

// shown returns a value or a token from a file for an error message, cut if it is long. Lists and
// objects are described and not printed.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return quoted(v)
	case json.Number:
		return strings.Trim(quoted(v.String()), `"`)
	// only where a token is shown, and not a value
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

// shownInside is [shown] for the first entry of a list. A list of lists of lists would be a long
// message.
func shownInside(v any) string {
	if _, ok := v.([]any); ok {
		return "a list"
	}
	return shown(v)
}

// readObject reads an object and calls value for every key; value must read the value of that key.
// A key that comes twice is an error, because encoding/json would keep the last value without
// saying so. Unlike decoding into a map it keeps the order of the keys, so the first wrong one is
// reported.
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

// readNaturals reads an array of at most limit integers that are not negative. A number with a
// fraction or an exponent is an error, also 1.0 and 1e3.
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

// readString reads one text.
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

// readDelim reads the beginning or the end of an object or a list.
func readDelim(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	// Here the text should go on.
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

// validText returns an error if a text is not UTF-8. encoding/json would replace the wrong bytes
// without saying so.
func validText(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("not valid UTF-8")
	}
	return nil
}
