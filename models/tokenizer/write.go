package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// WriteTo writes t as a tokenizer.json, laid out as Hugging Face does. [Load] reads back a tokenizer that gives the
// same tokens and writes the same bytes.
func (t *Tokenizer) WriteTo(w io.Writer) (int64, error) {
	f := t.file
	var err error
	if f.Model, err = t.modelSection(); err != nil {
		return 0, fmt.Errorf("tokenizer: %w", err)
	}
	compact, err := marshal(f)
	if err != nil {
		return 0, fmt.Errorf("tokenizer: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return 0, fmt.Errorf("tokenizer: %w", err)
	}
	n, err := w.Write(b.Bytes())
	if err != nil {
		return int64(n), fmt.Errorf("tokenizer: %w", err)
	}
	return int64(n), nil
}

// modelSection is the model with its vocabulary and merges, which the tokenizer keeps in tables only.
func (t *Tokenizer) modelSection() (json.RawMessage, error) {
	var head bpeFile
	if err := json.Unmarshal(t.file.Model, &head); err != nil {
		return nil, err
	}
	return marshal(struct {
		bpeFile
		Vocab  modelVocab  `json:"vocab"`
		Merges [][2]string `json:"merges"`
	}{head, t.vocab.entries, t.mergeTexts()})
}

// mergeTexts returns the merges as pairs of contents, by rank.
func (t *Tokenizer) mergeTexts() [][2]string {
	m := t.model.(*bpe)
	pairs := make([]pair, 0, len(m.merges))
	for p := range m.merges {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b pair) int { return int(m.merges[a].rank - m.merges[b].rank) })
	texts := make([][2]string, len(pairs))
	for i, p := range pairs {
		texts[i] = [2]string{m.contents[p.left], m.contents[p.right]}
	}
	return texts
}
