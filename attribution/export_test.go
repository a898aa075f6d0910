package attribution

// RegisterForTest registers a method and returns what removes it again.
func RegisterForTest(m Method) func() {
	RegisterMethod(m)
	return func() {
		methods.mu.Lock()
		defer methods.mu.Unlock()
		delete(methods.plugins, m.Name)
	}
}
