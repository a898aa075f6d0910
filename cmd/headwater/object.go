package main

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

// object is a JSON object of a user, read strictly: encoding/json alone takes "Prompt" for
// "prompt", keeps the last of two equal keys and turns half a character into another one, and none
// of it is what the user meant. Its errors are in words of JSON and name the key.
type object map[string]json.RawMessage

// readObject reads one object whose keys are all known.
func readObject(text []byte, known ...string) (object, error) {
	r := jsonread.New(text)
	if r.Kind() != '{' {
		return nil, r.Not("an object with " + quotedKeys(known))
	}
	o := object{}
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

// has is whether a key has a value other than null.
func (o object) has(key string) bool {
	return o[key] != nil && string(o[key]) != "null"
}

// text returns the string of a key, "" if it is missing.
func (o object) text(key string) (s string, err error) {
	if !o.has(key) {
		return "", nil
	}
	if o[key][0] != '"' {
		return "", fmt.Errorf("%q is %s; want a string", key, message.KindOfJSON(o[key]))
	}
	err = json.Unmarshal(o[key], &s)
	return s, err
}

// numbers returns the list of whole numbers from 0 to most of a key, nil if it is missing.
func (o object) numbers(key string, most int) ([]int, error) {
	if !o.has(key) {
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
	return o.wholes(key, all, most)
}

// wholes returns values of a key as whole numbers from 0 to most.
func (o object) wholes(key string, all []json.RawMessage, most int) ([]int, error) {
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
			return nil, usagef("%s", wrong)
		}
		numbers[i] = n
	}
	return numbers, nil
}

func quotedKeys(keys []string) string {
	var all []string
	for _, k := range keys {
		all = append(all, strconv.Quote(k))
	}
	return strings.Join(all, ", ")
}
