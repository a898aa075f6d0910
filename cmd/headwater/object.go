package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/internal/message"
)

// object is a JSON object of a user, read strictly: encoding/json alone takes "Prompt" for
// "prompt", keeps the last of two equal keys and turns half a character into another one, and none
// of it is what the user meant. Its errors are in words of JSON and name the key.
type object map[string]json.RawMessage

// readObject reads one object whose keys are all known.
func readObject(text []byte, known ...string) (object, error) {
	if err := message.WholeCharacters(text); err != nil {
		return nil, err
	}
	if err := validJSON(text); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, fmt.Errorf("it is %s; want an object with %s", message.KindOfJSON(text),
			quotedKeys(known))
	}
	o := object{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err // the text was checked
		}
		key, _ := t.(string) // an object has no other keys
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("unknown key %.60q; %sknown are %s",
				key, message.DidYouMean(key, known), quotedKeys(known))
		}
		if _, twice := o[key]; twice {
			return nil, fmt.Errorf("key %q is there twice", key)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		o[key] = value
	}
	return o, nil
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

// validJSON returns an error that says where a text stops being one JSON value.
func validJSON(text []byte) error {
	var all json.RawMessage
	wrong := (*json.SyntaxError)(nil)
	switch err := json.Unmarshal(text, &all); {
	case err == nil:
		return nil
	case !errors.As(err, &wrong) || wrong.Offset < 1 || wrong.Offset > int64(len(text)):
		return errors.New("it is not valid JSON")
	case strings.HasPrefix(wrong.Error(), "unexpected end"):
		return errors.New("it is not valid JSON: it ends too early")
	case strings.HasSuffix(wrong.Error(), "after top-level value"):
		return errors.New("there is more after the JSON object; want one object a line")
	}
	at := text[wrong.Offset-1:]
	c, _ := utf8.DecodeRune(at)
	return fmt.Errorf("it is not valid JSON: %q at byte %d cannot stand there", c, wrong.Offset)
}

func quotedKeys(keys []string) string {
	var all []string
	for _, k := range keys {
		all = append(all, strconv.Quote(k))
	}
	return strings.Join(all, ", ")
}
