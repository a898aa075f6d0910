package gonbext

import (
	"github.com/headwater-ml/headwater/gonbext/render"
)

// Compare shows two explanations beside each other and their difference, on one scale. methods says
// what is compared: nothing for the first method of a that b has too, one name for that method of
// both, or two names, the first for a and the second for b:
//
//	e := gonbext.Explain("the keys to the cabinet")
//	gonbext.Compare(e, e, "direct", "value-zeroing") // two methods
//
// The prompts must have the same number of tokens; see [render.Compare], which says how values are
// compared. On an error Compare shows one line and ends the program; see [TryCompare].
func Compare(a, b *Explanation, methods ...string) {
	if err := TryCompare(a, b, methods...); err != nil {
		newDisplay().exit(err)
	}
}

// TryCompare is [Compare], with the error returned.
func TryCompare(a, b *Explanation, methods ...string) error {
	if a == nil || b == nil {
		return usagef("a comparison needs two explanations, and one is nil")
	}
	left, right := render.Side{Explanation: a}, render.Side{Explanation: b}
	switch len(methods) {
	case 0:
		left.Method = shared(a, b)
		right.Method = left.Method
	case 1:
		left.Method, right.Method = methods[0], methods[0]
	case 2:
		left.Method, right.Method = methods[0], methods[1]
	default:
		return usagef("%d methods for two sides; name one or two", len(methods))
	}
	h, err := render.Compare(left, right)
	if err != nil {
		return err
	}
	ShowHeatmap(h)
	return nil
}

// shared returns the first method of a that b has too, "" if there is none.
func shared(a, b *Explanation) string {
	for _, name := range a.Order {
		if b.Methods[name] != nil {
			return name
		}
	}
	return ""
}
