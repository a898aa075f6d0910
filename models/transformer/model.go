package transformer

import (
	"fmt"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// slotStep is how many cache slots are added at a time: the cost of a step follows the slots, and every new number of slots
// is one more graph to compile.
const slotStep = 32

// Model is a decoder with its weights on a backend. It is safe for concurrent use.
type Model struct {
	// Spec describes it and must not be changed.
	Spec *Spec

	backend compute.Backend
	// promptStep rounds up the length of what is fed at once: 1 where compiling costs nothing, slotStep where every new
	// shape is compiled.
	promptStep int
	weights    map[string]*tensors.Tensor
	params     []Param

	mu    sync.Mutex
	execs map[string]*graph.Exec
}

// New puts a decoder on a backend. load returns the array of a parameter, row-major; what it returns is copied.
func New(backend compute.Backend, spec *Spec, load func(Param) ([]float32, error)) (*Model, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	m := &Model{
		Spec: spec, backend: backend, promptStep: slotStep, params: spec.Params(),
		weights: map[string]*tensors.Tensor{}, execs: map[string]*graph.Exec{},
	}
	if m.Backend() == "go" {
		m.promptStep = 1
	}
	for _, p := range m.params {
		data, err := load(p)
		if err != nil {
			return nil, err
		}
		if len(data) != p.Size() {
			return nil, fmt.Errorf("transformer: %s has %d numbers, its shape %v needs %d", p.Name, len(data), p.Shape, p.Size())
		}
		t := tensors.FromFlatDataAndDimensions(data, p.Shape...)
		if err := t.MaterializeOnDevice(backend, true, 0); err != nil {
			return nil, fmt.Errorf("transformer: %s: %w", p.Name, err)
		}
		m.weights[p.Name] = t
	}
	return m, nil
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

// checkMemory returns an error if a pass over n tokens that returns kept arrays [H,T,T] would hold more than maxPassBytes.
func (m *Model) checkMemory(n, kept int) error {
	need := 4 * float64(m.Spec.Heads) * float64(n) * float64(n) * float64(passArrays+kept)
	if need <= maxPassBytes {
		return nil
	}
	return fmt.Errorf("transformer: attention over %d tokens needs about %.1f GiB in one pass, limit %d GiB; take a shorter text or fewer taps",
		n, need/(1<<30), maxPassBytes>>30)
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
