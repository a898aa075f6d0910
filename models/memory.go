package models

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/models/transformer"
)

// MemoryError says that something needs more memory than it may have. Nothing was allocated for it.
type MemoryError struct {
	// What needs it: "the weights of gpt2 in float32".
	What string
	// Need and Limit are bytes; Chosen is whether the limit is [Options.MaxMemory] and not what the machine has left.
	Need, Limit int64
	Chosen      bool
	// Instead says what would fit, or what to do: "bfloat16 needs 0.2 GB".
	Instead string
}

// Error implements error.
func (e *MemoryError) Error() string {
	limit := "this machine has"
	if e.Chosen {
		limit = "the limit is"
	}
	return fmt.Sprintf("models: %s: %s, and %s %s; %s", e.What, gigabytes(e.Need), limit, gigabytes(e.Limit), e.Instead)
}

// withFlag names the flag that would make a refused pass fit.
func withFlag(err error) error {
	var pass *transformer.MemoryError
	if errors.As(err, &pass) {
		return fmt.Errorf("%w, or allow more (--max-memory)", err)
	}
	return err
}

// gigabytes returns a size as people read it.
func gigabytes(n int64) string {
	if n < 1e8 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// limit returns how many bytes may be taken, and whether the user said so.
func (o Options) limit() (bytes int64, chosen bool) {
	if o.MaxMemory > 0 {
		return o.MaxMemory, true
	}
	total, available := MachineMemory()
	if total == 0 {
		available = unknownMemory
	}
	return available / 10 * 9, false
}

// unknownMemory is what a machine is taken to have whose memory cannot be read: 64 GiB.
const unknownMemory = 64 << 30

// checkWeights returns a *MemoryError if the weights of spec do not fit.
func (o Options) checkWeights(name string, spec *transformer.Spec, dtype dtypes.DType) error {
	limit, chosen := o.limit()
	need := weightBytes(spec, dtype)
	if need <= limit {
		return nil
	}
	instead := "take a machine with more memory or a smaller model"
	if chosen {
		instead = "give a limit above " + gigabytes(need) + " (--max-memory), which takes what is recorded in as well"
	}
	if half := weightBytes(spec, dtypes.BFloat16); half <= limit {
		instead = fmt.Sprintf("in bfloat16 (--dtype bfloat16) they need %s", gigabytes(half))
	}
	return &MemoryError{
		What: fmt.Sprintf("the weights of %s in %s", name, strings.ToLower(dtype.String())), Need: need, Limit: limit, Chosen: chosen,
		Instead: instead,
	}
}

// passBytes is what is left for one pass beside the weights: at least 1, because 0 is the default of [transformer.Model].
func (o Options) passBytes(spec *transformer.Spec, dtype dtypes.DType) int64 {
	limit, _ := o.limit()
	return max(1, limit-weightBytes(spec, dtype))
}

// weightBytes is how much the parameters of a spec take.
func weightBytes(spec *transformer.Spec, dtype dtypes.DType) int64 {
	bytes := int64(0)
	for _, p := range spec.Params() {
		bytes += int64(p.Size()) * int64(dtype.Size())
	}
	return bytes
}

// WeightBytes returns how many bytes the weights take.
func (m *Model) WeightBytes() int64 { return weightBytes(m.spec, m.graph.DType) }

// WithMaxMemory returns the model held to another limit, on the same weights and compiled graphs: bytes
// for the weights and what is recorded, as [Options.MaxMemory]; 0 is what the machine has left beside
// the weights, which are there already. m does not change. The error is a [*MemoryError] if the weights
// alone take more.
func (m *Model) WithMaxMemory(bytes int64) (*Model, error) {
	opts := Options{MaxMemory: bytes}
	pass, chosen := opts.limit()
	if chosen {
		if err := opts.checkWeights(m.info.Name, m.spec, m.graph.DType); err != nil {
			return nil, err
		}
		pass -= m.WeightBytes()
	}
	view := *m
	view.graph = m.graph.WithMaxBytes(max(1, pass))
	return &view, nil
}

// Budget returns how many bytes a run may hold beside the weights: what MaxMemory or the machine leaves.
func (m *Model) Budget() int64 { return m.graph.MaxBytes }
