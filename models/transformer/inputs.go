package transformer

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
	"github.com/gomlx/gomlx/core/tensors"
)

// texts are what the graphs of a pass are padded. A pass runs a layer after the other, so that what a layer computes is on the host, or
// gone, before the next one begins, and that layers which are alike share a graph.
type inputs struct {
	m    *Model
	kind inputKind
	// inputs are ids [B,N], the length of the longest text, and what kind says.
	tensors []*tensors.Tensor
}

// inputKind is which inputs there are besides ids and length: types, positions, and 1 for every slot that holds a token, [B,N] each.
type inputKind struct{ types, positions, real bool }

// nodes makes the text of a graph's inputs, and returns those that are left.
func (k inputKind) nodes(in []*Node) (text, []*Node) {
	t := text{ids: in[0], length: in[1]}
	in = in[2:]
	for _, optional := range []struct {
		is bool
		to **Node
	}{{k.types, &t.types}, {k.positions, &t.positions}, {k.real, &t.real}} {
		if optional.is {
			*optional.to, in = in[0], in[1:]
		}
	}
	return t, in
}

// textInputs is a text filled up to padded places.
func (m *Model) textInputs(ids []int, padded int) *inputs {
	t := &inputs{m: m, tensors: []*tensors.Tensor{idTensor(ids, padded), tensors.FromScalar(int32(len(ids)))}}
	if m.Spec.SkipPosition {
		t.kind.positions = true
		t.tensors = append(t.tensors, tensors.FromFlatDataAndDimensions(tokenPositions(m.Spec, ids, padded), 1, padded))
	}
	return t
}

// run executes a graph over the texts; what and which say which, as in [Model.run].
func (f *inputs) run(what, which string, build func(d *builder, in []*Node) []*Node, more ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	m, kind := f.m, f.kind // nothing else of this pass may stay in the graph
	inputs := append(append([]*tensors.Tensor(nil), f.tensors...), more...)
	return f.m.run(fmt.Sprintf("%s %+v", what, kind), which, func(w Weights, in []*Node) []*Node {
		of, rest := kind.nodes(in)
		return build(m.builder(w, of), rest)
	}, inputs...)
}

// embed returns the residual stream before block 0, [B,N,D].
func (f *inputs) embed() (*tensors.Tensor, error) {
	out, err := f.run("embed", endsWeights, func(d *builder, _ []*Node) []*Node { return []*Node{d.embed()} })
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// end runs what of makes of the residual stream x behind the last block, [B,N,D]; what names of.
func (f *inputs) end(x *tensors.Tensor, what string, of func(d *builder, x *Node, in []*Node) []*Node, more ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	return f.run("end "+what, endsWeights, func(d *builder, in []*Node) []*Node {
		return of(d, in[0], in[1:])
	}, append([]*tensors.Tensor{x}, more...)...)
}

// kind says what sets the graph of layer l apart from that of other layers.
func layerKind(s *Spec, l int) string {
	if s.ScoreByLayer {
		return fmt.Sprintf("window=%d layer=%d", s.Window(l), l)
	}
	return fmt.Sprintf("window=%d", s.Window(l))
}

// positions returns the positions of ids, filled up to n: those of [Spec.SkipID] are -1 and count for nothing.
func tokenPositions(s *Spec, ids []int, n int) []int32 {
	at := make([]int32, n)
	next := int32(0)
	for i, id := range ids {
		if s.SkipPosition && id == s.SkipID {
			at[i] = -1
			continue
		}
		at[i] = next
		next++
	}
	return at
}

// padded is how many rows are computed for n tokens.
func (m *Model) padded(n int) int {
	padded := n
	if m.promptStep > 1 {
		padded = bucket(n)
	}
	if m.Spec.Context > 0 {
		padded = max(n, min(padded, m.Spec.Context))
	}
	return padded
}

// zeros makes a float32 tensor that the host may write into.
func (m *Model) zeros(dims ...int) (*tensors.Tensor, error) {
	return tensors.FromShapeForBackend(m.backend, 0, shapes.Make(dtypes.Float32, dims...))
}
