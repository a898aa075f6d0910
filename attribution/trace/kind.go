package trace

import "errors"

// ErrorKind is what a user can do about an error, but not how: a command names a flag, a
// notebook a field. An error has a kind if it, or an error that it wraps, has a method
// Kind() string; the name is an alias, so that a package need not import this one to have kinds.
type ErrorKind = string

// The kinds of errors.
const (
	// NoKind is an error about which nothing more can be said.
	NoKind ErrorKind = ""
	// MemoryKind is a lack of memory that a higher limit would end.
	MemoryKind ErrorKind = "memory"
	// DTypeKind is a lack of memory that weights in bfloat16 would end.
	DTypeKind ErrorKind = "dtype"
	// CacheKind is a model that was downloaded and cannot be opened, perhaps because a file is
	// damaged.
	CacheKind ErrorKind = "cache"
	// TokenizerKind is a model without a tokenizer, which takes token ids alone.
	TokenizerKind ErrorKind = "tokenizer"
	// ModelKind is a name that no model has.
	ModelKind ErrorKind = "model"
	// PluginKind is a plugin of XLA for CPUs that is missing or broken.
	PluginKind ErrorKind = "plugin"
	// DateKind is a chat template that asks for the date when [Conversation] has none.
	DateKind ErrorKind = "date"
)

// KindOf returns the kind of an error, NoKind if it has none.
func KindOf(err error) ErrorKind {
	var known interface{ Kind() ErrorKind }
	if errors.As(err, &known) {
		return known.Kind()
	}
	return NoKind
}
