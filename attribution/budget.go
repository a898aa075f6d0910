package attribution

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Budgeted is a model that knows how many bytes an explanation of it may hold beside its weights.
// Others may hold 4 GB.
type Budgeted interface {
	Model
	Budget() int64
}

// memoryLimited is a [Budgeted] model that also knows which limit its budget is what is left of,
// for messages: the whole limit in bytes, and whether somebody chose it. Otherwise the limit is
// what the machine has.
type memoryLimited interface {
	MemoryLimit() (bytes int64, chosen bool)
}

// MemoryError says that something needs more memory than it may have. Nothing was allocated for it.
type MemoryError struct {
	// What needs it: "flow of 4,096 tokens".
	What string
	// Need is how many bytes it needs, and Left how many it may have.
	Need, Left int64
	// Limit is the limit in bytes that Left is a part of: the rest is the program and, of a model,
	// its weights. Chosen is whether somebody chose the limit; otherwise it is what the machine
	// has, or a default.
	Limit  int64
	Chosen bool
	// Instead says what would need less.
	Instead string
}

// Error says what is needed, what there is, and what would make it fit.
func (e *MemoryError) Error() string {
	limit := "the limit is " + trace.FormatBytes(e.Limit)
	if e.Chosen {
		limit += " (given)"
	}
	if e.Left != e.Limit {
		limit += fmt.Sprintf(", of which %s are left for it", trace.FormatBytes(e.Left))
	}
	return fmt.Sprintf("attribution: %s needs about %s, %s; %s, or allow more memory", e.What,
		trace.FormatBytes(e.Need), limit, e.Instead)
}

// defaultBudget is what an explanation may hold if the model does not say.
const defaultBudget = 4e9

// maxNeed is more than any machine has; larger needs are written as this one, because a float64 may
// not fit an int64.
const maxNeed = 1 << 62

// checkBudget returns a [MemoryError] if something needs more bytes than the model allows. what
// says what it is; less how to need less.
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

// budget is how many bytes may be taken, of which limit, and whether somebody chose that.
type budget struct {
	left, limit int64
	chosen      bool
}

func (b budget) check(need float64, what, less string) error {
	if need <= float64(b.left) {
		return nil
	}
	return &MemoryError{
		What: what, Need: int64(min(need, maxNeed)), Left: b.left, Limit: b.limit, Chosen: b.chosen,
		Instead: less,
	}
}
