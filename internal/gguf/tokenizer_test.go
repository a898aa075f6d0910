package gguf_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

const tokenizersDir = "../../internal/tokenizer/testdata"

// tokenizerFile is a tokenizer.json, as far as a GGUF file has it.
type tokenizerFile struct {
	Added []struct {
		ID      int
		Content string
		Special bool
	} `json:"added_tokens"`
	Model struct {
		Vocab  map[string]int
		Merges []json.RawMessage
	}
}

// keysOf returns the keys that a conversion of a tokenizer.json writes.
func keysOf(t *testing.T, file, model, pre string) []gguftest.Key {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tokenizersDir, file))
	must(t, err)
	var f tokenizerFile
	must(t, json.Unmarshal(text, &f))
	tokens := make([]string, len(f.Model.Vocab))
	types := make([]int32, len(tokens))
	scores := make([]float32, len(tokens))
	for token, id := range f.Model.Vocab {
		tokens[id], types[id] = token, 1
		if model == "llama" && len(token) == 6 && strings.HasPrefix(token, "<0x") {
			types[id] = 6
		}
	}
	ids := map[string]uint32{}
	for _, a := range f.Added {
		types[a.ID], ids[a.Content] = 4, uint32(a.ID)
		if a.Special {
			types[a.ID] = 3
		}
	}
	var merges []string
	for i, raw := range f.Model.Merges {
		var pair []string
		must(t, json.Unmarshal(raw, &pair))
		merges = append(merges, strings.Join(pair, " "))
		scores[f.Model.Vocab[strings.Join(pair, "")]] = -float32(i)
	}
	keys := []gguftest.Key{
		{Name: "tokenizer.ggml.model", Value: model},
		{Name: "tokenizer.ggml.token_type", Value: types},
	}
	switch model {
	case "gpt2":
		keys = append(keys, gguftest.Key{Name: "tokenizer.ggml.merges", Value: merges},
			gguftest.Key{Name: "tokenizer.ggml.pre", Value: pre})
	case "llama":
		keys = append(keys, gguftest.Key{Name: "tokenizer.ggml.scores", Value: scores},
			gguftest.Key{Name: "tokenizer.ggml.unknown_token_id", Value: ids["<unk>"]})
	case "bert":
		for i, token := range tokens {
			rest, continues := strings.CutPrefix(token, "##")
			switch {
			case strings.HasPrefix(token, "[") && strings.HasSuffix(token, "]"):
			case continues:
				tokens[i] = rest
			default:
				tokens[i] = "▁" + token
			}
		}
		for key, token := range map[string]string{
			"cls": "[CLS]", "seperator": "[SEP]", "unknown": "[UNK]", "mask": "[MASK]",
			"padding": "[PAD]",
		} {
			keys = append(keys, gguftest.Key{
				Name: "tokenizer.ggml." + key + "_token_id", Value: ids[token],
			})
		}
	}
	for _, begin := range []string{"<s>", "<|begin_of_text|>"} {
		if id, ok := ids[begin]; ok {
			keys = append(keys, gguftest.Key{Name: "tokenizer.ggml.bos_token_id", Value: id})
		}
	}
	return append(keys, gguftest.Key{Name: "tokenizer.ggml.tokens", Value: tokens})
}

// openTokenizer returns the tokenizer of a file.
func openTokenizer(t *testing.T, file gguftest.File) *tokenizer.Tokenizer {
	t.Helper()
	m := open(t, file)
	text, err := m.TokenizerJSON()
	must(t, err)
	tok, err := tokenizer.Parse(text, m.TokenizerName())
	must(t, err)
	return tok
}

// A tokenizer that was converted to GGUF gives the ids and the texts that Hugging Face's tokenizers
// gave for the 319 recorded texts before the conversion.
func TestTokenizers(t *testing.T) {
	var cases []struct {
		Text string
		Want map[string]struct {
			IDs     []int
			Decoded *string
		}
	}
	readJSON(t, "ref.json.gz", &cases)
	if len(cases) != 319 {
		t.Fatalf("%d recorded texts, want 319", len(cases))
	}
	_, file := converted(t, "qwen3_tied")
	for _, c := range []struct{ name, model, pre string }{
		{"gpt2", "gpt2", "gpt-2"},
		{"llama3", "gpt2", "llama-bpe"},
		{"llama2_legacy", "llama", ""},
		{"bert_uncased", "bert", ""},
		{"bert_cased", "bert", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := openTokenizer(t, file.With(keysOf(t, c.name+".json", c.model, c.pre)...))
			for _, text := range cases {
				want := text.Want[c.name]
				tokens, err := tok.Encode(text.Text, true)
				must(t, err)
				var got []int
				for _, token := range tokens {
					got = append(got, token.ID)
				}
				if !slices.Equal(got, want.IDs) {
					t.Errorf("%q: ids %v, want %v", text.Text, got, want.IDs)
					continue
				}
				decoded := text.Text
				if want.Decoded != nil {
					decoded = *want.Decoded
				}
				if got, err := tok.Decode(want.IDs, true); err != nil || got != decoded {
					t.Errorf("%q: decoded %q, want %q: %v", text.Text, got, decoded, err)
				}
			}
		})
	}
}

// byteTokens are the 256 characters that stand for bytes in a byte-level vocabulary, as GPT-2
// defines them.
func byteTokens() (tokens []string) {
	next := 256
	for b := range 256 {
		visible := b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae
		r := rune(b)
		if !visible {
			r = rune(next)
			next++
		}
		tokens = append(tokens, string(r))
	}
	return tokens
}

// Every name under tokenizer.ggml.pre cuts texts as the tokenizer of that model does. The merges
// join what is in one word, the last digits first, so the tokens show where words end. The answers
// follow from the expressions by hand.
func TestPre(t *testing.T) {
	merges := []string{"4 5", "2 3", "a b", "! !", ") .", "b !", "b 1", "Ġ 1", "Ġ a", "é x"}
	tokens := byteTokens()
	for _, m := range merges {
		tokens = append(tokens, strings.ReplaceAll(m, " ", ""))
	}
	// e with an accent of its own, two characters; composed it is the bytes C3 A9.
	const decomposed = "e\u0301"
	small := gguftest.Small()
	for _, c := range []struct {
		names []string
		want  map[string]string // by text, the tokens with | between
	}{
		{[]string{
			"gpt-2", "gpt2", "phi-2", "olmo", "mpt", "exaone4", "jais", "trillion",
			"granite-docling",
		}, map[string]string{
			"12345": "1|23|45", "ab1": "ab|1", "ab!!": "ab|!!", ").": ").", " 1": "Ġ1", "b1": "b|1", " ab": "Ġ|ab",
		}},
		{[]string{
			"smollm", "starcoder", "refact", "codeshell", "command-r", "exaone", "minerva-7b",
		}, map[string]string{
			"12345": "1|2|3|4|5", "ab1": "ab|1", "ab!!": "ab|!!", ").": ").", " 1": "Ġ|1",
		}},
		{[]string{"llama-bpe", "llama3", "llama-v3", "falcon3", "smaug-bpe"}, map[string]string{
			"12345": "1|23|45", "123456": "1|23|45|6", "1234": "1|23|4", " 1": "Ġ|1", " ab": "Ġ|ab",
			").": ").",
		}},
		{[]string{"qwen2", "deepseek-r1-qwen"}, map[string]string{"12345": "1|2|3|4|5", "ab!!": "ab|!!", decomposed: "Ã|©"}},
		{[]string{"stablelm2", "hunyuan", "megrez", "seed-coder"}, map[string]string{
			"12345": "1|2|3|4|5", "ab!!": "ab|!!", decomposed: "e|Ì|ģ",
		}},
		{[]string{"falcon"}, map[string]string{"12345": "1|23|45", "1234": "1|23|4", "ab!!": "ab|!!", " 1": "Ġ|1"}},
		{[]string{"bloom", "gpt3-finnish"}, map[string]string{
			"12345": "1|23|45", "b1": "b1", "b!": "b|!", "ab!!": "ab|!!", " 1": "Ġ1", ").": ").",
		}},
		{[]string{"default"}, map[string]string{"12345": "1|23|45", "1234": "1|23|4", "ab!!": "ab|!!", " 1": "Ġ|1"}},
	} {
		for _, name := range c.names {
			tok := openTokenizer(t, small.With(
				gguftest.Key{Name: "tokenizer.ggml.tokens", Value: tokens},
				gguftest.Key{Name: "tokenizer.ggml.token_type"},
				gguftest.Key{Name: "tokenizer.ggml.merges", Value: merges},
				gguftest.Key{Name: "tokenizer.ggml.add_bos_token", Value: false},
				gguftest.Key{Name: "tokenizer.ggml.pre", Value: name}))
			for text, want := range c.want {
				encoded, err := tok.Encode(text, true)
				must(t, err)
				var got []string
				for _, token := range encoded {
					got = append(got, tokens[token.ID])
				}
				if strings.Join(got, "|") != want {
					t.Errorf("%s: %q is %s, want %s", name, text, strings.Join(got, "|"), want)
				}
			}
		}
	}
}

// The pieces are those of pre_tokenizers.Split, isolated, of tokenizers 0.23.3 with the expression
// that the tokenizer.json of Llama 3, Phi-4-mini and Mistral Nemo has. A model of one token for
// every piece shows them.
func TestPrePieces(t *testing.T) {
	const accents, strange = "e\u0301E\u0301x \u01c5ab\u01c5 \u02b0A", " \u00a0\u2003a  "
	for _, c := range []struct {
		names []string
		want  map[string]string // by text, its pieces with | between
	}{
		{[]string{"llama-bpe", "falcon3", "smaug-bpe", "dbrx", "glm4", "chatglm-bpe"}, map[string]string{
			"HelloWorld XMLHttpRequest2 aB": "HelloWorld| XMLHttpRequest|2| aB",
			"we'll DON'T it'S 's":           "we|'ll| DON|'T| it|'S| '|s",
			"1234567 x1y2":                  "123|456|7| x|1|y|2",
			"a.b//\n/c \n\n  d   e":         "a|.b|//\n|/c| \n\n| | d|  | e",
			accents:                         "e|\u0301E|\u0301x| \u01c5ab\u01c5| \u02b0A",
			"日本語テキスト ไทย १२३४": "日本語テキスト| ไทย| |१२३|४",
			"ÀÉß straße ΣΑΣς":  "ÀÉß| straße| ΣΑΣς",
			strange:            " \u00a0|\u2003a|  ",
		}},
		{[]string{"gpt-4o", "llama4"}, map[string]string{
			"HelloWorld XMLHttpRequest2 aB": "Hello|World| XMLHttp|Request|2| a|B",
			"we'll DON'T it'S 's":           "we'll| DON'T| it'S| '|s",
			"1234567 x1y2":                  "123|456|7| x|1|y|2",
			"a.b//\n/c \n\n  d   e":         "a|.b|//\n/|c| \n\n| | d|  | e",
			accents:                         "e\u0301|E\u0301x| \u01c5ab|\u01c5| \u02b0|A",
			"日本語テキスト ไทย १२३४": "日本語テキスト| ไทย| |१२३|४",
			"ÀÉß straße ΣΑΣς":  "ÀÉß| straße| ΣΑΣς",
			strange:            " \u00a0|\u2003a|  ",
		}},
		{[]string{"seed-coder"}, map[string]string{
			"we'll DON'T it'S 's":   "we|'ll| DON|'T| it|'S| '|s",
			"1234567 x1y2":          "1|2|3|4|5|6|7| x|1|y|2",
			"a.b//\n/c \n\n  d   e": "a|.b|//|\n|/c| \n\n| | d|  | e",
		}},
		{[]string{"tekken"}, map[string]string{
			"HelloWorld XMLHttpRequest2 aB": "Hello|World| XMLHttp|Request|2| a|B",
			"we'll DON'T it'S 's":           "we|'ll| DON|'T| it|'S| '|s",
			"1234567 x1y2":                  "1|2|3|4|5|6|7| x|1|y|2",
			"a.b//\n/c \n\n  d   e":         "a|.b|//\n/|c| \n\n| | d|  | e",
			accents:                         "e\u0301|E\u0301x| \u01c5ab|\u01c5| \u02b0|A",
			"日本語テキスト ไทย १२३४": "日本語テキスト| ไทย| |१|२|३|४",
			"ÀÉß straße ΣΑΣς":  "ÀÉß| straße| ΣΑΣς",
			strange:            " \u00a0|\u2003a|  ",
		}},
	} {
		for _, name := range c.names {
			tok := openPieces(t, name)
			for text, want := range c.want {
				encoded, err := tok.Encode(text, false)
				must(t, err)
				var got []string
				for _, token := range encoded {
					got = append(got, text[token.Begin:token.End])
				}
				if strings.Join(got, "|") != want {
					t.Errorf("%s: %q is %q, want %q", name, text, strings.Join(got, "|"), want)
				}
			}
		}
	}
}

// openPieces returns a tokenizer that cuts as a file with this tokenizer.ggml.pre and gives every
// piece the same token.
func openPieces(t *testing.T, name string) *tokenizer.Tokenizer {
	t.Helper()
	m := open(t, gguftest.Small().With(
		gguftest.Key{Name: "tokenizer.ggml.pre", Value: name},
		gguftest.Key{Name: "tokenizer.ggml.add_bos_token", Value: false}))
	text, err := m.TokenizerJSON()
	must(t, err)
	var parts map[string]any
	must(t, json.Unmarshal(text, &parts))
	parts["model"] = map[string]any{
		"type": "WordLevel", "vocab": map[string]int{"?": 0}, "unk_token": "?",
	}
	parts["added_tokens"], parts["post_processor"] = nil, nil
	if text, err = json.Marshal(parts); err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Parse(text, m.TokenizerName())
	must(t, err)
	return tok
}

// With the names of Llama 3 and Mistral Nemo, a text begins with a token unless the file says
// otherwise, and a word that is a token is not cut. With those of Smaug and GPT-4o neither holds.
func TestPreBegins(t *testing.T) {
	tokens := append(byteTokens(), "ab", "<s>")
	begin := len(tokens) - 1
	for name, want := range map[string][]string{
		"llama-bpe": {"<s>", "ab"}, "falcon3": {"<s>", "ab"}, "tekken": {"<s>", "ab"},
		"smaug-bpe": {"a", "b"}, "gpt-4o": {"a", "b"},
	} {
		tok := openTokenizer(t, gguftest.Small().With(
			gguftest.Key{Name: "tokenizer.ggml.tokens", Value: tokens},
			gguftest.Key{Name: "tokenizer.ggml.token_type"},
			gguftest.Key{Name: "tokenizer.ggml.merges", Value: []string{}},
			gguftest.Key{Name: "tokenizer.ggml.add_bos_token"},
			gguftest.Key{Name: "tokenizer.ggml.bos_token_id", Value: uint32(begin)},
			gguftest.Key{Name: "tokenizer.ggml.pre", Value: name}))
		encoded, err := tok.Encode("ab", true)
		must(t, err)
		var got []string
		for _, token := range encoded {
			got = append(got, tokens[token.ID])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

var must = testhelp.Must // ends a test at an error
