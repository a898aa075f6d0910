package chat

import (
	"strconv"
	"strings"
	"unicode"
)

// expression is a parsed expression: it computes its value in a run.
type expression func(r *run) value

// target assigns a value to the names on the left of an equals sign, or to those of a loop.
type target func(r *run, v value)

// Expressions follow the grammar of Jinja2. From the weakest binding to the strongest: inline if,
// or, and, not, comparisons, + and -, ~, * and / and // and %, **, signs, filters and tests,
// attributes and items and calls.

// identifier takes a name.
func (p *parser) identifier() string {
	t := p.advance()
	p.checkName(t)
	return t.text
}

// checkName fails if a token is no name. A name does not begin with a digit.
func (p *parser) checkName(t token) {
	if t.kind != nameToken || unicode.IsNumber([]rune(t.text)[0]) {
		p.fail("expected a name, got %q", t.text)
	}
}

// nest counts one more level of brackets and operators, until the function that it returns is
// called. The limit bounds the stack, here and when the expression is computed.
func (p *parser) nest() func() {
	if p.depth++; p.depth > maxDepth {
		p.fail("the expression is nested deeper than %d", maxDepth)
	}
	return func() { p.depth-- }
}

// target reads a name, several with commas between, or, if attributes are allowed, one such as
// space.name.
func (p *parser) target(attributes bool) target {
	if p.accept("(") {
		t := p.target(false)
		p.expect(")")
		return t
	}
	name := p.identifier()
	if _, ok := constants[name]; ok {
		p.fail("the constant %s cannot be set", name)
	}
	if attributes && p.accept(".") {
		attribute := p.identifier()
		return func(r *run, v value) {
			space, ok := r.scope.lookup(name).(*namespace)
			if !ok {
				r.fail("cannot assign attribute on non-namespace object")
			}
			space.set(attribute, v)
		}
	}
	if !p.at(",") {
		return func(r *run, v value) {
			if d, ok := v.(*dict); ok && r.loops > 0 {
				if turn, ok := r.turns[d]; ok {
					r.turn = turn
				}
			}
			r.scope.vars[name] = v
		}
	}
	names := []string{name}
	for p.accept(",") {
		names = append(names, p.identifier())
	}
	return func(r *run, v value) {
		items := r.iterate(v)
		if len(items) != len(names) {
			r.fail("cannot unpack %d values into %d names", len(items), len(names))
		}
		for i, name := range names {
			r.scope.vars[name] = items[i]
		}
	}
}

// tuple reads an expression, or several with commas between, which are a tuple. If conditional, an
// inline if may be part of them.
func (p *parser) tuple(conditional bool) expression {
	read := p.expression
	if !conditional {
		read = p.or
	}
	first := read()
	if !p.at(",") {
		return first
	}
	items := []expression{first}
	for p.accept(",") && !p.atTagEnd() && !p.at(")", "if", "recursive", "=") {
		items = append(items, read())
	}
	return makeSequence(items, tupleKind)
}

func makeSequence(items []expression, kind sequenceKind) expression {
	return func(r *run) value {
		values := make([]value, len(items))
		for i, e := range items {
			values[i] = e(r)
		}
		list := r.list(values)
		list.kind = kind
		return list
	}
}

// expression reads an expression, which may be an inline if: a if condition else b.
func (p *parser) expression() expression {
	defer p.nest()()
	e := p.or()
	for p.accept("if") {
		whenTrue, condition := e, p.or()
		whenFalse := constant(
			undefined{"the condition of an inline if is false, and it has no else"})
		if p.accept("else") {
			whenFalse = p.expression()
		}
		e = func(r *run) value {
			if r.truth(condition(r)) {
				return whenTrue(r)
			}
			return whenFalse(r)
		}
	}
	return e
}

func (p *parser) or() expression {
	e := p.and()
	for p.accept("or") {
		left, right := e, p.and()
		e = func(r *run) value {
			if v := left(r); r.truth(v) {
				return v
			}
			return right(r)
		}
	}
	return e
}

func (p *parser) and() expression {
	e := p.not()
	for p.accept("and") {
		left, right := e, p.not()
		e = func(r *run) value {
			if v := left(r); !r.truth(v) {
				return v
			}
			return right(r)
		}
	}
	return e
}

func (p *parser) not() expression {
	if !p.accept("not") {
		return p.comparison()
	}
	defer p.nest()()
	e := p.not()
	return func(r *run) value { return !r.truth(e(r)) }
}

// comparison reads a < b <= c, which means a < b and b <= c.
func (p *parser) comparison() expression {
	first := p.sum()
	var names []string
	var operands []expression
	for {
		name := ""
		switch {
		case p.at("==", "!=", "<", "<=", ">", ">=", "in"):
			name = p.advance().text
		case p.at("not") && p.tokens[p.next+1].text == "in":
			p.next += 2
			name = "not in"
		}
		if name == "" {
			break
		}
		names, operands = append(names, name), append(operands, p.sum())
	}
	if names == nil {
		return first
	}
	return func(r *run) value {
		left := first(r)
		for i, name := range names {
			right := operands[i](r)
			if !r.compare(name, left, right) {
				return false
			}
			left = right
		}
		return true
	}
}

// chain reads operands with operators of the same precedence between them, from left to right.
func (p *parser) chain(operand func() expression, operators ...string) expression {
	e := operand()
	for p.at(operators...) {
		operator := p.advance().text
		left, right := e, operand()
		e = func(r *run) value {
			r.step(1)
			a := left(r)
			return r.binary(operator, a, right(r))
		}
	}
	return e
}

func (p *parser) sum() expression     { return p.chain(p.concat, "+", "-") }
func (p *parser) concat() expression  { return p.chain(p.product, "~") }
func (p *parser) product() expression { return p.chain(p.power, "*", "/", "//", "%") }
func (p *parser) power() expression {
	return p.chain(func() expression { return p.unary(true) }, "**")
}

// unary reads an operand with its signs and what follows it. Filters and tests belong to the
// operand with its sign: -1|abs is (-1)|abs.
func (p *parser) unary(filtered bool) expression {
	defer p.nest()()
	var e expression
	if p.at("-", "+") {
		negative := p.advance().text == "-"
		operand := p.unary(false)
		e = func(r *run) value { return r.sign(operand(r), negative) }
	} else {
		e = p.primary()
	}
	e = p.postfix(e)
	if filtered {
		e = p.filtered(e)
	}
	return e
}

// primary reads a constant, a variable, or what stands in brackets.
func (p *parser) primary() expression {
	t := p.advance()
	switch t.kind {
	case nameToken:
		return p.variable(t)
	case stringToken:
		text := p.unquote(t.text)
		for !p.atTagEnd() && p.peek().kind == stringToken {
			text += p.unquote(p.advance().text)
		}
		return constant(text)
	case integerToken:
		n, err := strconv.ParseInt(t.text, 0, 64)
		if err != nil {
			p.fail("number %s is too large", t.text)
		}
		return constant(n)
	case floatToken:
		f, err := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64)
		if err != nil {
			p.fail("number %s is too large", t.text)
		}
		return constant(f)
	}
	switch t.text {
	case "(":
		if p.accept(")") {
			return makeSequence(nil, tupleKind)
		}
		e := p.tuple(true)
		p.expect(")")
		return e
	case "[":
		return makeSequence(p.listUntil("]"), listKind)
	case "{":
		return p.dict()
	}
	p.fail("unexpected %q", t.text)
	return nil
}

// constants are the names that are no variables.
var constants = map[string]value{
	"true": true, "false": false, "none": nil, "True": true, "False": false, "None": nil,
}

// variable returns the value of a name.
func (p *parser) variable(t token) expression {
	if v, ok := constants[t.text]; ok {
		return constant(v)
	}
	p.checkName(t)
	p.used[t.text] = true
	return func(r *run) value {
		r.step(1)
		return r.scope.lookup(t.text)
	}
}

func constant(v value) expression { return func(*run) value { return v } }

// listUntil reads expressions with commas between them, up to the closing bracket end.
func (p *parser) listUntil(end string) []expression {
	var items []expression
	for !p.accept(end) {
		if len(items) > 0 {
			p.expect(",")
			if p.accept(end) {
				break
			}
		}
		items = append(items, p.expression())
	}
	return items
}

// dict reads {a: b, …}.
func (p *parser) dict() expression {
	var keys, values []expression
	for !p.accept("}") {
		if len(keys) > 0 {
			p.expect(",")
			if p.accept("}") {
				break
			}
		}
		keys = append(keys, p.expression())
		p.expect(":")
		values = append(values, p.expression())
	}
	return func(r *run) value {
		r.alloc(64 * len(keys))
		d := newDict()
		for i, key := range keys {
			k := key(r)
			r.setItem(d, k, values[i](r))
		}
		return d
	}
}
