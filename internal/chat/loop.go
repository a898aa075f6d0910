package chat

// forLoop is a parsed for statement.
type forLoop struct {
	assign         target
	iterable       expression
	condition      expression // nil if there is none
	recursive      bool
	body, elseBody []statement
}

// forStatement is for with its condition and its else.
func (p *parser) forStatement() statement {
	f := &forLoop{assign: p.target(false)}
	p.expect("in")
	f.iterable = p.tuple(false)
	if p.accept("if") {
		f.condition = p.expression()
	}
	f.recursive = p.accept("recursive")
	p.closeTag()
	p.loops++
	body, end := p.block("else", "endfor")
	p.loops--
	p.closeTag()
	f.body = body
	if end == "else" {
		f.elseBody = p.blockUntil("endfor")
	}
	return func(r *run) flow { return f.run(r, f.iterable(r), r.scope, 0) }
}

// run executes the loop over the items of v. The else block runs if no iteration reached the end of
// the body, because there were no items or because break or continue left each: that is what the
// code does that Jinja2 generates.
func (f *forLoop) run(r *run, v value, outer *scope, depth int) (result flow) {
	turn := r.turn
	r.loops++
	defer func() { r.loops, r.turn = r.loops-1, turn }()
	items := f.matchingItems(r, r.iterate(v), outer)
	info := &loopInfo{items: items, depth: depth}
	if f.recursive {
		info.recurse = func(r *run, v value) value {
			var text string
			r.nested(func() {
				text = r.capture(func() { f.run(r, v, outer, depth+1) })
			})
			return text
		}
	}
	completed := false
	for i := range items {
		r.step(1)
		info.index = i
		r.inScope(outer, func() {
			r.scope.vars["loop"] = info
			f.assign(r, items[i])
			result = r.execute(f.body)
		})
		completed = completed || result == flowNext
		if result == flowBreak {
			break
		}
	}
	result = flowNext
	if !completed {
		r.inScope(outer, func() { result = r.execute(f.elseBody) })
	}
	return result
}

// matchingItems returns the items for which the loop's condition holds.
func (f *forLoop) matchingItems(r *run, items []value, outer *scope) []value {
	if f.condition == nil {
		return items
	}
	var matching []value
	for _, item := range items {
		r.step(1)
		r.inScope(outer, func() {
			f.assign(r, item)
			if r.truth(f.condition(r)) {
				matching = append(matching, item)
			}
		})
	}
	r.alloc(16 * len(matching))
	return matching
}

// loopInfo is the value of the variable loop inside a loop.
type loopInfo struct {
	items        []value
	index, depth int                     // both from 0
	recurse      func(*run, value) value // renders the loop over other items; nil if not recursive
	changed      *sequence               // arguments of the last call of loop.changed
}

// attribute returns loop.name.
func (l *loopInfo) attribute(name string) value {
	n := len(l.items)
	switch name {
	case "index":
		return int64(l.index + 1)
	case "index0":
		return int64(l.index)
	case "revindex":
		return int64(n - l.index)
	case "revindex0":
		return int64(n - l.index - 1)
	case "first":
		return l.index == 0
	case "last":
		return l.index == n-1
	case "length":
		return int64(n)
	case "depth":
		return int64(l.depth + 1)
	case "depth0":
		return int64(l.depth)
	case "previtem":
		if l.index == 0 {
			return undefined{"there is no previous item"}
		}
		return l.items[l.index-1]
	case "nextitem":
		if l.index == n-1 {
			return undefined{"there is no next item"}
		}
		return l.items[l.index+1]
	case "cycle":
		return callable(l.cycle)
	case "changed":
		return callable(l.hasChanged)
	}
	return undefined{"'LoopContext object' has no attribute '" + name + "'"}
}

// cycle returns its arguments in turn, one for each iteration.
func (l *loopInfo) cycle(r *run, a arguments) value {
	if len(a.positional) == 0 {
		r.fail("no items for cycling given")
	}
	return a.positional[l.index%len(a.positional)]
}

// hasChanged reports whether its arguments differ from those of the last call.
func (l *loopInfo) hasChanged(r *run, a arguments) value {
	now := &sequence{items: a.positional}
	if l.changed != nil && r.equal(l.changed, now) {
		return false
	}
	l.changed = now
	return true
}
