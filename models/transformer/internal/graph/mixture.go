package graph

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// A mixture of experts is one wide feed-forward part: the inner numbers of its experts are next to
// each other, and between the matrices those of each expert are multiplied by its weight, which is
// 0 for an expert that was not chosen.

// routing is which experts M rows pass.
type routing struct {
	// probabilities [M,X] are those of the router.
	probabilities *Node
	// chosen [M,K] are the numbers of the experts, the most probable one first, and is [M,K,X] is 1
	// for these and 0 for the others.
	chosen, is *Node
	// weights [M,X] are those of the chosen experts and 0.
	weights *Node
}

// Route chooses the experts of rows x [M,D]. The choice is a constant where it is differentiated;
// the weights are not.
func (l *Layer) Route(m *spec.Mixture, x *Node) routing {
	logits := l.biased(l.Linear(x, "router"), "router", m.RouterBias)
	probabilities := Softmax(logits, -1)
	if m.Sigmoid {
		probabilities = Sigmoid(logits)
	}
	r := routing{probabilities: l.Edited(trace.Router, probabilities)}
	_, r.chosen = TopK(l.choice(m, StopGradient(r.probabilities)), m.Chosen, -1)
	r.is = OneHot(r.chosen, m.Experts, dtypes.Float32)
	r.weights = Mul(r.probabilities, ReduceSum(r.is, 1))
	if m.Renormalize {
		r.weights = Div(r.weights, ReduceAndKeep(r.weights, ReduceSum, -1))
	}
	if m.Scale != 0 {
		r.weights = MulScalar(r.weights, m.Scale)
	}
	return r
}

// choice is what experts are chosen by, given their probabilities, both [M,X]. An expert of a group
// that was not chosen has a number below all others.
func (l *Layer) choice(m *spec.Mixture, probabilities *Node) *Node {
	by := probabilities
	if m.ChoiceBias {
		by = Add(by, codes.AlignLast(l.W("router.choice"), by))
	}
	if m.Groups < 2 {
		return by
	}
	grouped := Reshape(by, -1, m.Groups, m.Experts/m.Groups) // [M,G,X/G]
	best, _ := TopK(grouped, m.GroupBest, -1)
	_, groups := TopK(ReduceSum(best, -1), m.ChosenGroups, -1)       // [M,K]
	chosen := ReduceSum(OneHot(groups, m.Groups, dtypes.Float32), 1) // [M,G]
	others := InsertAxes(MulScalar(OneMinus(chosen), masked), -1)    // [M,G,1]
	return Reshape(Add(grouped, others), by.Shape().Dimensions...)
}

// weightsOfChosen are the weights of the chosen experts, [M,K].
func (r routing) weightsOfChosen() *Node {
	return ReduceSum(Mul(r.is, InsertAxes(r.weights, 1)), -1)
}

// mixture is the feed-forward part of x [...,D] of several experts.
func (l *Layer) mixture(m *spec.Mixture, x *Node) *Node {
	dims := x.Shape().Dimensions
	x = Reshape(x, -1, dims[len(dims)-1])
	r := l.Route(m, x)
	var y *Node
	if l.takesTurns(m, r) {
		y = l.inTurn(m, r, x)
	} else {
		y = l.Experts(m, r).feedForward(x)
	}
	if m.Shared > 0 {
		shared := l.Shared().feedForward(x)
		if m.SharedGate {
			shared = l.relevance.product(Mul(shared, Sigmoid(l.Linear(x, "shared-gate"))))
		}
		y = Add(y, shared)
	}
	return Reshape(y, dims...)
}

// Shared is the layer whose feed-forward part is the expert that every row passes.
func (l *Layer) Shared() *Layer {
	of := *l
	of.W = l.W.In("shared.")
	return &of
}

// Experts is the layer whose feed-forward part is that of the experts, for the rows of r. Where
// these are so few that they cannot choose half of the experts, it has the matrices of their
// experts alone; otherwise it has those of all.
func (l *Layer) Experts(m *spec.Mixture, r routing) *Layer {
	of := *l
	of.ExpertWeights = r.weights
	dims := r.chosen.Shape().Dimensions
	rows, pairs := dims[0], dims[0]*dims[1]
	var chosen *Node
	if 2*pairs <= m.Experts {
		chosen = Reshape(r.chosen, pairs, 1)
	}
	of.W = func(name string) *Node {
		all := l.W("experts." + name) // [XF,D], or a bias [XF]
		if q := codes.QuantizedOf(all); q != nil {
			return q.OfExperts(all.GetAlias(), m.Experts, chosen, name == "down.weight")
		}
		if chosen == nil {
			return all
		}
		rows := append([]int{-1}, all.Shape().Dimensions[1:]...)
		return Reshape(codes.OfExperts(all, m.Experts, chosen), rows...)
	}
	if chosen == nil {
		return &of
	}
	// A row passes its own experts of these.
	weights := r.weightsOfChosen()
	own := DiagonalWithValue(ScalarOne(weights.Graph(), dtypes.Float32), rows)
	of.ExpertWeights = Reshape(Mul(InsertAxes(own, -1), InsertAxes(weights, 0)), rows, pairs)
	return &of
}

// ByExpert multiplies the inner numbers of a feed-forward part, [M,XF], or their parts, [M,K,XF],
// by the weights of the experts that they belong to, if it has experts.
func (l *Layer) ByExpert(inner *Node) *Node {
	if l.ExpertWeights == nil {
		return inner
	}
	dims, weights := inner.Shape().Dimensions, l.ExpertWeights.Shape().Dimensions
	byExpert := Reshape(inner, weights[0], -1, weights[1], dims[len(dims)-1]/weights[1])
	weighted := Mul(byExpert, Reshape(l.ExpertWeights, weights[0], 1, weights[1], 1))
	return Reshape(l.relevance.product(weighted), dims...)
}

// ExpertBiases are the biases of the experts' outputs, each times its weight, [M,D].
func (l *Layer) ExpertBiases() *Node {
	// [X,D]
	biases := Reshape(codes.Float(l.W("down.bias")), l.ExpertWeights.Shape().Dimensions[1], -1)
	return l.relevance.product(l.Product.Dot(l.ExpertWeights, 1, biases, 0))
}
