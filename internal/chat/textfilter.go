package chat

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// batch cuts a list into lists of some items, the last filled up.
func batch(r *run, v value, a arguments) value {
	bound := a.bind(r, "batch", "linecount", "fill_with")
	count, fill := r.int(r.given(bound[0])), orDefault(bound[1], nil)
	var lists, line []value
	for _, item := range r.iterate(v) {
		if int64(len(line)) == count {
			lists, line = append(lists, r.list(line)), nil
		}
		line = append(line, item)
	}
	if line != nil {
		for fill != nil && int64(len(line)) < count {
			r.step(1)
			r.alloc(16)
			line = append(line, fill)
		}
		lists = append(lists, r.list(line))
	}
	return r.generator(lists)
}

// slice cuts a list into some lists, the first of which have one item more.
func slice(r *run, v value, a arguments) value {
	bound := a.bind(r, "slice", "slices", "fill_with")
	found, n, fill := r.iterate(v), r.int(r.given(bound[0])), orDefault(bound[1], nil)
	if n == 0 {
		r.fail("integer division or modulo by zero")
	}
	size, longer := int64(len(found))/n, int64(len(found))%n
	var lists []value
	for i := range n {
		r.step(1)
		part := slices.Clone(found[:size])
		if found = found[size:]; i < longer {
			part, found = append(part, found[0]), found[1:]
		} else if fill != nil {
			part = append(part, fill)
		}
		lists = append(lists, r.list(part))
	}
	return r.generator(lists)
}

// groupBy groups the items of a list by an attribute, as tuples of it and of their list.
func groupBy(r *run, v value, a arguments) value {
	bound := a.bind(r, "groupby", "attribute", "default", "case_sensitive")
	raw, fold := r.getter(r.given(bound[0])), r.sortKey(r.truth(orDefault(bound[2], false)))
	get := func(item value) value {
		found := raw(item)
		if _, missing := found.(undefined); missing {
			return orDefault(bound[1], found)
		}
		return found
	}
	key := func(item value) value { return fold(get(item)) }
	all := slices.Clone(r.iterate(v))
	r.sorted(all, key, false)
	var groups []value
	for len(all) > 0 {
		first := key(all[0])
		n := slices.IndexFunc(all, func(item value) bool { return !r.equal(key(item), first) })
		if n < 0 {
			n = len(all)
		}
		pair := []value{get(all[0]), r.list(slices.Clone(all[:n]))}
		groups = append(groups, &sequence{
			items: pair, kind: tupleKind, names: []string{"grouper", "list"},
		})
		all = all[n:]
	}
	return r.list(groups)
}

func center(r *run, v value, a arguments) value {
	s, width := r.str(v), r.int(orDefault(a.bind(r, "center", "width")[0], int64(80)))
	pad := width - int64(utf8.RuneCountInString(s))
	if pad <= 0 {
		return s
	}
	left := pad/2 + pad&width&1 // as CPython does
	return r.text(r.repeat(" ", left).(string) + s + r.repeat(" ", pad-left).(string))
}

// escapeHTML is a plain text here; in Jinja2 it is one that + escapes what is added to.
func escapeHTML(r *run, v value, a arguments) value {
	a.bind(r, "escape")
	return r.text(html.EscapeString(r.str(v)))
}

// truncate cuts a text that is longer than a number of characters, at a space if there is one.
func truncate(r *run, v value, a arguments) value {
	bound := a.bind(r, "truncate", "length", "killwords", "end", "leeway")
	length, end := r.int(orDefault(bound[0], int64(255))), r.str(orDefault(bound[2], "..."))
	leeway := int64(5)
	if given := orDefault(bound[3], nil); given != nil {
		leeway = r.int(given)
	}
	rest := length - int64(utf8.RuneCountInString(end))
	if rest < 0 || leeway < 0 {
		r.fail("truncate: expected length >= %d and leeway >= 0, got %d and %d",
			utf8.RuneCountInString(end), length, leeway)
	}
	text := []rune(r.text(r.str(v)))
	if int64(len(text))-length <= leeway {
		return string(text)
	}
	s := string(text[:rest])
	if at := strings.LastIndex(s, " "); at >= 0 && !r.truth(orDefault(bound[1], false)) {
		s = s[:at]
	}
	return r.text(s + end)
}

// directive is a place of a format of Python: %s, %-5d, %(name).2f.
var directive = regexp.MustCompile(`%(?:\((\w+)\))?([-+ 0#]*)(\d{0,4})(\.\d{0,3})?(.|$)`)

// formatText fills in a format as Python's % does.
func formatText(r *run, v value, a arguments) value {
	if len(a.positional) > 0 && len(a.names) > 0 {
		r.fail("can't handle positional and keyword arguments at the same time")
	}
	next := 0
	text := directive.ReplaceAllStringFunc(r.str(v), func(s string) string {
		r.step(1)
		m := directive.FindStringSubmatch(s)
		if m[5] == "%" {
			return "%"
		}
		var item value
		if at := slices.Index(a.names, m[1]); at >= 0 {
			item = a.named[at]
		} else if m[1] == "" && next < len(a.positional) {
			item, next = a.positional[next], next+1
		} else {
			r.fail("not enough arguments for format string")
		}
		verb, flags := m[5], "%"+m[2]+m[3]+m[4]
		_, f, _, isNumber := number(item)
		switch {
		case verb == "s":
			return r.text(fmt.Sprintf(flags+"s", r.str(item)))
		case verb == "r":
			var b strings.Builder
			r.repr(&b, item)
			return r.text(fmt.Sprintf(flags+"s", b.String()))
		case isNumber && verb != "" && strings.Contains("feE", verb):
			return r.text(fmt.Sprintf(flags+verb, f))
		case isNumber && (verb == "d" || verb == "i"):
			return r.text(fmt.Sprintf(flags+"d", toInt(r, item, arguments{})))
		case isNumber && verb != "" && strings.Contains("xXo", verb):
			return r.text(fmt.Sprintf(flags+verb, r.int(item)))
		}
		r.fail("unsupported format '%s' of a '%s'", s, kindOf(item))
		return ""
	})
	if next < len(a.positional) {
		r.fail("not all arguments converted during string formatting")
	}
	return r.text(text)
}
