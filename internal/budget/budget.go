// Package budget refuses work that would need more memory than a model may use, before any of it
// is allocated.
package budget

import "github.com/headwater-ml/headwater/attribution/trace"

// defaultBytes is how many bytes an explanation may allocate if the model does not say.
const defaultBytes = 4e9

// Check returns a [trace.MemoryError] if need is more bytes than the model allows. what and instead
// are as in [trace.Memory.Check].
func Check(m trace.Model, need float64, what, instead string) error {
	left := trace.Memory{Left: defaultBytes}
	if known, ok := m.(trace.Budgeted); ok && known.Memory().Left > 0 {
		left = known.Memory()
	}
	return left.Check(need, what, instead)
}
