package models

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// MemoryError says that the program and the weights of a model need more memory than they may have.
// Nothing was allocated for them.
type MemoryError struct {
	// What needs it: "the program and the weights of gpt2 in float32".
	What string
	// Need and Limit are bytes. Chosen is whether the limit is [Options.MaxMemory] and not what the
	// machine has left.
	Need, Limit int64
	Chosen      bool
	// Half is how many bytes weights in bfloat16 would need, 0 if they do not fit either.
	Half int64
}

// Error says what is needed, what the limit is, and what would fit.
func (e *MemoryError) Error() string {
	limit := "this machine has " + message.FormatBytes(e.Limit)
	instead := "take a machine with more memory or a smaller model"
	if e.Chosen {
		limit = "the limit is " + message.FormatBytes(e.Limit) + " (given)"
		instead = "give a limit above " + message.FormatBytes(e.Need) + ", which takes what is recorded in as well"
	}
	if e.Half > 0 {
		instead = "in bfloat16 they need " + message.FormatBytes(e.Half)
	}
	return fmt.Sprintf("models: %s: %s, and %s; %s", e.What, message.FormatBytes(e.Need), limit, instead)
}

// Kind says what would help: weights in bfloat16, a higher limit, or nothing.
func (e *MemoryError) Kind() trace.ErrorKind {
	switch {
	case e.Half > 0:
		return trace.DTypeKind
	case e.Chosen:
		return trace.MemoryKind
	}
	return trace.NoKind
}

// orMore adds to a pass that was refused for its memory that a higher limit would help as well.
func orMore(err error) error {
	var pass *transformer.MemoryError
	if errors.As(err, &pass) {
		return fmt.Errorf("%w, or allow more", err)
	}
	return err
}

// Limit is how many bytes this process may hold.
type Limit struct {
	// Bytes is the limit, and Chosen whether somebody chose it; otherwise it is what the machine
	// has left.
	Bytes  int64
	Chosen bool
	// Program is what the process takes before there is any model: code, Go's runtime and the
	// backend.
	Program int64
}

// Left is what the program leaves of the limit, in bytes: 1 or more.
func (l Limit) Left() int64 { return max(1, l.Bytes-l.Program) }

// forPass is how many bytes a pass may need where so many are taken for good: three quarters of
// what is left, and 1 or more. The rest is for what Go has not collected yet: arrays of 50 MB come
// and go, and the collector runs while the next ones are made.
func (l Limit) forPass(taken int64) int64 { return max(1, (l.Bytes-taken)/4*3) }

// LimitMemory returns the limit of a process that opens no model: the bytes chosen, or, for 0, nine
// tenths of what the machine has left.
func LimitMemory(chosen int64) Limit {
	if chosen > 0 {
		return Limit{Bytes: chosen, Chosen: true, Program: programBytes}
	}
	total, available := MachineMemory()
	if total == 0 {
		available = unknownMemory
	}
	return Limit{Bytes: available / 10 * 9, Program: programBytes}
}

// unknownMemory is what a machine is taken to have whose memory cannot be read: 64 GiB.
const unknownMemory = 64 << 30

// What a process holds besides weights and what a run takes, as resident memory on Linux.
const (
	// programBytes is for code and Go's runtime; seen 45 MB with the embedded model on the pure-Go
	// backend.
	programBytes = 64 << 20
	// xlaBytes is what the plugin of XLA adds: its code and its threads. xlaLayerBytes are for
	// graphs, which take memory while they are compiled and after: the graph that feeds one token
	// has all layers. Seen 150 MB in all with the 3 layers of the embedded model and 340 MB with
	// the 12 of GPT-2 small.
	xlaBytes      = 160 << 20
	xlaLayerBytes = 12 << 20
)

// limit returns what a process with a model of so many layers may take; compiled is whether XLA
// computes it.
func (o Options) limit(compiled bool, layers int) Limit {
	l := LimitMemory(o.MaxMemory)
	l.Program += o.Beside
	if compiled {
		l.Program += xlaBytes + int64(layers)*xlaLayerBytes
	}
	return l
}

// checkWeights returns a *MemoryError if the program and the weights of spec do not fit.
func (l Limit) checkWeights(name string, spec *spec.Spec, dtype dtypes.DType) error {
	weights := weightBytes(spec, dtype)
	need := l.Program + weights
	if need < l.Bytes {
		return nil
	}
	half := l.Program + weightBytes(spec, dtypes.BFloat16)
	if half >= l.Bytes {
		half = 0
	}
	return &MemoryError{
		What: fmt.Sprintf("the program (%s) and the weights of %s in %s (%s)",
			message.FormatBytes(l.Program), name, strings.ToLower(dtype.String()), message.FormatBytes(weights)),
		Need: need, Limit: l.Bytes, Chosen: l.Chosen, Half: half,
	}
}

// weightBytes is how much the parameters of a spec take.
func weightBytes(spec *spec.Spec, dtype dtypes.DType) int64 {
	bytes := int64(0)
	for _, p := range spec.Params() {
		bytes += int64(p.Size()) * int64(dtype.Size())
	}
	return bytes
}

// WeightBytes returns how many bytes the weights take.
func (m *Model) WeightBytes() int64 { return weightBytes(m.spec, m.graph.DType) }

// WithMaxMemory returns the model held to another limit, on the same weights and compiled graphs:
// bytes of this process in all, as [Options.MaxMemory]; 0 is what the machine has left beside the
// program and the weights, which are there already. m does not change. The error is a
// [*MemoryError] if the program and the weights alone take more.
func (m *Model) WithMaxMemory(bytes int64) (*Model, error) {
	view := *m
	view.limit = LimitMemory(bytes)
	view.limit.Program = m.limit.Program
	if view.limit.Chosen {
		if err := view.limit.checkWeights(m.info.Name, m.spec, m.graph.DType); err != nil {
			return nil, err
		}
	} else {
		view.limit.Bytes += view.taken()
	}
	view.graph = m.graph.WithMaxBytes(0)
	view.limitPasses()
	return &view, nil
}

// taken is how many bytes the program and the weights take.
func (m *Model) taken() int64 { return m.limit.Program + m.WeightBytes() }

// limitPasses tells the graph what the limit leaves for a pass.
func (m *Model) limitPasses() {
	m.graph.MaxBytes, m.graph.Chosen = m.limit.forPass(m.taken()), m.limit.Chosen
	m.graph.Beside = max(0, m.limit.Bytes-m.graph.MaxBytes)
}

// Budget returns how many bytes a run may hold beside the program and the weights: what MaxMemory
// or the machine leaves.
func (m *Model) Budget() int64 { return m.graph.MaxBytes }

// Held returns how many bytes the model holds for good: its weights and its backend; for
// [Options.Beside] of another one.
func (m *Model) Held() int64 { return m.ownBytes }

// MemoryLimit returns the limit in bytes that [Model.Budget] is what is left of, and whether it is
// [Options.MaxMemory].
func (m *Model) MemoryLimit() (bytes int64, chosen bool) { return m.limit.Bytes, m.limit.Chosen }

// UnusedHeap returns how many bytes the pure-Go backend has taken from Go's heap for weights beyond
// what they fill: it rounds sizes up to 2ⁿ or 3·2ⁿ. They take no memory, but Go counts
// them; 0 with other backends.
func (m *Model) UnusedHeap() int64 {
	if m.info.Backend != "go" {
		return 0
	}
	return m.graph.RoundedBytes() - weightBytes(m.spec, m.graph.DType)
}
