package gguf

import (
	"encoding/binary"
	"math"
)

// readT5 reads what a Unigram of SentencePiece needs besides its vocabulary.
func (w *words) readT5() error {
	w.end, w.spaceInFront = true, true
	for role, id := range map[string]int{"pad_token": 0, "eos_token": 1, "unk_token": 2} {
		if w.role[role] == nil && id < len(w.tokens) { // as in llama.cpp
			w.role[role] = &id
		}
	}
	var err error
	if w.keepSpaces, err = w.flag("remove_extra_whitespaces", true); err != nil {
		return err
	}
	w.keepSpaces = !w.keepSpaces
	const key = "precompiled_charsmap"
	if v, ok := w.file.metadata[wordKey(key)]; ok {
		if v.array == nil || valueSizes[v.array.element] != 1 {
			return w.file.fail("%s is %v; it must be a list of bytes", wordKey(key), v)
		}
		w.charsmap = v.array.numbers
	}
	return w.readScores()
}

// checkT5 returns an error if control tokens are not put around a text as T5 does it.
func (w *words) checkT5() error {
	if w.begin || !w.end {
		return w.file.fail("%s and %s are %v and %v, which is not supported for a tokenizer of "+
			"the kind t5; only false and true are", wordKey("add_bos_token"),
			wordKey("add_eos_token"), w.begin, w.end)
	}
	return nil
}

// HasPieces reports whether the tokenizer is of the kind t5, which has [Model.Pieces].
func (m *Model) HasPieces() bool { return m.words != nil && m.words.model == "t5" }

// Pieces returns the file of SentencePiece that the keys of a tokenizer of the kind t5 were made of
// (sentencepiece_model.proto, ModelProto). It is nil for other tokenizers.
func (m *Model) Pieces() []byte {
	if !m.HasPieces() {
		return nil
	}
	w := m.words
	number := func(b []byte, field, x uint64) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(b, field<<3), x)
	}
	data := func(b []byte, field uint64, inner []byte) []byte {
		b = binary.AppendUvarint(binary.AppendUvarint(b, field<<3|2), uint64(len(inner)))
		return append(b, inner...)
	}
	var file, piece []byte
	for i, token := range w.tokens {
		piece = data(piece[:0], 1, []byte(token))
		piece = binary.AppendUvarint(piece, 2<<3|5)
		piece = binary.LittleEndian.AppendUint32(piece, math.Float32bits(w.scores[i]))
		file = data(file, 1, number(piece, 3, uint64(w.kind(i))))
	}
	truth := map[bool]uint64{true: 1}
	normalizer := number(data(nil, 2, w.charsmap), 3, truth[w.spaceInFront])
	return data(file, 3, number(normalizer, 4, truth[!w.keepSpaces]))
}
