package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// jsonStyle is how JSON is written: the options of Python's json.dumps.
type jsonStyle struct {
	item, key string // what separates items, and a key from its value
	indent    string // of one level, if pretty
	pretty    bool   // each item is on a line of its own
	ascii     bool   // other characters are escaped
	sorted    bool   // by key
}

// toJSON is the filter tojson of transformers, which replaces that of Jinja2: json.dumps without
// escapes for HTML.
func toJSON(r *run, v value, a arguments) value {
	bound := a.bind(r, "tojson", "ensure_ascii", "indent", "separators", "sort_keys")
	s := jsonStyle{
		item:   ", ",
		key:    ": ",
		ascii:  r.truth(orDefault(bound[0], false)),
		sorted: r.truth(orDefault(bound[3], false)),
	}
	switch indent := orDefault(bound[1], nil).(type) {
	case nil:
	case string:
		s.indent, s.pretty, s.item = indent, true, ","
	default:
		s.indent, s.pretty, s.item = r.str(r.repeat(" ", r.int(indent))), true, ","
	}
	if separators := orDefault(bound[2], nil); separators != nil {
		pair := r.iterate(separators)
		if len(pair) != 2 {
			r.fail("tojson needs two separators, got %d", len(pair))
		}
		s.item, s.key = r.string(pair[0]), r.string(pair[1])
	}
	var b strings.Builder
	r.writeJSON(&b, v, s, "\n")
	return b.String()
}

// writeJSON writes a value. line is a line break with the indent of the surrounding value.
func (r *run) writeJSON(b *strings.Builder, v value, s jsonStyle, line string) {
	r.step(1)
	switch v := v.(type) {
	case nil:
		b.WriteString(r.text("null"))
	case bool:
		b.WriteString(r.text(strconv.FormatBool(v)))
	case int64:
		b.WriteString(r.text(strconv.FormatInt(v, 10)))
	case float64:
		text := floatRepr(v)
		switch text {
		case "inf":
			text = "Infinity"
		case "-inf":
			text = "-Infinity"
		case "nan":
			text = "NaN"
		}
		b.WriteString(r.text(text))
	case string:
		b.WriteString(r.text(jsonString(v, s.ascii)))
	case *sequence:
		if v.kind > tupleKind {
			r.fail("Object of type %s is not JSON serializable", kindOf(v))
		}
		r.writeGroup(b, "[]", s, line, len(v.items), func(i int, line string) {
			r.writeJSON(b, v.items[i], s, line)
		})
	case *dict:
		keys := slices.Clone(v.keys)
		if s.sorted {
			r.sorted(keys, func(k value) value { return k }, false)
		}
		r.writeGroup(b, "{}", s, line, len(keys), func(i int, line string) {
			b.WriteString(r.text(jsonString(r.jsonKey(keys[i]), s.ascii) + s.key))
			item, _ := v.get(keys[i])
			r.writeJSON(b, item, s, line)
		})
	default:
		r.fail("Object of type %s is not JSON serializable", kindOf(v))
	}
}

// writeGroup writes n items between brackets.
func (r *run) writeGroup(
	b *strings.Builder,
	brackets string,
	s jsonStyle,
	line string,
	n int,
	item func(i int, line string),
) {
	if n == 0 {
		b.WriteString(r.text(brackets))
		return
	}
	inner := ""
	if s.pretty {
		inner = line + s.indent
	}
	r.nested(func() {
		b.WriteByte(brackets[0])
		for i := range n {
			if i > 0 {
				b.WriteString(r.text(s.item))
			}
			b.WriteString(r.text(inner))
			item(i, inner)
		}
	})
	if s.pretty {
		b.WriteString(r.text(line))
	}
	b.WriteByte(brackets[1])
}

// jsonKey returns the key of a dict as text.
func (r *run) jsonKey(k value) string {
	switch k := k.(type) {
	case string:
		return k
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(k)
	}
	return r.str(k)
}

// jsonString quotes a string as Python's json does.
func jsonString(s string, ascii bool) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		i := strings.IndexRune("\"\\\n\r\t\b\f", c)
		switch {
		case i >= 0:
			b.WriteString([]string{`\"`, `\\`, `\n`, `\r`, `\t`, `\b`, `\f`}[i])
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		case ascii && c > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(c-0x10000)>>10, 0xdc00+(c-0x10000)&0x3ff)
		case ascii && c > 0x7e:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
