package models

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

// openText reads the tokenizer, the ids that end a text, the id of the mask token and the chat
// template. The tokenizer may be missing, because a model can run on ids without it.
func (m *Model) openText(from source) error {
	t, target, remarks, err := readTokenizer(from)
	if err == nil {
		m.tokenizer, m.target = t, target
		m.spec.Remarks = append(m.spec.Remarks, remarks...)
	} else if !from.HasTokenizer() || errors.Is(err, fs.ErrNotExist) {
		m.textErr = &kindError{
			pkg.Errorf("%s takes token ids and no text: %w", from.Label(), err),
			errorkind.Tokenizer,
		}
	} else {
		return err
	}
	if err := m.checkVocabulary(from.VocabularyNames()); err != nil {
		return err
	}
	eos, err := from.EOS()
	if err != nil {
		return err
	}
	m.ends = map[int]bool{}
	for _, id := range append(eos, m.spec.EOS...) {
		m.ends[id] = true
	}
	var asked map[string]any
	if d, ok := from.(directory); ok {
		asked = d.Generation
	}
	var remark string
	if m.beams, remark, err = readBeamRules(asked); err != nil {
		return err
	}
	if remark != "" {
		m.spec.Remarks = append(m.spec.Remarks, remark)
	}
	specials, err := from.SpecialTokens()
	if err != nil {
		return err
	}
	m.mask = m.maskID(specials["mask_token"])
	m.standIns = m.findStandIns(from.padIDs(), specials, append(eos, m.spec.EOS...))
	m.openChats(from, specials)
	return nil
}

// readTokenizer reads the tokenizer of a source, and that of the targets of a model of two stacks,
// which is mostly the same. It returns what was noticed in it.
func readTokenizer(from source) (t, target *tokenizer.Tokenizer, remarks []string, err error) {
	config, err := from.tokenizerConfig()
	if err != nil {
		return nil, nil, nil, err
	}
	pieces, targets, err := from.Pieces()
	if err != nil {
		return nil, nil, nil, err
	}
	if pieces.Model != nil && (pieces.Vocab != nil || tokenizer.NumbersPieces(config)) {
		t, err = tokenizer.ParsePieces(pieces.Model, pieces.Vocab, from.TokenizerName(), config)
		if target = t; err == nil && !(bytes.Equal(pieces.Model, targets.Model) &&
			bytes.Equal(pieces.Vocab, targets.Vocab)) {
			target, err = tokenizer.ParsePieces(targets.Model, targets.Vocab,
				from.Label()+"/target.spm", config)
		}
		return t, target, nil, err
	}
	data, err := from.TokenizerJSON()
	if err != nil {
		return nil, nil, nil, err
	}
	t, remarks, err = tokenizer.ParseFor(data, from.TokenizerName(), config)
	return t, t, remarks, err
}

// OpenTokenizer reads a tokenizer alone: that of the directory of a model or of a GGUF file as
// [Open] does, and a tokenizer.json, which no configuration belongs to, as it stands there.
func OpenTokenizer(path string) (t *tokenizer.Tokenizer, err error) {
	if strings.HasSuffix(path, ".gguf") {
		from, err := openSource(path, "")
		if err != nil {
			return nil, err
		}
		t, _, _, err = readTokenizer(from)
		return t, errors.Join(err, from.Close())
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return tokenizer.Load(path)
	}
	dir, err := checkpoint.OpenText(path)
	if err == nil {
		t, _, _, err = readTokenizer(directory{dir})
	}
	return t, err
}

// checkVocabulary returns an error if the tokenizer has tokens of text without an embedding, which
// means that it belongs to another model. Control tokens may lack one, as the token for images does
// in the text models of Gemma 3; [Model.Encode] returns an error for these.
func (m *Model) checkVocabulary(source, target string) error {
	if m.tokenizer == nil {
		return nil
	}
	embedded, name := cmp.Or(m.spec.SourceVocab, m.spec.Vocab), source
	for _, t := range []*tokenizer.Tokenizer{m.tokenizer, m.target} {
		for id := embedded; id < t.VocabSize(); id++ {
			if !t.IsSpecial(id) {
				return pkg.Errorf("%s has %d tokens, the embedding has %d: the two are of "+
					"different models", name, t.VocabSize(), embedded)
			}
		}
		embedded, name = m.spec.Vocab, target
	}
	return nil
}

// maskID returns the id of the mask token, or -1 if there is none. Its text is named, which comes
// from the configuration of the tokenizer; otherwise it is a control token with one of the texts
// that most encoders use.
func (m *Model) maskID(named string) int {
	if m.tokenizer == nil {
		return -1
	}
	if id, ok := m.tokenizer.ID(named); ok {
		return id
	}
	for _, text := range []string{"[MASK]", "<mask>"} {
		if id, ok := m.tokenizer.ID(text); ok && m.special(id) {
			return id
		}
	}
	return -1
}
