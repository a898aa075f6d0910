package graph

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// Layer is the weights of one layer in a graph, and what they make of activations, whatever the
// text: projections, norms and the feed-forward part.
type Layer struct {
	Spec   *spec.Spec
	Number int
	W      codes.Weights // of this layer
	// Product is how activations are multiplied by weights.
	Product codes.Product
	// relevance is whether the graph is differentiated for relevance.
	relevance relevance
	// edits are the inputs of the edits of the layer, by tap; nil for none.
	edits map[trace.Tap]EditNodes
	// ExpertWeights [M,X] are nil except in the view that [Layer.Experts] returns.
	ExpertWeights *Node
	// OutputColumns are the codes of the output projection by columns, nil in graphs without.
	OutputColumns codes.ColumnCodes
}

// Layer returns layer l.
func (d *Builder) Layer(l int) *Layer {
	return &Layer{
		Spec: d.Spec, Number: l, W: d.W.In(codes.OfLayer(l)), Product: d.Product,
		relevance: d.relevance, edits: d.Edits,
	}
}

// Linear is x W for the layer's projection of that name, [...,out].
func (l *Layer) Linear(x *Node, name string) *Node {
	return l.LinearIn(x, l.W(name+".weight"), name)
}

// LinearIn is x times the layer's projection w of that name, [...,out].
func (l *Layer) LinearIn(x, w *Node, name string) *Node {
	if l.ExpertWeights == nil {
		return l.Product.Layer(x, w)
	}
	axis := 1 // gate and up are [XF,D], as down is if it is not in codes
	if name == "down" && codes.QuantizedOf(w) == nil {
		axis = 0
	}
	return l.Product.With(x, w, axis)
}

// biased adds the bias of that name to y [...,out], if there is one.
func (l *Layer) biased(y *Node, name string, hasBias bool) *Node {
	if !hasBias {
		return y
	}
	return Add(y, codes.AlignLast(l.W(name+".bias"), y))
}

// dense is x W + b for query, key or value.
func (l *Layer) dense(x *Node, name string) *Node {
	return l.biased(l.Linear(x, name), name, l.Spec.ProjectionBias)
}

// Edited is x, the tensor of a tap, under the edits of the pass.
func (l *Layer) Edited(tap trace.Tap, x *Node) *Node {
	if e, ok := l.edits[tap]; ok {
		return e.Of(x)
	}
	return x
}

// LayerKind is the part of a graph's key that tells the layers apart that cannot share a graph.
func LayerKind(s *spec.Spec, l int) string {
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

// NormAfter returns the prefix of the weights of the norm after layer l, the last of a stack, "" if
// there is none. The encoder's is with the first layer that reads its output.
func NormAfter(s *spec.Spec, l int) string {
	switch {
	case l == s.Layers-1 && !s.NoFinalNorm:
		return finalNorm
	case l == s.Encoder-1 && s.MemoryNorm:
		return codes.OfLayer(s.Encoder+1) + "memory-norm."
	}
	return ""
}

// KindOf returns the part of the key of a graph of layer l that has mixings, and which weights the
// graph gets. The last layer of a stack needs a graph of its own if a mixing reads the norm after
// it, whose weights the other layers do not get.
func KindOf(s *spec.Spec, l int, asks ...Asked) (kind, weights string) {
	for _, ask := range asks {
		if readsFinalNorm(s, ask.Mixing, l) {
			return LayerKind(s, l) + " last", codes.OfLayer(l) + " " + NormAfter(s, l)
		}
	}
	return LayerKind(s, l), codes.OfLayer(l)
}

// readsFinalNorm reports whether a mixing reads the norm after layer l.
func readsFinalNorm(s *spec.Spec, m Mixing, l int) bool {
	reads, ok := m.(ReadsFinalNorm)
	return ok && reads.ReadsFinalNorm() && NormAfter(s, l) != ""
}
