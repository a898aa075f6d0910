package tokenizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Merges are done by rank, and of equal ranks from the left.
func TestBPEMerges(t *testing.T) {
	checkTokens(t, withModel(`{"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "[UNK]": 6}, "merges": ["a b", "b c", "ab c"]}`), []encodedText{
		{"abc", []textToken{{"abc", 0, 3}}},
		{"bc", []textToken{{"bc", 0, 2}}},
		{"aabb", []textToken{{"a", 0, 1}, {"ab", 1, 3}, {"b", 3, 4}}},
		{"cab", []textToken{{"c", 0, 1}, {"ab", 1, 3}}},
		{"abcabc", []textToken{{"abc", 0, 3}, {"abc", 3, 6}}},
		{"", []textToken{}},
	})
}

// A lower rank is merged first, even if it is further right.
func TestBPERankFirst(t *testing.T) {
	checkTokens(t, withModel(`{"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "[UNK]": 6}, "merges": ["b c", "a b", "ab c"]}`), []encodedText{
		{"abc", []textToken{{"a", 0, 1}, {"bc", 1, 3}}},
		{"abbc", []textToken{{"ab", 0, 2}, {"bc", 2, 4}}},
		{"aab", []textToken{{"a", 0, 1}, {"ab", 1, 3}}},
	})
}

// Each unknown character is one unknown token.
func TestBPEUnknown(t *testing.T) {
	checkTokens(t, withModel(`{"type": "BPE", "dropout": null, "unk_token": "[UNK]", "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "[UNK]": 6}, "merges": ["a b"]}`), []encodedText{
		{"axb", []textToken{{"a", 0, 1}, {"[UNK]", 1, 2}, {"b", 2, 3}}},
		{"xy", []textToken{{"[UNK]", 0, 1}, {"[UNK]", 1, 2}}},
		{"abé", []textToken{{"ab", 0, 2}, {"[UNK]", 2, 4}}},
		{"漢字a", []textToken{{"[UNK]", 0, 3}, {"[UNK]", 3, 6}, {"a", 6, 7}}},
	})
}

// fuse_unk makes one unknown token of neighbours.
func TestBPEFuseUnknown(t *testing.T) {
	checkTokens(t, withModel(`{"type": "BPE", "dropout": null, "unk_token": "[UNK]", "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "[UNK]": 6}, "merges": ["a b"]}`), []encodedText{
		{"axyb", []textToken{{"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 3, 4}}},
		{"xy", []textToken{{"[UNK]", 0, 2}}},
		{"xaby", []textToken{{"[UNK]", 0, 1}, {"ab", 1, 3}, {"[UNK]", 3, 4}}},
	})
}

// Without an unknown token, unknown characters are left out.
func TestBPENoUnknown(t *testing.T) {
	checkTokens(t, withModel(`{"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "[UNK]": 6}, "merges": ["a b"]}`), []encodedText{
		{"ab", []textToken{{"ab", 0, 2}}},
		{"xab", []textToken{{"ab", 0, 2}}},
		{"abx", []textToken{{"ab", 0, 2}}},
	})
}

// byte_fallback spells an unknown character in bytes, if all have tokens.
func TestBPEByteFallback(t *testing.T) {
	checkTokens(t, withModel(`{"type": "BPE", "dropout": null, "unk_token": "[UNK]", "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": true, "ignore_merges": false, "vocab": {"a": 0, "[UNK]": 1, "<0xC3>": 2, "<0xA9>": 3, "<0xE6>": 4}, "merges": []}`), []encodedText{
		{"aé", []textToken{{"a", 0, 1}, {"<0xC3>", 1, 3}, {"<0xA9>", 1, 3}}},
		{"é", []textToken{{"<0xC3>", 0, 2}, {"<0xA9>", 0, 2}}},
		{"漢", []textToken{{"[UNK]", 0, 3}}},
		{"aéa", []textToken{{"a", 0, 1}, {"<0xC3>", 1, 3}, {"<0xA9>", 1, 3}, {"a", 3, 4}}},
	})
}

// A prefix stands before each symbol but the first.
func TestBPEPrefix(t *testing.T) {
	checkTokens(t, withModel(`{"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "##", "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "##a": 1, "##b": 2, "a##b": 3, "ab": 4}, "merges": ["a ##b"]}`), []encodedText{
		{"ab", []textToken{{"ab", 0, 2}}},
		{"aa", []textToken{{"a", 0, 1}, {"##a", 1, 2}}},
		{"aba", []textToken{{"ab", 0, 2}, {"##a", 2, 3}}},
	})
}

// A suffix stands after the last symbol.
func TestBPESuffix(t *testing.T) {
	checkTokens(t, withModel(`{"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": "</w>", "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "b": 1, "a</w>": 2, "b</w>": 3, "ab</w>": 4}, "merges": ["a b</w>"]}`), []encodedText{
		{"ab", []textToken{{"ab</w>", 0, 2}}},
		{"a", []textToken{{"a</w>", 0, 1}}},
		{"ba", []textToken{{"b", 0, 1}, {"a</w>", 1, 2}}},
		{"aab", []textToken{{"a", 0, 1}, {"ab</w>", 1, 3}}},
	})
}

// ignore_merges takes a whole word from the vocabulary.
func TestBPEIgnoreMerges(t *testing.T) {
	checkTokens(t, withModel(`{"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": true, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": []}`), []encodedText{
		{"ab", []textToken{{"ab", 0, 2}}},
		{"aba", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"a", 2, 3}}},
	})
}

// The longest token is taken, from left to right.
func TestWordPieceLongest(t *testing.T) {
	checkTokens(t, withModel(`{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 8, "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "##a": 4, "u": 5, "unaff": 6, "##ble": 7, "##b": 8}}`), []encodedText{
		{"unaffable", []textToken{{"[UNK]", 0, 9}}},
		{"unaffb", []textToken{{"unaff", 0, 5}, {"##b", 5, 6}}},
		{"un", []textToken{{"un", 0, 2}}},
		{"u", []textToken{{"u", 0, 1}}},
		{"x", []textToken{{"[UNK]", 0, 1}}},
		{"unx", []textToken{{"[UNK]", 0, 3}}},
		{"unab", []textToken{{"un", 0, 2}, {"##a", 2, 3}, {"##b", 3, 4}}},
		{"aun", []textToken{{"[UNK]", 0, 3}}},
		{"unaffableaaaaaaaa", []textToken{{"[UNK]", 0, 17}}},
		{"", []textToken{}},
	})
}

// The tokens with the largest sum of scores are taken.
func TestUnigramViterbi(t *testing.T) {
	checkTokens(t, withModel(`{"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -1.5], ["ab", -2.0], ["abc", -9.0], ["c", -2.0], ["bc", -2.4]]}`), []encodedText{
		{"ab", []textToken{{"ab", 0, 2}}},
		{"abc", []textToken{{"a", 0, 1}, {"bc", 1, 3}}},
		{"bc", []textToken{{"bc", 0, 2}}},
		{"ba", []textToken{{"b", 0, 1}, {"a", 1, 2}}},
		{"aab", []textToken{{"a", 0, 1}, {"ab", 1, 3}}},
		{"x", []textToken{{"<unk>", 0, 1}}},
		{"axxb", []textToken{{"a", 0, 1}, {"<unk>", 1, 3}, {"b", 3, 4}}},
		{"cab", []textToken{{"c", 0, 1}, {"ab", 1, 3}}},
		{"", []textToken{}},
	})
}

// With byte_fallback unknown characters become bytes, if all have tokens.
func TestUnigramBytes(t *testing.T) {
	checkTokens(t, withModel(`{"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": [["<unk>", 0.0], ["a", -1.0], ["<0xC3>", -5.0], ["<0xA9>", -5.0]]}`), []encodedText{
		{"aé", []textToken{{"a", 0, 1}, {"<0xC3>", 1, 3}, {"<0xA9>", 1, 3}}},
		{"漢a", []textToken{{"<unk>", 0, 3}, {"a", 3, 4}}},
		{"éé", []textToken{{"<0xC3>", 0, 4}, {"<0xA9>", 0, 4}, {"<0xC3>", 0, 4}, {"<0xA9>", 0, 4}}},
	})
}

// Each word is one token.
func TestWordLevelWhole(t *testing.T) {
	checkTokens(t, withModel(`{"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "the": 1, "key": 2}}`), []encodedText{
		{"the", []textToken{{"the", 0, 3}}},
		{"keys", []textToken{{"[UNK]", 0, 4}}},
		{"", []textToken{}},
		{"the key", []textToken{{"[UNK]", 0, 7}}},
	})
}

// BertProcessing puts a token before and one after a text.
func TestBertProcessing(t *testing.T) {
	checkTokens(t, withPost(`{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}`), []encodedText{
		{"a b", []textToken{{"[CLS]", 0, 0}, {"a", 0, 1}, {"b", 2, 3}, {"[SEP]", 0, 0}}},
		{"", []textToken{{"[CLS]", 0, 0}, {"[SEP]", 0, 0}}},
		{"x", []textToken{{"[CLS]", 0, 0}, {"[UNK]", 0, 1}, {"[SEP]", 0, 0}}},
	})
}

// RobertaProcessing does too, and trims offsets.
func TestRobertaProcessing(t *testing.T) {
	checkTokens(t, withPost(`{"type": "RobertaProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1], "trim_offsets": true, "add_prefix_space": false}`), []encodedText{
		{"a b", []textToken{{"[CLS]", 0, 0}, {"a", 0, 1}, {"b", 2, 3}, {"[SEP]", 0, 0}}},
		{"", []textToken{{"[CLS]", 0, 0}, {"[SEP]", 0, 0}}},
	})
}

// TemplateProcessing puts tokens as its template says.
func TestTemplateProcessing(t *testing.T) {
	checkTokens(t, withPost(`{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "two", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}, "two": {"id": "two", "ids": [2, 2], "tokens": ["[SEP]", "[SEP]"]}}}`), []encodedText{
		{
			"a b",
			[]textToken{{"[CLS]", 0, 0}, {"a", 0, 1}, {"b", 2, 3}, {"[SEP]", 0, 0}, {"[SEP]", 0, 0}},
		},
		{"", []textToken{{"[CLS]", 0, 0}, {"[SEP]", 0, 0}, {"[SEP]", 0, 0}}},
	})
}

// A template may put its token after the text only.
func TestTemplateAtTheEnd(t *testing.T) {
	checkTokens(t, withPost(`{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {"[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}}}`), []encodedText{
		{"ab a", []textToken{{"ab", 0, 2}, {"a", 3, 4}, {"[SEP]", 0, 0}}},
		{"b", []textToken{{"b", 0, 1}, {"[SEP]", 0, 0}}},
	})
}

// encodedText is a text and the tokens that version 0.23.3 of tokenizers gives.
type encodedText struct {
	text string
	want []textToken
}

// textToken is the content of a token and its bytes [begin,end) in the text.
type textToken struct {
	content    string
	begin, end int
}

// withModel is a tokenizer.json with a model alone.
func withModel(model string) string {
	return `{"version":"1.0","added_tokens":[],"model":` + model + `}`
}

// withPost is a tokenizer.json of whole words with a post_processor.
func withPost(post string) string {
	return `{"version":"1.0","added_tokens":[],"pre_tokenizer":{"type":"WhitespaceSplit"},
		"post_processor":` + post + `,"model":{"type":"WordLevel","unk_token":"[UNK]",
		"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"b":4,"ab":5}}}`
}

func checkTokens(t *testing.T, file string, cases []encodedText) {
	t.Helper()
	tok, err := Parse([]byte(file), "test")
	must(t, err)
	for _, c := range cases {
		got := []textToken{}
		for _, e := range encode(t, tok, c.text) {
			got = append(got, textToken{tok.vocab.entries[e.ID].content, e.Begin, e.End})
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(textToken{})); diff != "" {
			t.Errorf("tokens of %q (-want +got):\n%s", c.text, diff)
		}
	}
}
