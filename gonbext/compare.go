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
//	gonbext.Compare(e, e, "direct@2", "direct@5")    // two layers of one method
//
// After @ stands the layer of a side, counted from 0; without it each token has the layer that its
// picture shows. Layers of value-zeroing are there with AllLayers of [Options], and those of flow
// with AllLevels.
//
// Prompts of different lengths are aligned by their common tokens; see [render.Compare], which says
// how values are compared. On an error Compare shows one line and ends the program; see
// [TryCompare].
func Compare(a, b *Explanation, methods ...string) {
	if err := TryCompare(a, b, methods...); err != nil {
		newDisplay().exit(err)
	}
}

// TryCompare is [Compare], with the error returned.
func TryCompare(a, b *Explanation, methods ...string) error {
	return worded(compare(a, b, methods))
}

// compare is TryCompare, with the error as it comes.
func compare(a, b *Explanation, methods []string) error {
	if a == nil || b == nil {
		return usagef("a comparison needs two explanations, and one is nil")
	}
	names := methods
	switch len(methods) {
	case 0:
		names = []string{shared(a, b), shared(a, b)}
	case 1:
		names = []string{methods[0], methods[0]}
	case 2:
	default:
		return usagef("%d methods for two sides; name one or two", len(methods))
	}
	left, err := sideOf(a, names[0])
	if err != nil {
		return err
	}
	right, err := sideOf(b, names[1])
	if err != nil {
		return err
	}
	h, err := render.Compare(left, right)
	if err != nil {
		return err
	}
	newDisplay().final(h, "")
	f := Figure{Kind: "compare", Method: names[0], AgainstMethod: names[1]}
	if a == b {
		b = nil
	}
	drew(f, a, b)
	return nil
}

// sideOf returns the side of an explanation that a name means: a method, or a method and a layer.
func sideOf(e *Explanation, name string) (render.Side, error) {
	side, err := render.ParseSide(name)
	side.Explanation = e
	return side, err
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
