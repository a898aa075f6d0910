package trace

import "slices"

// EncodeAfter returns the tokens of a text that follows another one, as a model would read it
// there: both are encoded together and cut where the tokens of the first text end. So a space at
// the start of text belongs to it, and "is" goes on with the word before.
//
// joined reports that there is no such cut, because the model would read the end of before and the
// start of text as other tokens: "hello wor" and "ld". The text is then encoded by itself, with
// [SpecialsFollow]. So it is if before is empty, for an encoder, where its place is not known, and
// for a model of two stacks, where text is of the target.
// Begin and End of the tokens are bytes of text. Errors are those of [Model.Encode] for text.
func EncodeAfter(m Model, before, text string) (tokens []Token, joined bool, err error) {
	if info := m.Info(); before != "" && !info.Bidirectional && info.EncoderLayers == 0 {
		first, wrong := m.Encode(before, SpecialsOff)
		both, err := m.Encode(before+text, SpecialsOff)
		n := len(first)
		if joined = wrong == nil && err == nil && n > 0; joined && len(both) > n &&
			both[n-1].End <= len(before) &&
			slices.EqualFunc(first, both[:n], func(a, b Token) bool { return a.ID == b.ID }) {
			for i := range both {
				both[i].Begin -= min(len(before), both[i].Begin)
				both[i].End -= min(len(before), both[i].End)
			}
			return both[n:], false, nil
		}
	}
	tokens, err = m.Encode(text, SpecialsFollow)
	return tokens, joined && len(tokens) > 0, err
}
