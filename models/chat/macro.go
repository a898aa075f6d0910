package chat

import "github.com/nikolalohinski/gonja/v2/parser"

// parameter is one of a macro: its name, and what it is when it is not given, nil for undefined.
type parameter struct {
	name      string
	otherwise expression
}

// macro is {% macro name(a, b=1) %}.
func (c *compiler) macro(p *parser.Parser, args *expressionParser) (statement, error) {
	var name string
	var parameters []parameter
	err := args.protect(func() {
		name = args.identifier()
		parameters = args.parameters()
		args.end()
	})
	if err != nil {
		return nil, err
	}
	body, err := c.inner(p, "endmacro")
	return func(r *run) flow {
		r.scope.vars[name] = makeMacro(r.scope, name, parameters, body)
		return flowNext
	}, err
}

// parameters reads (a, b=1).
func (p *expressionParser) parameters() []parameter {
	var all []parameter
	p.expect("(")
	for !p.accept(")") {
		if len(all) > 0 {
			p.expect(",")
		}
		one := parameter{name: p.identifier()}
		if p.accept("=") {
			one.otherwise = p.expression()
		} else if len(all) > 0 && all[len(all)-1].otherwise != nil {
			p.fail("parameter %s without a default follows one with a default", one.name)
		}
		all = append(all, one)
	}
	return all
}

// makeMacro returns a function that writes a macro's body, which sees the names around its definition.
func makeMacro(around *scope, name string, parameters []parameter, body []statement) callable {
	return func(r *run, a arguments) value {
		names := make([]string, len(parameters))
		for i, p := range parameters {
			names[i] = p.name
		}
		given := a.bind(r, "macro '"+name+"'", names...)
		var text string
		r.nested(func() {
			text = r.capture(func() {
				r.within(around, func() {
					for i, p := range parameters {
						switch {
						case given[i] != absent:
							r.scope.vars[p.name] = given[i]
						case p.otherwise != nil:
							r.scope.vars[p.name] = p.otherwise(r)
						default:
							r.scope.vars[p.name] = undefined{"parameter '" + p.name + "' was not provided"}
						}
					}
					r.execute(body)
				})
			})
		})
		return text
	}
}
