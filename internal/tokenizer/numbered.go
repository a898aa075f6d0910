package tokenizer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/internal/sentencepiece"
)

// numbering is how a class of transformers numbers the pieces of a file of SentencePiece that has
// no vocabulary beside it: the tokens before them, which stand for so many pieces at the start of
// the file, and those after them.
type numbering struct {
	before  []string
	skipped int
	after   []string
	// pair is two texts, $A and $B, with the tokens around them; one text ends as the second does.
	// It is nil if the tokens depend on a language.
	pair []string
	// mask is a token that takes the white space before it.
	mask string
}

// numberings are the numberings by class.
var numberings = map[string]func(table autoTable, c Config) (numbering, error){
	"T5Tokenizer":      t5Numbering,
	"PegasusTokenizer": pegasusNumbering,
	"MBartTokenizer":   mbartNumbering("mbart"),
	"MBart50Tokenizer": mbartNumbering("mbart50"),

	"XLMRobertaTokenizer": xlmRobertaNumbering,
}

// NumbersPieces reports whether the class that a configuration names can number the pieces of a
// file of SentencePiece without a vocabulary beside it, as T5Tokenizer, PegasusTokenizer,
// MBartTokenizer, MBart50Tokenizer and XLMRobertaTokenizer do.
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
	end := c.role("eos_token", "</s>")
	n := numbering{pair: []string{"$A", end, "$B", end}}
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
		pair:    []string{"$A", "$B", c.role("eos_token", "</s>")},
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

// xlmRobertaNumbering: the control tokens have another order than in the file, and the mask comes
// last. Between two texts the end stands twice.
func xlmRobertaNumbering(table autoTable, c Config) (numbering, error) {
	n, err := mbartNumbering("")(table, c)
	begin, end := n.before[0], n.before[2]
	n.pair = []string{begin, "$A", end, end, "$B", end}
	return n, err
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
	roles := map[string]string{
		"eos_token": c.role("eos_token", "</s>"), "unk_token": p.unknown, "pad_token": "<pad>",
	}
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
	if n.pair != nil {
		f.PostProcessor, err = around(n.pair, f.AddedTokens)
	}
	return m, err
}

// around is a post-processor that puts tokens around two texts, $A and $B, and around one: those
// before the first, and the last one. It returns an error if a token is not one of the control
// tokens.
func around(pair []string, control []addedToken) (json.RawMessage, error) {
	special := jsonPart{}
	parts := func(template []string) (all []any, err error) {
		for _, text := range template {
			if id, isText := strings.CutPrefix(text, "$"); isText && (id == "A" || id == "B") {
				all = append(all, jsonPart{"Sequence": jsonPart{"id": id, "type_id": 0}})
				continue
			}
			at := slices.IndexFunc(control, func(a addedToken) bool { return a.Content == text })
			if at < 0 {
				return nil, fmt.Errorf("it has no token %.60q, which stands beside a text", text)
			}
			all = append(all, jsonPart{"SpecialToken": jsonPart{"id": text, "type_id": 0}})
			special[text] = jsonPart{
				"id": text, "ids": []uint32{control[at].ID}, "tokens": []string{text},
			}
		}
		return all, nil
	}
	one := append(slices.Clone(pair[:slices.Index(pair, "$A")+1]), pair[len(pair)-1])
	single, err := parts(one)
	if err != nil {
		return nil, err
	}
	both, err := parts(pair)
	if err != nil {
		return nil, err
	}
	return marshal(jsonPart{
		"type": "TemplateProcessing", "single": single, "pair": both, "special_tokens": special,
	})
}
