package chat

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// attribute is v.name: a method or an attribute, and what a dict holds under that name.
func (r *run) attribute(v value, name string) value {
	if found, ok := r.own(v, name); ok {
		return found
	}
	if d, ok := v.(*dict); ok {
		if found, ok := d.get(name); ok {
			return found
		}
	}
	return undefined{fmt.Sprintf("'%s object' has no attribute '%s'", kindOf(v), name)}
}

// own is an attribute or a method that is not an item.
func (r *run) own(v value, name string) (value, bool) {
	switch v := r.defined(v).(type) {
	case *loopInfo:
		return v.attribute(name), true
	case *namespace:
		return v.get(name)
	case string:
		r.step(len(v) / bytesPerStep)
		return bound(stringMethods, v, name)
	case *dict:
		return bound(dictMethods, v, name)
	case *sequence:
		if v.kind <= tupleKind {
			return bound(listMethods, v, name)
		}
	}
	return nil, false
}

// bound returns a method of a value as a function.
func bound[T any](methods map[string]func(*run, T, arguments) value, of T, name string) (value, bool) {
	m, ok := methods[name]
	if !ok {
		return nil, false
	}
	return callable(func(r *run, a arguments) value { return m(r, of, a) }), true
}

// item is v[at].
func (r *run) item(v, at value) value {
	switch v := r.defined(v).(type) {
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
		if found, ok := r.own(v, name); ok {
			return found
		}
	}
	r.defined(at)
	return undefined{fmt.Sprintf("'%s object' has no such element", kindOf(v))}
}

// character is the i-th character of a string.
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

// slice is v[start:stop:step], each nil where it is left out.
func (r *run) slice(v value, at [3]value) value {
	var items []value
	switch v := r.defined(v).(type) {
	case string:
		items = r.iterate(v)
	case *sequence:
		if v.kind > tupleKind {
			return undefined{"a " + kindOf(v) + " has no slices"}
		}
		items = v.items
	default:
		return undefined{"a " + kindOf(v) + " has no slices"}
	}
	first, n, step, ok := r.bounds(len(items), at)
	if !ok {
		return undefined{"slice indices must be integers or None, and the step not zero"}
	}
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

// bounds returns the first index of a slice, how many there are and the step, as Python's slice.indices.
func (r *run) bounds(length int, at [3]value) (first, n, step int, ok bool) {
	var numbers [3]int
	for i, v := range at {
		if v == nil {
			continue
		}
		k, _, isInt, _ := number(r.defined(v))
		if !isInt {
			return 0, 0, 0, false
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
	return start, max(n, 0), step, true
}

// arguments are those of a call.
type arguments struct {
	positional []value
	names      []string
	named      []value
}

// absent stands for an argument that is not given.
var absent = &struct{ _ int }{}

// bind returns the arguments in the order of names, absent where one is not given.
func (a arguments) bind(r *run, who string, names ...string) []value {
	if len(a.positional) > len(names) {
		r.fail("%s takes at most %d arguments, got %d", who, len(names), len(a.positional))
	}
	bound := make([]value, len(names))
	for i := range bound {
		bound[i] = absent
	}
	copy(bound, a.positional)
next:
	for i, given := range a.names {
		for j, name := range names {
			if name == given && bound[j] == absent {
				bound[j] = a.named[i]
				continue next
			}
		}
		r.fail("%s got an unexpected argument '%s'", who, given)
	}
	return bound
}

// or returns the first value that is given.
func or(v, otherwise value) value {
	if v == absent {
		return otherwise
	}
	return v
}

// call calls a function.
func (r *run) call(f value, a arguments) (result value) {
	r.step(1)
	switch f := r.defined(f).(type) {
	case callable:
		return f(r, a)
	case *loopInfo:
		if f.again != nil && len(a.positional) == 1 && a.names == nil {
			return f.again(r, a.positional[0])
		}
		r.fail("the loop must be recursive to be called, with one argument")
	}
	r.fail("'%s' object is not callable", kindOf(f))
	return nil
}
