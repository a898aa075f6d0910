package transformer

import (
	"fmt"

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

// layerKind is the part of a graph's key that tells the layers apart that cannot share a graph.
func layerKind(s *spec.Spec, l int) string {
	if s.ScoreByLayer {
		return fmt.Sprintf("window=%d layer=%d", s.Window(l), l)
	}
	kind := fmt.Sprintf("window=%d", s.Window(l))
	if stack := s.Stack(l); stack != spec.OneStack {
		kind += fmt.Sprintf(" stack=%d", stack)
	}
	if s.Unturned != nil && s.Unturned[l] {
		kind += " unturned"
	}
	if s.NoFirstNorm && l == 0 {
		kind += " first"
	}
	if s.Mixture != nil && s.MixtureOf(l) == nil {
		kind += " dense"
	}
	return kind
}

// normAfter returns the prefix of the weights of the norm after layer l, the last of a stack, "" if
// there is none. The encoder's is with the first layer that reads its output.
func normAfter(s *spec.Spec, l int) string {
	switch {
	case l == s.Layers-1 && !s.NoFinalNorm:
		return finalNorm
	case l == s.Encoder-1 && s.MemoryNorm:
		return ofLayer(s.Encoder+1) + "memory-norm."
	}
	return ""
}

// dense is x W + b for query, key or value.
func (l *Layer) dense(x *Node, name string) *Node {
	return l.biased(l.linear(x, name), name, l.spec.ProjectionBias)
}

// biased adds the bias of that name to y [...,out], if there is one.
func (l *Layer) biased(y *Node, name string, hasBias bool) *Node {
	if !hasBias {
		return y
	}
	return Add(y, alignLast(l.w(name+".bias"), y))
}

// linear is x W for the layer's projection of that name, [...,out].
func (l *Layer) linear(x *Node, name string) *Node {
	return l.linearIn(x, l.w(name+".weight"), name)
}

// linearIn is x times the layer's projection w of that name, [...,out].
func (l *Layer) linearIn(x, w *Node, name string) *Node {
	if l.expertWeights == nil {
		return l.product.layer(x, w)
	}
	axis := 1 // gate and up are [XF,D], as down is if it is not in codes
	if name == "down" && quantizedOf(w) == nil {
		axis = 0
	}
	return l.product.with(x, w, axis)
}

// edited is x, the tensor of a tap, under the edits of the pass.
func (l *Layer) edited(tap trace.Tap, x *Node) *Node {
	if e, ok := l.edits[tap]; ok {
		return e.of(x)
	}
	return x
}
