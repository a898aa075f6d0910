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
	role, _ := d.get("role")
	d.from = &origin{turn: turn}
	for _, k := range d.keys {
		if k == "role" {
			continue
		}
		v, _ := d.get(k)
		o := origin{turn: turn}
		if name, ok := k.(string); ok {
			o.thinking = slices.Contains(reasoning, name)
		}
		d.set(k, r.own(v, o, role == "assistant"))
	}
	return d, nil
}

// own returns a value of a message whose strings, lists and objects are known to be of it. thinks
// says that <think> in it begins what the model writes to itself.
func (r *run) own(v value, o origin, thinks bool) value {
	switch v := v.(type) {
	case string:
		text := strings.Clone(v)
		pieces := []piece{{size: len(text), origin: &o}}
		if begin, end := thought(text); thinks && end > begin {
			inside := o
			inside.thinking = true
			pieces = []piece{
				{size: begin, origin: &o}, {size: end - begin, origin: &inside},
				{size: len(text) - end, origin: &o},
			}
		}
		return r.assemble(text, pieces...)
	case *sequence:
		v.from = &o
		for i, item := range v.items {
			v.items[i] = r.own(item, o, thinks)
		}
	case *dict:
		v.from = &o
		for _, k := range v.keys {
			item, _ := v.get(k)
			v.set(k, r.own(item, o, thinks))
		}
	}
	return v
}

// thought returns the bytes of what a model writes to itself in a text: from <think> to </think>,
// both included. A template may have written the first of the two.
func thought(text string) (begin, end int) {
	const open, closed = "<think>", "</think>"
	begin, end = strings.Index(text, open), strings.Index(text, closed)
	switch {
	case begin < 0 && end < 0:
		return 0, 0
	case end < 0:
		return begin, len(text)
	}
	return max(min(begin, end), 0), end + len(closed)
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
