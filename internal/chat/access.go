package chat

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// attribute returns v.name: a method or an attribute, else the value that a dict has for the key.
func (r *run) attribute(v value, name string) value {
	if found, ok := r.member(v, name); ok {
		return found
	}
	if d, ok := v.(*dict); ok {
		if found, ok := d.get(name); ok {
			return found
		}
	}
	return undefined{fmt.Sprintf("'%s object' has no attribute '%s'", kindOf(v), name)}
}

// member returns an attribute or a method of v. Items of a dict are not members.
func (r *run) member(v value, name string) (value, bool) {
	switch v := r.requireDefined(v).(type) {
	case *loopInfo:
		return v.attribute(name), true
	case *namespace:
		return v.get(name)
	case string:
		r.step(len(v) / bytesPerStep)
		return boundMethod(stringMethods, v, name)
	case *dict:
		return boundMethod(dictMethods, v, name)
	case *sequence:
		if at := slices.Index(v.names, name); at >= 0 {
			return v.items[at], true
		}
		if v.kind <= tupleKind {
			return boundMethod(listMethods, v, name)
		}
	}
	return nil, false
}

// boundMethod returns a method of an object as a function, and whether there is one of this name.
func boundMethod[T any](
	methods map[string]func(*run, T, arguments) value, object T, name string,
) (value, bool) {
	method, ok := methods[name]
	if !ok {
		return nil, false
	}
	return callable(func(r *run, a arguments) value { return method(r, object, a) }), true
}

// item returns v[at].
func (r *run) item(v, at value) value {
	switch v := r.requireDefined(v).(type) {
	case *dict:
		if found, ok := v.get(at); ok {
			return found
		}
	case *sequence:
		if i, _, isInt, _ := number(at); isInt && v.kind <= tupleKind {
			if i < 0 {
				i += int64(len(v.items))
			}
			if i >= 0 && i < int64(len(v.items)) {
				return v.items[i]
			}
		}
	case string:
		if i, _, isInt, _ := number(at); isInt {
			if c, ok := r.character(v, i); ok {
				return c
			}
		}
	}
	if name, ok := at.(string); ok {
		if found, ok := r.member(v, name); ok {
			return found
		}
	}
	r.requireDefined(at)
	return undefined{fmt.Sprintf("'%s object' has no such element", kindOf(v))}
}

// character returns character i of a string; a negative i counts from the end.
func (r *run) character(s string, i int64) (string, bool) {
	r.step(len(s) / bytesPerStep)
	n := int64(utf8.RuneCountInString(s))
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return "", false
	}
	for _, c := range s {
		if i == 0 {
			return string(c), true
		}
		i--
	}
	return "", false
}

// slice returns v[start:stop:step]; at has the three, nil where one is left out.
func (r *run) slice(v value, at [3]value) value {
	var items []value
	switch v := r.requireDefined(v).(type) {
	case string:
		items = r.iterate(v)
	case *sequence:
		if v.kind > tupleKind {
			r.fail("a %s cannot be sliced", kindOf(v))
		}
		items = v.items
	default:
		r.fail("a %s cannot be sliced", kindOf(v))
	}
	first, n, step := r.bounds(len(items), at)
	r.step(n)
	if _, ok := v.(string); ok {
		var b strings.Builder
		for i := range n {
			b.WriteString(items[first+i*step].(string))
		}
		return r.text(b.String())
	}
	chosen := make([]value, n)
	for i := range n {
		chosen[i] = items[first+i*step]
	}
	list := r.list(chosen)
	list.kind = v.(*sequence).kind
	return list
}

// bounds returns the first index of a slice, the number of items and the step, like Python's
// slice.indices.
func (r *run) bounds(length int, at [3]value) (first, n, step int) {
	var numbers [3]int
	for i, v := range at {
		if v == nil {
			continue
		}
		k, _, isInt, _ := number(r.requireDefined(v))
		if !isInt {
			r.fail("slice indices must be integers or None, got '%s'", kindOf(v))
		}
		numbers[i] = int(max(min(k, 1<<40), -1<<40))
	}
	step = 1
	if at[2] != nil {
		step = numbers[2]
	}
	if step == 0 {
		r.fail("slice step cannot be zero")
	}
	low, high := 0, length
	start, stop := 0, length
	if step < 0 {
		low, high = -1, length-1
		start, stop = length-1, -1
	}
	clip := func(i int) int {
		if i < 0 {
			i += length
		}
		return max(min(i, high), low)
	}
	if at[0] != nil {
		start = clip(numbers[0])
	}
	if at[1] != nil {
		stop = clip(numbers[1])
	}
	if step > 0 {
		n = (stop - start + step - 1) / step
	} else {
		n = (start - stop - step - 1) / -step
	}
	return start, max(n, 0), step
}

// arguments are the arguments of a call.
type arguments struct {
	positional []value
	names      []string // of the named arguments
	named      []value  // one for each of names
}

// absent is the value of an argument that is not given.
var absent = &struct{ _ int }{}

// bind returns the arguments in the order of the function's parameters, absent where one is not
// given. It fails if there are too many or one that the function does not have.
func (a arguments) bind(r *run, function string, parameters ...string) []value {
	if len(a.positional) > len(parameters) {
		r.fail("%s takes at most %d arguments, got %d", function, len(parameters),
			len(a.positional))
	}
	bound := make([]value, len(parameters))
	for i := range bound {
		bound[i] = absent
	}
	copy(bound, a.positional)
	for i, name := range a.names {
		at := slices.Index(parameters, name)
		if at < 0 || bound[at] != absent {
			r.fail("%s got an unexpected argument '%s'", function, name)
		}
		bound[at] = a.named[i]
	}
	return bound
}

// orDefault returns an argument, or its default if it is not given.
func orDefault(argument, defaultValue value) value {
	if argument == absent {
		return defaultValue
	}
	return argument
}

// given returns an argument, and fails if it is not given.
func (r *run) given(argument value) value {
	if argument == absent {
		r.fail("an argument is missing")
	}
	return argument
}

// call calls a function, a macro or a recursive loop.
func (r *run) call(f value, a arguments) (result value) {
	r.step(1)
	switch f := r.requireDefined(f).(type) {
	case callable:
		return f(r, a)
	case *loopInfo:
		if f.recurse != nil && len(a.positional) == 1 && a.names == nil {
			return f.recurse(r, a.positional[0])
		}
		r.fail("a loop can be called only if it is recursive, with one argument")
	}
	r.fail("'%s' object is not callable", kindOf(f))
	return nil
}
