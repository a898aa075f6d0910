package transformer

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/shapes"
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

// Model is a transformer with its weights on a backend. It is safe for concurrent use.
type Model struct {
	// Spec describes it and must not be changed.
	Spec *Spec
	// DType is what its matrices are held in.
	DType dtypes.DType

	backend compute.Backend
	// promptStep is 1 where compiling costs nothing, slotStep where every new shape is compiled and lengths are rounded up.
	promptStep int
	weights    map[string]*tensors.Tensor
	params     []Param

	mu    sync.Mutex
	execs map[string]*graph.Exec
}

// Loader calls put with the values of a parameter, piece by piece, each with the index of its first value, row-major. A piece is
// read before put returns and not kept.
type Loader func(p Param, put func(first int, values []float32)) error

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
		Spec: spec, DType: dtype, backend: backend, promptStep: slotStep, params: spec.Params(),
		weights: map[string]*tensors.Tensor{}, execs: map[string]*graph.Exec{},
	}
	if m.Backend() == "go" {
		m.promptStep = 1
	}
	for _, p := range m.params {
		t, err := m.load(p, load)
		if err != nil {
			return nil, err
		}
		m.weights[p.Name] = t
	}
	return m, nil
}

// load makes the tensor of a parameter.
func (m *Model) load(p Param, load Loader) (*tensors.Tensor, error) {
	dtype := dtypes.Float32
	if len(p.Shape) > 1 {
		dtype = m.DType
	}
	t, err := tensors.FromShapeForBackend(m.backend, 0, shapes.Make(dtype, p.Shape...))
	if err != nil {
		return nil, fmt.Errorf("transformer: %s: %w", p.Name, err)
	}
	filled := 0
	var loaded error
	err = t.MutableFlatData(func(flat any) {
		loaded = load(p, func(first int, values []float32) {
			filled += len(values)
			switch dst := flat.(type) {
			case []float32:
				copy(dst[first:first+len(values)], values)
			case []bfloat16.BFloat16:
				for i, v := range values {
					dst[first+i] = bfloat16.FromBits(uint16(math.Float32bits(roundBFloat16(v)) >> 16))
				}
			}
		})
	})
	if err = errors.Join(loaded, err); err != nil {
		return nil, err
	}
	if filled != p.Size() {
		return nil, fmt.Errorf("transformer: %s has %d numbers, its shape %v needs %d", p.Name, filled, p.Shape, p.Size())
	}
	if err := t.ToDevice(m.backend, 0); err != nil {
		return nil, fmt.Errorf("transformer: %s: %w", p.Name, err)
	}
	return t, nil
}

// Backend returns the name of what computes: go or xla.
func (m *Model) Backend() string {
	if strings.EqualFold(m.backend.Name(), "Go Backend") { // what package gobackend calls itself
		return "go"
	}
	return m.backend.Name()
}

// graphFunc builds a graph from its own inputs and the weights.
type graphFunc func(w Weights, inputs []*graph.Node) []*graph.Node

// run executes the graph that build describes on inputs and the weights whose names start with prefix. Graphs are kept by
// key, so key must say everything that build depends on besides the shapes of its inputs.
func (m *Model) run(key, prefix string, build graphFunc, inputs ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	var names []string
	args := make([]any, 0, len(inputs)+len(m.params))
	for _, t := range inputs {
		args = append(args, t)
	}
	for _, p := range m.params {
		if name, ok := strings.CutPrefix(p.Name, prefix); ok {
			names = append(names, name)
			args = append(args, m.weights[p.Name])
		}
	}
	exec, err := m.exec(key, len(inputs), names, build)
	if err != nil {
		return nil, err
	}
	return exec.Call(args...)
}

// exec returns the executor of key, made at first use.
func (m *Model) exec(key string, inputs int, names []string, build graphFunc) (*graph.Exec, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if exec, ok := m.execs[key]; ok {
		return exec, nil
	}
	canonical := func(_ *graph.Graph, nodes []*graph.Node) []*graph.Node {
		at := make(map[string]*graph.Node, len(names))
		for i, name := range names {
			at[name] = nodes[inputs+i]
		}
		return build(func(name string) *graph.Node { return at[name] }, nodes[:inputs])
	}
	exec, err := graph.NewExecCanonical(m.backend, canonical, inputs+len(names), 1, false, true, true)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s: %w", key, err)
	}
	exec.SetMaxCache(-1)
	m.execs[key] = exec
	return exec, nil
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

// maxPassBytes bounds what one pass may hold: more is refused, because the system would end the program instead.
const maxPassBytes = 8 << 30

// passArrays is how many arrays [H,T,T] a pass holds at a time beside those that it returns: scores, mask, softmax, and room to
// compute them.
const passArrays = 4

// checkMemory returns an error if a pass that returns kept arrays [H,T,T] would hold more than maxPassBytes; pairs is T², of all
// texts together.
func (m *Model) checkMemory(pairs, kept int) error {
	need := 4 * float64(m.Spec.Heads) * float64(pairs) * float64(passArrays+kept)
	if need <= maxPassBytes {
		return nil
	}
	return fmt.Errorf("transformer: attention over %.0f tokens needs about %.1f GiB in one pass, limit %d GiB; take a shorter text or fewer taps",
		math.Sqrt(float64(pairs)), need/(1<<30), maxPassBytes>>30)
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

// floats copies a float32 tensor to the host.
func floats(t *tensors.Tensor) ([]float32, error) {
	if t.DType() != dtypes.Float32 {
		return nil, fmt.Errorf("transformer: a graph returned %s, not float32", t.DType())
	}
	var out []float32
	err := t.ConstFlatData(func(flat any) { out = append(out, flat.([]float32)...) })
	return out, err
}
