package chat

import (
	"errors"
	"fmt"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// compiler makes statements of the blocks that gonja's parser finds.
type compiler struct {
	// depth and loops are how many blocks, and loops of one function, are open.
	depth, loops int
}

// block is a compiled statement as gonja's tree holds it.
type block struct {
	at  *tokens.Token
	run statement
}

func (b *block) Position() *tokens.Token { return b.at }
func (b *block) String() string          { return "statement" }

// compile parses a template.
func compile(source string) (body []statement, err error) {
	toks, err := lex(source)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil { // the library's parser panics on some input
			err = fmt.Errorf("%v", r)
		}
	}()
	c := &compiler{}
	p := parser.NewParser("template", tokens.NewStream(toks), config.New(), nil, c)
	root, err := p.Parse()
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner // without the library's layers, one for every block around
	}
	if err != nil {
		return nil, err
	}
	return statements(root.Nodes), nil
}

// Get returns the parser of a statement by its name.
func (c *compiler) Get(name string) (parser.ControlStructureParser, bool) {
	parse, ok := map[string]func(*compiler, *parser.Parser, *expressionParser) (statement, error){
		printTag: (*compiler).print, "set": (*compiler).set, "if": (*compiler).branch, "for": (*compiler).loop,
		"break": (*compiler).leave, "continue": (*compiler).leave, "macro": (*compiler).macro,
		"filter": (*compiler).filterBlock, "with": (*compiler).with, "generation": (*compiler).generation,
	}[name]
	if !ok {
		return nil, false
	}
	return func(p, args *parser.Parser) (nodes.ControlStructure, error) {
		at := p.Current()
		if c.depth++; c.depth > maxDepth {
			return nil, fmt.Errorf("line %d: blocks nested deeper than %d", at.Line, maxDepth)
		}
		defer func() { c.depth-- }()
		run, err := parse(c, p, newExpressionParser(name, args))
		if err != nil {
			return nil, err
		}
		return &block{at: at, run: run}, nil
	}, true
}

// statements makes a list of statements and texts of a block's nodes.
func statements(list []nodes.Node) []statement {
	var body []statement
	for _, n := range list {
		switch n := n.(type) {
		case *nodes.Data:
			text := n.Data.Val
			body = append(body, func(r *run) flow { r.write(text); return flowNext })
		case *nodes.ControlStructureBlock:
			body = append(body, n.ControlStructure.(*block).run)
		}
	}
	return body
}

// body reads statements up to one of the end tags. It returns which one that is, and what stands in it.
func (c *compiler) body(p *parser.Parser, ends ...string) ([]statement, string, *expressionParser, error) {
	wrapper, args, err := p.WrapUntil(ends...)
	if err != nil {
		return nil, "", nil, err
	}
	return statements(wrapper.Nodes), wrapper.EndTag, newExpressionParser(wrapper.EndTag, args), nil
}

// only reads statements up to an end tag in which nothing else stands.
func (c *compiler) only(p *parser.Parser, end string) ([]statement, error) {
	body, _, args, err := c.body(p, end)
	if err != nil {
		return nil, err
	}
	return body, args.protect(args.end)
}

func (c *compiler) print(_ *parser.Parser, args *expressionParser) (statement, error) {
	var e expression
	err := args.protect(func() {
		e = args.tuple(true)
		args.end()
	})
	return func(r *run) flow { r.write(r.str(e(r))); return flowNext }, err
}

// branch is if, elif and else.
func (c *compiler) branch(p *parser.Parser, args *expressionParser) (statement, error) {
	var conditions []expression
	var bodies [][]statement
	for {
		err := args.protect(func() {
			conditions = append(conditions, args.tuple(false))
			args.end()
		})
		if err != nil {
			return nil, err
		}
		body, end, next, err := c.body(p, "elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
		if end == "elif" {
			args = next
			continue
		}
		if err := next.protect(next.end); err != nil {
			return nil, err
		}
		if end == "else" {
			otherwise, err := c.only(p, "endif")
			if err != nil {
				return nil, err
			}
			bodies = append(bodies, otherwise)
		}
		break
	}
	return func(r *run) flow {
		for i, condition := range conditions {
			if r.truth(condition(r)) {
				return r.execute(bodies[i])
			}
		}
		if len(bodies) > len(conditions) {
			return r.execute(bodies[len(conditions)])
		}
		return flowNext
	}, nil
}

// leave is break and continue.
func (c *compiler) leave(_ *parser.Parser, args *expressionParser) (statement, error) {
	f := flowContinue
	if args.name == "break" {
		f = flowBreak
	}
	if c.loops == 0 {
		return nil, fmt.Errorf("line %d: %s outside of a loop", args.line, args.name)
	}
	return func(*run) flow { return f }, args.protect(args.end)
}

// set is {% set x = … %} and {% set x %}…{% endset %}.
func (c *compiler) set(p *parser.Parser, args *expressionParser) (statement, error) {
	var to target
	var e expression
	var filters []filterCall
	err := args.protect(func() {
		to = args.target(true)
		if args.accept("=") {
			e = args.tuple(true)
		} else {
			filters = args.filters()
		}
		args.end()
	})
	if err != nil {
		return nil, err
	}
	if e != nil {
		return func(r *run) flow { to(r, e(r)); return flowNext }, nil
	}
	body, err := c.inner(p, "endset")
	return func(r *run) flow {
		text := value(r.captureScoped(body))
		for _, f := range filters {
			text = f.apply(r, text)
		}
		to(r, text)
		return flowNext
	}, err
}

// inner reads the body of a block that no break or continue may leave.
func (c *compiler) inner(p *parser.Parser, end string) ([]statement, error) {
	loops := c.loops
	c.loops = 0
	defer func() { c.loops = loops }()
	return c.only(p, end)
}

// captureScoped returns what a block writes that has names of its own.
func (r *run) captureScoped(body []statement) string {
	return r.capture(func() {
		r.within(r.scope, func() { r.execute(body) })
	})
}

func (c *compiler) filterBlock(p *parser.Parser, args *expressionParser) (statement, error) {
	var filters []filterCall
	err := args.protect(func() {
		filters = append([]filterCall{args.filter()}, args.filters()...)
		args.end()
	})
	if err != nil {
		return nil, err
	}
	body, err := c.inner(p, "endfilter")
	return func(r *run) flow {
		text := value(r.captureScoped(body))
		for _, f := range filters {
			text = f.apply(r, text)
		}
		r.write(r.str(text))
		return flowNext
	}, err
}

// generation marks what the assistant said; it changes no text.
func (c *compiler) generation(p *parser.Parser, args *expressionParser) (statement, error) {
	if err := args.protect(args.end); err != nil {
		return nil, err
	}
	body, err := c.inner(p, "endgeneration")
	return func(r *run) flow {
		r.within(r.scope, func() { r.execute(body) })
		return flowNext
	}, err
}

func (c *compiler) with(p *parser.Parser, args *expressionParser) (statement, error) {
	var targets []target
	var values []expression
	err := args.protect(func() {
		for !args.done() {
			targets = append(targets, args.target(false))
			args.expect("=")
			values = append(values, args.expression())
			if !args.accept(",") {
				break
			}
		}
		args.end()
	})
	if err != nil {
		return nil, err
	}
	body, err := c.only(p, "endwith")
	return func(r *run) (f flow) {
		var got []value
		for _, e := range values {
			got = append(got, e(r))
		}
		r.within(r.scope, func() {
			for i, to := range targets {
				to(r, got[i])
			}
			f = r.execute(body)
		})
		return f
	}, err
}
