package transformer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
)

// In pure Go the host multiplies by matrices in codes: the library's own products with codes take
// longer than reading float32, and a graph that computed the numbers would hold whole matrices. A
// graph is built up to the first such product and returns what the matrix multiplies; then the host
// multiplies, and the graph is built again with the product as one more input, up to the next one.
// Only what outputs need is computed each time. Where a graph does anything else with a matrix, as
// where it is multiplied from the left or something is differentiated, the host computes its
// numbers, and they are the input.

// OnHost returns q for a model whose matrices pure Go keeps in codes, and nil for one that it keeps
// in float32: where that takes at most 600 MB, because reading it is fastest, and where there are
// experts, whose matrices are not multiplied one by one.
func OnHost(s *spec.Spec, q spec.Quantized) spec.Quantized {
	if layers, others := Bytes(s, dtypes.Float32, nil); q == nil || s.Mixture != nil ||
		layers+others <= hostFloats {
		return nil
	}
	return onHost{q}
}

// hostFloats is for how many bytes of weights pure Go keeps float32.
var hostFloats = int64(600e6) // tests set others

// onHost are codes that the host multiplies. No matrix is kept by columns as well.
type onHost struct{ spec.Quantized }

// hostAsk is what a graph needs of the host before it can be built further: a product of rows with
// a matrix, or numbers.
type hostAsk struct {
	// arrays are the matrices, and names are those of the inputs that answer.
	arrays, names []string
	// rows [m,K] are multiplied by the only matrix; nil if numbers are asked for.
	rows *Node
	// places are where the weights of a graph have the matrices. Layers share graphs, so that their
	// names are those of the layer for which the graph was built.
	places []int
}

// find fills in places.
func (a *hostAsk) find(weights []string) {
	for _, array := range a.arrays {
		a.places = append(a.places, slices.IndexFunc(weights, func(name string) bool {
			return strings.HasPrefix(name, array+"#")
		}))
	}
}

// byHost is x [m,K] times the matrix w [out,K], [m,out], if the host computes it, and nil if not.
// The product of a matrix that comes k-th in a graph is an input with a name.
func (p product) byHost(x, w *Node) *Node {
	g := x.Graph()
	if !multipliesOnHost(g) || p.straightThrough || codesOf(w) == nil ||
		w.Type() == NodeTypeParameter {
		return nil
	}
	array := strings.TrimPrefix(w.GetAlias(), AliasScopeSeparator)
	for k := 0; ; k++ { // ends: each turn finds a node of the graph
		name := fmt.Sprintf("product %d of %s", k, array)
		made := g.GetNodeByAlias(name)
		if made == nil {
			panic(&hostAsk{arrays: []string{array}, names: []string{name}, rows: x})
		}
		if used := name + ", used"; g.GetNodeByAlias(used) == nil {
			return Identity(made).WithAlias(used)
		}
	}
}

// hostMark is a node of the graphs whose matrices in codes the host multiplies.
const hostMark = "multiplied by the host"

func multipliesOnHost(g *Graph) bool { return g.GetNodeByAlias(hostMark) != nil }

// buildOnHost builds a graph from its inputs and the weights at. It returns what the graph needs
// first, if it needs anything; the output is then what is multiplied.
func buildOnHost(g *Graph, build graphFunc, at map[string]*Node, inputs []*Node) (
	out []*Node, ask *hostAsk,
) {
	Const(g, float32(0)).WithAlias(hostMark)
	defer func() {
		if r := recover(); r != nil {
			asked, ok := r.(*hostAsk)
			if !ok {
				panic(r)
			}
			out, ask = []*Node{asked.rows}, asked
		}
	}()
	without := map[*Node]string{} // matrices without their numbers
	out = build(withQuantized(at, func(name string, q quantized) *Node {
		if answered := g.GetNodeByAlias(name); answered != nil {
			return answered
		}
		out, in := 0, 0
		for _, f := range q {
			dims := f.codes.Shape().Dimensions // out,a,b,j,·,32
			out, in = out+dims[0], dims[1]*dims[2]*dims[3]*f.chunk()*spec.BlockSize
		}
		w := Zeros(g, shapes.Make(dtypes.Float32, out, in)).WithAlias(name)
		without[w] = name
		return w
	}), inputs)
	ask = &hostAsk{}
	seen := map[*Node]bool{}
	var visit func(all []*Node)
	visit = func(all []*Node) { // ends: a graph has no cycle, and no node is seen twice
		for _, n := range all {
			if seen[n] {
				continue
			}
			seen[n] = true
			if name, ok := without[n]; ok {
				ask.arrays = append(ask.arrays, name)
			}
			visit(n.Inputs())
		}
	}
	if visit(out); ask.arrays == nil {
		return out, nil
	}
	slices.Sort(ask.arrays)
	ask.names = ask.arrays
	return []*Node{Const(g, float32(0))}, ask
}

// executeOnHost is [Model.execute] for matrices in codes that the host multiplies.
func (m *Model) executeOnHost(p program, inputs []*tensors.Tensor) ([]*tensors.Tensor, error) {
	var answered []string
	var answers []*tensors.Tensor
	weights := m.weightsOf(p.weights).names
	defer func() { free(answers...) }()
	for { // ends: each turn answers one more product or array of the graph
		out, ask, err := m.executeOnce(p, answered, append(slices.Clip(inputs), answers...))
		if err != nil || ask == nil {
			return out, err
		}
		answered = append(answered, ask.names...)
		for _, place := range ask.places {
			array, _, _ := strings.Cut(weights[place], "#")
			var answer *tensors.Tensor
			if ask.rows == nil {
				answer, err = m.hostNumbers(m.hosted[array])
			} else {
				answer, err = m.multiplied(out[0], m.hosted[array])
			}
			if answers = append(answers, answer); err != nil {
				break
			}
		}
		if free(out...); err != nil {
			return nil, err
		}
	}
}

// hostNumbers is a matrix in float32, [out,in].
func (m *Model) hostNumbers(forms []*hostForm) (*tensors.Tensor, error) {
	out := 0
	for _, f := range forms {
		out += f.out
	}
	return m.filled([]int{out, forms[0].in}, func(data []float32) {
		for _, f := range forms {
			n := f.out * f.in
			f.numbers(data[:n], 0)
			data = data[n:]
		}
	})
}

// hostRows is how many rows of activations are multiplied by a row of a matrix when its numbers are
// known: so many that computing them takes little beside, and few enough for the memory.
const hostRows = 512

// multiplied is x [m,K] times a matrix [out,K], [m,out].
func (m *Model) multiplied(x *tensors.Tensor, forms []*hostForm) (*tensors.Tensor, error) {
	rows, in, out := x.Shape().Dimensions[0], forms[0].in, 0
	for _, f := range forms {
		out += f.out
	}
	return m.filledFrom(x, []int{rows, out}, func(to, from []float32) {
		for at := 0; at < rows; at += hostRows {
			first, x := at*out, from[at*in:min(rows, at+hostRows)*in]
			tiles := tiled(x, in)
			for _, f := range forms {
				f.times(to[first:], x, tiles, out)
				first += f.out
			}
		}
	})
}
