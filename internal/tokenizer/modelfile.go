package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/internal/jsonread"
)

// modelFile is the model section of a tokenizer.json.
type modelFile struct {
	kind   string
	small  []byte      // an object of the other keys
	tokens []vocabItem // in the order of the file
	scores []float64   // of tokens, Unigram only
	merges []mergeText // BPE only
	// bytes are tokens for the bytes of text without any other, which no text is encoded as by its
	// characters, of files of SentencePiece. In tokenizer.json they are among the tokens.
	bytes []vocabItem
	// repeats are further ids of tokens: texts are not encoded as they, but they are decoded. Files
	// of Hugging Face have none; a GGUF file may.
	repeats []vocabItem
}

// vocabItem is a token of the vocabulary.
type vocabItem struct {
	content string
	id      int
}

// mergeText is a pair of tokens that are merged.
type mergeText [2]string

// modelKinds makes a model from its section, by type. vocab has the tokens of the section and the
// added tokens.
var modelKinds = map[string]func(m modelFile, vocab *vocabulary) (model, error){
	"BPE":       readingModel(newBPEModel),
	"Unigram":   readingModel(newUnigram),
	"WordLevel": readingModel(newWordLevel),
	"WordPiece": readingModel(newWordPiece),
}

// readingModel is [reading] for models.
func readingModel[F any](part func(F, modelFile, *vocabulary) (model, error)) func(
	modelFile, *vocabulary,
) (model, error) {
	return func(m modelFile, vocab *vocabulary) (model, error) {
		var f F
		if err := decodeStrict(m.small, &f); err != nil {
			return nil, atKey("model", err)
		}
		return part(f, m, vocab)
	}
}

// modelPlace is the place of a model in the file, for errors.
func modelPlace(kind string) place { return place{"model", kind} }

// readModel reads a model section. Vocabulary and merges may have megabytes, so they are read in
// one pass and not by reflection; the other keys are few.
func readModel(raw json.RawMessage) (modelFile, error) {
	m := modelFile{}
	// Also null: every tokenizer has a model.
	if jsonread.AsRust(raw).Kind() != '{' {
		return m, errors.New("model: not an object")
	}
	var sawVocab, sawMerges bool
	small, err := sections(raw, map[string]func(*jsonread.Reader) error{
		// If the key comes twice, the last value counts, so what was read before is dropped.
		"vocab": func(r *jsonread.Reader) error {
			m.tokens, m.scores, sawVocab = nil, nil, true
			return atKey("model.vocab", m.readVocab(r))
		},
		"repeats": func(r *jsonread.Reader) error {
			return atKey("model.repeats", readIDs(r, &m.repeats))
		},
		"merges": func(r *jsonread.Reader) error {
			m.merges, sawMerges = nil, true
			return m.readMerges(r)
		},
	})
	if err != nil {
		return m, err
	}
	m.small, m.kind = small, kindOf(small)
	if _, ok := modelKinds[m.kind]; !ok {
		return m, unsupportedType("model", small, names(modelKinds)...)
	}
	switch {
	// The type comes after the vocabulary in some files, so whether the two fit is checked in the
	// end.
	case !sawVocab, m.kind == "BPE" && !sawMerges:
		return m, fmt.Errorf("model: %s needs %s", m.kind,
			map[bool]string{true: "vocab and merges", false: "vocab"}[m.kind == "BPE"])
	case m.kind != "BPE" && sawMerges:
		return m, fmt.Errorf("model: %s has no merges", m.kind)
	case (m.kind == "Unigram") != (m.scores != nil):
		return m, fmt.Errorf("model.vocab: %s takes %s", m.kind,
			map[bool]string{
				true:  "an array of tokens with their scores",
				false: "an object of tokens with their ids",
			}[m.kind == "Unigram"])
	}
	return m, nil
}

// readVocab reads an object of tokens with their ids, or an array of tokens with their scores.
func (m *modelFile) readVocab(r *jsonread.Reader) error {
	if r.Kind() != '[' {
		return readIDs(r, &m.tokens)
	}
	// Not nil, even if it stays empty: that tells a list from an object.
	m.scores = []float64{}
	return r.List(func(id int) error {
		var content, text string
		size := 0
		err := r.List(func(i int) (err error) {
			switch size++; i {
			case 0:
				content, err = r.Text()
			case 1:
				text, err = r.Number()
			default:
				_, err = r.Raw()
			}
			return err
		})
		if err == nil && size != 2 {
			err = fmt.Errorf("a token and its score are 2 values, not %d", size)
		}
		if err != nil {
			return atKey(fmt.Sprintf("[%d]", id), err)
		}
		score, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("score %.40s of token %.80q is too large", text, content)
		}
		// The id of a token is its place in the list.
		m.tokens, m.scores = append(m.tokens, vocabItem{content, id}), append(m.scores, score)
		return nil
	})
}

// readIDs appends an object of tokens with their ids to a list.
func readIDs(r *jsonread.Reader, to *[]vocabItem) error {
	return r.Object(func(content string) error {
		id, err := readID(r)
		if err != nil {
			return fmt.Errorf("token %.80q: %w", content, err)
		}
		*to = append(*to, vocabItem{content, id})
		return nil
	})
}

// readMerges reads the merges.
func (m *modelFile) readMerges(r *jsonread.Reader) error {
	if r.Kind() != '[' {
		return errors.New("model.merges: not an array")
	}
	// i counts comments too, so that an error names the place in the file.
	return r.List(func(i int) error {
		merge, err := readMerge(r)
		switch {
		case err != nil:
			return fmt.Errorf("model.merges[%d]: %w", i, err)
		case merge == nil: // a comment
			return nil
		case len(merge) != 2:
			return fmt.Errorf("model.merges[%d]: %d tokens instead of 2", i, len(merge))
		}
		m.merges = append(m.merges, mergeText(merge))
		return nil
	})
}

// readMerge reads ["a","b"], or "a b" in older files, where "#version" begins a comment: then the
// result is nil.
func readMerge(r *jsonread.Reader) ([]string, error) {
	if r.Kind() == '"' {
		line, err := r.Text()
		if err != nil || strings.HasPrefix(line, "#version") {
			return nil, err
		}
		return strings.Split(line, " "), nil
	}
	merge := make([]string, 0, 2)
	err := r.List(func(int) error {
		s, err := r.Text()
		merge = append(merge, s)
		return err
	})
	return merge, err
}

// wordPieceFile is a model section of type WordPiece.
type wordPieceFile struct {
	Type      string `json:"type"`
	UnkToken  string `json:"unk_token" need:"true"`
	Prefix    string `json:"continuing_subword_prefix" need:"true"`
	MaxLength int    `json:"max_input_chars_per_word" need:"true"`
}

// newWordPiece makes a WordPiece model. Every token may begin a word, also one with the prefix;
// only those with the prefix, stored without it, may follow.
func newWordPiece(f wordPieceFile, m modelFile, vocab *vocabulary) (model, error) {
	if f.MaxLength < 0 {
		return nil, fmt.Errorf("model.max_input_chars_per_word: %d is negative", f.MaxLength)
	}
	w := &wordPiece{
		file: f, unk: vocab.modelID(f.UnkToken), contents: vocab.contents(),
		cache: newWordCache(),
	}
	var first, following []trieItem
	for _, t := range m.tokens {
		first = append(first, trieItem{t.content, int32(t.id)})
		if rest, ok := strings.CutPrefix(t.content, f.Prefix); ok && rest != "" {
			following = append(following, trieItem{rest, int32(t.id)})
		}
	}
	var err error
	if w.first, err = newTrie(first); err != nil {
		return nil, err
	}
	w.following, err = newTrie(following)
	return w, err
}

// unigramFile is a model section of type Unigram.
type unigramFile struct {
	Type         string `json:"type"`
	UnkID        *int   `json:"unk_id"`
	ByteFallback bool   `json:"byte_fallback"`
}

// newUnigram makes a Unigram model. Without unk_id a text with an unknown character is an error.
func newUnigram(f unigramFile, m modelFile, vocab *vocabulary) (model, error) {
	if f.UnkID != nil && (*f.UnkID < 0 || *f.UnkID >= len(m.tokens)) {
		return nil, fmt.Errorf("model.unk_id: %d is not in vocab, which has %d tokens", *f.UnkID,
			len(m.tokens))
	}
	u := &unigram{
		file: f, unk: noSymbol, scores: m.scores, contents: vocab.contents(),
		cache: newWordCache(),
	}
	if f.UnkID != nil {
		u.unk = int32(*f.UnkID)
	}
	// Below every token, so that the unknown token is used only where there is no other.
	u.unkScore = lowest(m.scores) - unkPenalty
	ids := make(map[string]int32, len(m.tokens))
	items := make([]trieItem, 0, len(m.tokens))
	for _, t := range m.tokens {
		ids[t.content] = int32(t.id) // of equal tokens the last counts
		items = append(items, trieItem{t.content, int32(t.id)})
	}
	for _, t := range m.bytes {
		ids[t.content] = int32(t.id)
	}
	u.ids = ids
	if f.ByteFallback {
		u.bytes = byteTokens(func(content string) int32 {
			if id, ok := ids[content]; ok {
				return id
			}
			return noSymbol
		})
	}
	var err error
	u.pieces, err = newTrie(items)
	return u, err
}

// byteTokens returns the tokens <0x00> to <0xFF> that stand for bytes, noSymbol where one is
// missing.
func byteTokens(id func(content string) int32) *[256]int32 {
	var ids [256]int32
	for b := range ids {
		ids[b] = id(fmt.Sprintf("<0x%02X>", b))
	}
	return &ids
}

// wordLevelFile is a model section of type WordLevel.
type wordLevelFile struct {
	Type     string `json:"type"`
	UnkToken string `json:"unk_token" need:"true"`
}

func newWordLevel(f wordLevelFile, m modelFile, vocab *vocabulary) (model, error) {
	return &wordLevel{
		file: f, unk: vocab.modelID(f.UnkToken), ids: vocab.modelIDs(),
		contents: vocab.contents(),
	}, nil
}
