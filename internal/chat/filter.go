package chat

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// filter is a function that may follow a vertical bar.
type filter func(r *run, v value, a arguments) value

// filters are the filters that a template may use, by name: those of Jinja2 but for random, whose
// text would be another one each time, and pprint, urlize and wordwrap, which no published chat
// template has.
var filters map[string]filter

func init() {
	text := func(name string, f func(string) string) filter {
		return func(r *run, v value, a arguments) value {
			a.bind(r, name)
			return r.text(f(r.str(v)))
		}
	}
	unchanged := func(s string) string { return s }
	filters = map[string]filter{
		"upper": text("upper", upper), "lower": text("lower", lower),
		"title": text("title", titleWords), "capitalize": text("capitalize", capitalize),
		"string": text("string", unchanged), "safe": text("safe", unchanged),
		"trim": func(r *run, v value, a arguments) value {
			return r.strip(r.str(v), a, true, true)
		},
		"replace": replaceFilter,
		"indent":  indent, "wordcount": wordCount, "tojson": toJSON,
		"length": length, "count": length, "default": defaultTo, "d": defaultTo,
		"abs": abs, "int": toInt, "float": toFloat, "round": round,
		"list": toList, "first": first, "last": last, "reverse": reverse, "join": joinFilter,
		"sum": sum, "items": items, "dictsort": dictSort, "sort": sort, "unique": unique,
		"min": extreme(-1), "max": extreme(1), "attr": attr, "map": mapFilter,
		"batch": batch, "slice": slice, "groupby": groupBy, "center": center, "e": escapeHTML,
		"escape": escapeHTML, "forceescape": escapeHTML, "truncate": truncate,
		"format": formatText, "filesizeformat": fileSize, "striptags": stripTags,
		"urlencode": urlEncode, "xmlattr": attributesXML,
		"select": selectItems(true, false), "reject": selectItems(false, false),
		"selectattr": selectItems(true, true), "rejectattr": selectItems(false, true),
	}
}

func length(r *run, v value, a arguments) value {
	a.bind(r, "length")
	switch v := v.(type) {
	case undefined:
		return int64(0)
	case string:
		return int64(utf8.RuneCountInString(v))
	case *dict:
		return int64(len(v.keys))
	case *loopInfo:
		return int64(len(v.items))
	case *sequence:
		if v.kind != generatorKind {
			return int64(len(v.items))
		}
	}
	r.fail("object of type '%s' has no len()", kindOf(v))
	return nil
}

func defaultTo(r *run, v value, a arguments) value {
	bound := a.bind(r, "default", "default_value", "boolean")
	_, missing := v.(undefined)
	if missing || r.truth(orDefault(bound[1], false)) && !r.truth(v) {
		return orDefault(bound[0], "")
	}
	return v
}

func abs(r *run, v value, a arguments) value {
	a.bind(r, "abs")
	if _, f, _, ok := number(r.requireDefined(v)); ok && f >= 0 {
		return r.sign(v, false)
	}
	return r.sign(v, true)
}

func toInt(r *run, v value, a arguments) value {
	bound := a.bind(r, "int", "default", "base")
	defaultValue := orDefault(bound[0], int64(0))
	switch v := v.(type) {
	case string:
		if n, ok := parseInt(v, r.int(orDefault(bound[1], int64(10)))); ok {
			return n
		}
		if f, ok := parseFloat(v); ok && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return r.truncate(f)
		}
	case float64:
		if !math.IsNaN(v) {
			return r.truncate(v)
		}
	case bool, int64:
		return r.int(v)
	}
	r.requireDefined(v)
	return defaultValue
}

// truncate returns a float without its fraction.
func (r *run) truncate(f float64) int64 {
	if math.Abs(f) >= 1<<63 {
		r.fail("%s does not fit in 64 bits", floatRepr(f))
	}
	return int64(f)
}

// parseInt reads an integer as Python's int does. Base 0 takes the base from the prefix.
func parseInt(s string, base int64) (int64, bool) {
	s = numberText(s)
	digits := strings.TrimLeft(s, "+-")
	if len(digits) > 2 && digits[0] == '0' {
		prefixed := map[byte]int64{'b': 2, 'o': 8, 'x': 16}[digits[1]|0x20]
		if prefixed != 0 && (base == 0 || base == prefixed) {
			s, base = s[:len(s)-len(digits)]+strings.TrimPrefix(digits[2:], "_"), prefixed
		}
	}
	if base == 0 && (digits == "" || digits[0] != '0' || strings.Trim(digits, "0_") == "") {
		base = 10
	}
	if base < 2 || base > 36 || strings.Contains(s, "__") || strings.HasSuffix(s, "_") ||
		strings.HasPrefix(strings.TrimLeft(s, "+-"), "_") {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), int(base), 64)
	return n, err == nil
}

// parseFloat reads a float as Python's float does: there are no hexadecimal ones, and a number that
// is too large is infinite.
func parseFloat(s string) (float64, bool) {
	s = numberText(s)
	if strings.ContainsAny(s, "xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

// numberText returns a text without white space around it and with plain digits in the place of
// those of other scripts.
func numberText(s string) string {
	return strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf || !unicode.IsDigit(c) {
			return c
		}
		zero := c
		for unicode.IsDigit(zero - 1) { // sets of digits may follow each other
			zero--
		}
		return '0' + (c-zero)%10
	}, strings.TrimFunc(s, isSpace))
}

func toFloat(r *run, v value, a arguments) value {
	defaultValue := orDefault(a.bind(r, "float", "default")[0], 0.0)
	if s, ok := v.(string); ok {
		if f, ok := parseFloat(s); ok {
			return f
		}
		return defaultValue
	}
	if _, f, _, ok := number(r.requireDefined(v)); ok {
		return f
	}
	return defaultValue
}

func round(r *run, v value, a arguments) value {
	bound := a.bind(r, "round", "precision", "method")
	i, f, isInt, ok := number(r.requireDefined(v))
	if !ok {
		r.fail("round needs a number, got '%s'", kindOf(v))
	}
	// No number has more digits, and the negative of the precision has to fit.
	precision := max(min(r.int(orDefault(bound[0], int64(0))), 400), -400)
	scale := math.Pow(10, float64(max(min(precision, 300), -300)))
	method := r.string(orDefault(bound[1], "common"))
	switch method {
	case "common":
		if isInt {
			return r.roundInt(i, -precision)
		}
		return roundFloat(f, int(precision))
	case "ceil", "floor":
		if math.IsInf(f*scale, 0) || math.IsNaN(f) {
			r.fail("round: %s has no integer next to it", floatRepr(f*scale))
		}
		if method == "ceil" {
			return math.Ceil(f*scale)/scale + 0 // -0 becomes 0
		}
		return math.Floor(f*scale)/scale + 0
	}
	r.fail("the method of round must be common, ceil or floor, got '%s'", method)
	return nil
}

// roundFloat rounds to a number of decimal digits, by all digits of the float: 2.675 is a little
// less than it looks, and becomes 2.67. Halves go to the even neighbour.
func roundFloat(f float64, precision int) float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return f
	}
	if precision >= 0 {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', precision, 64), 64)
		return rounded
	}
	// The exact digits before the point, shifted behind it, are rounded by the same rule.
	digits := big.NewFloat(f).SetPrec(2000)
	unit := new(big.Float).SetPrec(2000).SetInt(
		new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-precision)), nil))
	quotient, _ := new(big.Float).SetPrec(2000).SetString(
		new(big.Float).SetPrec(2000).Quo(digits, unit).Text('f', 0))
	rounded, _ := new(big.Float).SetPrec(2000).Mul(quotient, unit).Float64()
	return rounded
}

// roundInt rounds n to a multiple of 10 to the power of digits, halves to the even multiple. It
// fails where that needs more than 64 bits.
func (r *run) roundInt(n, digits int64) int64 {
	if digits <= 0 {
		return n
	}
	const half = 5e18 // of the unit 10^19, which does not fit in 64 bits
	if digits > 19 || digits == 19 && n >= -half && n <= half {
		return 0
	}
	if digits < 19 {
		unit := int64(math.Pow10(int(digits)))
		quotient, rest := n/unit, n%unit
		if rest < 0 {
			quotient, rest = quotient-1, rest+unit
		}
		if rest > unit-rest || rest == unit-rest && quotient%2 != 0 {
			quotient++
		}
		if quotient >= math.MinInt64/unit && quotient <= math.MaxInt64/unit {
			return quotient * unit
		}
	}
	r.fail("%d rounded to a multiple of 10 ** %d does not fit in 64 bits", n, digits)
	return 0
}

func toList(r *run, v value, a arguments) value {
	a.bind(r, "list")
	return r.list(slices.Clone(r.iterate(v)))
}

func first(r *run, v value, a arguments) value {
	a.bind(r, "first")
	if found := r.iterate(v); len(found) > 0 {
		return found[0]
	}
	return undefined{"No first item, sequence was empty."}
}

func last(r *run, v value, a arguments) value {
	a.bind(r, "last")
	if s, ok := v.(*sequence); ok && s.kind == generatorKind {
		r.fail("'generator' object is not reversible")
	}
	if found := r.iterate(v); len(found) > 0 {
		return found[len(found)-1]
	}
	return undefined{"No last item, sequence was empty."}
}

func reverse(r *run, v value, a arguments) value {
	a.bind(r, "reverse")
	found := slices.Clone(r.iterate(v))
	slices.Reverse(found)
	if _, ok := v.(string); ok {
		return r.joinStrings("", found)
	}
	return r.generator(found)
}

// generator returns items as filters such as select return them: they can be iterated once.
func (r *run) generator(items []value) value {
	list := r.list(items)
	list.kind = generatorKind
	return list
}

func joinFilter(r *run, v value, a arguments) value {
	bound := a.bind(r, "join", "d", "attribute")
	get := r.getter(orDefault(bound[1], nil))
	var parts []value
	for _, item := range r.iterate(v) {
		parts = append(parts, r.str(get(item)))
	}
	return r.joinStrings(r.str(orDefault(bound[0], "")), parts)
}

func sum(r *run, v value, a arguments) value {
	bound := a.bind(r, "sum", "attribute", "start")
	get, total := r.getter(orDefault(bound[0], nil)), orDefault(bound[1], int64(0))
	for _, item := range r.iterate(v) {
		total = r.binary("+", total, get(item))
	}
	return total
}

func items(r *run, v value, a arguments) value {
	a.bind(r, "items")
	switch v := v.(type) {
	case undefined:
		return r.generator(nil)
	case *dict:
		r.alloc(64 * len(v.keys))
		return r.generator(v.items())
	}
	r.fail("Can only get item pairs from a mapping.")
	return nil
}

func attr(r *run, v value, a arguments) value {
	name := r.string(a.bind(r, "attr", "name")[0])
	if found, ok := r.member(v, name); ok {
		return found
	}
	return undefined{"'" + kindOf(v) + " object' has no attribute '" + name + "'"}
}

// replaceFilter makes text of all of its arguments, unlike the method.
func replaceFilter(r *run, v value, a arguments) value {
	bound := a.bind(r, "replace", "old", "new", "count")
	if bound[0] == absent || bound[1] == absent {
		r.fail("an argument is missing: a str is needed")
	}
	n := int64(-1)
	if count := orDefault(bound[2], nil); count != nil {
		n = max(r.int(count), -1)
	}
	return r.replace(r.str(v), r.str(bound[0]), r.str(bound[1]), int(min(n, 1<<30)))
}

// getter returns a function that looks up an attribute of an item, by a path such as a.b.0. If the
// attribute is nil, it returns the item itself.
func (r *run) getter(attribute value) func(value) value {
	if attribute == nil {
		return func(v value) value { return v }
	}
	path := []value{attribute}
	if s, ok := attribute.(string); ok {
		path = nil
		for part := range strings.SplitSeq(s, ".") {
			if n, err := strconv.ParseInt(part, 10, 64); err == nil && n >= 0 {
				path = append(path, n)
				continue
			}
			path = append(path, part)
		}
	}
	return func(v value) value {
		for _, part := range path {
			r.step(1)
			v = r.item(v, part)
		}
		return v
	}
}

// iterateTrue returns the items of a value, and none of a value that is false: map, select and
// their variants take none and 0 for an empty list.
func (r *run) iterateTrue(v value) []value {
	if !r.truth(v) {
		return nil
	}
	return r.iterate(v)
}

// mapFilter applies a filter to each item, or looks up an attribute of each.
func mapFilter(r *run, v value, a arguments) value {
	each := func(item value) value { return item }
	if len(a.positional) > 0 {
		name := r.string(a.positional[0])
		f, ok := filters[name]
		if !ok {
			r.fail("No filter named '%s'; known are %s", name, known(filters))
		}
		rest := arguments{positional: a.positional[1:], names: a.names, named: a.named}
		each = func(item value) value { return f(r, item, rest) }
	} else {
		bound := a.bind(r, "map", "attribute", "default")
		get := r.getter(orDefault(bound[0], nil))
		each = func(item value) value {
			found := get(item)
			if _, missing := found.(undefined); missing {
				return orDefault(bound[1], found)
			}
			return found
		}
	}
	var mapped []value
	r.nested(func() {
		for _, item := range r.iterateTrue(v) {
			r.step(1)
			mapped = append(mapped, each(item))
		}
	})
	return r.generator(mapped)
}

// selectItems returns select, reject, selectattr or rejectattr.
func selectItems(keep, byAttribute bool) filter {
	return func(r *run, v value, a arguments) value {
		get, rest := r.getter(nil), a.positional
		if byAttribute {
			if len(rest) == 0 {
				r.fail("the name of an attribute is missing")
			}
			get, rest = r.getter(rest[0]), rest[1:]
		}
		matches := r.truth
		if len(rest) > 0 {
			name := r.string(rest[0])
			t, ok := tests[testName(name)]
			if !ok {
				r.fail("No test named '%s'; known are %s", name, known(tests))
			}
			more := arguments{positional: rest[1:], names: a.names, named: a.named}
			matches = func(v value) bool { return t(r, v, more) }
		}
		var chosen []value
		for _, item := range r.iterateTrue(v) {
			r.step(1)
			if matches(get(item)) == keep {
				chosen = append(chosen, item)
			}
		}
		return r.generator(chosen)
	}
}

// testName returns the name of a test that may be written as an operator.
func testName(s string) string {
	names := map[string]string{"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
	if name, ok := names[s]; ok {
		return name
	}
	return s
}

// sortKey returns the function that makes the value to compare: a string in lower case, unless case
// counts.
func (r *run) sortKey(caseSensitive bool) func(value) value {
	return func(v value) value {
		if s, ok := v.(string); ok && !caseSensitive {
			return r.text(lower(s))
		}
		return v
	}
}

// sorted sorts items in place by their keys; equal items keep their order.
func (r *run) sorted(found []value, key func(value) value, descending bool) {
	slices.SortStableFunc(found, func(a, b value) int {
		order, _ := r.order(key(a), key(b))
		if descending {
			return -order
		}
		return order
	})
}

func sort(r *run, v value, a arguments) value {
	bound := a.bind(r, "sort", "reverse", "case_sensitive", "attribute")
	get, fold := r.getter(orDefault(bound[2], nil)), r.sortKey(r.truth(orDefault(bound[1], false)))
	found := slices.Clone(r.iterate(v))
	descending := r.truth(orDefault(bound[0], false))
	r.sorted(found, func(v value) value { return fold(get(v)) }, descending)
	return r.list(found)
}

func dictSort(r *run, v value, a arguments) value {
	bound := a.bind(r, "dictsort", "case_sensitive", "by", "reverse")
	d, ok := v.(*dict)
	if !ok {
		r.fail("dictsort needs a dict, got '%s'", kindOf(v))
	}
	at := slices.Index([]string{"key", "value"}, r.string(orDefault(bound[1], "key")))
	if at < 0 {
		r.fail("You can only sort by either 'key' or 'value'")
	}
	fold := r.sortKey(r.truth(orDefault(bound[0], false)))
	pairs := d.items()
	descending := r.truth(orDefault(bound[2], false))
	r.sorted(pairs, func(v value) value { return fold(v.(*sequence).items[at]) }, descending)
	return r.list(pairs)
}

// unique keeps the first of equal items.
func unique(r *run, v value, a arguments) value {
	bound := a.bind(r, "unique", "case_sensitive", "attribute")
	get, fold := r.getter(orDefault(bound[1], nil)), r.sortKey(r.truth(orDefault(bound[0], false)))
	seen := newDict()
	var chosen []value
	for _, item := range r.iterate(v) {
		k := fold(get(item))
		if _, ok := seen.get(k); ok {
			continue
		}
		r.setItem(seen, k, true)
		chosen = append(chosen, item)
	}
	return r.generator(chosen)
}

// extreme returns min (sign −1) or max (sign 1).
func extreme(sign int) filter {
	return func(r *run, v value, a arguments) value {
		bound := a.bind(r, "min or max", "case_sensitive", "attribute")
		get := r.getter(orDefault(bound[1], nil))
		fold := r.sortKey(r.truth(orDefault(bound[0], false)))
		found := r.iterate(v)
		if len(found) == 0 {
			return undefined{"No aggregated item, sequence was empty."}
		}
		best := found[0]
		for _, item := range found[1:] {
			order, _ := r.order(fold(get(item)), fold(get(best)))
			if cmp.Compare(order, 0) == sign {
				best = item
			}
		}
		return best
	}
}

// wordCount counts runs of letters, digits and underscores.
func wordCount(r *run, v value, a arguments) value {
	a.bind(r, "wordcount")
	n, inside := 0, false
	for _, c := range r.str(v) {
		word := c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c)
		if word && !inside {
			n++
		}
		inside = word
	}
	return int64(n)
}

// indent puts spaces, or a given text, before each line but the first.
func indent(r *run, v value, a arguments) value {
	bound := a.bind(r, "indent", "width", "first", "blank")
	prefix, ok := orDefault(bound[0], int64(4)).(string)
	if !ok {
		prefix = r.str(r.repeat(" ", r.int(orDefault(bound[0], int64(4)))))
	}
	blank := r.truth(orDefault(bound[2], false))
	lines := r.iterate(splitLines(r, r.string(v)+"\n", arguments{}))
	var b strings.Builder
	for i, line := range lines {
		line := line.(string)
		if i > 0 {
			b.WriteString("\n")
		}
		if i == 0 && r.truth(orDefault(bound[1], false)) || i > 0 && (line != "" || blank) {
			b.WriteString(r.text(prefix))
		}
		b.WriteString(r.text(line))
	}
	return b.String()
}
