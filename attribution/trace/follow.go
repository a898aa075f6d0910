package trace

import "slices"

// EncodeAfter returns the tokens of a text that follows another one, as the model would read it
// there: both are encoded together and cut where the tokens of the first text end. So a space at
// the start of text belongs to it, " is" is one token where words begin with a space, and "is"
// goes on with the word before.
//
// joined reports that there is no such cut, because the model would read the last token of before
// and the first of text as others: "hello wor" and "ld". The text is then encoded by itself, with
// [SpecialsFollow], and so it is if before is empty, and for an encoder, where text need not stand
// at the end.
//
// Begin and End of the tokens are bytes of text. Errors are those of [Model.Encode] for text.
func EncodeAfter(m Model, before, text string) (tokens []Token, joined bool, err error) {
	if before == "" || m.Info().Bidirectional {
		tokens, err = m.Encode(text, SpecialsFollow)
		return tokens, false, err
	}
	if first, err := m.Encode(before, SpecialsOff); err == nil {
		both, err := m.Encode(before+text, SpecialsOff)
		n := len(first)
		sameID := func(a, b Token) bool { return a.ID == b.ID }
		if err == nil && len(both) > n && slices.EqualFunc(first, both[:n], sameID) &&
			(n == 0 || both[n-1].End <= len(before)) {
			for _, t := range both[n:] {
				t.Begin, t.End = max(0, t.Begin-len(before)), max(0, t.End-len(before))
				tokens = append(tokens, t)
			}
			return tokens, false, nil
		}
		joined = err == nil
	}
	tokens, err = m.Encode(text, SpecialsFollow)
	return tokens, joined, err
}
