package chat

// print is {% print a, b %}, which writes one expression after the other.
func (p *parser) print() statement {
	expressions := []expression{p.expression()}
	for p.accept(",") {
		expressions = append(expressions, p.expression())
	}
	p.closeTag()
	return func(r *run) flow {
		for _, e := range expressions {
			r.write(r.str(e(r)))
		}
		return flowNext
	}
}

// output is {{ expression }}; {{ a, b }} writes a tuple.
func (p *parser) output() statement {
	e := p.tuple(true)
	p.closeTag()
	return func(r *run) flow { r.write(r.str(e(r))); return flowNext }
}

// ifStatement is if with its elif and else.
func (p *parser) ifStatement() statement {
	var conditions []expression
	var bodies [][]statement // one more than conditions if there is an else
	for end := "elif"; end == "elif"; {
		conditions = append(conditions, p.tuple(false))
		p.closeTag()
		var body []statement
		body, end = p.block("elif", "else", "endif")
		bodies = append(bodies, body)
		switch end {
		case "else":
			p.closeTag()
			bodies = append(bodies, p.blockUntil("endif"))
		case "endif":
			p.closeTag()
		}
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
	}
}

func (p *parser) breakStatement() statement    { return p.leaveLoop(flowBreak) }
func (p *parser) continueStatement() statement { return p.leaveLoop(flowContinue) }

func (p *parser) leaveLoop(f flow) statement {
	if p.loops == 0 {
		p.fail("it stands outside of a loop")
	}
	p.closeTag()
	return func(*run) flow { return f }
}

// set is {% set x = … %}, or {% set x %}…{% endset %}, where filters may follow the name.
func (p *parser) set() statement {
	assign := p.target(true)
	if p.accept("=") {
		e := p.tuple(true)
		p.closeTag()
		return func(r *run) flow { assign(r, e(r)); return flowNext }
	}
	calls := p.filters()
	p.closeTag()
	body := p.isolatedBlock("endset")
	return func(r *run) flow {
		assign(r, r.applyFilters(calls, r.captureScoped(body)))
		return flowNext
	}
}

// filterBlock is {% filter upper %}…{% endfilter %}.
func (p *parser) filterBlock() statement {
	calls := append([]filterCall{p.filter()}, p.filters()...)
	p.closeTag()
	body := p.isolatedBlock("endfilter")
	return func(r *run) flow {
		r.write(r.str(r.applyFilters(calls, r.captureScoped(body))))
		return flowNext
	}
}

// applyFilters returns v after one filter after the other.
func (r *run) applyFilters(calls []filterCall, v value) value {
	for _, f := range calls {
		v = f.apply(r, v)
	}
	return v
}

// captureScoped returns what a block writes. Names that it sets are unknown outside.
func (r *run) captureScoped(body []statement) string {
	return r.capture(func() {
		r.inScope(r.scope, func() { r.execute(body) })
	})
}

// generation is {% generation %}…{% endgeneration %}, with which transformers marks what the
// assistant wrote. It changes no text.
func (p *parser) generation() statement {
	p.closeTag()
	body := p.isolatedBlock("endgeneration")
	return func(r *run) flow {
		r.inScope(r.scope, func() { r.execute(body) })
		return flowNext
	}
}

// with is {% with a = 1, b = 2 %}…{% endwith %}.
func (p *parser) with() statement {
	var targets []target
	var expressions []expression
	for !p.atTagEnd() {
		targets = append(targets, p.target(false))
		p.expect("=")
		expressions = append(expressions, p.expression())
		if !p.accept(",") {
			break
		}
	}
	p.closeTag()
	body := p.blockUntil("endwith")
	return func(r *run) (f flow) {
		values := make([]value, len(expressions))
		for i, e := range expressions {
			values[i] = e(r)
		}
		r.inScope(r.scope, func() {
			for i, assign := range targets {
				assign(r, values[i])
			}
			f = r.execute(body)
		})
		return f
	}
}
