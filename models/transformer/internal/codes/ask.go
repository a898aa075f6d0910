package codes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// In pure Go the host multiplies by matrices in codes: the library's own products with codes take
// longer than reading float32, and a graph that computed the numbers would hold whole matrices. A
// graph is built up to the first such product and returns what the matrix multiplies; then the host
// multiplies, and the graph is built again with the product as one more input, up to the next one.
// Only what outputs need is computed each time. Where a graph does anything else with a matrix, as
// where it is multiplied from the left or something is differentiated, the host computes its
// numbers, and they are the input.

// HostAsk is what a graph needs of the host before it can be built further: a product of rows with
// a matrix, or numbers.
type HostAsk struct {
	// arrays are the matrices, and Names are those of the inputs that answer.
	arrays, Names []string
	// Rows [m,K] are multiplied by the only matrix; nil if numbers are asked for.
	Rows *Node
	// Places are where the weights of a graph have the matrices. Layers share graphs, so that their
	// names are those of the layer for which the graph was built.
	Places []int
}

// Find fills in places.
func (a *HostAsk) Find(weights []string) {
	for _, array := range a.arrays {
		a.Places = append(a.Places, slices.IndexFunc(weights, func(name string) bool {
			return strings.HasPrefix(name, array+"#")
		}))
	}
}

// byHost is x [m,K] times the matrix w [out,K], [m,out], if the host computes it, and nil if not.
// The product of a matrix that comes k-th in a graph is an input with a name.
func (p Product) byHost(x, w *Node) *Node {
	g := x.Graph()
	if !MultipliesOnHost(g) || p.StraightThrough || codesOf(w) == nil ||
		w.Type() == NodeTypeParameter {
		return nil
	}
	array := strings.TrimPrefix(w.GetAlias(), AliasScopeSeparator)
	for k := 0; ; k++ { // ends: each turn finds a node of the graph
		name := fmt.Sprintf("product %d of %s", k, array)
		made := g.GetNodeByAlias(name)
		if made == nil {
			panic(&HostAsk{arrays: []string{array}, Names: []string{name}, Rows: x})
		}
		if used := name + ", used"; g.GetNodeByAlias(used) == nil {
			return Identity(made).WithAlias(used)
		}
	}
}

// hostMark is a node of the graphs whose matrices in codes the host multiplies.
const hostMark = "multiplied by the host"

// MultipliesOnHost reports whether the host multiplies by matrices in codes for the graph.
func MultipliesOnHost(g *Graph) bool { return g.GetNodeByAlias(hostMark) != nil }

// BuildOnHost builds a graph from its inputs and the weights at. It returns what the graph needs
// first, if it needs anything; the output is then what is multiplied.
func BuildOnHost(g *Graph, build GraphFunc, at map[string]*Node, inputs []*Node) (
	out []*Node, ask *HostAsk,
) {
	Const(g, float32(0)).WithAlias(hostMark)
	defer func() {
		if r := recover(); r != nil {
			asked, ok := r.(*HostAsk)
			if !ok {
				panic(r)
			}
			out, ask = []*Node{asked.Rows}, asked
		}
	}()
	without := map[*Node]string{} // matrices without their numbers
	out = build(WithQuantized(at, func(name string, q Quantized) *Node {
		if answered := g.GetNodeByAlias(name); answered != nil {
			return answered
		}
		out, in := 0, 0
		for _, f := range q {
			dims := f.Codes.Shape().Dimensions // out,a,b,j,·,32
			out, in = out+dims[0], dims[1]*dims[2]*dims[3]*f.chunk()*spec.BlockSize
		}
		w := Zeros(g, shapes.Make(dtypes.Float32, out, in)).WithAlias(name)
		without[w] = name
		return w
	}), inputs)
	ask = &HostAsk{}
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
	ask.Names = ask.arrays
	return []*Node{Const(g, float32(0))}, ask
}
