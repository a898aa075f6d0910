package chat

import (
	"maps"
	"slices"
	"strings"
)

// test is a function that may follow "is".
type test func(r *run, v value, a arguments) bool

// tests are the tests that a template may use, by name.
var tests map[string]test

func init() {
	compare := func(operator string) test {
		return func(r *run, v value, a arguments) bool {
			return r.compare(operator, v, r.given(a.bind(r, "a test", "other")[0]))
		}
	}
	kind := func(names ...string) test {
		return func(r *run, v value, a arguments) bool {
			a.bind(r, "a test")
			return slices.Contains(names, kindOf(v))
		}
	}
	parity := func(remainder int64) test {
		return func(r *run, v value, _ arguments) bool {
			return r.equal(r.binary("%", v, int64(2)), remainder)
		}
	}
	not := func(t test) test {
		return func(r *run, v value, a arguments) bool { return !t(r, v, a) }
	}
	tests = map[string]test{
		"undefined": kind("undefined"), "defined": not(kind("undefined")), "none": kind("None"),
		"boolean": kind("bool"), "integer": kind("int"), "float": kind("float"),
		"number": kind("int", "float", "bool"), "string": kind("str"), "mapping": kind("dict"),
		"sequence": kind("str", "list", "tuple", "dict", "undefined"),
		"iterable": kind("str", "list", "tuple", "dict", "dict view", "generator", "undefined",
			"LoopContext"),
		"callable": kind("function", "LoopContext", "undefined"),
		"true":     func(_ *run, v value, _ arguments) bool { return v == true },
		"false":    func(_ *run, v value, _ arguments) bool { return v == false },
		"odd":      parity(1), "even": parity(0),
		"divisibleby": func(r *run, v value, a arguments) bool {
			return r.equal(r.binary("%", v, a.bind(r, "divisibleby", "num")[0]), int64(0))
		},
		"sameas": same,
		"upper":  func(r *run, v value, _ arguments) bool { return isUpper(r.str(v)) },
		"lower":  func(r *run, v value, _ arguments) bool { return isLower(r.str(v)) },
		"in":     compare("in"), "eq": compare("=="), "equalto": compare("=="), "ne": compare("!="),
		"lt": compare("<"), "lessthan": compare("<"), "le": compare("<="),
		"gt": compare(">"), "greaterthan": compare(">"), "ge": compare(">="),
		"filter": func(r *run, v value, _ arguments) bool { return filters[r.str(v)] != nil },
		"test":   func(r *run, v value, _ arguments) bool { return tests[r.str(v)] != nil },
	}
}

// same is Python's "is", for the values that templates compare with it.
func same(r *run, v value, a arguments) bool {
	other := r.given(a.bind(r, "sameas", "other")[0])
	switch v := v.(type) {
	case undefined:
		return false
	case *sequence:
		return other == value(v)
	case *dict:
		return other == value(v)
	}
	return kindOf(v) == kindOf(other) && r.equal(v, other)
}

// known lists the names in a table, for errors.
func known[T any](table map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}
