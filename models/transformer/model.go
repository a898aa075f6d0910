package transformer

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// slotStep is the least number of places that are added at a time to a cache or a prompt where every new size is one more graph to
// compile.
const slotStep = 32

// bucket rounds n up to one of few sizes: multiples of slotStep, and of a quarter of the power of two below n where that is more, so
// that at most a quarter is padding and a text of a thousand tokens meets about a dozen sizes.
func bucket(n int) int {
	step := slotStep
	for 8*step < n {
		step *= 2
	}
	return roundUp(n, step)
}

// pairBucket is bucket in smaller steps, for caches over which every token costs a pass for each slot: at most an eighth and a step of 16
// is padding.
func pairBucket(n int) int {
	step := slotStep / 2
	for 16*step < n {
		step *= 2
	}
	return roundUp(n, step)
}

// Model is a transformer with its weights on a backend. It is safe for concurrent use.
type Model struct {
	// Spec describes it and must not be changed.
	Spec *Spec
	// DType is what its matrices are held in.
	DType dtypes.DType

	// MaxBytes is how much memory one pass may take besides the weights; more is refused with a [MemoryError]. 0 is 8 GiB. It may be
	// set before the model is used.
	MaxBytes int64
	// Beside is how many bytes the process holds besides, and Chosen whether somebody chose the limit that MaxBytes and Beside are
	// together. Both are for messages.
	Beside int64
	Chosen bool

	*loaded
}

// loaded is what a model and the views of it that [Model.WithMaxBytes] returns have in common.
type loaded struct {
	backend compute.Backend
	// promptStep is 1 where compiling costs nothing, slotStep where every new shape is compiled and lengths are rounded up.
	promptStep int
	params     []Param
	weights    []weight

	mu     sync.Mutex
	graphs map[string]*compiled
	// graphsCompiled and compileTime are what [Model.Compiled] returns.
	graphsCompiled int
	compileTime    time.Duration
}

// New puts a transformer on a backend, its matrices as dtype: float32, or bfloat16 for half the memory; norms and biases are float32
// always. Each array goes from load to its place without a copy of it between.
func New(backend compute.Backend, spec *Spec, dtype dtypes.DType, load Loader) (*Model, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if dtype != dtypes.Float32 && dtype != dtypes.BFloat16 {
		return nil, fmt.Errorf("transformer: weights as %s are not supported; take float32 or bfloat16", dtype)
	}
	m := &Model{
		Spec: spec, DType: dtype,
		loaded: &loaded{
			backend: backend, promptStep: slotStep, params: spec.Params(),
			graphs: map[string]*compiled{},
		},
	}
	if backendName(m.backend) == "go" {
		m.promptStep = 1
	}
	for _, a := range fused(m.params, m.outFirst()) {
		t, err := m.load(a, load)
		if err != nil {
			return nil, err
		}
		m.weights = append(m.weights, weight{a.name, t})
	}
	return m, nil
}

// WithMaxBytes returns a model on the same weights and compiled graphs, whose passes may take so many
// bytes beside the weights; see [Model.MaxBytes]. m does not change.
func (m *Model) WithMaxBytes(bytes int64) *Model {
	view := *m
	view.MaxBytes = bytes
	return &view
}

// outFirst is whether the matrices of layers are held [out,in]: where XLA computes on a CPU, which then multiplies them with few columns
// of activations and reads them in order, as the library it calls is fastest at.
func (m *Model) outFirst() bool { return onCPU(m.backend) }

// builder builds a graph of the model.
func (m *Model) builder(w Weights, t text) *builder {
	d := newBuilder(m.Spec, w, t)
	d.fused = true
	if m.outFirst() {
		d.product = product{outFirst: true, alone: graph.GreaterThan(t.length, graph.ZerosLike(t.length))}
	}
	return d
}

// backendName returns the name of what computes: go or xla.
func backendName(b compute.Backend) string {
	if strings.EqualFold(b.Name(), "Go Backend") { // what package gobackend calls itself
		return "go"
	}
	return b.Name()
}

// CheckIDs returns an error if ids is empty, longer than the context, or holds an id outside the vocabulary.
func (m *Model) CheckIDs(ids []int) error {
	if len(ids) == 0 {
		return fmt.Errorf("transformer: there are no tokens to run on")
	}
	if m.Spec.Context > 0 && len(ids) > m.Spec.Context {
		return fmt.Errorf("transformer: %d tokens are more than the context of %d", len(ids), m.Spec.Context)
	}
	for i, id := range ids {
		if id < 0 || id >= m.Spec.Vocab {
			return fmt.Errorf("transformer: id %d of token %d is outside the vocabulary of %d", id, i, m.Spec.Vocab)
		}
	}
	return nil
}

// roundUp returns the least multiple of step that is at least n.
func roundUp(n, step int) int { return (n + step - 1) / step * step }

// idTensor returns ids as [1,n], filled up with 0.
func idTensor(ids []int, n int) *tensors.Tensor {
	flat := make([]int32, n)
	for i, id := range ids {
		flat[i] = int32(id)
	}
	return tensors.FromFlatDataAndDimensions(flat, 1, n)
}
