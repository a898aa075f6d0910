package chat

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// requireDefined returns v, and fails if it is undefined.
func (r *run) requireDefined(v value) value {
	if u, ok := v.(undefined); ok {
		r.fail("%s", u.message)
	}
	return v
}

// number returns the value of an int, a bool (0 or 1) or a float; ok is false for other values. i
// is set only if isInt.
func number(v value) (i int64, f float64, isInt, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1, true, true
		}
		return 0, 0, true, true
	case int64:
		return v, float64(v), true, true
	case float64:
		return 0, v, false, true
	}
	return 0, 0, false, false
}

// binary applies an arithmetic operator.
func (r *run) binary(operator string, a, b value) value {
	if operator == "~" {
		x, y := r.str(a), r.str(b)
		r.alloc(len(x) + len(y))
		return x + y
	}
	r.requireDefined(a)
	r.requireDefined(b)
	x, fx, xInt, xNumber := number(a)
	y, fy, yInt, yNumber := number(b)
	switch {
	case xNumber && yNumber && xInt && yInt:
		return r.integers(operator, x, y)
	case xNumber && yNumber:
		return r.floats(operator, fx, fy)
	case operator == "+":
		return r.join(a, b)
	case operator == "*" && yInt:
		return r.repeat(a, y)
	case operator == "*" && xInt:
		return r.repeat(b, x)
	}
	r.fail("unsupported operand type(s) for %s: '%s' and '%s'", operator, kindOf(a), kindOf(b))
	return nil
}

// join concatenates two strings or two lists.
func (r *run) join(a, b value) value {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			r.alloc(len(a) + len(b))
			return a + b
		}
	case *sequence:
		if b, ok := b.(*sequence); ok && a.kind == b.kind && a.kind <= tupleKind {
			r.alloc(16 * (len(a.items) + len(b.items)))
			return &sequence{items: slices.Concat(a.items, b.items), kind: a.kind}
		}
	}
	r.fail("unsupported operand type(s) for +: '%s' and '%s'", kindOf(a), kindOf(b))
	return nil
}

// repeat returns a string or a list n times over.
func (r *run) repeat(v value, n int64) value {
	size := 0
	switch v := v.(type) {
	case string:
		size = len(v)
	case *sequence:
		size = 16 * len(v.items)
	}
	n = max(n, 0)
	if high, low := bits.Mul64(uint64(size), uint64(n)); high != 0 || low > math.MaxInt32 {
		r.alloc(-1)
	}
	if size == 0 {
		n = min(n, 1)
	}
	r.alloc(size * int(n))
	switch v := v.(type) {
	case string:
		return strings.Repeat(v, int(n))
	case *sequence:
		if v.kind <= tupleKind {
			return &sequence{items: slices.Repeat(v.items, int(n)), kind: v.kind}
		}
	}
	r.fail("a %s cannot be repeated", kindOf(v))
	return nil
}

// integers applies an operator to integers. It fails where the result needs more than 64 bits.
func (r *run) integers(operator string, x, y int64) value {
	if y == 0 && (operator == "/" || operator == "//" || operator == "%") {
		r.fail("division by zero")
	}
	var result, overflow int64 // overflow is negative if the sign of the result is wrong
	switch operator {
	case "+":
		result = x + y
		overflow = (x ^ result) & (y ^ result)
	case "-":
		result = x - y
		overflow = (x ^ y) & (x ^ result)
	case "*":
		result = x * y
		if x != 0 && (result/x != y || x == -1 && y == math.MinInt64) {
			overflow = -1
		}
	case "/":
		if max(x, -x, y, -y) >= 1<<53 || min(x, y) == math.MinInt64 { // rounded only once
			quotient, _ := big.NewRat(x, y).Float64()
			return quotient
		}
		return float64(x) / float64(y)
	case "//", "%":
		quotient, rest := x/y, x%y
		if rest != 0 && (rest < 0) != (y < 0) {
			quotient, rest = quotient-1, rest+y
		}
		if operator == "%" {
			return rest
		}
		if result = quotient; x == math.MinInt64 && y == -1 {
			overflow = -1
		}
	case "**":
		return r.power(x, y)
	}
	if overflow < 0 {
		r.fail("%d %s %d does not fit in 64 bits", x, operator, y)
	}
	return result
}

// power returns x ** y, a float if y is negative.
func (r *run) power(x, y int64) value {
	if y < 0 {
		return r.floats("**", float64(x), float64(y))
	}
	if y > 63 && x != 0 && x != 1 && x != -1 {
		r.fail("%d ** %d does not fit in 64 bits", x, y)
	}
	if y > 63 {
		y = 62 + y%2
	}
	result := value(int64(1))
	for range y {
		result = r.integers("*", result.(int64), x)
	}
	return result
}

// floats applies an operator to floats, with the rules of Python for // and %.
func (r *run) floats(operator string, x, y float64) value {
	switch operator {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		return r.floatPower(x, y)
	}
	if y == 0 {
		r.fail("division by zero")
	}
	if operator == "/" {
		return x / y
	}
	rest := math.Mod(x, y)
	quotient := (x - rest) / y
	switch {
	case rest == 0:
		rest = math.Copysign(0, y)
	case (rest < 0) != (y < 0):
		rest += y
		quotient--
	}
	switch {
	case operator == "%":
		return rest
	case quotient == 0:
		return math.Copysign(0, x/y)
	}
	// quotient is an integer but for the error of the division.
	floor := math.Floor(quotient)
	if quotient-floor > 0.5 {
		floor++
	}
	return floor
}

// floatPower returns x ** y. It fails where Python does, or gives a complex number.
func (r *run) floatPower(x, y float64) float64 {
	result := math.Pow(x, y)
	infinite := math.IsInf(x, 0) || math.IsInf(y, 0)
	switch {
	case x == 0 && y < 0:
		r.fail("division by zero: 0.0 cannot be raised to a negative power")
	case math.IsNaN(result) && !math.IsNaN(x) && !math.IsNaN(y):
		r.fail("%s ** %s is a complex number", floatRepr(x), floatRepr(y))
	case math.IsInf(result, 0) && !infinite:
		r.fail("%s ** %s is too large for a float", floatRepr(x), floatRepr(y))
	}
	return result
}

// sign applies unary plus or minus.
func (r *run) sign(v value, negative bool) value {
	i, f, isInt, ok := number(r.requireDefined(v))
	switch {
	case !ok:
		r.fail("bad operand type for a sign: '%s'", kindOf(v))
	case isInt && negative:
		return r.integers("-", 0, i)
	case isInt:
		return i
	case negative:
		return -f
	}
	return f
}

// compare applies a comparison operator.
func (r *run) compare(operator string, a, b value) bool {
	r.step(1)
	switch operator {
	case "==":
		return r.equal(a, b)
	case "!=":
		return !r.equal(a, b)
	case "in":
		return r.contains(b, a)
	case "not in":
		return !r.contains(b, a)
	}
	order, ordered := r.order(a, b)
	switch operator {
	case "<":
		return ordered && order < 0
	case "<=":
		return ordered && order <= 0
	case ">":
		return ordered && order > 0
	}
	return ordered && order >= 0
}

// equal is Python's ==.
func (r *run) equal(a, b value) (same bool) {
	r.step(1)
	if x, fx, xInt, ok := number(a); ok {
		y, fy, yInt, ok := number(b)
		switch {
		case !ok || xInt && yInt:
			return ok && x == y
		case xInt:
			return compareIntFloat(x, fy) == 0 && !math.IsNaN(fy)
		case yInt:
			return compareIntFloat(y, fx) == 0 && !math.IsNaN(fx)
		}
		return fx == fy
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		s, ok := b.(string)
		if ok && len(a) == len(s) {
			r.step(len(a) / bytesPerStep)
		}
		return ok && a == s
	case undefined:
		_, ok := b.(undefined)
		return ok
	case *sequence:
		b, ok := b.(*sequence)
		if !ok || a.kind != b.kind || len(a.items) != len(b.items) {
			return false
		}
		r.nested(func() { same = slices.EqualFunc(a.items, b.items, r.equal) })
		return same
	case *dict:
		b, ok := b.(*dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		r.nested(func() { same = r.equalDicts(a, b) })
		return same
	case *namespace:
		return a == b
	case *loopInfo:
		return a == b
	}
	return false
}

func (r *run) equalDicts(a, b *dict) bool {
	for _, k := range a.keys {
		x, _ := a.get(k)
		y, ok := b.get(k)
		if !ok || !r.equal(x, y) {
			return false
		}
	}
	return true
}

// order compares numbers, strings and lists as cmp.Compare does; ordered is false if one is not a
// number (NaN).
func (r *run) order(a, b value) (order int, ordered bool) {
	r.requireDefined(a)
	r.requireDefined(b)
	r.step(1)
	x, fx, xInt, xNumber := number(a)
	y, fy, yInt, yNumber := number(b)
	if xNumber && yNumber {
		if xInt && yInt {
			return cmp.Compare(x, y), true
		}
		ordered := !math.IsNaN(fx) && !math.IsNaN(fy)
		switch {
		case xInt:
			return compareIntFloat(x, fy), ordered
		case yInt:
			return -compareIntFloat(y, fx), ordered
		}
		return cmp.Compare(fx, fy), ordered
	}
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			r.step(min(len(a), len(b)) / bytesPerStep)
			return strings.Compare(a, b), true
		}
	case *sequence:
		if b, ok := b.(*sequence); ok && a.kind == b.kind {
			r.nested(func() { order, ordered = r.orderLists(a.items, b.items) })
			return order, ordered
		}
	}
	r.fail("'<' not supported between instances of '%s' and '%s'", kindOf(a), kindOf(b))
	return 0, false
}

// compareIntFloat compares exactly: large integers are not rounded to floats.
func compareIntFloat(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63, math.IsNaN(f):
		return 1
	}
	if order := cmp.Compare(i, int64(f)); order != 0 {
		return order
	}
	return cmp.Compare(0, f-math.Trunc(f))
}

func (r *run) orderLists(a, b []value) (order int, ordered bool) {
	for i := range min(len(a), len(b)) {
		if !r.equal(a[i], b[i]) {
			return r.order(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b)), true
}

// contains is Python's "v in container".
func (r *run) contains(container, v value) bool {
	switch c := container.(type) {
	case string:
		part, ok := v.(string)
		if !ok {
			r.requireDefined(v)
			r.fail("'in <string>' requires string as left operand, not %s", kindOf(v))
		}
		r.step(len(c) / bytesPerStep)
		return strings.Contains(c, part)
	case *dict:
		_, ok := c.get(r.requireKey(v))
		return ok
	}
	for _, item := range r.iterate(container) {
		if r.equal(item, v) {
			return true
		}
	}
	return false
}
