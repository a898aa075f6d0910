package attribution

// RegisterAggregationForTest registers an aggregation and returns what removes it again.
func RegisterAggregationForTest(name string, a Aggregation) func() {
	RegisterAggregation(name, a)
	return func() {
		aggregations.mu.Lock()
		defer aggregations.mu.Unlock()
		delete(aggregations.plugins, name)
	}
}

// RegisterForTest registers a method and returns what removes it again.
func RegisterForTest(m Method) func() {
	RegisterMethod(m)
	return func() {
		methods.mu.Lock()
		defer methods.mu.Unlock()
		delete(methods.plugins, m.Name)
	}
}
