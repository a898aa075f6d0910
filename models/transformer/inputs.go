package transformer

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
)

// inputs are what all graphs of a pass get: the tokens of its texts. Every step of a pass runs in
// a graph of its own, so that the results of a layer are on the host, or freed, before the next
// layer begins; see [inputs.layers].
type inputs struct {
	m    *Model
	kind inputKind
	// tensors are the ids [B,N], the length of the longest text, and the optional inputs of kind.
	tensors []*tensors.Tensor
}

// inputKind is which optional inputs there are, [B,N] each: token types, positions, and 1 for
// every slot that holds a token.
type inputKind struct{ types, positions, real bool }

// nodes makes the text of a graph from its inputs, and returns the inputs that are left.
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

// textInputs are the inputs of one text, filled up to so many rows. types may be nil.
func (m *Model) textInputs(ids, types []int, padded int) *inputs {
	t := &inputs{m: m, tensors: []*tensors.Tensor{
		idTensor(ids, padded),
		tensors.FromScalar(int32(len(ids))),
	}}
	if types != nil {
		t.kind.types = true
		t.tensors = append(t.tensors, idTensor(types, padded))
	}
	if m.Spec.SkipPosition {
		t.kind.positions = true
		t.tensors = append(t.tensors, tensors.FromFlatDataAndDimensions(tokenPositions(m.Spec, ids,
			padded), 1, padded))
	}
	return t
}

// run executes a graph over the texts. what names it, and which says which weights it gets, as in
// [Model.run].
func (f *inputs) run(what, which string, build func(d *builder, in []*Node) []*Node,
	more ...*tensors.Tensor,
) ([]*tensors.Tensor, error) {
	m, kind := f.m, f.kind // nothing else of this pass may stay in the graph
	inputs := append(append([]*tensors.Tensor(nil), f.tensors...), more...)
	return f.m.run(fmt.Sprintf("%s %+v", what, kind), which, func(w byName, in []*Node) []*Node {
		of, rest := kind.nodes(in)
		return build(m.builder(w, of), rest)
	}, inputs...)
}

// embed returns the residual stream before block 0, [B,N,D].
func (f *inputs) embed() (*tensors.Tensor, error) {
	out, err := f.run("embed", endsWeights, func(d *builder, _ []*Node) []*Node {
		return []*Node{d.embed()}
	})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// end runs a graph over x, the residual stream after the last block, [B,N,D], with the weights
// outside the layers. what names the graph in its key.
func (f *inputs) end(x *tensors.Tensor, what string,
	of func(d *builder, x *Node, in []*Node) []*Node, more ...*tensors.Tensor,
) ([]*tensors.Tensor, error) {
	return f.run("end "+what, endsWeights, func(d *builder, in []*Node) []*Node {
		return of(d, in[0], in[1:])
	}, append([]*tensors.Tensor{x}, more...)...)
}

// layerKind is the part of a graph's key that tells the layers apart that cannot share a graph.
func layerKind(s *spec.Spec, l int) string {
	if s.ScoreByLayer {
		return fmt.Sprintf("window=%d layer=%d", s.Window(l), l)
	}
	return fmt.Sprintf("window=%d", s.Window(l))
}

// tokenPositions returns the positions of ids, filled up to n: tokens with [spec.Spec.SkipID] are
// at -1 and do not count.
func tokenPositions(s *spec.Spec, ids []int, n int) []int32 {
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

// padded is how many rows are computed for n tokens: n rounded up where shapes are compiled, but
// not beyond the context.
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
