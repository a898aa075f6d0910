package tokenizer

import "fmt"

// wordLevel has one token for each word, and one for all unknown words.
type wordLevel struct {
	file     wordLevelFile
	ids      map[string]int32
	unk      int32 // noSymbol if the vocabulary lacks it
	contents []string
}

func (m *wordLevel) unknownID() int32 { return m.unk }

// tokenize adds the one token of a word. It needs no cache, because it is one lookup.
func (m *wordLevel) tokenize(w *encodeWork, word piece) error {
	id, ok := m.ids[word.text]
	if !ok {
		// A file may name an unknown token that its vocabulary does not have.
		if id = m.unk; id == noSymbol {
			return errUnknown(word.text, "model.unk_token", m.file.UnkToken)
		}
	}
	w.add(word, 0, []part{{id, 0, int32(len(word.text))}}, m.contents, noSymbol)
	return nil
}

// errUnknown is the error for a text that needs the unknown token if there is none.
func errUnknown(word, key, name string) error {
	return fmt.Errorf("the vocabulary has no tokens for %.80q, and %s (%.80q) is not in it either",
		word, key, name)
}
