package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// WriteTo writes t as a tokenizer.json in the layout of Hugging Face. [Load] reads back a tokenizer
// that gives the same tokens and writes the same bytes. It is indented by two spaces, as the
// reference writes it, and all of it is made before the first byte is written.
func (t *Tokenizer) WriteTo(w io.Writer) (int64, error) {
	f := t.file
	if t.ids != nil {
		return 0, pkg.Errorf("a tokenizer of SentencePiece with a vocab.json has no tokenizer.json")
	}
	var err error
	if f.Model, err = t.modelSection(); err != nil {
		return 0, pkg.Errorf("%w", err)
	}
	compact, err := marshal(f)
	if err != nil {
		return 0, pkg.Errorf("%w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return 0, pkg.Errorf("%w", err)
	}
	n, err := w.Write(b.Bytes())
	if err != nil {
		return int64(n), pkg.Errorf("%w", err)
	}
	return int64(n), nil
}

// modelSection returns the model section with its vocabulary and merges.
func (t *Tokenizer) modelSection() (json.RawMessage, error) {
	// Tokens are in the order of their ids, so equal tokenizers give equal bytes.
	vocab := modelVocab(t.vocab.entries)
	switch m := t.model.(type) {
	case *bpe:
		return marshal(struct {
			bpeFile
			Vocab   modelVocab  `json:"vocab"`
			Repeats modelVocab  `json:"repeats,omitempty"`
			Merges  []mergeText `json:"merges"`
		}{m.file, vocab, t.vocab.repeats(), m.mergeTexts()})
	case *wordPiece:
		return marshal(struct {
			wordPieceFile
			Vocab modelVocab `json:"vocab"`
		}{m.file, vocab})
	case *wordLevel:
		return marshal(struct {
			Type     string     `json:"type"`
			Vocab    modelVocab `json:"vocab"`
			UnkToken string     `json:"unk_token"`
		}{m.file.Type, vocab, m.file.UnkToken})
	case *unigram:
		// A list, whose places are the ids.
		scored := make([]scoredToken, len(m.scores))
		for id, score := range m.scores {
			scored[id] = scoredToken{t.vocab.entries[id].content, score}
		}
		return marshal(struct {
			Type         string        `json:"type"`
			UnkID        *int          `json:"unk_id"`
			Vocab        []scoredToken `json:"vocab"`
			ByteFallback bool          `json:"byte_fallback"`
		}{m.file.Type, m.file.UnkID, scored, m.file.ByteFallback})
	}
	panic(fmt.Sprintf("tokenizer: a model of type %T cannot be written",
		t.model)) // modelKinds has no other
}

// mergeTexts returns the merges as pairs of contents, by rank. A map has no order; the rank is the
// line of a merge in the file.
func (m *bpe) mergeTexts() []mergeText {
	pairs := slices.SortedFunc(maps.Keys(m.merges), func(a, b pair) int {
		return int(m.merges[a].rank - m.merges[b].rank)
	})
	texts := make([]mergeText, len(pairs))
	for i, p := range pairs {
		texts[i] = mergeText{m.contents[p.left], m.contents[p.right]}
	}
	return texts
}
