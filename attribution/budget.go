package attribution

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Budgeted is a model that knows how many bytes an explanation may allocate beside its weights. For
// other models the limit is 4 GB.
type Budgeted interface {
	Model
	Budget() int64
}

// memoryLimited is a [Budgeted] model that also knows the whole limit, of which its budget is what
// is left, in bytes, and whether somebody chose it. Otherwise the limit is the memory of the
// machine. Messages name the limit.
type memoryLimited interface {
	MemoryLimit() (bytes int64, chosen bool)
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
func (e *MemoryError) Kind() trace.ErrorKind { return trace.MemoryKind }

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

// defaultBudget is how many bytes an explanation may allocate if the model does not say.
const defaultBudget = 4e9

// maxNeed is more than any machine has. Larger needs are reported as this one, because a float64
// may not fit an int64.
const maxNeed = 1 << 62

// checkBudget returns a [MemoryError] if need bytes are more than the model allows. what says what
// needs them, less what would need fewer.
func checkBudget(m Model, need float64, what, less string) error {
	b := budget{left: defaultBudget, limit: defaultBudget}
	if known, ok := m.(Budgeted); ok && known.Budget() > 0 {
		b = budget{left: known.Budget(), limit: known.Budget()}
	}
	if known, ok := m.(memoryLimited); ok {
		b.limit, b.chosen = known.MemoryLimit()
	}
	return b.check(need, what, less)
}

// budget is the number of bytes that are left, the whole limit, and whether somebody chose it.
type budget struct {
	left, limit int64
	chosen      bool
}

// check returns a [MemoryError] if need bytes do not fit.
func (b budget) check(need float64, what, less string) error {
	if need <= float64(b.left) {
		return nil
	}
	return &MemoryError{
		What: what, Need: int64(min(need, maxNeed)), Left: b.left, Limit: b.limit, Chosen: b.chosen,
		Instead: less,
	}
}
