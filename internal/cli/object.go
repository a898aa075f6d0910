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

// Object is a JSON object of a user, read strictly: encoding/json alone takes "Prompt" for
// "prompt", keeps the last of two equal keys and turns half a character into another one, and none
// of it is what the user meant. Its errors are in words of JSON and name the key.
type Object map[string]json.RawMessage

// ReadObject reads one object whose keys are all known.
func ReadObject(text []byte, known ...string) (Object, error) {
	r := jsonread.New(text)
	if r.Kind() != '{' {
		return nil, r.Not("an object with " + quotedKeys(known))
	}
	o := Object{}
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

// Has is whether a key has a value other than null.
func (o Object) Has(key string) bool {
	return o[key] != nil && string(o[key]) != "null"
}

// Text returns the string of a key, "" if it is missing.
func (o Object) Text(key string) (s string, err error) {
	if !o.Has(key) {
		return "", nil
	}
	if o[key][0] != '"' {
		return "", fmt.Errorf("%q is %s; want a string", key, message.KindOfJSON(o[key]))
	}
	err = json.Unmarshal(o[key], &s)
	return s, err
}

// Numbers returns the list of whole numbers from 0 to most of a key, nil if it is missing.
func (o Object) Numbers(key string, most int) ([]int, error) {
	if !o.Has(key) {
		return nil, nil
	}
	var all []json.RawMessage
	if o[key][0] != '[' {
		return nil, fmt.Errorf("%q is %s; want a list of whole numbers from 0 to %d",
			key, message.KindOfJSON(o[key]), most)
	}
	if err := json.Unmarshal(o[key], &all); err != nil {
		return nil, err
	}
	return o.Wholes(key, all, most)
}

// Wholes returns values of a key as whole numbers from 0 to most.
func (o Object) Wholes(key string, all []json.RawMessage, most int) ([]int, error) {
	numbers := make([]int, len(all))
	for i, v := range all {
		n, err := strconv.Atoi(string(v))
		if whole, ok := message.WholeNumber(string(v)); ok {
			n, err = int(whole), nil
		}
		wrong := fmt.Sprintf("%q has %.60s as number %d; want whole numbers from 0 to %d",
			key, v, i+1, most)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange):
			return nil, errors.New(wrong)
		case err != nil || n < 0 || n > most: // a number, as on a command line
			return nil, Usagef("%s", wrong)
		}
		numbers[i] = n
	}
	return numbers, nil
}

// List returns the entries of a list, nil if it is missing; want describes the entries.
func (o Object) List(key, want string) (all []json.RawMessage, err error) {
	if !o.Has(key) {
		return nil, nil
	}
	if o[key][0] != '[' || json.Unmarshal(o[key], &all) != nil {
		return nil, fmt.Errorf("%q is %s; want a list of %s", key, message.KindOfJSON(o[key]), want)
	}
	return all, nil
}

// Truth returns true or false; false if the key is missing.
func (o Object) Truth(key string) (is bool, err error) {
	if o.Has(key) && json.Unmarshal(o[key], &is) != nil {
		return false, fmt.Errorf("%q is %s; want true or false", key, message.KindOfJSON(o[key]))
	}
	return is, nil
}

func quotedKeys(keys []string) string {
	var all []string
	for _, k := range keys {
		all = append(all, strconv.Quote(k))
	}
	return strings.Join(all, ", ")
}
