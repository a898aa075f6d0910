package chat

import "github.com/nikolalohinski/gonja/v2/parser"

// loop is for, with its filter and its else.
func (c *compiler) loop(p *parser.Parser, args *expressionParser) (statement, error) {
	f := &forLoop{}
	err := args.protect(func() {
		f.to = args.target(false)
		args.expect("in")
		f.over = args.tuple(false)
		if args.accept("if") {
			f.when = args.expression()
		}
		f.recursive = args.accept("recursive")
		args.end()
	})
	if err != nil {
		return nil, err
	}
	c.loops++
	body, end, last, err := c.body(p, "else", "endfor")
	c.loops--
	if err != nil {
		return nil, err
	}
	f.body = body
	if err := last.protect(last.end); err != nil {
		return nil, err
	}
	if end == "else" {
		if f.otherwise, err = c.only(p, "endfor"); err != nil {
			return nil, err
		}
	}
	return func(r *run) flow {
		return f.run(r, f.over(r), r.scope, 0)
	}, nil
}

// forLoop is a compiled loop.
type forLoop struct {
	to              target
	over, when      expression
	recursive       bool
	body, otherwise []statement
}

// run takes the turns of a loop over v, with the names of the scope around it. As in Jinja2's code, the else belongs to a loop of
// which no turn came to its end, be it for break or continue.
func (f *forLoop) run(r *run, v value, around *scope, depth int) (how flow) {
	items := f.choose(r, r.iterate(v), around)
	info := &loopInfo{items: items, depth: depth}
	if f.recursive {
		info.again = func(r *run, v value) value {
			var text string
			r.nested(func() {
				text = r.capture(func() { f.run(r, v, around, depth+1) })
			})
			return text
		}
	}
	ended := false
	for i := range items {
		r.step(1)
		info.index = i
		r.within(around, func() {
			r.scope.vars["loop"] = info
			f.to(r, items[i])
			how = r.execute(f.body)
		})
		ended = ended || how == flowNext
		if how == flowBreak {
			break
		}
	}
	how = flowNext
	if !ended {
		r.within(around, func() { how = r.execute(f.otherwise) })
	}
	return how
}

// choose returns the items for which the loop's condition holds.
func (f *forLoop) choose(r *run, items []value, around *scope) []value {
	if f.when == nil {
		return items
	}
	var chosen []value
	for _, item := range items {
		r.step(1)
		r.within(around, func() {
			f.to(r, item)
			if r.truth(f.when(r)) {
				chosen = append(chosen, item)
			}
		})
	}
	r.alloc(16 * len(chosen))
	return chosen
}

// loopInfo is what a loop's body sees as loop.
type loopInfo struct {
	items        []value
	index, depth int
	// again renders the loop over other items; nil if it is not recursive.
	again   func(*run, value) value
	changed *sequence
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

func (l *loopInfo) cycle(r *run, a arguments) value {
	if len(a.positional) == 0 {
		r.fail("no items for cycling given")
	}
	return a.positional[l.index%len(a.positional)]
}

func (l *loopInfo) hasChanged(r *run, a arguments) value {
	now := &sequence{items: a.positional}
	if l.changed != nil && r.equal(l.changed, now) {
		return false
	}
	l.changed = now
	return true
}
