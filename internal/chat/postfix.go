package chat

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// postfix reads the attributes, items and calls that follow an expression.
func (p *parser) postfix(e expression) expression {
	for {
		switch {
		case p.accept("."):
			e = p.attribute(e)
		case p.accept("["):
			e = p.item(e)
		case p.accept("("):
			e = p.call(e)
		default:
			return e
		}
	}
}

func (p *parser) attribute(object expression) expression {
	if !p.atTagEnd() && p.peek().kind == integerToken {
		index := p.primary()
		return func(r *run) value { return r.item(object(r), index(r)) }
	}
	name := p.identifier()
	return func(r *run) value {
		r.step(1)
		return r.attribute(object(r), name)
	}
}

// item reads [i] and [a:b:c].
func (p *parser) item(object expression) expression {
	var bounds [3]expression
	n := 0
	for !p.accept("]") {
		if p.accept(":") {
			if n++; n == len(bounds) {
				p.fail("a slice has at most 3 numbers")
			}
			continue
		}
		if bounds[n] != nil {
			p.fail("expected ] or :, got %q", p.advance().text)
		}
		bounds[n] = p.expression()
	}
	if n == 0 {
		index := bounds[0]
		if index == nil {
			p.fail("[] needs an index")
		}
		return func(r *run) value {
			r.step(1)
			v := object(r)
			return r.item(v, index(r))
		}
	}
	return func(r *run) value {
		r.step(1)
		v := object(r)
		var at [3]value
		for i, e := range bounds {
			if e != nil {
				at[i] = e(r)
			}
		}
		return r.slice(v, at)
	}
}

// argumentList reads the arguments of a call after the opening bracket.
func (p *parser) argumentList() func(*run) arguments {
	var positional []expression
	var names []string
	var named []expression
	var spread [2]expression // *list and **dict
	for first := true; !p.accept(")"); first = false {
		if !first {
			p.expect(",")
			if p.accept(")") {
				break
			}
		}
		if p.at("*", "**") {
			stars := len(p.advance().text)
			if spread[stars-1] != nil || spread[1] != nil {
				p.fail("an argument follows one with %s", "**"[:stars])
			}
			spread[stars-1] = p.expression()
			continue
		}
		if spread[1] != nil || spread[0] != nil && !p.atNamedArgument() {
			p.fail("an argument follows one with a star")
		}
		if p.atNamedArgument() {
			names = append(names, p.identifier())
			p.expect("=")
			named = append(named, p.expression())
			continue
		}
		if names != nil {
			p.fail("an argument without a name follows one with a name")
		}
		positional = append(positional, p.expression())
	}
	return func(r *run) arguments {
		a := arguments{names: names}
		for _, e := range positional {
			a.positional = append(a.positional, e(r))
		}
		for _, e := range named {
			a.named = append(a.named, e(r))
		}
		if spread[0] != nil {
			a.positional = append(a.positional, r.iterate(r.requireDefined(spread[0](r)))...)
		}
		if spread[1] != nil {
			a.spread(r, spread[1](r))
		}
		return a
	}
}

// spread adds the items of a dict, the value of **dict, as arguments with names.
func (a *arguments) spread(r *run, v value) {
	d, ok := r.requireDefined(v).(*dict)
	if !ok {
		r.fail("argument after ** must be a mapping, not %s", kindOf(v))
	}
	a.names = slices.Clone(a.names)
	for _, k := range d.keys {
		name := r.string(k)
		if slices.Contains(a.names, name) {
			r.fail("got multiple values for keyword argument '%s'", name)
		}
		item, _ := d.get(k)
		a.names, a.named = append(a.names, name), append(a.named, item)
	}
	r.alloc(64 * len(d.keys))
}

// atNamedArgument reports whether a name and an equals sign follow.
func (p *parser) atNamedArgument() bool {
	if p.peek().kind != nameToken {
		return false
	}
	after := p.tokens[p.next+1]
	return after.kind == operatorToken && after.text == "="
}

func (p *parser) call(function expression) expression {
	list := p.argumentList()
	return func(r *run) value {
		r.step(1)
		f := function(r)
		return r.call(f, list(r))
	}
}

// filtered reads the filters and tests that follow an expression.
func (p *parser) filtered(e expression) expression {
	for {
		switch {
		case p.accept("|"):
			f, filtered := p.filter(), e
			e = func(r *run) value { return f.apply(r, filtered(r)) }
		case p.accept("is"):
			e = p.test(e)
		case p.accept("("):
			e = p.call(e)
		default:
			return e
		}
	}
}

// filterCall is a filter with its arguments.
type filterCall struct {
	filter filter
	args   func(*run) arguments
}

func (f filterCall) apply(r *run, v value) value {
	r.step(1)
	if s, ok := v.(string); ok {
		r.step(len(s) / bytesPerStep)
	}
	return f.filter(r, v, f.args(r))
}

// filters reads | a | b.
func (p *parser) filters() []filterCall {
	var all []filterCall
	for p.accept("|") {
		all = append(all, p.filter())
	}
	return all
}

func (p *parser) filter() filterCall {
	name := p.identifier()
	f, ok := filters[name]
	if !ok {
		// A template may have it where no conversation leads to.
		f = func(r *run, _ value, _ arguments) value {
			r.fail("filter %q is unknown; known are %s", name, known(filters))
			return nil
		}
	}
	args := func(*run) arguments { return arguments{} }
	if p.accept("(") {
		args = p.argumentList()
	}
	return filterCall{f, args}
}

// test reads the test that follows is.
func (p *parser) test(e expression) expression {
	negated := p.accept("not")
	name := p.identifier()
	t, ok := tests[name]
	if !ok {
		t = func(r *run, _ value, _ arguments) bool {
			r.fail("test %q is unknown; known are %s", name, known(tests))
			return false
		}
	}
	args := func(*run) arguments { return arguments{} }
	if p.accept("(") {
		args = p.argumentList()
	} else if p.startsArgument() {
		operand := p.postfix(p.primary())
		args = func(r *run) arguments { return arguments{positional: []value{operand(r)}} }
	}
	return func(r *run) value {
		r.step(1)
		v := e(r)
		return t(r, v, args(r)) != negated
	}
}

// startsArgument reports whether the next token begins the argument of a test, as in "9 is
// divisibleby 3".
func (p *parser) startsArgument() bool {
	if p.atTagEnd() || p.at("else", "or", "and") {
		return false
	}
	if p.at("is") {
		p.fail("tests cannot be chained with is")
	}
	return p.peek().kind != operatorToken || p.at("[", "{")
}

// unquote returns the text of a string literal, by the rules of Python.
func (p *parser) unquote(quoted string) string {
	s := quoted[1 : len(quoted)-1]
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return b.String() + s
		}
		b.WriteString(s[:i])
		text, n := escape(s[i+1:])
		if n == 0 {
			p.fail("the escape %q in a string is malformed", s[i:min(len(s), i+6)])
		}
		b.WriteString(text)
		s = s[i+1+n:]
	}
}

// escape returns the text that an escape stands for; s begins after the backslash. n is how many
// bytes of s belong to it, 0 if it is malformed.
func escape(s string) (text string, n int) {
	c, size := utf8.DecodeRuneInString(s)
	if i := strings.IndexRune("\n\\'\"abfnrtv", c); i >= 0 {
		return []string{"", "\\", "'", "\"", "\a", "\b", "\f", "\n", "\r", "\t", "\v"}[i], size
	}
	digits, base := 0, 16
	switch c {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case 'N':
		return "", 0
	}
	from := 1
	if c >= '0' && c <= '7' {
		from, base = 0, 8
		for digits < min(3, len(s)) && s[digits] >= '0' && s[digits] <= '7' {
			digits++
		}
	}
	if digits == 0 {
		return "\\" + s[:size], size // Python keeps an unknown escape as it stands
	}
	if from+digits > len(s) {
		return "", 0
	}
	code, err := strconv.ParseUint(s[from:from+digits], base, 32)
	if err != nil || !utf8.ValidRune(rune(code)) {
		return "", 0
	}
	return string(rune(code)), from + digits
}
