package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// configured is a part of a tokenizer with a configuration, or a whole tokenizer, and what it makes
// of some texts.
type configured[Case any] struct {
	name, config string
	cases        []Case
}

// checkEach runs a check on each configuration.
func checkEach[Case any](
	t *testing.T, check func(*testing.T, string, []Case), all []configured[Case],
) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) { check(t, c.config, c.cases) })
	}
}

// Parts of the files.
const (
	whitespaceSplit = `{"type":"WhitespaceSplit"}`
	wordLevelModel  = `{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}`
	letters         = `"a":0,"b":1,"c":2,"d":3,"é":4,"日":5,"▁":6,`
	unigramVocab    = `["<unk>",0.0],["a",-1.0],["b",-1.5],["ab",-2.6],["aba",-3.1],["日",-2.0],["é",-2.0],["é日",-4.5],["ba",-2.2],["c",-9.0]`
)

// parts are the parts of a tokenizer.json. All but the model may be empty.
type parts struct{ added, normalizer, pre, post, model string }

// file returns the tokenizer.json.
func (p parts) file() string {
	for _, part := range []*string{&p.normalizer, &p.pre, &p.post} {
		if *part == "" {
			*part = "null"
		}
	}
	return fmt.Sprintf(`{"version":"1.0","truncation":null,"padding":null,"added_tokens":[%s],`+
		`"normalizer":%s,"pre_tokenizer":%s,"post_processor":%s,"decoder":null,"model":%s}`,
		p.added, p.normalizer, p.pre, p.post, p.model)
}

// addedTokenJSON returns an added token as a tokenizer.json has it, with the flags that are true.
func addedTokenJSON(id int, content string, flags ...string) string {
	text := fmt.Sprintf(`{"id":%d,"content":%q`, id, content)
	for _, flag := range []string{"single_word", "lstrip", "rstrip", "normalized", "special"} {
		text += fmt.Sprintf(`,%q:%t`, flag, slices.Contains(flags, flag))
	}
	return text + "}"
}

// bpeModel is a model of byte pairs: fuse stands for fuse_unk, bytes for byte_fallback, whole for
// ignore_merges.
type bpeModel struct {
	unknown, vocab, merges string
	fuse, bytes, whole     bool
}

// json returns the model as a tokenizer.json has it.
func (m bpeModel) json() string {
	return fmt.Sprintf(`{"type":"BPE","dropout":null,"unk_token":%s,`+
		`"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":%t,`+
		`"byte_fallback":%t,"ignore_merges":%t,"vocab":{%s},"merges":[%s]}`,
		m.unknown, m.fuse, m.bytes, m.whole, m.vocab, m.merges)
}

// withUnigram returns the tokenizer.json of a Unigram model.
func withUnigram(vocab string, byteFallback bool) string {
	return parts{model: fmt.Sprintf(`{"type":"Unigram","unk_id":0,"vocab":[%s],"byte_fallback":%t}`,
		vocab, byteFallback)}.file()
}

// forBytes returns a text for each byte, joined by commas.
func forBytes(text func(b int) string) string {
	texts := make([]string, 256)
	for b := range texts {
		texts[b] = text(b)
	}
	return strings.Join(texts, ",")
}

// byteSymbols returns a vocabulary of the characters that stand for bytes in a byte-level model, in
// the order of Unicode.
func byteSymbols() string {
	var symbols []string
	for r := '!'; r <= 'Ń'; r++ {
		if r > '~' && r < '¡' || r == '\u00ad' {
			continue // these bytes have symbols from U+0100 on
		}
		symbols = append(symbols, fmt.Sprintf("%q:%d", string(r), len(symbols)))
	}
	return strings.Join(symbols, ",")
}
