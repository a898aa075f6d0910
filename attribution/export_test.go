package attribution

// RegisterAggregationForTest registers an aggregation and returns what removes it again.
func RegisterAggregationForTest(name string, a Aggregation) func() {
	RegisterAggregation(name, a)
	return func() { aggregations.Remove(name) }
}

// RegisterForTest registers a method and returns what removes it again.
func RegisterForTest(m Method) func() {
	RegisterMethod(m)
	return func() { methods.Remove(m.Name) }
}

// RegisterScorerForTest registers a scorer with its method and returns what removes them again.
func RegisterScorerForTest(name string, s Scorer) func() {
	RegisterScorer(name, s)
	return func() { scorers.Remove(name) }
}
