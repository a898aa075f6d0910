// Package budget refuses work that would need more memory than a model may use, before any of it
// is allocated.
package budget

import "github.com/headwater-ml/headwater/attribution/trace"

// defaultBytes is how many bytes an explanation may allocate if the model does not say.
const defaultBytes = 4e9

// MaxNeed is more than any machine has. Larger needs are reported as this one, because a float64
// may not fit an int64.
const MaxNeed = 1 << 62

// Check returns a [trace.MemoryError] if need is more bytes than the model allows. what names the
// work, and less says what would need less memory.
func Check(m trace.Model, need float64, what, less string) error {
	b := Budget{Left: defaultBytes, Limit: defaultBytes}
	if known, ok := m.(trace.Budgeted); ok && known.Budget() > 0 {
		b = Budget{Left: known.Budget(), Limit: known.Budget()}
	}
	if known, ok := m.(memoryLimited); ok {
		b.Limit, b.Chosen = known.MemoryLimit()
	}
	return b.Check(need, what, less)
}

// Budget is how much memory may be used.
type Budget struct {
	// Left is how many bytes are left of Limit.
	Left, Limit int64
	// Chosen says whether the user chose the limit.
	Chosen bool
}

// Check returns a [trace.MemoryError] if need bytes are more than what is left. what and less are
// as in [Check].
func (b Budget) Check(need float64, what, less string) error {
	if need <= float64(b.Left) {
		return nil
	}
	return &trace.MemoryError{
		What: what, Need: int64(min(need, MaxNeed)), Left: b.Left, Limit: b.Limit, Chosen: b.Chosen,
		Instead: less,
	}
}

// memoryLimited is a [trace.Budgeted] model that also knows the limit of the whole process in
// bytes, which messages name, and whether the user chose it. The budget is what is left of the
// limit.
type memoryLimited interface {
	MemoryLimit() (bytes int64, chosen bool)
}
