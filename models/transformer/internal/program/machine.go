package program

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// Program is a graph and the weights that it gets; see [codes.HasWeight]. Graphs are kept by key,
// so the key must tell everything that build depends on except the shapes of the inputs. Layers
// with the same key share one graph.
type Program struct {
	key, weights string
	build        codes.GraphFunc
}

// New returns the program of build.
func New(key, weights string, build codes.GraphFunc) Program {
	return Program{key, weights, build}
}

// Machine compiles graphs over the weights of a model and runs them. It is safe for concurrent use.
// Copies share what was compiled; each has a watcher of its own.
type Machine struct {
	*compiledGraphs
	// watch is told of compilations; see [transformer.Model.Watched]. Nil: nobody is.
	watch *atomic.Pointer[Watch]
}

// compiledGraphs is what the copies of a machine share.
type compiledGraphs struct {
	Backend compute.Backend
	Held    *codes.Held
	// PromptStep is 1 where compiling costs nothing, and [host.SlotStep] where every new shape is
	// compiled and lengths are therefore rounded up.
	PromptStep int
	// OnHost is whether the host may write into what the backend reads.
	OnHost bool

	mu     sync.Mutex
	graphs map[string]*compiled
	chosen map[string]chosen // by what [Machine.WeightsOf] was asked for
	// graphsCompiled and compileTime are what [Machine.Compiled] returns.
	graphsCompiled int
	compileTime    time.Duration
	// underway is how many graphs are being compiled, and underwaySince since when any is.
	underway      int
	underwaySince time.Time
}

// compiled is a graph, compiled for every shape of its inputs so far.
type compiled struct {
	exec *Exec

	mu     sync.Mutex                // locked while it is compiled
	shapes map[string]*codes.HostAsk // what it needs of the host first, nil if it needs nothing
	ask    *codes.HostAsk            // of the graph that was built last
	busy   atomic.Bool               // whether it is being compiled
}

// NewMachine returns a machine that has compiled nothing yet.
func NewMachine(weights *codes.Held) *Machine {
	shared := &compiledGraphs{
		Backend: weights.Backend, Held: weights, PromptStep: host.SlotStep,
		OnHost: weights.Backend.HasSharedBuffers(),
		graphs: map[string]*compiled{}, chosen: map[string]chosen{},
	}
	if codes.BackendName(weights.Backend) == "go" {
		shared.PromptStep = 1
	}
	return &Machine{compiledGraphs: shared}
}

// Run executes the graph that build describes, on inputs and the weights of which; see [Program].
func (m *Machine) Run(key, which string, build codes.GraphFunc,
	inputs ...*tensors.Tensor,
) ([]*tensors.Tensor, error) {
	return m.Execute(Program{key, which, build}, inputs...)
}

// Execute runs a program on inputs.
func (m *Machine) Execute(p Program, inputs ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	if m.Held.Hosted != nil && p.weights != codes.NoWeights {
		return m.executeOnHost(p, inputs)
	}
	out, _, err := m.executeOnce(p, nil, inputs)
	return out, err
}

// executeOnce runs a program up to what it needs of the host, if it needs anything. The last inputs
// are what the host has answered so far, by name.
func (m *Machine) executeOnce(p Program, answered []string, inputs []*tensors.Tensor) (
	[]*tensors.Tensor, *codes.HostAsk, error,
) {
	var sizes []shapes.Shape
	for _, t := range inputs {
		sizes = append(sizes, t.Shape())
	}
	c, ask, weights, err := m.Compile(p, sizes, m.waiting, answered...)
	if err != nil {
		return nil, nil, err
	}
	args := make([]any, 0, len(inputs)+len(weights))
	for _, t := range slices.Concat(inputs, weights) {
		args = append(args, t)
	}
	out, err := c.exec.Call(args...)
	return out, ask, err
}

// Compile returns the graph of a program, compiled for inputs of those shapes, and the weights that
// follow them. A call would compile it too. Here that is counted, its time is measured, and of two
// goroutines with the same shapes one waits for the other. waiting, if not nil, is called before
// compile waits for a graph that is not compiled yet.
func (m *Machine) Compile(p Program, inputs []shapes.Shape, waiting func(Program),
	answered ...string,
) (*compiled, *codes.HostAsk, []*tensors.Tensor, error) {
	given := m.WeightsOf(p.weights)
	weights := given.Tensors
	c, err := m.compiled(p, given, answered, len(inputs))
	if err != nil {
		return nil, nil, nil, err
	}
	sizes := sizesOf(inputs)
	if waiting != nil && c.busy.Load() {
		waiting(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ask, ok := c.shapes[sizes]; ok {
		return c, ask, weights, nil
	}
	if waiting != nil {
		waiting(p)
	}
	c.busy.Store(true)
	defer c.busy.Store(false)
	all := slices.Clone(inputs)
	for _, w := range weights {
		all = append(all, w.Shape())
	}
	begin := time.Now()
	m.countCompiling(begin, 1)
	_, err = c.exec.Compile(all...)
	m.countCompiling(time.Now(), -1)
	if err != nil {
		return nil, nil, nil, err
	}
	c.shapes[sizes] = c.ask
	m.compiledIn(p, time.Since(begin))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.graphsCompiled++
	return c, c.ask, weights, nil
}

// countCompiling notes that a graph begins (1) or ends (-1) being compiled. Several may be at the
// same time, which counts once.
func (m *Machine) countCompiling(now time.Time, change int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.underway == 0 {
		m.underwaySince = now
	}
	if m.underway += change; m.underway == 0 {
		m.compileTime += now.Sub(m.underwaySince)
	}
}

// chosen are the weights that a graph gets, their names, and what [codes.FormKey] says of them.
type chosen struct {
	Names   []string
	Tensors []*tensors.Tensor
	form    string
}

// WeightsOf returns the weights that a graph gets, in the order in which the model loaded them,
// which is the same at every call. [Machine.compiled] relies on that order. The model keeps the
// result: to search all names takes as long as a call of a small graph.
func (m *Machine) WeightsOf(which string) chosen {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.chosen[which]
	if ok {
		return c
	}
	for _, w := range m.Held.Arrays {
		if codes.HasWeight(which, w.Name) {
			c.Names, c.Tensors = append(c.Names, w.Name), append(c.Tensors, w.Tensor)
		}
	}
	c.form = codes.FormKey(c.Names, c.Tensors)
	m.chosen[which] = c
	return c
}

// compiled returns the graph of key and makes it at its first use. It compiles nothing yet: that
// needs the shapes of the inputs.
func (m *Machine) compiled(p Program, given chosen, answered []string, inputs int) (
	*compiled, error,
) {
	key, names := p.key+given.form+strings.Join(answered, ";"), given.Names
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.graphs[key]; ok {
		return c, nil
	}
	c := &compiled{shapes: map[string]*codes.HostAsk{}}
	canonical := func(g *Graph, nodes []*Node) (out []*Node) {
		at := make(map[string]*Node, len(names))
		for i, name := range names {
			at[name] = nodes[inputs+i]
		}
		own := inputs - len(answered)
		for i, name := range answered {
			nodes[own+i].WithAlias(name)
		}
		if m.Held.Hosted == nil {
			return p.build(codes.WithQuantized(at, codes.Named), nodes[:own])
		}
		if out, c.ask = codes.BuildOnHost(g, p.build, at, nodes[:own]); c.ask != nil {
			c.ask.Find(names)
		}
		return out
	}
	exec, err := NewExecCanonical(m.Backend, canonical, inputs+len(names), 1, false, true,
		true)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", key, err)
	}
	// No limit on how many shapes one graph is compiled for.
	exec.SetMaxCache(-1)
	c.exec = exec
	m.graphs[key] = c
	return c, nil
}

// Keys returns what graphs were built for, sorted.
func (m *Machine) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.graphs))
}

// Zeros makes a float32 tensor that the host may write into.
func (m *Machine) Zeros(dims ...int) (*tensors.Tensor, error) {
	return host.Zeros(m.Backend, dims...)
}

// Filled makes a tensor that the host fills.
func (m *Machine) Filled(dims []int, fill func(data []float32)) (*tensors.Tensor, error) {
	return host.Filled(m.Backend, dims, fill)
}

// FilledFrom makes a tensor that the host fills from another one. It may return the tensor beside
// an error.
func (m *Machine) FilledFrom(source *tensors.Tensor, dims []int,
	fill func(to, from []float32),
) (*tensors.Tensor, error) {
	return host.FilledFrom(m.Backend, source, dims, fill)
}

// sizesOf writes the sizes of inputs as text. The key of a graph decides their types, so the sizes
// are enough.
func sizesOf(inputs []shapes.Shape) string {
	var b []byte
	for _, s := range inputs {
		for _, d := range s.Dimensions {
			b = append(strconv.AppendInt(b, int64(d), 10), ',')
		}
		b = append(b, ' ')
	}
	return string(b)
}

// Compiled returns how many graphs were compiled for the model so far, one for every use and
// shape, and how long that took. Graphs that were compiled at the same time count once in it.
func (m *Machine) Compiled() (graphs int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.graphsCompiled, m.compileTime
}

// executeOnHost is [Machine.Execute] for matrices in codes that the host multiplies.
func (m *Machine) executeOnHost(p Program, inputs []*tensors.Tensor) ([]*tensors.Tensor, error) {
	var answered []string
	var answers []*tensors.Tensor
	weights := m.WeightsOf(p.weights).Names
	defer func() { host.Free(answers...) }()
	for { // ends: each turn answers one more product or array of the graph
		out, ask, err := m.executeOnce(p, answered, append(slices.Clip(inputs), answers...))
		if err != nil || ask == nil {
			return out, err
		}
		answered = append(answered, ask.Names...)
		for _, place := range ask.Places {
			array, _, _ := strings.Cut(weights[place], "#")
			var answer *tensors.Tensor
			if ask.Rows == nil {
				answer, err = codes.HostNumbers(m.Backend, m.Held.Hosted[array])
			} else {
				answer, err = codes.Multiplied(m.Backend, out[0], m.Held.Hosted[array])
			}
			if answers = append(answers, answer); err != nil {
				break
			}
		}
		if host.Free(out...); err != nil {
			return nil, err
		}
	}
}
