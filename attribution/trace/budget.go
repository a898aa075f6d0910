package trace

import (
	"fmt"

	"github.com/headwater-ml/headwater/internal/message"
)

// Budgeted is a model that knows how many bytes an explanation may allocate beside its weights. For
// other models the limit is 4 GB.
type Budgeted interface {
	Model
	Budget() int64
}

// MemoryError says that something would need more memory than it may use. Nothing has been
// allocated.
type MemoryError struct {
	// What needs it: "flow of 4,096 tokens".
	What string
	// Need is how many bytes it needs, and Left how many it may use.
	Need, Left int64
	// Limit is the whole limit in bytes; Left is what the program and the weights of a model leave
	// of it. Chosen says that somebody chose the limit; otherwise it is the memory of the machine,
	// or a default.
	Limit  int64
	Chosen bool
	// Instead says what would need less.
	Instead string
}

// Kind says that a higher limit would help.
func (e *MemoryError) Kind() ErrorKind { return MemoryKind }

// Error says what is needed, what the limit is, and what would make it fit.
func (e *MemoryError) Error() string {
	limit := "the limit is " + message.FormatBytes(e.Limit)
	if e.Chosen {
		limit += " (given)"
	}
	if e.Left != e.Limit {
		limit += fmt.Sprintf(", of which %s are left for it", message.FormatBytes(e.Left))
	}
	return fmt.Sprintf("attribution: %s needs about %s, %s; %s, or allow more memory", e.What,
		message.FormatBytes(e.Need), limit, e.Instead)
}
