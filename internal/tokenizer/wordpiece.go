package tokenizer

import "unicode/utf8"

// wordPiece takes the longest token at the start of the word, then the longest at the start of the
// rest, and so on; tokens inside a word have a prefix (Schuster and Nakajima 2012; BERT). A word
// that cannot be covered or is too long becomes the unknown token.
type wordPiece struct {
	file             wordPieceFile
	first, following *trie
	unk              int32 // noSymbol if the vocabulary lacks it
	contents         []string
	cache            wordCache
}

func (m *wordPiece) unknownID() int32 { return m.unk }

// tokenize adds the tokens of a word, which are kept because words repeat.
func (m *wordPiece) tokenize(w *encodeWork, word piece) error {
	parts, err := m.cache.parts(word.text, w.meter, m.encode)
	if err != nil {
		return err
	}
	w.add(word, 0, parts, m.contents, noSymbol)
	return nil
}

// encode divides a word. Taking the longest token first is not the best cover, and may fail where
// another one exists; then the whole word is unknown, as in BERT.
func (m *wordPiece) encode(word string, work *meter) ([]part, error) {
	if utf8.RuneCountInString(word) > m.file.MaxLength {
		return m.unknown(word)
	}
	var parts []part
	for begin := 0; begin < len(word); {
		// Tokens inside a word are stored without their prefix.
		pieces := m.following
		if begin == 0 {
			pieces = m.first
		}
		n, id, visited := pieces.longest(word[begin:])
		if err := work.step(visited); err != nil {
			return nil, modelPlace("WordPiece").wrap(err)
		}
		if n == 0 {
			return m.unknown(word)
		}
		parts = append(parts, part{id, int32(begin), int32(begin + n)})
		begin += n
	}
	return parts, nil
}

func (m *wordPiece) unknown(word string) ([]part, error) {
	if m.unk == noSymbol {
		return nil, errUnknown(word, "model.unk_token", m.file.UnkToken)
	}
	return []part{{m.unk, 0, int32(len(word))}}, nil
}
