package chat

import (
	"fmt"
	"html"
	"net/url"
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

// fileSize writes a number of bytes for people.
func fileSize(r *run, v value, a arguments) value {
	base, prefixes, end := 1000.0, "kMGTPEZY", "B"
	if r.truth(orDefault(a.bind(r, "filesizeformat", "binary")[0], false)) {
		base, prefixes, end = 1024, "KMGTPEZY", "iB"
	}
	_, size, _, ok := number(v)
	if s, isText := v.(string); isText {
		size, ok = parseFloat(s)
	}
	switch {
	case !ok:
		r.fail("filesizeformat needs a number, got '%s'", kindOf(v))
	case size == 1:
		return "1 Byte"
	case size < base:
		return fmt.Sprintf("%d Bytes", r.truncate(size))
	}
	at := 0
	for size /= base; !(size < base) && at < len(prefixes)-1; at++ {
		size /= base
	}
	text := fmt.Sprintf("%.1f %c%s", size, prefixes[at], end)
	return strings.NewReplacer("+Inf", "inf", "NaN", "nan").Replace(text)
}

// stripTags removes comments and tags, and joins the words that are left by single spaces.
func stripTags(r *run, v value, a arguments) value {
	a.bind(r, "striptags")
	s := r.str(v)
	var left strings.Builder
	for { // ends: each turn removes bytes
		begin := strings.Index(s, "<")
		if begin < 0 {
			break
		}
		first, mark := begin, ">"
		if strings.HasPrefix(s[begin:], "<!--") {
			first, mark = begin+4, "-->"
		}
		end := strings.Index(s[first:], mark)
		if end < 0 {
			break
		}
		left.WriteString(s[:begin])
		s = s[first+end+len(mark):]
	}
	left.WriteString(s)
	words := strings.FieldsFunc(left.String(), isSpace)
	return r.text(html.UnescapeString(strings.Join(words, " ")))
}

// urlEncode quotes a text for a path, or the pairs of a dict or a list for a query.
func urlEncode(r *run, v value, a arguments) value {
	a.bind(r, "urlencode")
	var pairs []value
	switch v := v.(type) {
	case *dict:
		r.alloc(64 * len(v.keys))
		pairs = v.items()
	case *sequence, undefined:
		pairs = r.iterate(v)
	default:
		return r.text(strings.NewReplacer("+", "%20", "%2F", "/").Replace(
			url.QueryEscape(r.str(v))))
	}
	var parts []string
	for _, pair := range pairs {
		two := r.iterate(pair)
		if len(two) != 2 {
			r.fail("urlencode needs pairs, got %d items", len(two))
		}
		parts = append(parts, r.text(url.QueryEscape(r.str(two[0]))+"="+
			url.QueryEscape(r.str(two[1]))))
	}
	return r.text(strings.Join(parts, "&"))
}

// attributesXML writes the items of a dict as attributes of a tag.
func attributesXML(r *run, v value, a arguments) value {
	d, ok := v.(*dict)
	space := r.truth(orDefault(a.bind(r, "xmlattr", "autospace")[0], true))
	if !ok {
		r.fail("xmlattr needs a dict, got '%s'", kindOf(v))
	}
	r.alloc(64 * len(d.keys))
	var parts []string
	for _, item := range d.items() {
		pair := item.(*sequence).items
		if _, missing := pair[1].(undefined); missing || pair[1] == nil {
			continue
		}
		key := r.str(pair[0])
		if strings.ContainsFunc(key, func(c rune) bool {
			return isSpace(c) || strings.ContainsRune("/>=", c)
		}) {
			r.fail("Invalid character in attribute name: '%s'", key)
		}
		parts = append(parts, r.text(html.EscapeString(key)+`="`+
			html.EscapeString(r.str(pair[1]))+`"`))
	}
	if len(parts) > 0 && space {
		parts[0] = " " + parts[0]
	}
	return r.text(strings.Join(parts, " "))
}
