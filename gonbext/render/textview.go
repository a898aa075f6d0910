package render

import "math"

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

// levels is the number of colours from the weakest that stands out to the strongest.
const levels = 6

// StandsOut is the least value that stands out, in parts of the limit of its scale: a twelfth.
// Figures hatch it if it is below 0.
const StandsOut = 1.0 / (2 * levels)

// standsOut reports whether source j stands out in row t, as sinks and hidden tokens do.
func (v *view) standsOut(p *picture, t, j int) bool {
	return p.grey(v, t, j) ||
		v.silent[t] == "" && !(math.Abs(v.colors.at(v.at(t, j))) < StandsOut) // NaN does, too
}

// named is how many sources a sentence names.
const named = 5
