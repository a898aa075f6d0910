package attribution

import "github.com/headwater-ml/headwater/internal/registry"

// RegisterAggregationForTest registers an aggregation and returns what removes it again.
func RegisterAggregationForTest(name string, a Aggregation) func() {
	RegisterAggregation(name, a)
	return func() { registry.Remove("aggregation", name) }
}

// RegisterForTest registers a method and returns what removes it again.
func RegisterForTest(m Method) func() {
	RegisterMethod(m)
	return func() { methods.Remove(m.Name) }
}

// RegisterScorerForTest registers a scorer with its method and returns what removes them again.
func RegisterScorerForTest(name string, s Scorer) func() {
	RegisterScorer(name, s)
	return func() { registry.Remove("scorer", name) }
}
