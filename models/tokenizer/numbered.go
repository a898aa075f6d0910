package tokenizer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/internal/sentencepiece"
)

// numbering is how a class of transformers numbers the pieces of a file of SentencePiece that has
// no vocabulary beside it: the tokens before them, which stand for so many pieces at the start of
// the file, and those after them.
type numbering struct {
	before  []string
	skipped int
	after   []string
	// ends puts the end of the text after the first of two texts, too (T5).
	ends bool
	// mask is a token that takes the white space before it.
	mask string
}

// numberings are the numberings by class.
var numberings = map[string]func(table autoTable, c Config) (numbering, error){
	"T5Tokenizer":      t5Numbering,
	"PegasusTokenizer": pegasusNumbering,
	"MBartTokenizer":   mbartNumbering("mbart"),
	"MBart50Tokenizer": mbartNumbering("mbart50"),
}

// NumbersPieces reports whether the class that a configuration names can number the pieces of a
// file of SentencePiece without a vocabulary beside it, as T5Tokenizer, PegasusTokenizer,
// MBartTokenizer and MBart50Tokenizer do.
func NumbersPieces(c Config) bool {
	table, err := newAutoTable()
	return err == nil && numberings[table.class(c, false)] != nil
}

// maxExtra is how many tokens a class may number beside the pieces.
const maxExtra = 1 << 12

// role returns the text of a token with a role, or the usual one.
func (c Config) role(key, usual string) string { return cmp.Or(c.Special[key], usual) }

// setting returns a whole number of tokenizer_config.json, or the usual one.
func (c Config) setting(key string, usual int) (int, error) {
	v, ok := c.Settings[key]
	if !ok || v == nil {
		return usual, nil
	}
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil || n < 0 || n > maxExtra {
		return 0, fmt.Errorf("tokenizer_config.json beside it: %s is %.60v; want a number from 0 "+
			"to %d", key, v, maxExtra)
	}
	return n, nil
}

// t5Numbering: the places that a text leaves open come last, in falling order.
func t5Numbering(_ autoTable, c Config) (numbering, error) {
	extra, err := c.setting("extra_ids", 100)
	n := numbering{ends: true}
	for i := range extra {
		n.after = append(n.after, fmt.Sprintf("<extra_id_%d>", extra-1-i))
	}
	return n, err
}

// pegasusNumbering: tokens for masked sentences and words, and 101 that no text has, come after the
// padding and the end.
func pegasusNumbering(_ autoTable, c Config) (numbering, error) {
	offset, err := c.setting("offset", 103)
	n := numbering{
		before:  []string{c.role("pad_token", "<pad>"), c.role("eos_token", "</s>")},
		skipped: 2,
	}
	value, given := c.Settings["mask_token_sent"]
	sentence, isText := value.(string)
	if !isText {
		sentence = "<mask_1>"
	}
	if !given || value != nil { // null leaves out both
		n.before = append(n.before, sentence, c.role("mask_token", "<mask_2>"))
	}
	for i := 2; i < offset; i++ {
		n.before = append(n.before, fmt.Sprintf("<unk_%d>", i))
	}
	if err == nil && len(n.before) != offset+n.skipped {
		err = fmt.Errorf("tokenizer_config.json beside it: offset is %d, which leaves no room for "+
			"%d tokens before the pieces", offset, len(n.before))
	}
	return n, err
}

// mbartNumbering: the control tokens have another order than in the file, and the languages come
// last, with the mask after them.
func mbartNumbering(languages string) func(autoTable, Config) (numbering, error) {
	return func(table autoTable, c Config) (numbering, error) {
		mask := c.role("mask_token", "<mask>")
		return numbering{
			before: []string{
				c.role("bos_token", "<s>"), c.role("pad_token", "<pad>"),
				c.role("eos_token", "</s>"), c.role("unk_token", "<unk>"),
			},
			skipped: 3,
			after:   append(slices.Clone(table.Languages[languages]), mask),
			mask:    mask,
		}, nil
	}
}

// numbered returns the vocabulary of a class that numbers the pieces, and gives the file its added
// tokens and what it puts around a text.
func (p *pieces) numbered(class string, table autoTable, c Config, f *file) (
	m modelFile, err error,
) {
	number, ok := numberings[class]
	if !ok {
		return m, &unsupportedError{
			"the class of the tokenizer", fmt.Sprintf("%.60q", class), names(numberings),
		}
	}
	if p.kind != "Unigram" {
		return m, fmt.Errorf("model_type is 2 (bpe); %s needs 1 (unigram)", class)
	}
	n, err := number(table, c)
	if err != nil {
		return m, err
	}
	if len(p.all) <= n.skipped {
		return m, fmt.Errorf("it has %d pieces; %s needs more than %d", len(p.all), class,
			n.skipped)
	}
	end := c.role("eos_token", "</s>")
	roles := map[string]string{"eos_token": end, "unk_token": p.unknown, "pad_token": "<pad>"}
	maps.Copy(roles, c.Special)
	control := append(slices.Collect(maps.Values(roles)), slices.Concat(n.before, n.after)...)
	own := map[string]bool{} // of the texts that are user defined
	add := func(text string) { m.tokens = append(m.tokens, vocabItem{text, len(m.tokens)}) }
	for _, text := range n.before {
		add(text)
	}
	for _, piece := range p.all[n.skipped:] {
		add(piece.text)
		if piece.use == sentencepiece.Control {
			control = append(control, piece.text)
		}
		own[piece.text] = piece.use == sentencepiece.User
	}
	for _, text := range n.after {
		add(text)
	}
	f.addControls(m, slices.Values(control))
	for i, a := range f.AddedTokens {
		f.AddedTokens[i].LStrip = a.Content == n.mask
		delete(own, a.Content)
	}
	for _, t := range m.tokens {
		if own[t.content] {
			f.AddedTokens = append(f.AddedTokens, addedToken{ID: uint32(t.id), Content: t.content})
		}
	}
	if _, languages := translatingClasses[class]; languages {
		return m, nil
	}
	at := slices.IndexFunc(f.AddedTokens, func(a addedToken) bool { return a.Content == end })
	if at < 0 {
		return m, errors.New("it has no token that ends a text (eos_token)")
	}
	f.PostProcessor, err = endsWith(end, f.AddedTokens[at].ID, n.ends)
	return m, err
}

// endsWith is a post-processor that puts a token after a text and after the second of two, and
// after the first of two if both is true.
func endsWith(end string, id uint32, both bool) (json.RawMessage, error) {
	text := func(name string, kind int) any {
		return jsonPart{"Sequence": jsonPart{"id": name, "type_id": kind}}
	}
	last := jsonPart{"SpecialToken": jsonPart{"id": end, "type_id": 0}}
	pair := []any{text("A", 0), last, text("B", 0), last}
	if !both {
		pair = slices.Delete(pair, 1, 2)
	}
	return marshal(jsonPart{
		"type": "TemplateProcessing", "single": []any{text("A", 0), last}, "pair": pair,
		"special_tokens": jsonPart{
			end: jsonPart{"id": end, "ids": []uint32{id}, "tokens": []string{end}},
		},
	})
}
