package transformer

import (
	"math"
	"runtime"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// slotStep is the smallest number of slots that a cache or a prompt grows by where every new size
// means one more graph to compile.
const slotStep = 32

// mostSlots is the largest number of slots that is rounded up: more than any memory holds, and so
// few that no size overflows.
const mostSlots = math.MaxInt / 32

// bucket rounds n up to one of few sizes, so that few graphs are compiled: a multiple of slotStep,
// and of a quarter of the power of two below n where that is more. At most a quarter of a bucket
// is padding, and texts of up to a thousand tokens meet about a dozen sizes.
func bucket(n int) int { return stepped(n, slotStep, 8) }

// pairBucket is bucket with smaller steps, for caches over which every token costs a pass for each
// slot: padding is at most an eighth or 16 slots.
func pairBucket(n int) int { return stepped(n, slotStep/2, 16) }

// stepped rounds n up to a multiple of a step, which doubles until n has at most so many of them.
func stepped(n, step, most int) int {
	n = min(n, mostSlots)
	for most*step < n {
		step *= 2
	}
	return roundUp(n, step)
}

// Model is a transformer with its weights on a backend. It is safe for concurrent use.
type Model struct {
	// Spec describes the architecture and must not be changed.
	Spec *spec.Spec
	// DType is the type of its matrices: float32 or bfloat16.
	DType dtypes.DType

	// MaxBytes is how many bytes one pass may take besides the weights; a pass that needs more is
	// refused with a [trace.MemoryError]. 0 means 8 GiB. Set it before the model is used.
	MaxBytes int64
	// Beside is how many bytes the process holds besides MaxBytes, and Chosen is whether the user
	// chose the sum of the two as a limit. Both are for messages only.
	Beside int64
	Chosen bool

	// tiling is how long prompts are computed.
	tiling tiling
	// termsAtOnce is how many layers [Model.termGraphs] puts into a graph; 0 is [mostTermLayers].
	// Tests set others.
	termsAtOnce int
	// projectAlways makes tests use [projectedSources] where it does not pay.
	projectAlways bool

	// parted is what is kept of the text of [Model.ForText], nil for a model of no text.
	parted *partedText

	// machine compiles and runs graphs, and through is what texts share of the weights; nil where a
	// model is asked for sizes alone.
	machine *machine
	through *sharedThrough
}

// New puts a transformer on a backend. dtype is the type of its matrices: float32, or bfloat16 for
// half the memory; norms and biases are always float32. Every array goes from load straight to its
// place, without a copy. It returns a [*spec.SpecError] for a spec that contradicts itself, an
// error for another dtype, and the errors of load and of the backend.
func New(backend compute.Backend, spec *spec.Spec, dtype dtypes.DType,
	load spec.Loader,
) (*Model, error) {
	return newModel(backend, spec, dtype, load, nil, 1)
}

// NewQuantized is [New] for a checkpoint some of whose matrices may be quantised, and which several
// goroutines may read at once. Where XLA computes in float32 it reads those from q, and keeps their
// codes alone. A token on the cache then takes less time, because it reads less memory;
// a graph with products of several columns computes the numbers first, which are those of load. q
// may be nil.
func NewQuantized(backend compute.Backend, spec *spec.Spec, dtype dtypes.DType,
	load spec.Loader, q spec.Quantized,
) (*Model, error) {
	return newModel(backend, spec, dtype, load, q, min(loadersMost, runtime.GOMAXPROCS(0)))
}

// newModel is [NewQuantized] with so many goroutines that read.
func newModel(backend compute.Backend, spec *spec.Spec, dtype dtypes.DType,
	load spec.Loader, q spec.Quantized, loaders int,
) (*Model, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if dtype != dtypes.Float32 && dtype != dtypes.BFloat16 {
		return nil, pkg.Errorf("weights as %s are not supported; take float32 or bfloat16", dtype)
	}
	held, err := loadWeights(backend, spec, dtype, load, q, loaders)
	if err != nil {
		return nil, err
	}
	return &Model{
		Spec: spec, DType: dtype, machine: newMachine(held), through: &sharedThrough{},
	}, nil
}

// WeightBytes returns how many bytes the weights take.
func (m *Model) WeightBytes() int64 { return m.machine.held.bytes() }

// RoundedBytes returns how many bytes the buffers of the weights have if sizes are rounded up as
// the pure-Go backend does: to 2ⁿ or 3·2ⁿ.
func (m *Model) RoundedBytes() int64 { return m.machine.held.roundedBytes() }

// Compiled returns how many graphs were compiled for the model so far, one for every use and
// shape, and how long that took. Graphs that were compiled at the same time count once in it.
func (m *Model) Compiled() (graphs int, took time.Duration) { return m.machine.Compiled() }

// WithMaxBytes returns a model on the same weights and compiled graphs whose passes may take so
// many bytes besides the weights; see [Model.MaxBytes]. m does not change.
func (m *Model) WithMaxBytes(bytes int64) *Model {
	view := *m
	view.MaxBytes = bytes
	return &view
}

// builder returns a builder for a graph of the model.
func (m *Model) builder(w byName, t text) *builder {
	if t.boundary == nil {
		t.length, t.boundary = lengthOf(t.length)
	}
	d := newBuilder(m.Spec, w, t)
	d.fused = true
	if m.machine.held.outFirst() {
		d.product = product{outFirst: true}
	}
	if onCPU(m.machine.backend) {
		d.product.always = GreaterThan(t.length, ZerosLike(t.length))
	}
	return d
}

// CheckIDs returns an error if ids is empty, longer than the context, or contains an id outside
// the vocabulary, and for two stacks if it does not have a source and one target.
func (m *Model) CheckIDs(ids []int) error {
	longest := len(ids)
	if m.Spec.Encoder > 0 && longest > 0 { // each stack counts from 0
		source := boundaryOf(m.Spec, ids)
		if source == 0 || source == len(ids) {
			return pkg.Errorf("%s needs a text of source and target: put id %d between them, "+
				"with which the target begins", m.Spec.Family, m.Spec.Boundary())
		}
		longest = max(source, len(ids)-source)
	}
	if m.Spec.Context > 0 && longest > m.Spec.Context {
		return pkg.Errorf("%d tokens are more than the context of %d", longest, m.Spec.Context)
	}
	return m.CheckVocabulary(ids)
}

// CheckVocabulary returns an error if ids is empty, contains an id outside the vocabulary, or parts
// source and target twice. Ids without a boundary are of the target.
func (m *Model) CheckVocabulary(ids []int) error {
	if len(ids) == 0 {
		return pkg.Errorf("there are no tokens to run on")
	}
	boundary := boundaryOf(m.Spec, ids)
	for i, id := range ids {
		if m.Spec.Encoder > 0 && i == boundary && boundary < len(ids) {
			continue
		}
		if inSource := boundary < len(ids) && i < boundary; !m.Spec.Takes(id, inSource) {
			if m.Spec.SourceVocab > 0 {
				return pkg.Errorf("id %d of token %d is on the wrong side: ids of the target are "+
					"from 0 to %d, those of the source from %d to %d", id, i, m.Spec.Vocab-1,
					m.Spec.Vocab, m.Spec.Boundary()-1)
			}
			return pkg.Errorf("id %d of token %d is outside the vocabulary of %d", id,
				i, m.Spec.Vocab)
		}
	}
	return nil
}

// roundUp returns the smallest multiple of step that is at least n.
func roundUp(n, step int) int { return (n + step - 1) / step * step }

// evenly returns the size of equal parts of n, as few as there can be of at most that size. Only
// the last part may be smaller.
func evenly(n, most int) int {
	parts := (n + most - 1) / most
	return (n + parts - 1) / parts
}
