package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// Layer is the weights of one layer in a graph, and what they make of activations, whatever the
// text: projections, norms and the feed-forward part.
type Layer struct {
	spec   *spec.Spec
	number int
	w      byName // of this layer
	// product is how activations are multiplied by weights.
	product product
	// relevance is whether the graph is differentiated for relevance.
	relevance relevance
	// edits are the inputs of the edits of the layer, by tap; nil for none.
	edits map[trace.Tap]editNodes
	// expertWeights [M,X] are nil except in the view that [Layer.experts] returns.
	expertWeights *Node
	// outputColumns are the codes of the output projection by columns, nil in graphs without.
	outputColumns columnCodes
}

// layer returns layer l.
func (d *builder) layer(l int) *Layer {
	return &Layer{
		spec: d.spec, number: l, w: d.w.in(ofLayer(l)), product: d.product,
		relevance: d.relevance, edits: d.edits,
	}
}
