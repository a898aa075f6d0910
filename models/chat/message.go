package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// reasoning are the keys of what a model writes to itself. transformers fills in the first two from
// whichever is there.
var reasoning = []string{"reasoning_content", "thinking", "reasoning"}

// message returns a message as transformers gives it to a template: without keys that are null, and
// with its reasoning under both names that templates read.
func (r *run) message(turn int, m Message) (*dict, error) {
	d := newDict()
	d.set("role", m.Role)
	d.set("content", m.Content)
	if m.Object != nil {
		v, err := fromJSON(m.Object)
		if err != nil {
			return nil, err
		}
		object, ok := v.(*dict)
		if !ok {
			return nil, fmt.Errorf("it is a %s; want an object", kindOf(v))
		}
		d = newDict()
		for _, k := range object.keys {
			if v, _ := object.get(k); v != nil {
				d.set(k, v)
			}
		}
	}
	for _, k := range reasoning {
		if v, ok := d.get(k); ok {
			with := newDict()
			with.set("thinking", v)
			for _, k := range d.keys {
				v, _ := d.get(k)
				with.set(k, v)
			}
			with.set("reasoning_content", v)
			d = with
			break
		}
	}
	r.turns[d] = turn
	role, _ := d.get("role")
	for _, k := range d.keys {
		name, _ := k.(string)
		of := messageText{Span: Span{Turn: turn}, call: name == "tool_calls"}
		of.Thinking = slices.Contains(reasoning, name)
		v, _ := d.get(k)
		if text, ok := v.(string); ok && name == "content" && role == "assistant" {
			d.set(k, r.markThoughts(text, of))
		} else if name == "content" || of.Thinking || of.call {
			d.set(k, r.markAll(v, of))
		}
	}
	return d, nil
}

// markAll returns a value of a message with marks around its texts. Those that templates compare
// have none.
func (r *run) markAll(v value, of messageText) value {
	switch v := v.(type) {
	case string:
		return r.mark(v, of)
	case *sequence:
		for i, item := range v.items {
			v.items[i] = r.markAll(item, of)
		}
	case *dict:
		for _, k := range v.keys {
			if k != "type" && k != "id" {
				item, _ := v.get(k)
				v.set(k, r.markAll(item, of))
			}
		}
	}
	return v
}

// markThoughts marks a text apart from what a model writes to itself in it, between <think> and
// </think>. A template may have written the first of the two.
func (r *run) markThoughts(text string, of messageText) string {
	const open, closing = "<think>", "</think>"
	before, rest, opened := strings.Cut(text, open)
	if !opened {
		before, rest = "", text
	}
	inside, after, closed := strings.Cut(rest, closing)
	if !opened && !closed {
		return r.mark(text, of)
	}
	thinking := of
	thinking.Thinking = true
	marked := r.mark(inside, thinking)
	if opened {
		marked = r.mark(before, of) + open + marked
	}
	if closed {
		marked += closing + r.mark(after, of)
	}
	return marked
}

// fromJSON reads a value of JSON. The keys of objects keep their order; of equal ones the last
// counts, as in Python.
func fromJSON(text []byte) (value, error) {
	if !json.Valid(text) {
		return nil, errors.New("it is not valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return readJSON(d, 0)
}

// readJSON reads the next value of a text that is valid.
func readJSON(d *json.Decoder, depth int) (value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	t, err := d.Token()
	switch t := t.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(t.String(), 10, 64); err == nil {
			return n, nil
		}
		f, err := t.Float64()
		if err != nil || !strings.ContainsAny(t.String(), ".eE") {
			return nil, fmt.Errorf("the number %.40s does not fit in 64 bits", t)
		}
		return f, nil
	case json.Delim:
		list, object := &sequence{}, newDict()
		for d.More() {
			var k value
			if t == '{' {
				k, _ = d.Token()
			}
			v, err := readJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			if t == '{' {
				object.set(k, v)
			} else {
				list.items = append(list.items, v)
			}
		}
		if _, err := d.Token(); err != nil || t == '[' {
			return list, err
		}
		return object, nil
	}
	return t, err // a string, a bool or nil
}
