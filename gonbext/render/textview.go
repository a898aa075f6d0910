package render

// spaced reports whether a space stands before prompt token j in a running text.
func (p *picture) spaced(j int) bool {
	begins, _ := word(p.e.Prompt.Texts[j])
	return begins || p.special(j) || p.special(j-1) || p.apart(j)
}

// explained reports whether an encoder's prediction at prompt token j is explained.
func (p *picture) explained(j int) bool {
	for t := range p.e.Steps {
		if p.explainedBy(t, j) {
			return true
		}
	}
	return false
}

// explainedBy reports whether an encoder's prediction t is at position j.
func (p *picture) explainedBy(t, j int) bool {
	return p.e.Model.Reads() && t >= 0 && p.e.Steps[t].Position != nil &&
		*p.e.Steps[t].Position == j
}

// paint returns the paint of source j in row t: none in a row that is silent, grey for sinks and
// hidden tokens.
func (v *view) paint(p *picture, t, j int) int {
	switch {
	case p.grey(v, t, j):
		return sinkPaint
	case v.silent[t] != "":
		return 0
	}
	return v.colors.step(v.at(t, j))
}

// named is how many sources a sentence names.
const named = 5
