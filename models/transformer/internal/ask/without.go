package ask

import (
	"context"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// WithoutValue implements [transformer.Model.WithoutValue].
func WithoutValue(ctx context.Context, m *run.Model, l int, x []float32,
	source int,
) ([]float32, error) {
	spec := m.Spec
	n := len(x) / spec.Width
	if err := ctx.Err(); err != nil {
		return nil, pkg.Errorf("stopped before layer %d: %w", l, err)
	}
	if l < 0 || l >= spec.Layers || len(x) != n*spec.Width || n == 0 || source < -1 || source >= n {
		return nil, pkg.Errorf("layer %d of %d, source %d, "+
			"%d numbers of width %d do not fit", l, spec.Layers, source, len(x), spec.Width)
	}
	out, err := m.Machine.Run(fmt.Sprintf("without value, layer %d", l), codes.OfLayer(l),
		func(w codes.Weights, in []*Node) []*Node {
			// Only their number matters.
			ids := Zeros(in[0].Graph(), shapes.Make(dtypes.Int32, 1, in[0].Shape().Dimensions[1]))
			d := m.Builder(w, graph.Text{IDs: ids, Length: in[1]})
			return []*Node{d.BlockWithoutValue(l, in[0], in[2]).Output}
		}, tensors.FromFlatDataAndDimensions(x, 1, n, spec.Width), tensors.FromScalar(int32(n)),
		tensors.FromScalar(int32(source)))
	if err != nil {
		return nil, pkg.Errorf("layer %d without source %d: %w", l, source, err)
	}
	return host.Floats(out[0])
}
