package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// KindOfJSON names what a value of JSON is: "a list".
func KindOfJSON(value []byte) string {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return "empty"
	case value[0] == '"':
		return "a string"
	case value[0] == '[':
		return "a list"
	case value[0] == '{':
		return "an object"
	case value[0] == 't' || value[0] == 'f':
		return "true or false"
	case value[0] == 'n':
		return "null"
	}
	return "a number"
}

// NotJSON returns what is wrong with a text that [encoding/json] could not decode, in words for
// people who do not know Go's types: `"layers" is a number, want a list`.
func NotJSON(err error) string {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	field := "it"
	if kind.Field != "" {
		field = Quote(kind.Field)
	}
	if number, ok := strings.CutPrefix(kind.Value, "number "); ok {
		return field + " is " + number[:min(len(number), 60)] + ", which does not fit"
	}
	is, ok := map[string]string{
		"string": "a string", "array": "a list", "object": "an object", "bool": "true or false",
		"number": "a number",
	}[kind.Value]
	if !ok {
		is = kind.Value
	}
	return field + " is " + is + ", want " + kindOf(kind.Type)
}

// kindOf names the JSON that decodes into a type of Go.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	return "a number"
}

// WholeCharacters returns an error for half of a character, an escape \ud800 to \udfff without its
// other half, which encoding/json would read as U+FFFD. It looks outside of strings as well, where
// no backslash is valid anyway.
func WholeCharacters(text []byte) error {
	unit := func(i int) int { // the UTF-16 unit of the escape at i, -1 if there is none
		if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
			return -1
		}
		u, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
		if err != nil || u > math.MaxUint16 {
			return -1
		}
		return int(u)
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		switch u := unit(i); {
		case u >= 0xd800 && u < 0xdc00:
			if low := unit(i + 6); low < 0xdc00 || low > 0xdfff {
				return fmt.Errorf("%s at byte %d is the first half of a character; "+
					"the second one must follow it", text[i:i+6], i+1)
			}
			i += 11
		case u >= 0xdc00 && u <= 0xdfff:
			return fmt.Errorf("%s at byte %d is the second half of a character; "+
				"the first one must stand before it", text[i:i+6], i+1)
		default:
			i++ // what is escaped is no beginning of another escape
		}
	}
	return nil
}
