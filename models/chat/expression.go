package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// expression computes a value.
type expression func(r *run) value

// target sets the names that stand left of an equals sign.
type target func(r *run, v value)

// expressionParser reads what stands in a tag, by the grammar of Jinja2: an inline if binds least, then or, and, not, comparisons,
// + and -, ~, * and /, **, signs, filters and tests, and calls and attributes most.
type expressionParser struct {
	// name is that of the statement and line where it stands.
	name  string
	line  int
	rest  []*tokens.Token
	depth int
}

func newExpressionParser(name string, args *parser.Parser) *expressionParser {
	p := &expressionParser{name: name, line: args.Current().Line}
	for !args.End() {
		p.rest = append(p.rest, args.Next())
	}
	return p
}

// protect calls f, which may fail, and returns the error.
func (p *expressionParser) protect(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(fault)
			if !ok {
				panic(r)
			}
			err = failed.error
		}
	}()
	f()
	return nil
}

func (p *expressionParser) fail(format string, args ...any) {
	panic(fault{fmt.Errorf("line %d, %s: %s", p.line, p.name, fmt.Sprintf(format, args...))})
}

func (p *expressionParser) done() bool { return len(p.rest) == 0 }

// end fails if anything is left.
func (p *expressionParser) end() {
	if !p.done() {
		p.fail("unexpected %q", p.rest[0].Val)
	}
}

// at reports whether the next token is one of these operators or keywords.
func (p *expressionParser) at(vals ...string) bool {
	return !p.done() && (p.rest[0].Type == tokens.Operator || p.rest[0].Type == tokens.Name) && slices.Contains(vals, p.rest[0].Val)
}

// next takes a token.
func (p *expressionParser) next() *tokens.Token {
	if p.done() {
		p.fail("it ends too early")
	}
	t := p.rest[0]
	p.line = max(p.line, t.Line)
	p.rest = p.rest[1:]
	return t
}

// accept takes the next token if it is val.
func (p *expressionParser) accept(val string) bool {
	if !p.at(val) {
		return false
	}
	p.next()
	return true
}

func (p *expressionParser) expect(val string) {
	if !p.accept(val) {
		if p.done() {
			p.fail("want %q", val)
		}
		p.fail("want %q, got %q", val, p.rest[0].Val)
	}
}

// identifier takes a name.
func (p *expressionParser) identifier() string {
	t := p.next()
	if t.Type != tokens.Name || unicode.IsNumber([]rune(t.Val)[0]) {
		p.fail("want a name, got %q", t.Val)
	}
	return t.Val
}

// deeper counts how deep brackets and operators are nested.
func (p *expressionParser) deeper() func() {
	if p.depth++; p.depth > maxDepth {
		p.fail("nested deeper than %d", maxDepth)
	}
	return func() { p.depth-- }
}

// target reads a, b or (with attributes) space.name.
func (p *expressionParser) target(attributes bool) target {
	if p.accept("(") {
		t := p.target(false)
		p.expect(")")
		return t
	}
	name := p.identifier()
	if slices.Contains([]string{"true", "false", "none", "True", "False", "None"}, name) {
		p.fail("%s cannot be set", name)
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
		return func(r *run, v value) { r.scope.vars[name] = v }
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

// tuple reads an expression, or several with commas between; conditional says whether an inline if may follow.
func (p *expressionParser) tuple(conditional bool) expression {
	one := p.expression
	if !conditional {
		one = p.or
	}
	first := one()
	if !p.at(",") {
		return first
	}
	items := []expression{first}
	for p.accept(",") && !p.done() && !p.at(")", "if", "recursive", "=") {
		items = append(items, one())
	}
	return listOf(items, tupleKind)
}

func listOf(items []expression, kind sequenceKind) expression {
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

// expression reads an expression with its inline if.
func (p *expressionParser) expression() expression {
	defer p.deeper()()
	e := p.or()
	for p.accept("if") {
		yes, condition := e, p.or()
		no := func(*run) value { return undefined{"the inline if-expression evaluated to false and has no else"} }
		if p.accept("else") {
			no = p.expression()
		}
		e = func(r *run) value {
			if r.truth(condition(r)) {
				return yes(r)
			}
			return no(r)
		}
	}
	return e
}

func (p *expressionParser) or() expression {
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

func (p *expressionParser) and() expression {
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

func (p *expressionParser) not() expression {
	if !p.accept("not") {
		return p.comparison()
	}
	defer p.deeper()()
	e := p.not()
	return func(r *run) value { return !r.truth(e(r)) }
}

// comparison reads a < b <= c, which means a < b and b <= c.
func (p *expressionParser) comparison() expression {
	first := p.sum()
	var names []string
	var operands []expression
	for {
		name := ""
		switch {
		case p.at("==", "!=", "<", "<=", ">", ">=", "in"):
			name = p.next().Val
		case p.at("not") && len(p.rest) > 1 && p.rest[1].Val == "in":
			p.next()
			p.next()
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

// chain reads operands with operators of one rank between them.
func (p *expressionParser) chain(operand func() expression, operators ...string) expression {
	e := operand()
	for p.at(operators...) {
		operator := p.next().Val
		left, right := e, operand()
		e = func(r *run) value {
			r.step(1)
			a := left(r)
			return r.binary(operator, a, right(r))
		}
	}
	return e
}

func (p *expressionParser) sum() expression     { return p.chain(p.concat, "+", "-") }
func (p *expressionParser) concat() expression  { return p.chain(p.product, "~") }
func (p *expressionParser) product() expression { return p.chain(p.power, "*", "/", "//", "%") }
func (p *expressionParser) power() expression {
	return p.chain(func() expression { return p.unary(true) }, "**")
}

func (p *expressionParser) unary(filtered bool) expression {
	defer p.deeper()()
	var e expression
	if p.at("-", "+") {
		negative := p.next().Val == "-"
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

func (p *expressionParser) primary() expression {
	t := p.next()
	switch t.Type {
	case tokens.Name:
		return p.named(t)
	case tokens.String:
		text := p.unquote(t.Val)
		for !p.done() && p.rest[0].Type == tokens.String {
			text += p.unquote(p.next().Val)
		}
		return constant(text)
	case tokens.Integer:
		n, err := strconv.ParseInt(t.Val, 0, 64)
		if err != nil {
			p.fail("number %s is too large", t.Val)
		}
		return constant(n)
	case tokens.Float:
		f, err := strconv.ParseFloat(strings.ReplaceAll(t.Val, "_", ""), 64)
		if err != nil {
			p.fail("number %s is too large", t.Val)
		}
		return constant(f)
	}
	switch t.Val {
	case "(":
		if p.accept(")") {
			return listOf(nil, tupleKind)
		}
		e := p.tuple(true)
		p.expect(")")
		return e
	case "[":
		return listOf(p.listUntil("]"), listKind)
	case "{":
		return p.dict()
	}
	p.fail("unexpected %q", t.Val)
	return nil
}

// named is a constant's or a variable's name.
func (p *expressionParser) named(t *tokens.Token) expression {
	switch t.Val {
	case "true", "True":
		return constant(true)
	case "false", "False":
		return constant(false)
	case "none", "None":
		return constant(nil)
	}
	p.rest = append([]*tokens.Token{t}, p.rest...)
	name := p.identifier()
	return func(r *run) value {
		r.step(1)
		return r.scope.lookup(name)
	}
}

func constant(v value) expression { return func(*run) value { return v } }

// listUntil reads expressions with commas between them, up to a bracket.
func (p *expressionParser) listUntil(end string) []expression {
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
func (p *expressionParser) dict() expression {
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
