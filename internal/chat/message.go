package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/internal/jsonread"
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
	name, _ := role.(string)
	r.roles = append(r.roles, name)
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
	r := jsonread.Lenient(text)
	v, err := readJSON(r, 0)
	if err != nil {
		return nil, err
	}
	return v, r.End()
}

// readJSON reads the next value.
func readJSON(r *jsonread.Reader, depth int) (value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	switch r.Kind() {
	case '0':
		text, err := r.Number()
		if err != nil {
			return nil, err
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !strings.ContainsAny(text, ".eE") {
			return nil, fmt.Errorf("the number %.40s does not fit in 64 bits", text)
		}
		return f, nil
	case '{':
		object := newDict()
		return object, r.Object(func(key string) error {
			v, err := readJSON(r, depth+1)
			object.set(key, v)
			return err
		})
	case '[':
		list := &sequence{}
		return list, r.List(func(int) error {
			v, err := readJSON(r, depth+1)
			list.items = append(list.items, v)
			return err
		})
	}
	return r.Any() // a string, a bool or nil
}
