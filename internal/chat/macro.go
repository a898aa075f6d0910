package chat

import (
	"maps"
	"slices"
)

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
	around := p.used
	p.used = map[string]bool{}
	m := &macro{name: name, parameters: parameters, body: p.isolatedBlock("endmacro")}
	m.varargs, m.kwargs = p.used["varargs"], p.used["kwargs"]
	maps.Copy(around, p.used) // what a macro in a macro uses counts for both
	p.used = around
	return func(r *run) flow {
		r.scope.vars[name] = m.in(r.scope)
		return flowNext
	}
}

// macro is a parsed macro. As in Jinja2, it takes more arguments than it has parameters if its body
// has the name varargs, a tuple of those without a name, or kwargs, a dict of those with one.
type macro struct {
	name            string
	parameters      []parameter
	body            []statement
	varargs, kwargs bool
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

// in returns a function that renders the body of a macro. The body sees the names of the scope
// where the macro is defined, and its parameters.
func (m *macro) in(outer *scope) callable {
	names := make([]string, len(m.parameters))
	for i, p := range m.parameters {
		names[i] = p.name
	}
	return func(r *run, a arguments) value {
		a, varargs, kwargs := m.more(r, a, names)
		given := a.bind(r, "macro '"+m.name+"'", names...)
		line := r.line
		var text string
		r.nested(func() {
			text = r.capture(func() {
				r.inScope(outer, func() {
					if m.varargs {
						r.scope.vars["varargs"] = varargs
					}
					if m.kwargs {
						r.scope.vars["kwargs"] = kwargs
					}
					for i, p := range m.parameters {
						r.scope.vars[p.name] = p.value(r, given[i])
					}
					r.execute(m.body)
				})
			})
		})
		r.line = line
		return text
	}
}

// more takes out of the arguments of a call those that the macro has no parameter for, as far as it
// takes such ones.
func (m *macro) more(r *run, a arguments, names []string) (arguments, *sequence, *dict) {
	varargs, kwargs := &sequence{kind: tupleKind}, newDict()
	if n := len(names); m.varargs && len(a.positional) > n {
		varargs.items, a.positional = a.positional[n:], a.positional[:n]
	}
	if m.kwargs {
		all := a
		a.names, a.named = nil, nil
		for i, name := range all.names {
			if slices.Contains(names, name) {
				a.names, a.named = append(a.names, name), append(a.named, all.named[i])
				continue
			}
			kwargs.set(name, all.named[i])
		}
	}
	r.alloc(64 * (len(varargs.items) + len(kwargs.keys)))
	return a, varargs, kwargs
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
