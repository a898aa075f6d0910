package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/internal/jsonread"
)

// decodeObject decodes a JSON object as Python does: of a key that comes twice the last value
// counts, and NaN, Infinity and -Infinity are numbers. Numbers stay as they are written. twice is
// the first ten keys that come twice in one object. It does not decode into Go types, because
// package family has to see every key.
func decodeObject(text []byte) (object map[string]any, twice []string, err error) {
	r := jsonread.AsPython(text)
	r.Again = func(key string) error {
		if !slices.Contains(twice, key) && len(twice) < 10 {
			twice = append(twice, key)
		}
		return nil
	}
	v, err := r.Any()
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("not a JSON object, but %s", shown(v))
	}
	return object, twice, nil
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

// shown returns a value from a file for an error message, cut if it is long. Lists and objects are
// described and not printed.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return quoted(v)
	case json.Number:
		return strings.Trim(quoted(v.String()), `"`)
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

// readNaturals reads an array of at most limit integers that are not negative. A number with a
// fraction or an exponent is an error, also 1.0 and 1e3.
func readNaturals(r *jsonread.Reader, limit int) ([]int64, error) {
	ns := []int64{}
	err := r.List(func(i int) error {
		raw, err := r.Raw()
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%s is not a whole number from 0", jsonread.Shorten(raw))
		}
		if i == limit {
			return fmt.Errorf("more than %d numbers", limit)
		}
		ns = append(ns, n)
		return nil
	})
	return ns, err
}

// validText returns an error if a text is not UTF-8. encoding/json would replace the wrong bytes
// without saying so.
func validText(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("not valid UTF-8")
	}
	return nil
}
