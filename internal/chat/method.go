package chat

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// stringMethods are the methods of str that templates may call.
var stringMethods = map[string]func(*run, string, arguments) value{
	"strip":      func(r *run, s string, a arguments) value { return r.strip(s, a, true, true) },
	"lstrip":     func(r *run, s string, a arguments) value { return r.strip(s, a, true, false) },
	"rstrip":     func(r *run, s string, a arguments) value { return r.strip(s, a, false, true) },
	"split":      func(r *run, s string, a arguments) value { return r.split(s, a, false) },
	"rsplit":     func(r *run, s string, a arguments) value { return r.split(s, a, true) },
	"splitlines": splitLines,
	"startswith": func(r *run, s string, a arguments) value {
		return r.affix(s, a, strings.HasPrefix)
	},
	"endswith": func(r *run, s string, a arguments) value {
		return r.affix(s, a, strings.HasSuffix)
	},
	"removeprefix": func(r *run, s string, a arguments) value {
		return r.text(strings.TrimPrefix(s, r.string(a.bind(r, "removeprefix", "prefix")[0])))
	},
	"removesuffix": func(r *run, s string, a arguments) value {
		return r.text(strings.TrimSuffix(s, r.string(a.bind(r, "removesuffix", "suffix")[0])))
	},
	"replace": replace,
	"join": func(r *run, s string, a arguments) value {
		return r.joinStrings(s, r.iterate(r.given(a.bind(r, "join", "iterable")[0])))
	},
	"find": func(r *run, s string, a arguments) value {
		return find(s, r.string(a.bind(r, "find", "sub")[0]), strings.Index)
	},
	"rfind": func(r *run, s string, a arguments) value {
		return find(s, r.string(a.bind(r, "rfind", "sub")[0]), strings.LastIndex)
	},
	"count": func(r *run, s string, a arguments) value {
		return int64(strings.Count(s, r.string(a.bind(r, "count", "sub")[0])))
	},
	"upper":      withoutArguments("upper", upper),
	"lower":      withoutArguments("lower", lower),
	"title":      withoutArguments("title", pythonTitle),
	"capitalize": withoutArguments("capitalize", capitalize),
	"isdigit":    everyRune("isdigit", isDigit),
	"isalpha":    everyRune("isalpha", unicode.IsLetter),
	"isalnum": everyRune("isalnum", func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsNumber(c)
	}),
	"isspace": everyRune("isspace", isSpace),
	"isupper": func(_ *run, s string, _ arguments) value { return isUpper(s) },
	"islower": func(_ *run, s string, _ arguments) value { return isLower(s) },
}

// dictMethods are the methods of dict that templates may call. None changes the dict.
var dictMethods = map[string]func(*run, *dict, arguments) value{
	"items": func(r *run, d *dict, a arguments) value {
		a.bind(r, "items")
		r.alloc(64 * len(d.keys))
		return &sequence{items: d.items(), kind: viewKind}
	},
	"keys": func(r *run, d *dict, a arguments) value {
		a.bind(r, "keys")
		return &sequence{items: d.keys, kind: viewKind}
	},
	"values": func(r *run, d *dict, a arguments) value {
		a.bind(r, "values")
		list := r.list(make([]value, len(d.keys)))
		list.kind = viewKind
		for i, k := range d.keys {
			list.items[i], _ = d.get(k)
		}
		return list
	},
	"get": func(r *run, d *dict, a arguments) value {
		bound := a.bind(r, "get", "key", "default")
		if v, ok := d.get(r.requireKey(r.given(bound[0]))); ok {
			return v
		}
		return orDefault(bound[1], nil)
	},
}

// listMethods are the methods of list that templates may call. None changes the list.
var listMethods = map[string]func(*run, *sequence, arguments) value{
	"index": func(r *run, s *sequence, a arguments) value {
		v := r.given(a.bind(r, "index", "value")[0])
		for i, item := range s.items {
			if r.equal(item, v) {
				return int64(i)
			}
		}
		r.fail("index: the value is not in the list")
		return nil
	},
	"count": func(r *run, s *sequence, a arguments) value {
		v, n := r.given(a.bind(r, "count", "value")[0]), int64(0)
		for _, item := range s.items {
			if r.equal(item, v) {
				n++
			}
		}
		return n
	},
}

// string returns v, which must be a string.
func (r *run) string(v value) string {
	s, ok := v.(string)
	if !ok {
		if v == absent {
			r.fail("an argument is missing: a str is needed")
		}
		r.requireDefined(v)
		r.fail("a str is needed, got '%s'", kindOf(v))
	}
	return s
}

// int returns v, which must be an integer or a bool.
func (r *run) int(v value) int64 {
	i, _, isInt, _ := number(r.requireDefined(v))
	if !isInt {
		r.fail("an int is needed, got '%s'", kindOf(v))
	}
	return i
}

// withoutArguments makes a method of a function from text to text.
func withoutArguments(name string, f func(string) string) func(*run, string, arguments) value {
	return func(r *run, s string, a arguments) value {
		a.bind(r, name)
		return r.text(f(s))
	}
}

// everyRune makes a method that reports whether f holds for all characters, of which there is one.
func everyRune(name string, f func(rune) bool) func(*run, string, arguments) value {
	return func(r *run, s string, a arguments) value {
		a.bind(r, name)
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !f(c) }) < 0
	}
}

// strip removes the given characters at the ends of a string, or white space if none are given.
func (r *run) strip(s string, a arguments, left, right bool) value {
	remove := isSpace
	if chars := orDefault(a.bind(r, "strip", "chars")[0], nil); chars != nil {
		set := r.string(chars)
		r.step(len(set) / 16 * (1 + len(s)/bytesPerStep))
		remove = func(c rune) bool { return strings.ContainsRune(set, c) }
	}
	if left {
		s = strings.TrimLeftFunc(s, remove)
	}
	if right {
		s = strings.TrimRightFunc(s, remove)
	}
	return s
}

// split splits a string at a separator, or at white space if there is none, at most maxsplit times
// from one end.
func (r *run) split(s string, a arguments, fromRight bool) value {
	bound := a.bind(r, "split", "sep", "maxsplit")
	limit := int(max(min(r.int(orDefault(bound[1], int64(-1))), 1<<30), -1))
	r.alloc(len(s))
	var parts []string
	if sep := orDefault(bound[0], nil); sep == nil {
		parts = fields(s, limit, fromRight)
	} else if sep := r.string(sep); sep == "" {
		r.fail("empty separator")
	} else {
		parts = splitAt(s, sep, limit, fromRight)
	}
	items := make([]value, len(parts))
	for i, part := range parts {
		items[i] = part
	}
	return r.list(items)
}

// splitAt splits at a separator, at most limit times; a negative limit is none.
func splitAt(s, sep string, limit int, fromRight bool) []string {
	if !fromRight {
		if limit >= 0 {
			limit++
		}
		return strings.SplitN(s, sep, limit)
	}
	var parts []string // from the right
	for limit < 0 || len(parts) < limit {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		parts, s = append(parts, s[i+len(sep):]), s[:i]
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return parts
}

// fields splits at white space, at most limit times; a negative limit is none.
func fields(s string, limit int, fromRight bool) []string {
	if limit < 0 {
		return strings.FieldsFunc(s, isSpace)
	}
	var parts []string
	for {
		if fromRight {
			s = strings.TrimRightFunc(s, isSpace)
		} else {
			s = strings.TrimLeftFunc(s, isSpace)
		}
		at := strings.IndexFunc(s, isSpace)
		if fromRight {
			at = strings.LastIndexFunc(s, isSpace)
		}
		if s == "" {
			return parts
		}
		if at < 0 || len(parts) == limit {
			at = len(s)
			if fromRight {
				at = -1
			}
		}
		if !fromRight {
			parts, s = append(parts, s[:at]), s[at:]
			continue
		}
		_, size := utf8.DecodeRuneInString(s[max(at, 0):])
		if at < 0 {
			size = 0
			at = 0
		}
		parts, s = append([]string{s[at+size:]}, parts...), s[:at]
	}
}

// splitLines splits at every line break that Python's splitlines knows.
func splitLines(r *run, s string, a arguments) value {
	keep := r.truth(orDefault(a.bind(r, "splitlines", "keepends")[0], false))
	r.alloc(len(s))
	var items []value
	for s != "" {
		end := strings.IndexFunc(s, func(c rune) bool {
			return strings.ContainsRune("\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029", c)
		})
		line, after := s, ""
		if end >= 0 {
			_, size := utf8.DecodeRuneInString(s[end:])
			if strings.HasPrefix(s[end:], "\r\n") { // a pair is one break
				size = len("\r\n")
			}
			line, after = s[:end], s[end+size:]
			if keep {
				line = s[:end+size]
			}
		}
		items, s = append(items, line), after
	}
	return r.list(items)
}

// affix is startswith and endswith. The argument is a string, or a tuple of which any may match.
func (r *run) affix(s string, a arguments, has func(string, string) bool) value {
	v := a.bind(r, "startswith or endswith", "prefix")[0]
	if list, ok := v.(*sequence); ok && list.kind == tupleKind {
		for _, item := range list.items {
			if has(s, r.string(item)) {
				return true
			}
		}
		return false
	}
	return has(s, r.string(v))
}

func replace(r *run, s string, a arguments) value {
	bound := a.bind(r, "replace", "old", "new", "count")
	n := max(r.int(orDefault(bound[2], int64(-1))), -1)
	return r.replace(s, r.string(bound[0]), r.string(bound[1]), int(min(n, 1<<30)))
}

// replace replaces at most n occurrences, all if n is negative. It counts the memory of the result
// before it makes it.
func (r *run) replace(s, from, to string, n int) string {
	hits := strings.Count(s, from)
	if n >= 0 {
		hits = min(hits, n)
	}
	r.alloc(len(s))
	if len(to) > 0 && hits > (1<<31)/len(to) {
		r.alloc(-1)
	}
	r.alloc(hits * len(to))
	return strings.Replace(s, from, to, n)
}

// joinStrings is Python's str.join.
func (r *run) joinStrings(sep string, items []value) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteString(r.text(sep))
		}
		b.WriteString(r.text(r.string(item)))
	}
	return b.String()
}

// find returns where part begins in s, in characters, or -1.
func find(s, part string, index func(string, string) int) value {
	i := index(s, part)
	if i < 0 {
		return int64(-1)
	}
	return int64(utf8.RuneCountInString(s[:i]))
}
