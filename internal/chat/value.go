package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// value is a value of Python: nil (None), bool, int64, float64, string, *sequence, *dict,
// *namespace, *loopInfo, callable or undefined.
type value any

// undefined is the value of a name or an attribute that does not exist. It is printed as an empty
// text; most other uses fail with its message.
type undefined struct{ message string }

// callable is a function, a method or a macro.
type callable func(r *run, a arguments) value

// sequence is a list, a tuple, the view of a dict, or the generator that a filter such as select
// returns.
type sequence struct {
	items []value
	kind  sequenceKind
	names []string // of the items of a tuple that has names, as those of groupby
}

type sequenceKind int

const (
	listKind sequenceKind = iota
	tupleKind
	viewKind
	// generatorKind is like a generator of Python: it has no length and no index, it is true, and
	// it is empty after the first iteration.
	generatorKind
)

// dict keeps its keys in the order in which they were added.
type dict struct {
	keys   []value
	values map[value]value
}

func newDict() *dict { return &dict{values: map[value]value{}} }

// namespace is what namespace() returns, the only value whose attributes a template may set.
type namespace struct{ *dict }

// key returns a value as the key of a map, in which equal numbers are equal keys. It reports
// whether the value can be a key.
func key(v value) (value, bool) {
	switch v := v.(type) {
	case nil, int64, string:
		return v, true
	case bool:
		if v {
			return int64(1), true
		}
		return int64(0), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), true
		}
		return v, !math.IsNaN(v)
	}
	return nil, false
}

func (d *dict) get(k value) (value, bool) {
	k, ok := key(k)
	if !ok {
		return nil, false
	}
	v, ok := d.values[k]
	return v, ok
}

// set sets the value of a key, for which key must report true.
func (d *dict) set(k, v value) {
	at, _ := key(k)
	if _, ok := d.values[at]; !ok {
		d.keys = append(d.keys, k)
	}
	d.values[at] = v
}

// requireKey fails for a value that Python cannot look up in a dict, because it can change.
func (r *run) requireKey(k value) value {
	switch kind := kindOf(k); kind {
	case "list", "dict":
		r.fail("a %s cannot be the key of a dict", kind)
	}
	return k
}

// setItem sets the value of any key, and fails if a value of its type cannot be a key.
func (r *run) setItem(d *dict, k, v value) {
	if _, ok := key(k); !ok {
		r.fail("a %s cannot be the key of a dict", kindOf(k))
	}
	d.set(k, v)
}

// items returns tuples of a key and its value.
func (d *dict) items() []value {
	var pairs []value
	for _, k := range d.keys {
		v, _ := d.get(k)
		pairs = append(pairs, &sequence{items: []value{k, v}, kind: tupleKind})
	}
	return pairs
}

// fromGo converts a variable that the caller gives.
func fromGo(v any, depth int) (value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case nil, bool, int64, float64:
		return v, nil
	case json.RawMessage:
		return fromJSON(v)
	case string:
		return strings.ToValidUTF8(v, "\uFFFD"), nil
	case int:
		return int64(v), nil
	case []any:
		list := &sequence{items: make([]value, len(v))}
		for i, item := range v {
			var err error
			if list.items[i], err = fromGo(item, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		d := newDict()
		for _, k := range slices.Sorted(maps.Keys(v)) {
			item, err := fromGo(v[k], depth+1)
			if err != nil {
				return nil, err
			}
			d.set(k, item)
		}
		return d, nil
	}
	return nil, fmt.Errorf(
		"its type %T is not one of nil, bool, int, int64, float64, string, json.RawMessage, "+
			"[]any and map[string]any",
		v,
	)
}

// kindOf returns the name of a value's type in Python.
func kindOf(v value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *sequence:
		return []string{"list", "tuple", "dict view", "generator"}[v.kind]
	case *dict:
		return "dict"
	case *namespace:
		return "Namespace"
	case *loopInfo:
		return "LoopContext"
	case undefined:
		return "undefined"
	}
	return "function"
}

// truth is Python's bool.
func (r *run) truth(v value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *sequence:
		return v.kind == generatorKind || len(v.items) > 0
	case *dict:
		return len(v.keys) > 0
	}
	return true
}

// iterate returns the items of a value: the keys of a dict, the characters of a string.
func (r *run) iterate(v value) []value {
	switch v := v.(type) {
	case undefined:
		return nil
	case *sequence:
		r.step(len(v.items))
		items := v.items
		if v.kind == generatorKind {
			v.items = nil
		}
		return items
	case *dict:
		r.step(len(v.keys))
		return v.keys
	case *loopInfo:
		return v.items
	case string:
		r.step(len(v))
		r.alloc(17 * len(v))
		items := make([]value, 0, len(v))
		for _, c := range v {
			items = append(items, string(c))
		}
		return items
	}
	r.fail("'%s' object is not iterable", kindOf(v))
	return nil
}

// str is Python's str.
func (r *run) str(v value) string {
	switch v := v.(type) {
	case string:
		return v
	case undefined:
		return ""
	}
	var b strings.Builder
	r.repr(&b, v)
	return b.String()
}

// repr writes Python's repr. It counts the bytes while it writes, because a small value can have a
// long text: a list may contain another one many times.
func (r *run) repr(b *strings.Builder, v value) {
	r.step(1)
	write := func(s string) { b.WriteString(r.text(s)) }
	switch v := v.(type) {
	case nil:
		write("None")
	case bool:
		write(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		write(strconv.FormatInt(v, 10))
	case float64:
		write(floatRepr(v))
	case string:
		write(stringRepr(v))
	case undefined:
		write("Undefined")
	case *sequence:
		r.nested(func() { r.sequenceRepr(b, v) })
	case *dict:
		r.nested(func() {
			write("{")
			for i, k := range v.keys {
				if i > 0 {
					write(", ")
				}
				r.repr(b, k)
				write(": ")
				item, _ := v.get(k)
				r.repr(b, item)
			}
			write("}")
		})
	default:
		r.fail("a %s cannot be printed", kindOf(v))
	}
}

func (r *run) sequenceRepr(b *strings.Builder, s *sequence) {
	brackets := "[]"
	switch s.kind {
	case tupleKind:
		brackets = "()"
	case viewKind, generatorKind:
		r.fail("a %s cannot be printed; convert it with the filter list", kindOf(s))
	}
	b.WriteByte(brackets[0])
	for i, item := range s.items {
		if i > 0 {
			b.WriteString(r.text(", "))
		}
		r.repr(b, item)
	}
	if s.kind == tupleKind && len(s.items) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(brackets[1])
}

// floatRepr is Python's repr of a float: the shortest digits that read back as the same number.
func floatRepr(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// stringRepr is Python's repr of a string.
func stringRepr(s string) string {
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, c := range s {
		i := strings.IndexRune("\n\r\t\\", c)
		switch {
		case c == quote:
			b.WriteString(`\` + string(c))
		case i >= 0:
			b.WriteString([]string{`\n`, `\r`, `\t`, `\\`}[i])
		case c == ' ' || unicode.IsPrint(c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	b.WriteRune(quote)
	return b.String()
}
