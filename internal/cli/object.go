package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/message"
)

// Key is a key that a JSON object of a user may have, and what reads its value.
type Key struct {
	name   string
	needed bool
	read   func(value json.RawMessage) error
}

// Needed returns the key as one that the object must have.
func (k Key) Needed() Key {
	k.needed = true
	return k
}

// ReadObject reads one object with these keys, in their order, as far as they have a value other
// than null; see [ReadValues]. The errors are in words of JSON and name the key.
func ReadObject(text []byte, keys ...Key) error {
	var known []string
	for _, k := range keys {
		known = append(known, k.name)
	}
	o, err := ReadValues(text, known)
	if err != nil {
		return err
	}
	return ReadKeys(o, keys...)
}

// ReadKeys reads the values of some keys; see [ReadObject].
func ReadKeys(o map[string]json.RawMessage, keys ...Key) (err error) {
	for _, k := range keys {
		if value := o[k.name]; value != nil && string(value) != "null" {
			err = k.read(value)
		} else if k.needed {
			err = fmt.Errorf("it has no %q", k.name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ReadValues returns the values of an object whose keys are all known. It is strict: encoding/json
// alone takes "Prompt" for "prompt", keeps the last of two equal keys and turns half a character
// into another one, and none of it is what the user meant.
func ReadValues(text []byte, known []string) (map[string]json.RawMessage, error) {
	r := jsonread.New(text)
	if r.Kind() != '{' {
		return nil, r.Not("an object with " + quotedKeys(known))
	}
	o := map[string]json.RawMessage{}
	err := r.Object(func(key string) (err error) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("unknown key %.60q; %sknown are %s",
				key, message.DidYouMean(key, known), quotedKeys(known))
		}
		o[key], err = r.Raw()
		return err
	})
	if err != nil {
		return nil, err
	}
	return o, r.End()
}

// ReadKey is a key whose value read reads.
func ReadKey[T any](name string, to *T, read func(value json.RawMessage) (T, error)) Key {
	return Key{name: name, read: func(v json.RawMessage) (err error) {
		if *to, err = read(v); err != nil {
			err = fmt.Errorf("%q: %w", name, err)
		}
		return err
	}}
}

// TextKey is a key with a string.
func TextKey(name string, to *string) Key { return valueKey(name, "a string", to) }

// TruthKey is a key with true or false.
func TruthKey(name string, to *bool) Key { return valueKey(name, "true or false", to) }

func valueKey[T any](name, want string, to *T) Key {
	return Key{name: name, read: func(v json.RawMessage) error {
		if json.Unmarshal(v, to) != nil {
			return fmt.Errorf("%q is %s; want %s", name, message.KindOfJSON(v), want)
		}
		return nil
	}}
}

// ListKey is a key with a list, whose entries want describes and read reads. A list without entries
// is not nil.
func ListKey[T any](
	name, want string, to *[]T, read func(value json.RawMessage) (T, error),
) Key {
	return Key{name: name, read: func(v json.RawMessage) error {
		var all []json.RawMessage
		if v[0] != '[' || json.Unmarshal(v, &all) != nil {
			return fmt.Errorf("%q is %s; want a list of %s", name, message.KindOfJSON(v), want)
		}
		*to = make([]T, len(all))
		for i, v := range all {
			var err error
			if (*to)[i], err = read(v); err != nil {
				return fmt.Errorf("%q, number %d: %w", name, i+1, err)
			}
		}
		return nil
	}}
}

// TextsKey is a key with a list of strings.
func TextsKey(name string, to *[]string) Key {
	return ListKey(name, "strings", to, func(v json.RawMessage) (s string, err error) {
		if json.Unmarshal(v, &s) != nil || string(v) == "null" {
			err = fmt.Errorf("it is %s; want a string", message.KindOfJSON(v))
		}
		return s, err
	})
}

// WholeOf reads a whole number from 0 to most.
func WholeOf(v json.RawMessage, most int) (int, error) {
	n, err := strconv.Atoi(string(v))
	if whole, ok := message.WholeNumber(string(v)); ok {
		n, err = int(whole), nil
	}
	wrong := fmt.Sprintf("it is %.60s; want whole numbers from 0 to %d", v, most)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, errors.New(wrong)
	case err != nil || n < 0 || n > most: // a number, as on a command line
		return 0, Usagef("%s", wrong)
	}
	return n, nil
}

func quotedKeys(keys []string) string {
	var all []string
	for _, k := range keys {
		all = append(all, strconv.Quote(k))
	}
	return strings.Join(all, ", ")
}
