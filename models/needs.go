package models

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/models/spec"
)

// NeedsTokens is the length of the text that [Needs] counts the memory of a pass for.
const NeedsTokens = 64

// Needs is what a model takes on this machine, from the headers of its files alone.
type Needs struct {
	// Parameters is how many numbers the weights have.
	Parameters int64 `json:"parameters"`
	// Bits is how many bits each number has in the files, on average.
	Bits float64 `json:"bits"`
	// DType is the type of the weights in memory, and Codes is whether matrices that have fewer
	// bits in the files stay as they are.
	DType string `json:"dtype"`
	Codes bool   `json:"codes"`
	// Memory is what the process takes, and Limit what it may take, in bytes.
	Memory MemoryParts `json:"memory"`
	Limit  int64       `json:"limit"`
	// TokensPerSecond is an estimate of how many tokens a second the model writes where nothing is
	// explained, and Bandwidth is what it was computed from: how many bytes of memory this machine
	// has just read in a second. Both are 0 for a model that writes none, and on a GPU.
	TokensPerSecond float64 `json:"tokens_per_second,omitempty"`
	Bandwidth       float64 `json:"bandwidth,omitempty"`
}

// MemoryParts is the memory of a process with a model, in bytes.
type MemoryParts struct {
	// Program is the code, Go's runtime and the backend, Graphs what the backend compiles, and
	// Beside what the process uses for other things; see [Options.Beside].
	Program int64 `json:"program"`
	Graphs  int64 `json:"graphs,omitempty"`
	Beside  int64 `json:"beside,omitempty"`
	// Layers is the weights of the layers, and Tables all others: embeddings and head.
	Layers int64 `json:"layers"`
	Tables int64 `json:"tables"`
	// Passes is what the default methods need beside that to explain a text of [NeedsTokens].
	Passes int64 `json:"passes"`
}

// Total is the sum of all parts.
func (p MemoryParts) Total() int64 { return p.program() + p.weights() + p.Passes }

func (p MemoryParts) program() int64 { return p.Program + p.Graphs + p.Beside }

func (p MemoryParts) weights() int64 { return p.Layers + p.Tables }

// Examine returns what a model is and what it takes here, without reading its weights; the hash is
// that of an embedded model, or "". ref and the errors are those of [OpenContext], but a model that
// does not fit is no error.
func Examine(ctx context.Context, ref string, opts Options) (trace.Info, *Needs, error) {
	from, at, err := locate(ctx, ref, &opts)
	if err != nil {
		return trace.Info{}, nil, at.explain(ctx, err)
	}
	defer from.Close()
	p, err := prepare(from, at.name, opts)
	if err != nil {
		return trace.Info{}, nil, at.explain(ctx, err)
	}
	m := &Model{spec: p.spec}
	if err := m.openText(from); err != nil { // which notices more
		return trace.Info{}, nil, at.explain(ctx, err)
	}
	info := m.describe()
	info.Name, info.Title, info.Note, info.Backend = at.name, from.Title(), at.note, p.backend
	if at.path == "" {
		if info.Hash, err = from.Hash(ctx); err != nil {
			return trace.Info{}, nil, err
		}
	}
	numbers, bytes := from.tensors().Stored()
	n := &Needs{
		Parameters: p.parameters(), Bits: 8 * float64(bytes) / float64(max(1, numbers)),
		DType: strings.ToLower(p.dtype.String()), Codes: p.inCodes(),
		Memory: p.parts, Limit: opts.memory(p.parts).Limit,
	}
	if memory := backends.GPUMemory(p.backend); memory > 0 {
		n.Limit = int64(ofGPU * float64(memory))
	}
	if p.backend != "cuda" && info.Head == trace.NextToken {
		n.Bandwidth = memoryBandwidth()
		n.TokensPerSecond = n.Bandwidth / p.tokenBytes()
	}
	return info, n, nil
}

// prepared is what is known of a model before its weights are read.
type prepared struct {
	sizes
	backend string // go, xla or cuda
	// load and quantized read weights; quantized is nil where none are kept in codes.
	load      spec.Loader
	quantized spec.Quantized
	weights   *finiteWeights
}

// inCodes reports whether a matrix of a layer is kept in codes.
func (p *prepared) inCodes() bool {
	return p.quantized != nil && slices.ContainsFunc(p.spec.Params(), func(a spec.Param) bool {
		return strings.HasPrefix(a.Name, "blocks.") && p.quantized.Coding(a).Bits > 0
	})
}

// parameters is how many numbers the weights have.
func (p *prepared) parameters() (all int64) {
	for _, param := range p.spec.Params() {
		all += int64(param.Size())
	}
	return all
}

// unread is the part of the numbers that a token does not read: of an embedding that is not the
// head all but a row, and the experts that were not chosen.
func (p *prepared) unread() (part float64) {
	part = float64(p.spec.SourceVocab) * float64(p.spec.Embedded())
	if !p.spec.TiedHead {
		part += float64(p.spec.Vocab) * float64(p.spec.Embedded())
	}
	for _, param := range p.spec.Params() {
		if m := p.spec.Mixture; m != nil && strings.Contains(param.Name, ".experts.") {
			part += float64(param.Size()) * float64(m.Experts-m.Chosen) / float64(m.Experts)
		}
	}
	return part / float64(p.parameters())
}

// A token reads the weights once, but for [prepared.unread]. That takes about so many times as long
// as [memoryBandwidth] would read them, and a number in codes, which is computed first, as long as
// so many bytes. Seen with SmolLM2 and Gemma 3 270M: 1.4 to 1.7, and 3.3 to 5.5 bytes.
const (
	xlaFactor = 1.5
	goFactor  = 3
	codeBytes = 4
)

// tokenBytes is how many bytes of memory could be read while one more token is computed.
func (p *prepared) tokenBytes() float64 {
	read := xlaFactor * float64(p.parts.weights())
	switch {
	case p.backend == "go" && p.inCodes():
		read = goFactor * codeBytes * float64(p.parameters())
	case p.backend == "go":
		read = goFactor * float64(p.parts.weights())
	case p.inCodes():
		read = codeBytes * float64(p.parameters())
	}
	return read * (1 - p.unread())
}

// memoryBandwidth returns how many bytes of memory this machine reads in a second, all processors
// together. The first call takes about 0.2 s.
var memoryBandwidth = sync.OnceValue(func() float64 {
	const size, lasts = 16 << 20, 100 * time.Millisecond // numbers, more than caches hold
	numbers := make([]uint64, size)
	for i := range numbers {
		numbers[i] = uint64(i) // the system gives pages when they are written
	}
	parts := runtime.GOMAXPROCS(0)
	fastest, sums := time.Duration(math.MaxInt64), make([]uint64, parts)
	for start := time.Now(); time.Since(start) < lasts; {
		begin := time.Now()
		var all sync.WaitGroup
		for i := range parts {
			all.Go(func() { sums[i] += sum(numbers[i*size/parts : (i+1)*size/parts]) })
		}
		all.Wait()
		fastest = min(fastest, max(1, time.Since(begin)))
	}
	return 8 * size / fastest.Seconds()
})

// sum adds numbers, four at a time, because one after the other takes longer than reading them.
func sum(numbers []uint64) uint64 {
	var a, b, c, d uint64
	for ; len(numbers) >= 4; numbers = numbers[4:] {
		a, b, c, d = a+numbers[0], b+numbers[1], c+numbers[2], d+numbers[3]
	}
	return a + b + c + d
}
