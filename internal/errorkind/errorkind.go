// Package errorkind tells what a user can do about an error, but not how: a command names a flag, a
// notebook a field.
package errorkind

import "errors"

// Kind is what a user can do about an error. An error has a kind if it, or an error that it wraps,
// has a method Kind() string; the name is an alias, so that a package need not import this one to
// have kinds.
type Kind = string

// The kinds of errors.
const (
	// None is an error about which nothing more can be said.
	None Kind = ""
	// Memory is a lack of memory that a higher limit would end.
	Memory Kind = "memory"
	// DType is a lack of memory that weights in bfloat16 would end.
	DType Kind = "dtype"
	// Cache is a model that was downloaded and cannot be opened, perhaps because a file is
	// damaged.
	Cache Kind = "cache"
	// Tokenizer is a model without a tokenizer, which takes token ids alone.
	Tokenizer Kind = "tokenizer"
	// Model is a name that no model has.
	Model Kind = "model"
	// Plugin is a plugin of XLA for CPUs that is missing or broken.
	Plugin Kind = "plugin"
	// Date is a chat template that asks for the date when a conversation has none.
	Date Kind = "date"
)

// Of returns the kind of an error, None if it has none.
func Of(err error) Kind {
	var known interface{ Kind() string }
	if errors.As(err, &known) {
		return known.Kind()
	}
	return None
}
