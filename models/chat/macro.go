package chat

// parameter is a parameter of a macro. Without a default it is undefined where it is not given.
type parameter struct {
	name         string
	defaultValue expression // nil if there is none
}

// macro is {% macro name(a, b=1) %}…{% endmacro %}.
func (p *parser) macro() statement {
	name := p.identifier()
	parameters := p.parameters()
	p.closeTag()
	body := p.isolatedBlock("endmacro")
	return func(r *run) flow {
		r.scope.vars[name] = makeMacro(r.scope, name, parameters, body)
		return flowNext
	}
}

// parameters reads (a, b=1).
func (p *parser) parameters() []parameter {
	var all []parameter
	p.expect("(")
	for !p.accept(")") {
		if len(all) > 0 {
			p.expect(",")
		}
		parsed := parameter{name: p.identifier()}
		if p.accept("=") {
			parsed.defaultValue = p.expression()
		} else if len(all) > 0 && all[len(all)-1].defaultValue != nil {
			p.fail("parameter %s has no default, but the one before it has", parsed.name)
		}
		all = append(all, parsed)
	}
	return all
}

// makeMacro returns a function that renders the body of a macro. The body sees the names of the
// scope where the macro is defined, and its parameters.
func makeMacro(outer *scope, name string, parameters []parameter, body []statement) callable {
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.name
	}
	return func(r *run, a arguments) value {
		given := a.bind(r, "macro '"+name+"'", names...)
		var text string
		r.nested(func() {
			text = r.capture(func() {
				r.inScope(outer, func() {
					for i, p := range parameters {
						r.scope.vars[p.name] = p.value(r, given[i])
					}
					r.execute(body)
				})
			})
		})
		return text
	}
}

// value returns what a parameter is in a call: what was given, else its default.
func (p parameter) value(r *run, given value) value {
	switch {
	case given != absent:
		return given
	case p.defaultValue != nil:
		return p.defaultValue(r)
	}
	return undefined{"parameter '" + p.name + "' was not provided"}
}
