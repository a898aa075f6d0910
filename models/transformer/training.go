package transformer

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// Logits builds the graph from ids [B,T] to the scores of the vocabulary at every position,
// [B,T,V], without a cache or taps. A training loop differentiates it. weights returns the node of
// the array with a name of [spec.Spec.Params]. It also returns the attention of each layer,
// [B,H,T,T], for losses that use it. It panics like all GoMLX graph code.
func Logits(spec *spec.Spec, weights func(name string) *Node, ids *Node) (
	logits *Node, attention []*Node,
) {
	return Scores(spec, weights, ids, nil)
}

// Scores is [Logits] for a model with any head and for texts with padding. It returns the scores of
// the head: [B,T,V], [B,K] for a class of the whole text, or [B,T,K] for a class of each token.
// real [B,T], in float32, is 1 for tokens and 0 for padding; nil means that there is no padding.
func Scores(spec *spec.Spec, weights func(name string) *Node, ids, real *Node) (
	scores *Node, attention []*Node,
) {
	of := text{ids: ids, real: real}
	of.length = Scalar(ids.Graph(), dtypes.Int32, ids.Shape().Dimensions[1])
	if spec.Encoder > 0 {
		start := Equal(ids, Scalar(ids.Graph(), dtypes.Int32, spec.Boundary()))
		of.boundary = ArgMax(ConvertDType(start, dtypes.Int32), -1, dtypes.Int32)
	}
	d := newBuilder(spec, weights, of)
	if onCPU(ids.Graph().Backend()) {
		first := Reshape(Slice(ids, AxisRange(0, 1), AxisRange(0, 1)))
		d.product = product{always: GreaterOrEqual(first, ZerosLike(first)), trained: true}
	}
	x := d.embed()
	for l := range spec.Layers {
		b, _ := d.block(l, x)
		attention = append(attention, b.Attention)
		x = b.Output
	}
	return d.head(x), attention
}
