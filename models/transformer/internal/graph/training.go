package graph

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// Scores builds the graph from ids [B,T] to the scores of the head, without a cache or taps. A
// training loop differentiates it. w has the arrays with the names of [spec.Spec.Params]; it also
// returns the attention of each layer, [B,H,T,T], for losses that use it. It panics like all GoMLX
// graph code. The scores are [B,T,V], [B,K] for a class of the whole text, or [B,T,K] for a class
// of each token. real [B,T], in float32, is 1 for tokens and 0 for padding; nil means that there is
// no padding.
func Scores(spec *spec.Spec, weights func(name string) *Node, ids, real *Node) (
	scores *Node, attention []*Node,
) {
	of := Text{IDs: ids, Real: real}
	of.Length = Scalar(ids.Graph(), dtypes.Int32, ids.Shape().Dimensions[1])
	if spec.Encoder > 0 {
		start := Equal(ids, Scalar(ids.Graph(), dtypes.Int32, spec.Boundary()))
		of.Boundary = ArgMax(ConvertDType(start, dtypes.Int32), -1, dtypes.Int32)
	}
	d := NewBuilder(spec, weights, of)
	if host.OnCPU(ids.Graph().Backend()) {
		first := Reshape(Slice(ids, AxisRange(0, 1), AxisRange(0, 1)))
		d.Product = codes.Product{Always: GreaterOrEqual(first, ZerosLike(first)), Trained: true}
	}
	x := d.Embed()
	for l := range spec.Layers {
		b, _ := d.Block(l, x)
		attention = append(attention, b.Attention)
		x = b.Output
	}
	return d.Head(x), attention
}
