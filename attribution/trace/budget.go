package trace

import (
	"cmp"
	"fmt"

	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/message"
)

// Budgeted is a model that knows how much memory an explanation may use. For other models the limit
// is 4 GB.
type Budgeted interface {
	Model
	Memory() Memory
}

// Memory is the memory of a process with at most one model, in bytes.
type Memory struct {
	// Limit is how many bytes the process may hold; 0 means Left. Chosen reports whether somebody
	// chose it; otherwise it is what the machine has left, or a default.
	Limit  int64
	Chosen bool
	// LimitedBy is what limits this process to less than the machine has, "" if nothing does:
	// "the control group /sys/fs/cgroup/job (memory.max)".
	LimitedBy string
	// Left is how many bytes a run may allocate beside the program and the weights; 0 sets no
	// limit.
	Left int64
	// Program is what the process holds without weights: code, the runtime and the backend. Weights
	// is what the weights have.
	Program, Weights int64
	// Held is what the model takes: its weights and its backend.
	Held int64
	// Unused is how many bytes of Go's heap the pure-Go backend allocated for weights and does not
	// use, because it rounds sizes up to 2ⁿ or 3·2ⁿ. They take no memory, but Go counts them as
	// part of its heap.
	Unused int64
}

// maxNeed is more than any machine has. Larger needs are reported as this one, because a float64
// may not fit an int64.
const maxNeed = 1 << 62

// Check returns a [MemoryError] if need is more bytes than are left. what names the work, and
// instead is what would need less memory.
func (m Memory) Check(need float64, what, instead string) error {
	if m.Left <= 0 || need <= float64(m.Left) {
		return nil
	}
	if m.Limit == 0 {
		m.Limit = m.Left
	}
	return &MemoryError{Memory: m, What: what, Need: int64(min(need, maxNeed)), Instead: instead}
}

// MemoryError is the error of something that would need more memory than it may use. Nothing has
// been allocated.
type MemoryError struct {
	// Package is the name that the message begins with; "" is attribution.
	Package string
	// Memory is what there is.
	Memory
	// What needs it: "flow of 4,096 tokens".
	What string
	// Need is how many bytes it needs.
	Need int64
	// Instead is what would need less.
	Instead string
	// Half is how many bytes weights in bfloat16 would need, 0 if that is no help.
	Half int64
	// HalfIsSlow is whether a model in bfloat16 takes several times as long, as in pure Go.
	HalfIsSlow bool
	// Machine reports whether the limit is all that the machine has left, or its GPU, so that no
	// option raises it.
	Machine, GPU bool
}

// Kind returns what would help: weights in bfloat16, a higher limit, or no option.
func (e *MemoryError) Kind() errorkind.Kind {
	switch {
	case e.Half > 0:
		return errorkind.DType
	case e.Machine, e.GPU, e.LimitedBy != "":
		return errorkind.None
	}
	return errorkind.Memory
}

// Error returns Text after the package's name.
func (e *MemoryError) Error() string {
	return cmp.Or(e.Package, "attribution") + ": " + e.Text(nil)
}

// Text returns what is needed, what the limit is, and what would make it fit, in the same words for
// every reader.
func (e *MemoryError) Text(func(option string) string) string {
	limit := "the limit is "
	switch {
	case e.GPU:
		limit = "the GPU has "
	case e.LimitedBy != "":
		limit = e.LimitedBy + " has "
	case e.Machine:
		limit = "this machine has "
	}
	limit += message.FormatBytes(e.Limit)
	if e.Chosen {
		limit += " (given)"
	}
	if e.Left != e.Limit {
		limit += fmt.Sprintf(", of which %s are left for it", message.FormatBytes(e.Left))
	}
	instead := e.Instead
	switch e.Kind() {
	case errorkind.DType:
		half := "in bfloat16 it needs " + message.FormatBytes(e.Half)
		if instead = half; e.HalfIsSlow {
			instead = e.Instead + "; " + half + " and takes several times as long"
		}
	case errorkind.Memory:
		instead += ", or allow more memory"
	}
	return fmt.Sprintf("%s needs about %s, %s; %s", e.What, message.FormatBytes(e.Need), limit,
		instead)
}
