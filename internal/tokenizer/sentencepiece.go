package tokenizer

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/sentencepiece"
)

// spaceMark stands for a space in pieces of SentencePiece.
const spaceMark = "▁"

// pieces is a model of SentencePiece: how it normalises a text, and the pieces that it cuts it into
// (sentencepiece_model.proto, ModelProto).
type pieces struct {
	kind     string // of the model: Unigram or BPE
	unknown  string
	all      []textPiece // in the order of the file
	texts    []vocabItem // of ordinary pieces, with their numbers from 1
	bytes    []string    // pieces <0x00> to <0xFF> for the bytes of text without any other
	scores   []float64   // by number; that of the unknown token is 0
	charsmap []byte
	// noSpaceInFront reports whether no space is put before a text, and keepSpaces whether spaces
	// at its ends and several in a row stay.
	noSpaceInFront, keepSpaces bool
}

// textPiece is a piece with its use.
type textPiece struct {
	text string
	use  sentencepiece.Use
}

// readPieces reads a file of SentencePiece.
func readPieces(data []byte) (*pieces, error) {
	p := &pieces{kind: "Unigram", unknown: "<unk>", scores: []float64{0}}
	err := fields(data, func(field int, number uint64, data []byte) error {
		switch field {
		case 1: // pieces
			return p.readPiece(data)
		case 2: // trainer_spec
			return fields(data, func(field int, number uint64, _ []byte) error {
				switch {
				case field == 3 && number == 2:
					p.kind = "BPE"
				case field == 3 && number != 1:
					return fmt.Errorf("model_type is %d; it must be 1 (unigram) or 2 (bpe)", number)
				case field == 24 && number != 0:
					return errors.New("trainer_spec has treat_whitespace_as_suffix, which is not " +
						"supported")
				}
				return nil
			})
		case 3: // normalizer_spec
			return fields(data, func(field int, number uint64, data []byte) error {
				switch field {
				case 2:
					p.charsmap = data
				case 3:
					p.noSpaceInFront = number == 0
				case 4:
					p.keepSpaces = number == 0
				case 5:
					if number == 0 {
						return errors.New("normalizer_spec has no escape_whitespaces, which is " +
							"not supported")
					}
				}
				return nil
			})
		}
		return nil
	})
	if err == nil && len(p.texts) == 0 {
		err = errors.New("it has no pieces")
	}
	return p, err
}

// readPiece reads a piece with its score and use.
func (p *pieces) readPiece(data []byte) error {
	text, score, use := "", 0.0, sentencepiece.Ordinary
	err := fields(data, func(field int, number uint64, data []byte) error {
		switch field {
		case 1:
			text = string(data)
		case 2:
			score = float64(math.Float32frombits(uint32(number)))
		case 3:
			use = sentencepiece.Use(number)
		}
		return nil
	})
	p.all = append(p.all, textPiece{text, use})
	switch {
	case err != nil:
		return err
	case math.IsNaN(score) || math.IsInf(score, 0):
		return fmt.Errorf("piece %.80q has the score %v; want a number", text, score)
	case use == sentencepiece.Unknown:
		p.unknown = text
	case use == sentencepiece.Control || use == sentencepiece.Unused: // no text has them
	case use == sentencepiece.Byte:
		p.bytes = append(p.bytes, text)
	case use == sentencepiece.Ordinary || use == sentencepiece.User:
		p.texts = append(p.texts, vocabItem{text, len(p.scores)})
		p.scores = append(p.scores, score)
	default:
		return fmt.Errorf("piece %.80q is of type %d; supported are 1 (normal), 2 (unknown), "+
			"3 (control), 4 (user defined), 5 (unused) and 6 (byte)", text, use)
	}
	return nil
}

// fields calls use with each field of a message of protocol buffers: its value is a number, or a
// text or message in data.
func fields(data []byte, use func(field int, number uint64, data []byte) error) error {
	short := errors.New("the file is cut off or not of SentencePiece")
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 || key>>3 > math.MaxInt32 {
			return short
		}
		data = data[n:]
		var number uint64
		var inner []byte
		switch key & 7 {
		case 0:
			number, n = binary.Uvarint(data)
		case 1, 5:
			if n = map[uint64]int{1: 8, 5: 4}[key&7]; len(data) >= n {
				number = uint64(binary.LittleEndian.Uint32(data))
			}
		case 2:
			size, head := binary.Uvarint(data)
			if head <= 0 || size > uint64(len(data)-head) {
				return short
			}
			n, inner = head+int(size), data[head:head+int(size)] //nolint:gosec // within data
		default:
			return short
		}
		if n <= 0 || n > len(data) {
			return short
		}
		data = data[n:]
		if err := use(int(key>>3), number, inner); err != nil {
			return err
		}
	}
	return nil
}

// jsonPart is a part of a tokenizer.json.
type jsonPart = map[string]any

// file returns the parts of a tokenizer.json that does what SentencePiece does.
func (p *pieces) file() (f file, err error) {
	replace := func(pattern, by string) any {
		return jsonPart{"type": "Replace", "pattern": jsonPart{"Regex": pattern}, "content": by}
	}
	var normalizers []any
	if len(p.charsmap) > 0 {
		normalizers = append(normalizers, jsonPart{
			"type":                 "Precompiled",
			"precompiled_charsmap": base64.StdEncoding.EncodeToString(p.charsmap),
		})
	}
	if !p.keepSpaces { // at the end, marks that the text has go too
		normalizers = append(normalizers, replace(`\A +|[ ▁]+\z`, ""), replace(" {2,}", " "))
	}
	if !p.noSpaceInFront {
		normalizers = append(normalizers, jsonPart{"type": "Prepend", "prepend": spaceMark})
	}
	normalizers = append(normalizers, replace(" ", spaceMark))
	pre := any(nil)
	if !slices.ContainsFunc(p.texts, func(t vocabItem) bool {
		return strings.Contains(strings.TrimLeft(t.content, spaceMark), spaceMark)
	}) { // no piece goes from one word into the next
		pre = jsonPart{
			"type": "Metaspace", "replacement": spaceMark, "prepend_scheme": "never", "split": true,
		}
	}
	for to, value := range map[*json.RawMessage]any{
		&f.Normalizer:   jsonPart{"type": "Sequence", "normalizers": normalizers},
		&f.PreTokenizer: pre,
		&f.Decoder: jsonPart{"type": "Sequence", "decoders": []any{
			jsonPart{"type": "ByteFallback"},
			jsonPart{
				"type": "Metaspace", "replacement": spaceMark, "prepend_scheme": "always",
			},
		}},
	} {
		if *to, err = marshal(value); err != nil {
			return f, err
		}
	}
	return f, nil
}

// modelFile returns the model section, with numbers of its own for the pieces: 0 is the unknown
// token.
func (p *pieces) modelFile() (m modelFile, err error) {
	m.kind, m.tokens = p.kind, slices.Concat([]vocabItem{{p.unknown, 0}}, p.texts)
	if p.kind == "Unigram" {
		m.scores = p.scores
		for i, text := range p.bytes {
			m.bytes = append(m.bytes, vocabItem{text, len(p.scores) + i})
		}
		m.small, err = marshal(jsonPart{
			"type": p.kind, "unk_id": 0, "byte_fallback": len(p.bytes) > 0,
		})
		return m, err
	}
	if m.merges, err = p.merges(); err != nil {
		return m, err
	}
	m.small, err = marshal(jsonPart{"type": p.kind, "unk_token": p.unknown, "fuse_unk": true})
	return m, err
}

// Limits of a BPE whose merges follow from its pieces, far above those of real ones. A piece of n
// bytes has up to n places to cut it, and looking both parts up reads its n bytes: without a limit
// one piece of 64 MB takes days, and with maxPiece at most maxPiece bytes are read for each byte of
// the file. Each place may be a merge, so that without the other two limits merges take maxPiece
// times the memory of the file.
const (
	maxPiece     = 512
	maxMerges    = 4 << 20
	maxMergeText = 64 << 20 // bytes of all merges, each as long as its piece
)

// merges returns every way to put a piece together from two, the best score first; of one piece,
// longer first parts first.
func (p *pieces) merges() ([]mergeText, error) {
	known := make(map[string]bool, len(p.texts))
	for _, t := range p.texts {
		if len(t.content) > maxPiece {
			return nil, fmt.Errorf("piece %.40q... has %d bytes, the limit is %d", t.content,
				len(t.content), maxPiece)
		}
		known[t.content] = true
	}
	var merges []mergeText
	size := 0
	for _, t := range slices.SortedStableFunc(slices.Values(p.texts), func(a, b vocabItem) int {
		return cmp.Compare(p.scores[b.id], p.scores[a.id])
	}) {
		from := len(merges)
		for at := range t.content {
			if at > 0 && known[t.content[:at]] && known[t.content[at:]] {
				merges = append(merges, mergeText{t.content[:at], t.content[at:]})
			}
		}
		slices.Reverse(merges[from:])
		size += (len(merges) - from) * len(t.content)
		if len(merges) > maxMerges || size > maxMergeText {
			return nil, fmt.Errorf("the pieces can be made of each other in so many ways that "+
				"there are %d merges of %d bytes; the limits are %d and %d", len(merges), size,
				maxMerges, maxMergeText)
		}
	}
	return merges, nil
}

// ParsePieces reads the tokenizer of a class of transformers that cuts texts by a file of
// SentencePiece. Some have the ids of the pieces in another file, vocab.json: MarianTokenizer
// (source.spm; target.spm for the texts of targets) and M2M100Tokenizer (sentencepiece.bpe.model).
// A piece that vocab does not have is the unknown token, and so is text without a piece, unless
// vocab has that text. If vocab is nil, ids follow from the class; see [NumbersPieces]. name
// appears in errors. It returns an error for files that are malformed, that contradict each other,
// or that need what is not supported.
func ParsePieces(model, vocab []byte, name string, c Config) (*Tokenizer, error) {
	table, err := newAutoTable()
	if err != nil {
		return nil, err
	}
	t, err := parsePieces(model, vocab, table, c)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func parsePieces(model, vocab []byte, table autoTable, c Config) (*Tokenizer, error) {
	p, err := readPieces(model)
	if err != nil {
		return nil, err
	}
	f, err := p.file()
	if err != nil {
		return nil, err
	}
	inner, err := p.modelFile()
	if err != nil {
		return nil, err
	}
	class := table.class(c, false)
	var known modelFile
	if vocab == nil {
		known, err = p.numbered(class, table, c, &f)
	} else if known, err = readVocabularyFile(vocab); err == nil {
		f.AddedTokens = addedTo(known, class, table, c)
		err = p.onlyOrdinary()
	}
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{file: f}
	if t.vocab, err = newVocabulary(known); err != nil {
		return nil, err
	}
	for _, a := range f.AddedTokens {
		if err := t.vocab.add(a, int(a.ID)); err != nil {
			return nil, err
		}
	}
	unknown, ok := t.vocab.ids[cmp.Or(c.Special["unk_token"], "<unk>")]
	if !ok {
		return nil, errors.New("the vocabulary has no unknown token (unk_token)")
	}
	for _, piece := range slices.Concat(inner.tokens, inner.bytes) {
		id, ok := t.vocab.ids[piece.content]
		if !ok || piece.id == 0 {
			id = unknown
		}
		t.ids = append(t.ids, int32(id)) //nolint:gosec // below the limit of a vocabulary
	}
	own, err := newVocabulary(inner)
	if err != nil {
		return nil, err
	}
	if t.model, err = modelKinds[inner.kind](inner, &own); err != nil {
		return nil, err
	}
	if err := t.parts(); err != nil {
		return nil, err
	}
	t.translate(class, c)
	return t, nil
}

// onlyOrdinary returns an error if a piece is searched for in a text before anything else, or
// stands for a byte.
func (p *pieces) onlyOrdinary() error {
	for _, piece := range p.all {
		if piece.use == sentencepiece.User || piece.use == sentencepiece.Byte {
			return fmt.Errorf("piece %.80q is of type %d, which is not supported beside a "+
				"vocab.json", piece.text, piece.use)
		}
	}
	return nil
}

// readVocabularyFile reads a vocab.json: an object of tokens with their ids.
func readVocabularyFile(data []byte) (m modelFile, err error) {
	var vocab json.RawMessage
	if err := json.Unmarshal(data, &vocab); err != nil {
		return m, fmt.Errorf("vocab.json beside it is damaged: %s; download it again",
			message.NotJSON(err))
	}
	section, err := json.Marshal(jsonPart{"type": "WordLevel", "vocab": vocab})
	if err != nil {
		return m, fmt.Errorf("vocab.json beside it: %w", err)
	}
	if m, err = readModel(section); err != nil {
		return m, fmt.Errorf("vocab.json beside it: %w", err)
	}
	if m.scores != nil {
		return m, errors.New("vocab.json is a list; it must be an object of tokens with their ids")
	}
	return m, nil
}

// addedTo are the tokens that are searched for in a text: those with a role, and those of
// languages, which M2M100 has after its vocabulary and Marian in it.
func addedTo(m modelFile, class string, table autoTable, c Config) (added []addedToken) {
	roles := map[string]string{"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
	languages := map[string]int{}
	if class == "M2M100Tokenizer" {
		roles["bos_token"] = "<s>"
		codes, _ := c.Settings["language_codes"].(string)
		for i, code := range table.Languages[cmp.Or(codes, "m2m100")] {
			languages["__"+code+"__"] = len(m.tokens) + i
		}
	}
	maps.Copy(roles, c.Special)
	f := file{}
	f.addSpecial(m, roles)
	for _, t := range m.tokens {
		if k := translatingClasses[class]; k.ofTarget && strings.HasPrefix(t.content, k.before) &&
			strings.HasSuffix(t.content, k.after) {
			languages[t.content] = t.id
		}
	}
	for _, text := range slices.SortedFunc(maps.Keys(languages), func(a, b string) int {
		return cmp.Compare(languages[a], languages[b])
	}) {
		f.AddedTokens = append(f.AddedTokens,
			addedToken{ID: uint32(languages[text]), Content: text, Special: true}) //nolint:gosec
	}
	return f.AddedTokens
}
