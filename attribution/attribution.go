// Package attribution says where every generated token came from.
//
// A method is a mixing and an aggregation. A mixing is how one layer mixes positions, C[T,S] ≥ 0:
// attention, value zeroing. An aggregation is how layers combine: layer, rollout, flow. Any pair
// works: [LookupMethod] reads "value-zeroing+flow" as well as the names that the papers gave to
// some pairs. Between the two, one rule makes the rows comparable: Â = rownorm((1-r)C + rI), where
// the residual weight r is 0 if the mixing contains the residual.
//
// [Explain] runs a [Model] and returns M[n,m,l]: how much of each of n generated tokens comes from
// each of m prompt tokens after each layer. Of an encoder, which generates nothing, the n tokens
// are its predictions at n positions of the text. [Attribute] computes the same methods on
// attention from any program.
//
//	e, err := attribution.Explain(ctx, model, "the keys to the cabinet", attribution.Options{MaxTokens: 3})
//	r, err := e.M("rollout")
//	fmt.Println(r.At(0, 1, len(r.Layers)-1))
//
// Rows arrive one or many at a time, and the answer is the same: a [State] grows by the targets of
// each call. Rows are targets and columns are sources, everywhere. Sums run in float64 and in index
// order, so equal inputs give equal bits.
//
// New aggregations, methods and the facts about new mixings are registered from init with
// [RegisterAggregation], [RegisterMethod] and [RegisterMixing]; package attributiontest holds the
// contract of an aggregation as code.
//
// A large share is not a proof of importance: these methods describe how positions mix, not what
// the model would have said without them.
package attribution
