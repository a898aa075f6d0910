package tokenizer

import (
	"strings"
	"testing"
)

// TestRefusals has one case for each error about a part of a file. Each names the key.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"normalizer", `{"type":"Prepend"}`, "normalizer: Prepend needs prepend"},
		{"normalizer", `{"type":"Replace"}`, "normalizer: Replace needs pattern and content"},
		{
			"normalizer", `{"type":"Replace","pattern":{},"content":""}`,
			"a pattern must be either a String or a Regex",
		},
		{
			"normalizer", `{"type":"Replace","pattern":{"String":"a","Regex":"b"},"content":""}`,
			"a pattern must be either a String or a Regex",
		},
		{"normalizer", `{"type":"Strip"}`, "Strip needs strip_left and strip_right"},
		{
			"normalizer", `{"type":"BertNormalizer"}`,
			"BertNormalizer needs clean_text, handle_chinese_chars and lowercase",
		},
		{"normalizer", `{"type":"NFC","extra":1}`, `unknown field "extra" (known are type)`},
		{"normalizer", `{"type":"Sequence","parts":[]}`, `unknown field "parts"`},
		{
			"normalizer", `{"type":"Precompiled","precompiled_charsmap":"?"}`,
			"precompiled_charsmap: the value is not base64",
		},
		{
			"normalizer", `{"type":"Precompiled","precompiled_charsmap":"AAA="}`,
			"precompiled_charsmap: 2 bytes, want at least 4",
		},
		{
			"normalizer", `{"type":"Precompiled","precompiled_charsmap":"BQAAAAAAAAA="}`,
			"the trie has 5 bytes of the 4 that follow",
		},
		{
			"normalizer", `{"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAD/"}`,
			"the replacements are not valid UTF-8",
		},
		{"normalizer", `7`, "a part without a type is not supported"},
		{"normalizer", `{"type":7}`, "a part without a type is not supported"},
		{"pre_tokenizer", `{"type":"Split"}`, "Split needs pattern, behavior and invert"},
		{
			"pre_tokenizer", `{"type":"Split","pattern":{"String":"a"},"behavior":"X","invert":false}`,
			`pre_tokenizer.behavior: "X" is not supported (supported: Contiguous, Isolated,`,
		},
		{
			"pre_tokenizer", `{"type":"Punctuation","invert":true}`,
			`unknown field "invert" (known are type, behavior)`,
		},
		{"pre_tokenizer", `{"type":"Digits"}`, "Digits needs individual_digits"},
		{
			"pre_tokenizer", `{"type":"CharDelimiterSplit","delimiter":"ab"}`,
			`delimiter: "ab" must be one character`,
		},
		{
			"pre_tokenizer", `{"type":"CharDelimiterSplit","delimiter":""}`,
			`delimiter: "" must be one character`,
		},
		{
			"pre_tokenizer", `{"type":"Metaspace","replacement":"ab"}`,
			`replacement: "ab" must be one character`,
		},
		{
			"pre_tokenizer", `{"type":"Metaspace","replacement":"_","prepend_scheme":"last"}`,
			`prepend_scheme: "last" is not supported (supported: always, first, never)`,
		},
		{
			"pre_tokenizer", `{"type":"Metaspace","replacement":"_","add_prefix_space":false,"prepend_scheme":"first"}`,
			"add_prefix_space is false but prepend_scheme is first; change it to never",
		},
		{
			"pre_tokenizer", `{"type":"ByteLevel"}`,
			"ByteLevel needs add_prefix_space and trim_offsets",
		},
		{
			"pre_tokenizer", `{"type":"FixedLength","length":2}`,
			`type "FixedLength" is not supported (supported: BertPreTokenizer, ByteLevel,`,
		},
		{"decoder", `{"type":"BPEDecoder"}`, "BPEDecoder needs suffix"},
		{"decoder", `{"type":"CTC"}`, "CTC needs pad_token, word_delimiter_token and cleanup"},
		{"decoder", `{"type":"Strip","content":"a"}`, "Strip needs start and stop"},
		{
			"decoder", `{"type":"Strip","content":"","start":0,"stop":0}`,
			`content: "" must be one character`,
		},
		{
			"decoder", `{"type":"Strip","content":"a","start":-1,"stop":0}`,
			"decoder.start: -1 is not a whole number",
		},
		{"decoder", `{"type":"WordPiece"}`, "WordPiece needs prefix and cleanup"},
		{"decoder", `{"type":"ByteLevel"}`, "ByteLevel needs add_prefix_space and trim_offsets"},
		{"decoder", `{"type":"Fuse","x":1}`, `decoder: unknown field "x"`},
		{
			"decoder", `{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Gone"}]}`,
			`decoder.decoders[1]: type "Gone" is not supported`,
		},
		{"post_processor", `{"type":"BertProcessing"}`, "BertProcessing needs sep and cls"},
		{
			"post_processor", `{"type":"BertProcessing","sep":["x",99999],"cls":["y",1]}`,
			`token "x" has id 99999, which is not in the vocabulary`,
		},
		{
			"post_processor", `{"type":"RobertaProcessing","sep":["x",1],"cls":["y",1]}`,
			"RobertaProcessing needs sep, cls, trim_offsets and add_prefix_space",
		},
		{
			"post_processor", `{"type":"TemplateProcessing"}`,
			"TemplateProcessing needs single, pair and special_tokens",
		},
		{
			"post_processor", `{"type":"TemplateProcessing","single":[{}],"pair":[],"special_tokens":{}}`,
			"single: a piece must be a Sequence or a SpecialToken",
		},
		{
			"post_processor", `{"type":"TemplateProcessing","single":[],"pair":[{"Sequence":{"id":"C","type_id":0}}],"special_tokens":{}}`,
			`pair: sequence "C" is not one of the 2 texts`,
		},
		{
			"post_processor", `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{"x":{"id":"x","ids":[1,2],"tokens":["a"]}}}`,
			`"x" has 2 ids and 1 tokens`,
		},
		{
			"post_processor", `{"type":"Sequence","processors":[{"type":"ByteLevel"}]}`,
			"post_processor.processors[0]: ByteLevel needs",
		},
		{"truncation", `{}`, "truncation: max_length and stride are needed"},
		{
			"truncation", `{"max_length":3,"stride":0,"strategy":"Half"}`,
			`truncation.strategy: "Half" is not supported (supported: LongestFirst, OnlyFirst, OnlySecond)`,
		},
		{
			"truncation", `{"max_length":3,"stride":0,"strategy":"OnlyFirst","direction":"Up"}`,
			`truncation.direction: "Up" is not supported (supported: Left, Right)`,
		},
		{"truncation", `{"max_length":-3}`, "truncation.max_length: -3 is not a whole number"},
		{
			"padding", `{}`,
			"padding: strategy, direction, pad_id, pad_type_id and pad_token are needed",
		},
		{
			"padding", `{"strategy":{"Fixed":null},"direction":"Left","pad_id":0,"pad_type_id":0,"pad_token":"x"}`,
			`padding.strategy: {"Fixed":null} is not supported`,
		},
		{
			"padding", `{"strategy":"BatchLongest","direction":"Down","pad_id":0,"pad_type_id":0,"pad_token":"x"}`,
			`padding.direction: "Down" is not supported`,
		},
		{
			"model.type", `"X"`,
			`model: type "X" is not supported (supported: BPE, Unigram, WordLevel, WordPiece)`,
		},
		{"model.dropout", `0.5`, "model.dropout: 0.5 is not supported"},
		{"model.merges", `[["a"]]`, "model.merges[0]: 1 tokens instead of 2"},
		{"model.merges", `["a  b"]`, "model.merges[0]: 3 tokens instead of 2"},
		{"model.merges", `[["a","zzzzz"]]`, `model.merges[0]: token "zzzzz" is not in vocab`},
		{"model.merges", `[["a","!"]]`, `model.merges[0]: token "a!" is not in vocab`},
		{"model.merges", `[[1,2]]`, "model.merges[0]: 1 is not a text"},
		{"model.vocab", `[]`, "BPE takes an object of tokens with their ids"},
		{"model.vocab", `{"a":-1}`, `token "a": id -1 is not a number from 0 to`},
		{"model.vocab", `{"a":1.5}`, `token "a": id 1.5 is not a number from 0 to`},
		{
			"added_tokens", `[{"id":0,"content":"<|endoftext|>"},{"id":0,"content":"<|endoftext|>"}]`,
			`token "<|endoftext|>" is listed twice`,
		},
		{
			"added_tokens", `[{"id":5,"content":"new token"}]`,
			`added_tokens: token "new token" has id 5 in the file, but it must be`,
		},
		{"added_tokens", `[{"id":1200,"content":""}]`, "token 1200 is empty; remove it"},
		{"version", `"1.1"`, `version: "1.1" is not supported (supported: "1.0")`},
	} {
		_, err := Parse(editedFile(t, "gpt2", c.key, c.value), "some.json")
		if err == nil || !strings.HasPrefix(err.Error(), "tokenizer: some.json: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want one with %q", c.key, c.value, err, c.want)
		}
	}
}
