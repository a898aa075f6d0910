package models

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// MemoryError says that the program and the weights of a model need more memory than the limit.
// Nothing was allocated for the weights.
type MemoryError struct {
	// What says what needs the memory, such as "the program and the weights of gpt2 in float32".
	What string
	// Need and Limit are in bytes. Chosen says whether the limit is [Options.MaxMemory]; otherwise
	// it is what the machine has left.
	Need, Limit int64
	Chosen      bool
	// Half is how many bytes are needed with weights in bfloat16, or 0 if they do not fit either.
	Half int64
}

// Error says what is needed, what the limit is, and what would fit.
func (e *MemoryError) Error() string {
	limit := "this machine has " + message.FormatBytes(e.Limit)
	instead := "take a machine with more memory or a smaller model"
	if e.Chosen {
		limit = "the limit is " + message.FormatBytes(e.Limit) + " (given)"
		instead = fmt.Sprintf("give a limit above %s, which takes what is recorded in as well",
			message.FormatBytes(e.Need))
	}
	if e.Half > 0 {
		instead = "in bfloat16 they need " + message.FormatBytes(e.Half)
	}
	return fmt.Sprintf("models: %s: %s, and %s; %s",
		e.What, message.FormatBytes(e.Need), limit, instead)
}

// Kind says what would help: weights in bfloat16, a higher limit, or no option.
func (e *MemoryError) Kind() trace.ErrorKind {
	switch {
	case e.Half > 0:
		return trace.DTypeKind
	case e.Chosen:
		return trace.MemoryKind
	}
	return trace.NoKind
}

// Limit is how many bytes this process may hold.
type Limit struct {
	// Bytes is the limit. Chosen says whether the user chose it; otherwise it is what the machine
	// has left.
	Bytes  int64
	Chosen bool
	// Program is how many bytes the process holds without a model: code, Go's runtime and the
	// backend.
	Program int64
}

// Left returns how many bytes of the limit are left beside the program, at least 1.
func (l Limit) Left() int64 { return max(1, l.Bytes-l.Program) }

// forPass returns how many bytes a pass may need, at least 1, if the process holds permanent bytes
// anyway: three quarters of what is left. The rest is for garbage: a pass allocates many arrays of
// about 50 MB, and the next ones are allocated while the collector is still running.
func (l Limit) forPass(permanent int64) int64 { return max(1, (l.Bytes-permanent)/4*3) }

// LimitMemory returns the limit of a process that opens no model: the chosen number of bytes or, if
// that is 0, nine tenths of what the machine has left.
func LimitMemory(chosen int64) Limit {
	if chosen > 0 {
		return Limit{Bytes: chosen, Chosen: true, Program: programBytes}
	}
	releasePlugins() // what plugins hold and do not use is left, too
	total, available := MachineMemory()
	if total == 0 {
		available = unknownMemory
	}
	return Limit{Bytes: available / 10 * 9, Program: programBytes}
}

// unknownMemory is the memory that a machine is assumed to have left if its system does not say:
// 64 GiB.
const unknownMemory = 64 << 30

// These are the bytes that a process holds besides the weights and what a run needs, as resident
// memory on Linux.
const (
	// programBytes is for code and Go's runtime. 45 MB were seen with the embedded model on the
	// pure-Go backend.
	programBytes = 64 << 20
	// xlaBytes is for the code and the threads of the XLA plugin. xlaLayerBytes is for each layer
	// of the compiled graphs, which take memory during and after compilation; the graph that reads
	// one token has all layers. 150 MB in all were seen with the 3 layers of the embedded model and
	// 340 MB with the 12 layers of GPT-2 small.
	xlaBytes      = 160 << 20
	xlaLayerBytes = 12 << 20
)

// limit returns the limit of a process with one model. compiled says whether the model runs on XLA.
func (o Options) limit(compiled bool, layers int) Limit {
	l := LimitMemory(o.MaxMemory)
	l.Program += o.Beside
	if compiled {
		l.Program += xlaBytes + int64(layers)*xlaLayerBytes
	}
	return l
}

// checkWeights returns a *MemoryError if the program and the weights of spec, which take so many
// bytes, do not fit.
func (l Limit) checkWeights(name string, spec *spec.Spec, dtype dtypes.DType,
	weights int64,
) error {
	need := l.Program + weights
	if need < l.Bytes {
		return nil
	}
	half := l.Program + transformer.Bytes(spec, dtypes.BFloat16, nil)
	if half >= l.Bytes {
		half = 0
	}
	return &MemoryError{
		What: fmt.Sprintf("the program (%s) and the weights of %s in %s (%s)",
			message.FormatBytes(l.Program), name, strings.ToLower(dtype.String()),
			message.FormatBytes(weights)),
		Need: need, Limit: l.Bytes, Chosen: l.Chosen, Half: half,
	}
}

// WeightBytes returns how many bytes the weights have.
func (m *Model) WeightBytes() int64 { return m.graph.WeightBytes() }

// WithMaxMemory returns a model with the same weights and compiled graphs and another limit. m does
// not change. bytes is the limit for the whole process, as in [Options.MaxMemory]; 0 means nine
// tenths of what the machine has left now, in addition to the program and the weights, which are
// already in memory. It returns a [*MemoryError] if the program and the weights need more.
func (m *Model) WithMaxMemory(bytes int64) (*Model, error) {
	view := *m
	view.limit = LimitMemory(bytes)
	view.limit.Program = m.limit.Program
	if view.limit.Chosen {
		err := view.limit.checkWeights(m.info.Name, m.spec, m.graph.DType, m.WeightBytes())
		if err != nil {
			return nil, err
		}
	} else {
		view.limit.Bytes += view.permanent()
	}
	view.setGraph(m.graph.WithMaxBytes(0))
	view.limitPasses()
	return &view, nil
}

// permanent returns how many bytes the program and the weights take together.
func (m *Model) permanent() int64 { return m.limit.Program + m.WeightBytes() }

// limitPasses sets how many bytes one pass of the graph may need.
func (m *Model) limitPasses() {
	m.graph.MaxBytes, m.graph.Chosen = m.limit.forPass(m.permanent()), m.limit.Chosen
	m.graph.Beside = max(0, m.limit.Bytes-m.graph.MaxBytes)
}

// Budget returns how many bytes a run may hold beside the program and the weights.
func (m *Model) Budget() int64 { return m.graph.MaxBytes }

// Held returns how many bytes the weights and the backend of the model take. A program that opens
// another model passes it as [Options.Beside].
func (m *Model) Held() int64 { return m.ownBytes }

// MemoryLimit returns the limit in bytes for the whole process, of which [Model.Budget] is a part,
// and whether it is [Options.MaxMemory].
func (m *Model) MemoryLimit() (bytes int64, chosen bool) { return m.limit.Bytes, m.limit.Chosen }

// UnusedHeap returns how many bytes of Go's heap the pure-Go backend allocated for weights and does
// not use, because it rounds sizes up to 2ⁿ or 3·2ⁿ. These bytes take no memory, but Go counts them
// as part of its heap. Other backends have none.
func (m *Model) UnusedHeap() int64 {
	if m.info.Backend != "go" {
		return 0
	}
	return m.graph.RoundedBytes() - m.WeightBytes()
}
