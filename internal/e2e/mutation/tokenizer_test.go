package mutation

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/headwater-ml/headwater/internal/mutant"
)

// components are parts of a tokenizer.json, some of which make a text grow or cost time.
var components = map[string][]string{
	"normalizer": {
		`{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaa"}`,
		`{"type":"Replace","pattern":{"String":""},"content":"ab"}`,
		`{"type":"Replace","pattern":{"Regex":"(a|aa)+$"},"content":"b"}`,
		`{"type":"Replace","pattern":{"Regex":".*"},"content":"xyzxyz"}`,
		`{"type":"Replace","pattern":{"Regex":"(?=.)"},"content":"aa"}`,
		`{"type":"Prepend","prepend":"` + strings.Repeat("p", 1000) + `"}`,
		`{"type":"NFKD"}`, `{"type":"NFC"}`, `{"type":"Lowercase"}`, `{"type":"Nmt"}`,
		`{"type":"StripAccents"}`, `{"type":"Strip","strip_left":true,"strip_right":true}`,
		`{"type":"ByteLevel"}`,
		`{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,` +
			`"strip_accents":null,"lowercase":true}`,
		`{"type":"Unknown"}`, `{}`, `{"type":7}`,
	},
	"pre_tokenizer": {
		`{"type":"Split","pattern":{"Regex":""},"behavior":"Isolated","invert":false}`,
		`{"type":"Split","pattern":{"Regex":"(\\w+\\s?)+$"},"behavior":"Removed","invert":true}`,
		`{"type":"Split","pattern":{"String":""},"behavior":"MergedWithNext","invert":false}`,
		`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`,
		`{"type":"Metaspace","replacement":"","prepend_scheme":"first","split":true}`,
		`{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`,
		`{"type":"Digits","individual_digits":true}`, `{"type":"Whitespace"}`,
		`{"type":"BertPreTokenizer"}`, `{"type":"Punctuation","behavior":"Contiguous"}`,
		`{"type":"UnicodeScripts"}`, `{"type":"CharDelimiterSplit","delimiter":""}`,
		`{"type":"FixedLength","length":0}`, `{"type":"Unknown"}`, `[]`,
	},
	"decoder": {
		`{"type":"Replace","pattern":{"String":""},"content":"xxxxxxxxxx"}`,
		`{"type":"ByteFallback"}`, `{"type":"Fuse"}`,
		`{"type":"Strip","content":" ","start":1000000000,"stop":-1}`,
		`{"type":"WordPiece","prefix":"","cleanup":true}`, `{"type":"BPEDecoder","suffix":""}`,
		`{"type":"CTC","pad_token":"","word_delimiter_token":"","cleanup":true}`,
	},
	"post_processor": {
		`{"type":"TemplateProcessing","single":[],"pair":[],"special_tokens":{}}`,
		`{"type":"BertProcessing","sep":["x",99999999],"cls":["y",-1]}`,
		`{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`,
		`{"type":"Unknown"}`,
	},
}

// parts are the names of components, in a fixed order.
var parts = []string{"normalizer", "pre_tokenizer", "decoder", "post_processor"}

// mutateTokenizer damages tokenizer.json.
func mutateTokenizer(r *rand.Rand, s *Seeds) Mutant {
	file := mutant.Parse(mutant.Pick(r, s.tokenizers))
	keys := file.AllKeys(nil)
	for range 1 + r.IntN(2) {
		switch r.IntN(5) {
		case 0, 1:
			part := mutant.Pick(r, parts)
			file.Set(part, chain(r, part))
		case 2:
			addTokens(r, file)
		case 3:
			part := file.Get(mutant.Pick(r,
				append(parts, "model", "added_tokens", "truncation", "padding")))
			if part != nil && len(part.Items) > 0 {
				part.Damage(r, nil)
				continue
			}
			fallthrough
		default:
			file.Damage(r, nil)
		}
	}
	text := file.Text()
	if r.IntN(12) == 0 {
		text = mutant.Scratch(r, text)
	}
	var stdin strings.Builder
	for range 1 + r.IntN(4) {
		stdin.WriteString(mutant.Quote(strings.ToValidUTF8(hostileText(r), "")) + "\n")
	}
	stdin.WriteString(`"a aa aaaaaaaa bababa"` + "\n")
	args := []string{"tokenize", "--tokenizer", "tokenizer.json"}
	if r.IntN(4) == 0 {
		args = append(args, "--no-specials")
	}
	return Mutant{
		Args:  args,
		Stdin: []byte(stdin.String()),
		Files: map[string][]byte{"tokenizer.json": text},
		Names: [][]string{{"tokenizer.json"}, append(file.AllKeys(keys), jsonWords...)},
	}
}

// chain returns one component, or a sequence of many, of a few kinds.
func chain(r *rand.Rand, part string) *mutant.Value {
	one := func() *mutant.Value { return mutant.Scalar(mutant.Pick(r, components[part])) }
	if r.IntN(2) == 0 {
		return one()
	}
	list := map[string]string{
		"normalizer": "normalizers", "pre_tokenizer": "pretokenizers",
		"decoder": "decoders", "post_processor": "processors",
	}[part]
	items := &mutant.Value{List: true}
	same := one()
	for range mutant.Pick(r, []int{0, 1, 2, 9, 30, 1000}) {
		if r.IntN(3) == 0 {
			same = one()
		}
		items.Items = append(items.Items, same)
	}
	sequence := mutant.Object("type", `"Sequence"`)
	sequence.Set(list, items)
	return sequence
}

// addTokens adds tokens that are looked for in a text before everything else.
func addTokens(r *rand.Rand, file *mutant.Value) {
	list := file.Get("added_tokens")
	if list == nil || !list.List {
		list = &mutant.Value{List: true}
		file.Set("added_tokens", list)
	}
	contents := []string{"a", "", " ", strings.Repeat("a", 10_000), "\x00", "é"}
	for range mutant.Pick(r, []int{1, 3, 500}) {
		token := mutant.Object("id", fmt.Sprint(r.IntN(2000)-5), "content",
			mutant.Quote(mutant.Pick(r, contents)))
		for _, key := range []string{"single_word", "lstrip", "rstrip", "normalized", "special"} {
			token.Set(key, mutant.Scalar(mutant.Pick(r, []string{"true", "false"})))
		}
		list.Items = append(list.Items, token)
	}
}
