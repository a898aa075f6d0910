package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// readCase reads a line of headwater bench methods --input.
func readCase(text []byte) (c evaluate.Case, err error) {
	o, err := readObject(text, "group", "prompt", "continuation", "contrast", "position", "evidence")
	if err != nil {
		return c, err
	}
	if !o.has("prompt") {
		return c, errors.New(`it has no "prompt"`)
	}
	for _, f := range []struct {
		key  string
		text *string
	}{{"group", &c.Group}, {"prompt", &c.Prompt}, {"continuation", &c.Continuation}, {"contrast", &c.Contrast}} {
		if *f.text, err = o.text(f.key); err != nil {
			return c, err
		}
	}
	if o.has("position") {
		at, err := o.wholes("position", []json.RawMessage{o["position"]}, maxIndex)
		if err != nil {
			return c, err
		}
		c.Position = &at[0]
	}
	c.Evidence, err = o.spans("evidence", maxIndex<<4)
	return c, err
}

// spans returns the list of [begin,end] of a key, numbers from 0 to most; nil if it is missing.
func (o object) spans(key string, most int) ([][2]int, error) {
	if !o.has(key) {
		return nil, nil
	}
	var all []json.RawMessage
	if o[key][0] != '[' || json.Unmarshal(o[key], &all) != nil {
		return nil, fmt.Errorf("%q is %s; want a list of [begin,end]", key, kindOfJSON(o[key]))
	}
	spans := make([][2]int, len(all))
	for i, v := range all {
		var ends []json.RawMessage
		if v[0] != '[' || json.Unmarshal(v, &ends) != nil || len(ends) != 2 {
			return nil, fmt.Errorf("%q has %.60s as number %d; want [begin,end], bytes of the prompt from 0", key, v, i+1)
		}
		n, err := o.wholes(key, ends, most)
		if err != nil {
			return nil, err
		}
		spans[i] = [2]int(n)
	}
	return spans, nil
}
