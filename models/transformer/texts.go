package transformer

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
	"github.com/gomlx/gomlx/core/tensors"
)

// texts are what the graphs of a pass are fed. A pass runs a layer after the other, so that what a layer computes is on the host, or
// gone, before the next one begins, and that layers which are alike share a graph.
type texts struct {
	m    *Model
	kind textsKind
	// inputs are ids [B,N], the length of the longest text, and what kind says.
	inputs []*tensors.Tensor
}

// textsKind is which inputs there are besides ids and length: types, positions, and 1 for every slot that holds a token, [B,N] each.
type textsKind struct{ types, positions, real bool }

// nodes makes the text of a graph's inputs, and returns those that are left.
func (k textsKind) nodes(in []*Node) (text, []*Node) {
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

// oneText is a text filled up to fed places.
func (m *Model) oneText(ids []int, fed int) *texts {
	t := &texts{m: m, inputs: []*tensors.Tensor{idTensor(ids, fed), tensors.FromScalar(int32(len(ids)))}}
	if m.Spec.SkipPosition {
		t.kind.positions = true
		t.inputs = append(t.inputs, tensors.FromFlatDataAndDimensions(tokenPositions(m.Spec, ids, fed), 1, fed))
	}
	return t
}

// run executes a graph over the texts; what and which say which, as in [Model.run].
func (t *texts) run(what, which string, build func(d *builder, in []*Node) []*Node, more ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	m, kind := t.m, t.kind // nothing else of this pass may stay in the graph
	inputs := append(append([]*tensors.Tensor(nil), t.inputs...), more...)
	return t.m.run(fmt.Sprintf("%s %+v", what, kind), which, func(w Weights, in []*Node) []*Node {
		of, rest := kind.nodes(in)
		return build(m.builder(w, of), rest)
	}, inputs...)
}

// embed returns the residual stream before block 0, [B,N,D].
func (t *texts) embed() (*tensors.Tensor, error) {
	out, err := t.run("embed", endsWeights, func(d *builder, _ []*Node) []*Node { return []*Node{d.embed()} })
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// block runs layer l on x, which it frees, and returns the residual stream behind it and what of makes of the block and of the keys and
// values of its targets; what names of.
func (t *texts) block(l int, x *tensors.Tensor, what string, of func(d *builder, b *Block, now cache) []*Node) (*tensors.Tensor, []*tensors.Tensor, error) {
	out, err := t.run(fmt.Sprintf("block %s %s", layerKind(t.m.Spec, l), what), ofLayer(l), func(d *builder, in []*Node) []*Node {
		b, now := d.block(l, in[0])
		return append([]*Node{b.Output}, of(d, b, now)...)
	}, x)
	if err != nil {
		return nil, nil, fmt.Errorf("layer %d: %w", l, err)
	}
	free(x)
	return out[0], out[1:], nil
}

// end runs what of makes of the residual stream x behind the last block, [B,N,D]; what names of.
func (t *texts) end(x *tensors.Tensor, what string, of func(d *builder, x *Node, in []*Node) []*Node, more ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	return t.run("end "+what, endsWeights, func(d *builder, in []*Node) []*Node {
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

// fed is how many rows are computed for n tokens.
func (m *Model) fed(n int) int {
	fed := n
	if m.promptStep > 1 {
		fed = bucket(n)
	}
	if m.Spec.Context > 0 {
		fed = max(n, min(fed, m.Spec.Context))
	}
	return fed
}

// zeros makes a float32 tensor that the host may write into.
func (m *Model) zeros(dims ...int) (*tensors.Tensor, error) {
	return tensors.FromShapeForBackend(m.backend, 0, shapes.Make(dtypes.Float32, dims...))
}
