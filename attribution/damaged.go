package attribution

// Explanations come from files too, where any number may be wrong and any part missing. The methods
// of an explanation check what they read of it by the functions of this file.

// result returns the result of a method, as [Explanation.M] does, after a check of its sizes.
func (e *Explanation) result(method string) (*Result, error) {
	r, err := e.M(method)
	if err != nil {
		return nil, err
	}
	m := len(e.Prompt.Texts)
	if len(e.Prompt.Special) != m {
		return nil, damaged("%d marks of control tokens for %d tokens", len(e.Prompt.Special), m)
	}
	if err := r.Check(m); err != nil {
		return nil, damaged("%s: %v", method, err)
	}
	return r, nil
}

// checkGrouped returns an error unless the prompt, the results, the maps and the predictions fit,
// so that [Explanation.GroupSpans] can read all of them.
func (e *Explanation) checkGrouped() error {
	if err := e.Prompt.Units().Check(); err != nil {
		return damaged("%v", err)
	}
	m := len(e.Prompt.Texts)
	if len(e.Prompt.IDs) != m {
		return damaged("%d ids for %d tokens", len(e.Prompt.IDs), m)
	}
	for name := range e.Methods {
		if _, err := e.result(name); err != nil {
			return err
		}
	}
	for name, a := range e.Maps {
		if !a.fits(m) {
			return damaged("the map of %s does not have %d tokens in each layer", name, m)
		}
	}
	for _, s := range e.Steps {
		if at := s.Position; at != nil && (*at < 0 || *at >= m) {
			return damaged("a prediction at position %d of %d", *at, m)
		}
	}
	return nil
}

// fits reports whether there is a map of T tokens in each layer.
func (m *Map) fits(T int) bool {
	return m != nil && m.Shape == [3]int{len(m.Layers), T, T} && len(m.Data) == len(m.Layers)*T*T
}

// damaged returns an error about an explanation.
func damaged(format string, args ...any) error {
	return pkg.Errorf("the explanation is damaged: "+format, args...)
}
