package models

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/hostmemory"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// LimitMemory returns the memory of a process that opens no model. The limit is the chosen number
// of bytes or, if that is 0, nine tenths of what the machine can give; at least 1 byte is left. If
// something allows this process less than the chosen number, such as a control group, the limit is
// that for 0.
func LimitMemory(chosen int64) trace.Memory { return limitMemory("/", chosen) }

// limitMemory is LimitMemory with the files of the system below a folder.
func limitMemory(root string, chosen int64) trace.Memory {
	total, _, limitedBy := hostmemory.Read(root)
	m := trace.Memory{Limit: chosen, Program: programBytes}
	if m.Chosen = chosen > 0 && (limitedBy == "" || chosen <= total); !m.Chosen {
		backends.ReleasePlugins() // what plugins hold and do not use is left, too
		total, available, limitedBy := hostmemory.Read(root)
		if total == 0 {
			available = unknownMemory
		}
		m.LimitedBy = limitedBy
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
	// programBytes is for code and Go's runtime. 53 to 72 MB were seen with the embedded model in
	// pure Go.
	programBytes = 64 << 20
	// xlaBytes is for the code and the threads of the XLA plugin, and for what its compiler holds.
	// xlaLayerBytes is for each layer of the compiled graphs. Seen while graphs were compiled: 290
	// to 335 MB in all with 6 to 30 layers.
	xlaBytes      = 196 << 20
	xlaLayerBytes = 2 << 20
	// tokenBytes is for each token of the tokenizer. 67 MB were seen with the 262,144 of Gemma 3.
	tokenBytes = 256
	// goTokenBytes is what scores of each token take in pure Go, whose arrays are in Go's heap, and
	// goGarbage is how much garbage there is beside twice as many bytes of weights or more, which
	// is what the command tells the collector.
	goTokenBytes = 576
	goGarbage    = 46 << 20
)

// memory returns the memory of a process with one model, without the weights.
func (o Options) memory(parts MemoryParts) trace.Memory {
	m := LimitMemory(o.MaxMemory)
	m.Program = parts.program()
	return m
}

// sizes are what the weights of a model take.
type sizes struct {
	name  string
	spec  *spec.Spec
	dtype dtypes.DType
	// codes is whether the backend keeps quantised matrices in codes.
	codes bool
	parts MemoryParts
	// inGo is whether pure Go computes, which takes several times as long in bfloat16.
	inGo bool
}

// count sets the parts for a model on a backend: go, xla or cuda.
func (s *sizes) count(q spec.Quantized, backend string, opts Options) {
	s.parts = MemoryParts{
		Program: programBytes + int64(s.spec.Vocab+s.spec.SourceVocab)*tokenBytes,
		Beside:  opts.Beside,
		Passes:  transformer.PassBytes(s.spec, q, NeedsTokens, backend == "xla"),
	}
	s.parts.Layers, s.parts.Tables = transformer.Bytes(s.spec, s.dtype, q)
	if backend != "go" {
		s.parts.Program += xlaBytes
		s.parts.Graphs = int64(s.spec.Layers) * xlaLayerBytes
		return
	}
	s.inGo = true
	s.parts.Program += int64(s.spec.Vocab)*goTokenBytes + min(s.parts.weights()/2, goGarbage)
}

// check returns a *trace.MemoryError if the program and the weights do not fit.
func (s sizes) check(m trace.Memory) error {
	need := m.Program + s.parts.weights()
	if need < m.Limit {
		return nil
	}
	instead := "take a machine with more memory or a smaller model"
	if m.Chosen {
		instead = "what is recorded takes more than that; take a smaller model"
	}
	smaller, half := s.fitting(m.Program, m.Limit)
	m.Left = m.Limit
	return &trace.MemoryError{
		Package: "models", Memory: m, Need: need, Instead: smaller + instead, Machine: !m.Chosen,
		Half: half, HalfIsSlow: s.inGo, What: "a program of " + s.describe(m.Program),
	}
}

// ofGPU is the part of a GPU's memory that XLA takes at most, by its default.
const ofGPU = 0.75

// checkGPU returns a *trace.MemoryError if the weights and a pass do not fit a GPU with so many
// bytes of memory; 0 means that it is not known.
func (s sizes) checkGPU(memory int64) error {
	left, need := int64(ofGPU*float64(memory)), s.parts.weights()+s.parts.Passes
	if memory == 0 || need < left {
		return nil
	}
	smaller, half := s.fitting(s.parts.Passes, left)
	return &trace.MemoryError{
		Package: "models", Memory: trace.Memory{Limit: memory, Left: left}, Need: need, GPU: true,
		Instead: smaller + "take a larger GPU, a smaller model, or the processor (backend xla)",
		Half:    half, What: "a GPU" + s.describe(0),
	}
}

// fitting returns the largest quantised type of a GGUF file that would fit a limit beside so many
// bytes, in words, and what bfloat16 would need, 0 if that does not fit.
func (s sizes) fitting(beside, limit int64) (smaller string, half int64) {
	fits := func(dtype dtypes.DType, q spec.Quantized) int64 {
		layers, others := transformer.Bytes(s.spec, dtype, q)
		if all := beside + layers + others; all < limit {
			return all
		}
		return 0
	}
	types := []gguf.Type{gguf.Q8_0, gguf.Q6K, gguf.Q5K, gguf.Q4K, gguf.Q3K, gguf.Q2K}
	if !s.codes {
		types = nil
	}
	for _, t := range types {
		if all := fits(dtypes.Float32, uniform(t)); all > 0 {
			smaller = fmt.Sprintf("a GGUF file of type %v would need %s; ", t,
				message.FormatBytes(all))
			break
		}
	}
	return smaller, fits(dtypes.BFloat16, nil)
}

// describe says part by part what takes how much memory.
func (s sizes) describe(program int64) (text string) {
	size, p := message.FormatBytes, s.parts
	if program > 0 {
		text = size(program)
		if p.Graphs > 0 {
			text += ", " + size(p.Graphs) + " of it for compiled graphs,"
		}
		if p.Beside > 0 {
			text += " (" + size(p.Beside) + " of it in use already)"
		}
	}
	return fmt.Sprintf("%s with the weights of %s in %s (%s: %s for layers, %s for tables; "+
		"passes over %d tokens take about %s more)", text, s.name,
		strings.ToLower(s.dtype.String()), size(p.weights()), size(p.Layers), size(p.Tables),
		NeedsTokens, size(p.Passes))
}

// uniform is a model whose matrices are all of one quantised type, or of [gguf.Q8_0] where its
// blocks do not fit the rows.
type uniform gguf.Type

// Coding implements [spec.Quantized].
func (u uniform) Coding(p spec.Param) spec.Coding {
	c := gguf.CodingOf(gguf.Type(u))
	table := p.Name == "embedding" || p.Name == "head"
	if in := p.Shape[0]; !table && in%c.Block != 0 || table && p.Shape[1]%c.Block != 0 {
		return gguf.CodingOf(gguf.Q8_0)
	}
	return c
}

// ReadBlocks implements [spec.Quantized]; there is nothing to read.
func (uniform) ReadBlocks(spec.Param, int, spec.Blocks) error { return spec.ErrNoBlocks }

// WithMaxMemory returns a model with the same weights and compiled graphs and another limit. m does
// not change. bytes is the limit for the whole process, as in [Options.MaxMemory]; 0 means nine
// tenths of what the machine has left now, in addition to the program and the weights, which are
// already in memory. It returns a [*trace.MemoryError] if the program and the weights need more.
func (m *Model) WithMaxMemory(bytes int64) (*Model, error) {
	view := *m
	limit := LimitMemory(bytes)
	view.memory.Limit, view.memory.Chosen = limit.Limit, limit.Chosen
	view.memory.LimitedBy = limit.LimitedBy
	if limit.Chosen {
		if err := m.sizes.check(view.memory); err != nil {
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
