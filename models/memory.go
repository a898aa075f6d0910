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

// LimitMemory returns the memory of a process that opens no model. The limit is the chosen number
// of bytes or, if that is 0, nine tenths of what the machine can give; at least 1 byte is left.
func LimitMemory(chosen int64) trace.Memory {
	m := trace.Memory{Limit: chosen, Chosen: chosen > 0, Program: programBytes}
	if !m.Chosen {
		releasePlugins() // what plugins hold and do not use is left, too
		total, available := MachineMemory()
		if total == 0 {
			available = unknownMemory
		}
		m.Limit = available / 10 * 9
	}
	m.Left = max(1, m.Limit-m.Program)
	return m
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

// memory returns the memory of a process with one model, without the weights. compiled reports
// whether the model runs on XLA.
func (o Options) memory(compiled bool, layers int) trace.Memory {
	m := LimitMemory(o.MaxMemory)
	m.Program += o.Beside
	if compiled {
		m.Program += xlaBytes + int64(layers)*xlaLayerBytes
	}
	return m
}

// checkWeights returns a *trace.MemoryError if the program and the weights of spec, which take so
// many bytes, do not fit.
func checkWeights(
	m trace.Memory, name string, spec *spec.Spec, dtype dtypes.DType, weights int64,
) error {
	need := m.Program + weights
	if need < m.Limit {
		return nil
	}
	half := m.Program + transformer.Bytes(spec, dtypes.BFloat16, nil)
	if half >= m.Limit {
		half = 0
	}
	instead := "take a machine with more memory or a smaller model"
	if m.Chosen {
		instead = "what is recorded takes more than that; take a smaller model"
	}
	m.Left = m.Limit
	return &trace.MemoryError{
		Package: "models", Memory: m, Need: need, Instead: instead, Half: half, Machine: !m.Chosen,
		What: fmt.Sprintf("a program of %s with the weights of %s in %s (%s)",
			message.FormatBytes(m.Program), name, strings.ToLower(dtype.String()),
			message.FormatBytes(weights)),
	}
}

// WithMaxMemory returns a model with the same weights and compiled graphs and another limit. m does
// not change. bytes is the limit for the whole process, as in [Options.MaxMemory]; 0 means nine
// tenths of what the machine has left now, in addition to the program and the weights, which are
// already in memory. It returns a [*trace.MemoryError] if the program and the weights need more.
func (m *Model) WithMaxMemory(bytes int64) (*Model, error) {
	view := *m
	limit := LimitMemory(bytes)
	view.memory.Limit, view.memory.Chosen = limit.Limit, limit.Chosen
	if limit.Chosen {
		err := checkWeights(view.memory, m.info.Name, m.spec, m.graph.DType, m.memory.Weights)
		if err != nil {
			return nil, err
		}
	} else {
		view.memory.Limit += m.memory.Program + m.memory.Weights
	}
	view.setGraph(m.graph.WithMaxBytes(0))
	view.limitPasses()
	return &view, nil
}

// limitPasses sets how many bytes one pass of the graph may need, at least 1: three quarters of
// what the program and the weights leave. The rest is for garbage: a pass allocates many arrays of
// about 50 MB, and the next ones are allocated while the collector is still running.
func (m *Model) limitPasses() {
	m.memory.Left = max(1, (m.memory.Limit-m.memory.Program-m.memory.Weights)/4*3)
	m.graph.MaxBytes, m.graph.Chosen = m.memory.Left, m.memory.Chosen
	m.graph.Beside = max(0, m.memory.Limit-m.memory.Left)
}

// Memory returns the memory of this process: its limit, what the program and the weights take, and
// how many bytes a run may hold beside them. A program that opens another model passes what this
// one holds as [Options.Beside].
func (m *Model) Memory() trace.Memory { return m.memory }
