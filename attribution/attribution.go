// Package attribution shows where every generated token came from.
//
// A method is a mixing with an aggregation, or a scorer. A mixing is how one layer mixes
// positions, C[T,S] ≥ 0: attention, Value Zeroing. An aggregation is how layers are combined:
// layer, rollout, flow. Any pair works: [LookupMethod] reads "value-zeroing+flow" as well as the
// names that papers gave to some pairs. One rule between the two makes rows comparable: Â =
// rownorm((1-r)C + rI). The residual weight r is 0 if the mixing contains the residual already. A
// scorer explains one prediction: gradient, gradient-x-input, integrated-gradients, attn-lrp,
// chefer, gradient-rollout, occlusion, interchange, reagent, direct, alti-logit, decompx and
// random. Most ask the model again, for gradients or for other texts. Each needs one of the
// optional interfaces of a model, which package trace lists.
//
// [Explain] runs a [trace.Model] and returns M[n,m,l]: how much of each of n generated tokens comes
// from each of m prompt tokens after each layer. An encoder generates nothing: there, the n tokens
// are its predictions at n positions of the text. [Attribute] computes the same methods on
// attention from any program, and [NewFlowGraph] finds the edges that limit a flow. [OptionTable]
// has every option with its range and help. [Explanation.Group] joins tokens to words, sentences or
// ranges, and [Explanation.Sinks] finds tokens that draw attention whatever the text is about.
//
//	opts := attribution.Options{Methods: []string{"rollout"}, MaxTokens: 3}
//	e, err := attribution.Explain(ctx, model, "the keys to the cabinet", opts)
//	r, err := e.M("rollout")
//	fmt.Println(r.At(0, 1, len(r.Layers)-1))
//
// Rows may arrive one at a time or many at once, and the result is the same: an [aggregation.State]
// grows by the targets of each call. Rows are targets and columns are sources, everywhere. Sums run
// in float64 and in index order, so equal inputs give equal bits.
//
// New aggregations, scorers, methods and the facts about new mixings are registered from init with
// [aggregation.Register], [scorer.Register], [RegisterMethod] and [RegisterMixing]. Package
// attributiontest tests that an aggregation or a scorer keeps its contract.
//
// A large share does not prove that a token is important: mixings describe how positions mix, not
// what the model would have predicted without a token. Package evaluate measures how far a method
// can be trusted.
package attribution

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("attribution")
