package tokenizer

import "testing"

// The tokens of these tables are recorded from version 0.23.3 of tokenizers.

// An added token: lstrip False, rstrip False, single_word False.
func TestAddedToken000(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":7,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"<s>", []textToken{{"<s>", 0, 3}}},
		{"a<s>b", []textToken{{"a", 0, 1}, {"<s>", 1, 4}, {"b", 4, 5}}},
		{"a <s> b", []textToken{{"a", 0, 1}, {"<s>", 2, 5}, {"b", 6, 7}}},
		{"  <s>  ", []textToken{{"<s>", 2, 5}}},
		{"<s><s>", []textToken{{"<s>", 0, 3}, {"<s>", 3, 6}}},
		{"x<s>", []textToken{{"[UNK]", 0, 1}, {"<s>", 1, 4}}},
		{"<s>x", []textToken{{"<s>", 0, 3}, {"[UNK]", 3, 4}}},
		{"_<s>", []textToken{{"[UNK]", 0, 1}, {"<s>", 1, 4}}},
		{"é<s>日", []textToken{{"é", 0, 2}, {"<s>", 2, 5}, {"日", 5, 8}}},
		{"<S>", []textToken{{"[UNK]", 0, 3}}},
		{"<s", []textToken{{"[UNK]", 0, 2}}},
		{"a\x0a<s>\x09b", []textToken{{"a", 0, 1}, {"<s>", 2, 5}, {"b", 6, 7}}},
		{" <s>a <s>", []textToken{{"<s>", 1, 4}, {"a", 4, 5}, {"<s>", 6, 9}}},
		{"", []textToken{}},
	})
}

// An added token: lstrip False, rstrip False, single_word True.
func TestAddedToken001(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":7,"content":"<s>","single_word":true,"lstrip":false,"rstrip":false,"normalized":false,"special":false}],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"<s>", []textToken{{"<s>", 0, 3}}},
		{"a<s>b", []textToken{{"[UNK]", 0, 5}}},
		{"a <s> b", []textToken{{"a", 0, 1}, {"<s>", 2, 5}, {"b", 6, 7}}},
		{"  <s>  ", []textToken{{"<s>", 2, 5}}},
		{"<s><s>", []textToken{{"<s>", 0, 3}, {"<s>", 3, 6}}},
		{"x<s>", []textToken{{"[UNK]", 0, 4}}},
		{"<s>x", []textToken{{"[UNK]", 0, 4}}},
		{"_<s>", []textToken{{"[UNK]", 0, 4}}},
		{"é<s>日", []textToken{{"[UNK]", 0, 8}}},
		{"<S>", []textToken{{"[UNK]", 0, 3}}},
		{"<s", []textToken{{"[UNK]", 0, 2}}},
		{"a\x0a<s>\x09b", []textToken{{"a", 0, 1}, {"<s>", 2, 5}, {"b", 6, 7}}},
		{" <s>a <s>", []textToken{{"[UNK]", 1, 5}, {"<s>", 6, 9}}},
		{"", []textToken{}},
	})
}

// An added token: lstrip False, rstrip True, single_word False.
func TestAddedToken010(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":7,"content":"<s>","single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":false}],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"<s>", []textToken{{"<s>", 0, 3}}},
		{"a<s>b", []textToken{{"a", 0, 1}, {"<s>", 1, 4}, {"b", 4, 5}}},
		{"a <s> b", []textToken{{"a", 0, 1}, {"<s>", 2, 6}, {"b", 6, 7}}},
		{"  <s>  ", []textToken{{"<s>", 2, 7}}},
		{"<s><s>", []textToken{{"<s>", 0, 3}, {"<s>", 3, 6}}},
		{"x<s>", []textToken{{"[UNK]", 0, 1}, {"<s>", 1, 4}}},
		{"<s>x", []textToken{{"<s>", 0, 3}, {"[UNK]", 3, 4}}},
		{"_<s>", []textToken{{"[UNK]", 0, 1}, {"<s>", 1, 4}}},
		{"é<s>日", []textToken{{"é", 0, 2}, {"<s>", 2, 5}, {"日", 5, 8}}},
		{"<S>", []textToken{{"[UNK]", 0, 3}}},
		{"<s", []textToken{{"[UNK]", 0, 2}}},
		{"a\x0a<s>\x09b", []textToken{{"a", 0, 1}, {"<s>", 2, 6}, {"b", 6, 7}}},
		{" <s>a <s>", []textToken{{"<s>", 1, 4}, {"a", 4, 5}, {"<s>", 6, 9}}},
		{"", []textToken{}},
	})
}

// An added token: lstrip False, rstrip True, single_word True.
func TestAddedToken011(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":7,"content":"<s>","single_word":true,"lstrip":false,"rstrip":true,"normalized":false,"special":false}],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"<s>", []textToken{{"<s>", 0, 3}}},
		{"a<s>b", []textToken{{"[UNK]", 0, 5}}},
		{"a <s> b", []textToken{{"a", 0, 1}, {"<s>", 2, 6}, {"b", 6, 7}}},
		{"  <s>  ", []textToken{{"<s>", 2, 7}}},
		{"<s><s>", []textToken{{"<s>", 0, 3}, {"<s>", 3, 6}}},
		{"x<s>", []textToken{{"[UNK]", 0, 4}}},
		{"<s>x", []textToken{{"[UNK]", 0, 4}}},
		{"_<s>", []textToken{{"[UNK]", 0, 4}}},
		{"é<s>日", []textToken{{"[UNK]", 0, 8}}},
		{"<S>", []textToken{{"[UNK]", 0, 3}}},
		{"<s", []textToken{{"[UNK]", 0, 2}}},
		{"a\x0a<s>\x09b", []textToken{{"a", 0, 1}, {"<s>", 2, 6}, {"b", 6, 7}}},
		{" <s>a <s>", []textToken{{"[UNK]", 1, 5}, {"<s>", 6, 9}}},
		{"", []textToken{}},
	})
}

// An added token: lstrip True, rstrip False, single_word False.
func TestAddedToken100(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":7,"content":"<s>","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":false}],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"<s>", []textToken{{"<s>", 0, 3}}},
		{"a<s>b", []textToken{{"a", 0, 1}, {"<s>", 1, 4}, {"b", 4, 5}}},
		{"a <s> b", []textToken{{"a", 0, 1}, {"<s>", 1, 5}, {"b", 6, 7}}},
		{"  <s>  ", []textToken{{"<s>", 0, 5}}},
		{"<s><s>", []textToken{{"<s>", 0, 3}, {"<s>", 3, 6}}},
		{"x<s>", []textToken{{"[UNK]", 0, 1}, {"<s>", 1, 4}}},
		{"<s>x", []textToken{{"<s>", 0, 3}, {"[UNK]", 3, 4}}},
		{"_<s>", []textToken{{"[UNK]", 0, 1}, {"<s>", 1, 4}}},
		{"é<s>日", []textToken{{"é", 0, 2}, {"<s>", 2, 5}, {"日", 5, 8}}},
		{"<S>", []textToken{{"[UNK]", 0, 3}}},
		{"<s", []textToken{{"[UNK]", 0, 2}}},
		{"a\x0a<s>\x09b", []textToken{{"a", 0, 1}, {"<s>", 1, 5}, {"b", 6, 7}}},
		{" <s>a <s>", []textToken{{"<s>", 0, 4}, {"a", 4, 5}, {"<s>", 5, 9}}},
		{"", []textToken{}},
	})
}

// An added token: lstrip True, rstrip False, single_word True.
func TestAddedToken101(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":7,"content":"<s>","single_word":true,"lstrip":true,"rstrip":false,"normalized":false,"special":false}],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"<s>", []textToken{{"<s>", 0, 3}}},
		{"a<s>b", []textToken{{"[UNK]", 0, 5}}},
		{"a <s> b", []textToken{{"a", 0, 1}, {"<s>", 1, 5}, {"b", 6, 7}}},
		{"  <s>  ", []textToken{{"<s>", 0, 5}}},
		{"<s><s>", []textToken{{"<s>", 0, 3}, {"<s>", 3, 6}}},
		{"x<s>", []textToken{{"[UNK]", 0, 4}}},
		{"<s>x", []textToken{{"[UNK]", 0, 4}}},
		{"_<s>", []textToken{{"[UNK]", 0, 4}}},
		{"é<s>日", []textToken{{"[UNK]", 0, 8}}},
		{"<S>", []textToken{{"[UNK]", 0, 3}}},
		{"<s", []textToken{{"[UNK]", 0, 2}}},
		{"a\x0a<s>\x09b", []textToken{{"a", 0, 1}, {"<s>", 1, 5}, {"b", 6, 7}}},
		{" <s>a <s>", []textToken{{"[UNK]", 1, 5}, {"<s>", 5, 9}}},
		{"", []textToken{}},
	})
}

// An added token: lstrip True, rstrip True, single_word False.
func TestAddedToken110(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":7,"content":"<s>","single_word":false,"lstrip":true,"rstrip":true,"normalized":false,"special":false}],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"<s>", []textToken{{"<s>", 0, 3}}},
		{"a<s>b", []textToken{{"a", 0, 1}, {"<s>", 1, 4}, {"b", 4, 5}}},
		{"a <s> b", []textToken{{"a", 0, 1}, {"<s>", 1, 6}, {"b", 6, 7}}},
		{"  <s>  ", []textToken{{"<s>", 0, 7}}},
		{"<s><s>", []textToken{{"<s>", 0, 3}, {"<s>", 3, 6}}},
		{"x<s>", []textToken{{"[UNK]", 0, 1}, {"<s>", 1, 4}}},
		{"<s>x", []textToken{{"<s>", 0, 3}, {"[UNK]", 3, 4}}},
		{"_<s>", []textToken{{"[UNK]", 0, 1}, {"<s>", 1, 4}}},
		{"é<s>日", []textToken{{"é", 0, 2}, {"<s>", 2, 5}, {"日", 5, 8}}},
		{"<S>", []textToken{{"[UNK]", 0, 3}}},
		{"<s", []textToken{{"[UNK]", 0, 2}}},
		{"a\x0a<s>\x09b", []textToken{{"a", 0, 1}, {"<s>", 1, 6}, {"b", 6, 7}}},
		{" <s>a <s>", []textToken{{"<s>", 0, 4}, {"a", 4, 5}, {"<s>", 5, 9}}},
		{"", []textToken{}},
	})
}

// An added token: lstrip True, rstrip True, single_word True.
func TestAddedToken111(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":7,"content":"<s>","single_word":true,"lstrip":true,"rstrip":true,"normalized":false,"special":false}],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"<s>", []textToken{{"<s>", 0, 3}}},
		{"a<s>b", []textToken{{"[UNK]", 0, 5}}},
		{"a <s> b", []textToken{{"a", 0, 1}, {"<s>", 1, 6}, {"b", 6, 7}}},
		{"  <s>  ", []textToken{{"<s>", 0, 7}}},
		{"<s><s>", []textToken{{"<s>", 0, 3}, {"<s>", 3, 6}}},
		{"x<s>", []textToken{{"[UNK]", 0, 4}}},
		{"<s>x", []textToken{{"[UNK]", 0, 4}}},
		{"_<s>", []textToken{{"[UNK]", 0, 4}}},
		{"é<s>日", []textToken{{"[UNK]", 0, 8}}},
		{"<S>", []textToken{{"[UNK]", 0, 3}}},
		{"<s", []textToken{{"[UNK]", 0, 2}}},
		{"a\x0a<s>\x09b", []textToken{{"a", 0, 1}, {"<s>", 1, 6}, {"b", 6, 7}}},
		{" <s>a <s>", []textToken{{"[UNK]", 1, 5}, {"<s>", 5, 9}}},
		{"", []textToken{}},
	})
}

// Added tokens with normalized True: they match the normalised text.
func TestAddedNormalizedTrue(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":3,"content":"ab","single_word":true,"lstrip":false,"rstrip":false,"normalized":true,"special":false},{"id":7,"content":"TÉK","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false}],"normalizer":{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"}]},"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"TÉK", []textToken{{"TÉK", 0, 4}}},
		{"tek", []textToken{{"TÉK", 0, 3}}},
		{"TEK", []textToken{{"TÉK", 0, 3}}},
		{"aTÉKb", []textToken{{"a", 0, 1}, {"TÉK", 1, 5}, {"b", 5, 6}}},
		{"te\u0301k", []textToken{{"TÉK", 0, 5}}},
		{"ab", []textToken{{"ab", 0, 2}}},
		{"AB", []textToken{{"ab", 0, 2}}},
		{"aab", []textToken{{"[UNK]", 0, 3}}},
		{"Tek ab tÉK", []textToken{{"TÉK", 0, 3}, {"ab", 4, 6}, {"TÉK", 7, 11}}},
		{"a ab b", []textToken{{"a", 0, 1}, {"ab", 2, 4}, {"b", 5, 6}}},
		{"É TÉK", []textToken{{"[UNK]", 0, 2}, {"TÉK", 3, 7}}},
		{"İTÉK", []textToken{{"[UNK]", 0, 2}, {"TÉK", 2, 6}}},
	})
}

// Added tokens with normalized False: they match the given text.
func TestAddedNormalizedFalse(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":3,"content":"ab","single_word":true,"lstrip":false,"rstrip":false,"normalized":false,"special":false},{"id":7,"content":"TÉK","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}],"normalizer":{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"}]},"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"TÉK", []textToken{{"TÉK", 0, 4}}},
		{"tek", []textToken{{"[UNK]", 0, 3}}},
		{"TEK", []textToken{{"[UNK]", 0, 3}}},
		{"aTÉKb", []textToken{{"a", 0, 1}, {"TÉK", 1, 5}, {"b", 5, 6}}},
		{"te\u0301k", []textToken{{"[UNK]", 0, 5}}},
		{"ab", []textToken{{"ab", 0, 2}}},
		{"AB", []textToken{{"ab", 0, 2}}},
		{"aab", []textToken{{"[UNK]", 0, 3}}},
		{"Tek ab tÉK", []textToken{{"[UNK]", 0, 3}, {"ab", 4, 6}, {"[UNK]", 7, 11}}},
		{"a ab b", []textToken{{"a", 0, 1}, {"ab", 2, 4}, {"b", 5, 6}}},
		{"É TÉK", []textToken{{"[UNK]", 0, 2}, {"TÉK", 3, 7}}},
		{"İTÉK", []textToken{{"[UNK]", 0, 2}, {"TÉK", 2, 6}}},
	})
}

// Of added tokens that begin at the same place the longest is taken.
func TestAddedLongest(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":7,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false},{"id":8,"content":"<s>x","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false},{"id":9,"content":"<s","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false},{"id":10,"content":"s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false},{"id":11,"content":"<|end|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"<s>x", []textToken{{"<s>x", 0, 4}}},
		{"<s>y", []textToken{{"<s>", 0, 3}, {"[UNK]", 3, 4}}},
		{"<sx", []textToken{{"<s", 0, 2}, {"[UNK]", 2, 3}}},
		{"s>", []textToken{{"s>", 0, 2}}},
		{"a<s>xs>", []textToken{{"a", 0, 1}, {"<s>x", 1, 5}, {"s>", 5, 7}}},
		{"<|end|>", []textToken{{"<|end|>", 0, 7}}},
		{"<<s>>", []textToken{{"[UNK]", 0, 1}, {"<s>", 1, 4}, {"[UNK]", 4, 5}}},
		{"<s<s>", []textToken{{"<s", 0, 2}, {"<s>", 2, 5}}},
		{"<|end|<|end|>", []textToken{{"[UNK]", 0, 6}, {"<|end|>", 6, 13}}},
	})
}

// The order of merges decides: a+b, c+d, ab+cd.
func TestBPEMerges0(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"a":0,"b":1,"c":2,"d":3,"é":4,"日":5,"▁":6,"ab":7,"abcd":8,"cd":9,"[UNK]":10},"merges":[["a","b"],["c","d"],["ab","cd"]]}}`, []encodedText{
		{"abcd", []textToken{{"abcd", 0, 4}}},
		{"aabbccdd", []textToken{{"a", 0, 1}, {"ab", 1, 3}, {"b", 3, 4}, {"c", 4, 5}, {"cd", 5, 7}, {"d", 7, 8}}},
		{"dcba", []textToken{{"d", 0, 1}, {"c", 1, 2}, {"b", 2, 3}, {"a", 3, 4}}},
		{"aaaa", []textToken{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}}},
		{"aaaaa", []textToken{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}, {"a", 4, 5}}},
		{"abab", []textToken{{"ab", 0, 2}, {"ab", 2, 4}}},
		{"abcabc", []textToken{{"ab", 0, 2}, {"c", 2, 3}, {"ab", 3, 5}, {"c", 5, 6}}},
		{"ab cd", []textToken{{"ab", 0, 2}, {"[UNK]", 2, 3}, {"cd", 3, 5}}},
		{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
		{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
		{"xyz", []textToken{{"[UNK]", 0, 1}, {"[UNK]", 1, 2}, {"[UNK]", 2, 3}}},
		{"a", []textToken{{"a", 0, 1}}},
		{"", []textToken{}},
		{"bcdabcd", []textToken{{"b", 0, 1}, {"cd", 1, 3}, {"abcd", 3, 7}}},
	})
}

// The same with fused unknown characters and whole words first.
func TestBPEMergesFused0(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":false,"ignore_merges":true,"vocab":{"a":0,"b":1,"c":2,"d":3,"é":4,"日":5,"▁":6,"ab":7,"abcd":8,"cd":9,"[UNK]":10},"merges":[["a","b"],["c","d"],["ab","cd"]]}}`, []encodedText{
		{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
		{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
		{"xyz", []textToken{{"[UNK]", 0, 3}}},
		{"a", []textToken{{"a", 0, 1}}},
		{"", []textToken{}},
		{"bcdabcd", []textToken{{"b", 0, 1}, {"cd", 1, 3}, {"abcd", 3, 7}}},
	})
}

// The order of merges decides: b+c, a+bc, abc+d.
func TestBPEMerges1(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"a":0,"b":1,"c":2,"d":3,"é":4,"日":5,"▁":6,"abc":7,"abcd":8,"bc":9,"[UNK]":10},"merges":[["b","c"],["a","bc"],["abc","d"]]}}`, []encodedText{
		{"abcd", []textToken{{"abcd", 0, 4}}},
		{"aabbccdd", []textToken{{"a", 0, 1}, {"a", 1, 2}, {"b", 2, 3}, {"bc", 3, 5}, {"c", 5, 6}, {"d", 6, 7}, {"d", 7, 8}}},
		{"dcba", []textToken{{"d", 0, 1}, {"c", 1, 2}, {"b", 2, 3}, {"a", 3, 4}}},
		{"aaaa", []textToken{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}}},
		{"aaaaa", []textToken{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}, {"a", 4, 5}}},
		{"abab", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"a", 2, 3}, {"b", 3, 4}}},
		{"abcabc", []textToken{{"abc", 0, 3}, {"abc", 3, 6}}},
		{"ab cd", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"[UNK]", 2, 3}, {"c", 3, 4}, {"d", 4, 5}}},
		{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
		{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
		{"xyz", []textToken{{"[UNK]", 0, 1}, {"[UNK]", 1, 2}, {"[UNK]", 2, 3}}},
		{"a", []textToken{{"a", 0, 1}}},
		{"", []textToken{}},
		{"bcdabcd", []textToken{{"bc", 0, 2}, {"d", 2, 3}, {"abcd", 3, 7}}},
	})
}

// The same with fused unknown characters and whole words first.
func TestBPEMergesFused1(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":false,"ignore_merges":true,"vocab":{"a":0,"b":1,"c":2,"d":3,"é":4,"日":5,"▁":6,"abc":7,"abcd":8,"bc":9,"[UNK]":10},"merges":[["b","c"],["a","bc"],["abc","d"]]}}`, []encodedText{
		{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
		{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
		{"xyz", []textToken{{"[UNK]", 0, 3}}},
		{"a", []textToken{{"a", 0, 1}}},
		{"", []textToken{}},
		{"bcdabcd", []textToken{{"bc", 0, 2}, {"d", 2, 3}, {"abcd", 3, 7}}},
	})
}

// The order of merges decides: a+a, aa+aa, aa+a.
func TestBPEMerges2(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"a":0,"b":1,"c":2,"d":3,"é":4,"日":5,"▁":6,"aa":7,"aaa":8,"aaaa":9,"[UNK]":10},"merges":[["a","a"],["aa","aa"],["aa","a"]]}}`, []encodedText{
		{"abcd", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"c", 2, 3}, {"d", 3, 4}}},
		{"aabbccdd", []textToken{{"aa", 0, 2}, {"b", 2, 3}, {"b", 3, 4}, {"c", 4, 5}, {"c", 5, 6}, {"d", 6, 7}, {"d", 7, 8}}},
		{"dcba", []textToken{{"d", 0, 1}, {"c", 1, 2}, {"b", 2, 3}, {"a", 3, 4}}},
		{"aaaa", []textToken{{"aaaa", 0, 4}}},
		{"aaaaa", []textToken{{"aaaa", 0, 4}, {"a", 4, 5}}},
		{"abab", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"a", 2, 3}, {"b", 3, 4}}},
		{"abcabc", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"c", 2, 3}, {"a", 3, 4}, {"b", 4, 5}, {"c", 5, 6}}},
		{"ab cd", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"[UNK]", 2, 3}, {"c", 3, 4}, {"d", 4, 5}}},
		{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
		{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
		{"xyz", []textToken{{"[UNK]", 0, 1}, {"[UNK]", 1, 2}, {"[UNK]", 2, 3}}},
		{"a", []textToken{{"a", 0, 1}}},
		{"", []textToken{}},
		{"bcdabcd", []textToken{{"b", 0, 1}, {"c", 1, 2}, {"d", 2, 3}, {"a", 3, 4}, {"b", 4, 5}, {"c", 5, 6}, {"d", 6, 7}}},
	})
}

// The same with fused unknown characters and whole words first.
func TestBPEMergesFused2(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":false,"ignore_merges":true,"vocab":{"a":0,"b":1,"c":2,"d":3,"é":4,"日":5,"▁":6,"aa":7,"aaa":8,"aaaa":9,"[UNK]":10},"merges":[["a","a"],["aa","aa"],["aa","a"]]}}`, []encodedText{
		{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
		{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
		{"xyz", []textToken{{"[UNK]", 0, 3}}},
		{"a", []textToken{{"a", 0, 1}}},
		{"", []textToken{}},
		{"bcdabcd", []textToken{{"b", 0, 1}, {"c", 1, 2}, {"d", 2, 3}, {"a", 3, 4}, {"b", 4, 5}, {"c", 5, 6}, {"d", 6, 7}}},
	})
}

// The order of merges decides: c+d, b+cd, a+bcd, a+b.
func TestBPEMerges3(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"a":0,"b":1,"c":2,"d":3,"é":4,"日":5,"▁":6,"ab":7,"abcd":8,"bcd":9,"cd":10,"[UNK]":11},"merges":[["c","d"],["b","cd"],["a","bcd"],["a","b"]]}}`, []encodedText{
		{"abcd", []textToken{{"abcd", 0, 4}}},
		{"aabbccdd", []textToken{{"a", 0, 1}, {"ab", 1, 3}, {"b", 3, 4}, {"c", 4, 5}, {"cd", 5, 7}, {"d", 7, 8}}},
		{"dcba", []textToken{{"d", 0, 1}, {"c", 1, 2}, {"b", 2, 3}, {"a", 3, 4}}},
		{"aaaa", []textToken{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}}},
		{"aaaaa", []textToken{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}, {"a", 4, 5}}},
		{"abab", []textToken{{"ab", 0, 2}, {"ab", 2, 4}}},
		{"abcabc", []textToken{{"ab", 0, 2}, {"c", 2, 3}, {"ab", 3, 5}, {"c", 5, 6}}},
		{"ab cd", []textToken{{"ab", 0, 2}, {"[UNK]", 2, 3}, {"cd", 3, 5}}},
		{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
		{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
		{"xyz", []textToken{{"[UNK]", 0, 1}, {"[UNK]", 1, 2}, {"[UNK]", 2, 3}}},
		{"a", []textToken{{"a", 0, 1}}},
		{"", []textToken{}},
		{"bcdabcd", []textToken{{"bcd", 0, 3}, {"abcd", 3, 7}}},
	})
}

// The same with fused unknown characters and whole words first.
func TestBPEMergesFused3(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":false,"ignore_merges":true,"vocab":{"a":0,"b":1,"c":2,"d":3,"é":4,"日":5,"▁":6,"ab":7,"abcd":8,"bcd":9,"cd":10,"[UNK]":11},"merges":[["c","d"],["b","cd"],["a","bcd"],["a","b"]]}}`, []encodedText{
		{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
		{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
		{"xyz", []textToken{{"[UNK]", 0, 3}}},
		{"a", []textToken{{"a", 0, 1}}},
		{"", []textToken{}},
		{"bcdabcd", []textToken{{"bcd", 0, 3}, {"abcd", 3, 7}}},
	})
}

// byte_fallback with a token for each byte.
func TestBPEAllBytes(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"ignore_merges":false,"vocab":{"[UNK]":0,"<0x00>":1,"<0x01>":2,"<0x02>":3,"<0x03>":4,"<0x04>":5,"<0x05>":6,"<0x06>":7,"<0x07>":8,"<0x08>":9,"<0x09>":10,"<0x0A>":11,"<0x0B>":12,"<0x0C>":13,"<0x0D>":14,"<0x0E>":15,"<0x0F>":16,"<0x10>":17,"<0x11>":18,"<0x12>":19,"<0x13>":20,"<0x14>":21,"<0x15>":22,"<0x16>":23,"<0x17>":24,"<0x18>":25,"<0x19>":26,"<0x1A>":27,"<0x1B>":28,"<0x1C>":29,"<0x1D>":30,"<0x1E>":31,"<0x1F>":32,"<0x20>":33,"<0x21>":34,"<0x22>":35,"<0x23>":36,"<0x24>":37,"<0x25>":38,"<0x26>":39,"<0x27>":40,"<0x28>":41,"<0x29>":42,"<0x2A>":43,"<0x2B>":44,"<0x2C>":45,"<0x2D>":46,"<0x2E>":47,"<0x2F>":48,"<0x30>":49,"<0x31>":50,"<0x32>":51,"<0x33>":52,"<0x34>":53,"<0x35>":54,"<0x36>":55,"<0x37>":56,"<0x38>":57,"<0x39>":58,"<0x3A>":59,"<0x3B>":60,"<0x3C>":61,"<0x3D>":62,"<0x3E>":63,"<0x3F>":64,"<0x40>":65,"<0x41>":66,"<0x42>":67,"<0x43>":68,"<0x44>":69,"<0x45>":70,"<0x46>":71,"<0x47>":72,"<0x48>":73,"<0x49>":74,"<0x4A>":75,"<0x4B>":76,"<0x4C>":77,"<0x4D>":78,"<0x4E>":79,"<0x4F>":80,"<0x50>":81,"<0x51>":82,"<0x52>":83,"<0x53>":84,"<0x54>":85,"<0x55>":86,"<0x56>":87,"<0x57>":88,"<0x58>":89,"<0x59>":90,"<0x5A>":91,"<0x5B>":92,"<0x5C>":93,"<0x5D>":94,"<0x5E>":95,"<0x5F>":96,"<0x60>":97,"<0x61>":98,"<0x62>":99,"<0x63>":100,"<0x64>":101,"<0x65>":102,"<0x66>":103,"<0x67>":104,"<0x68>":105,"<0x69>":106,"<0x6A>":107,"<0x6B>":108,"<0x6C>":109,"<0x6D>":110,"<0x6E>":111,"<0x6F>":112,"<0x70>":113,"<0x71>":114,"<0x72>":115,"<0x73>":116,"<0x74>":117,"<0x75>":118,"<0x76>":119,"<0x77>":120,"<0x78>":121,"<0x79>":122,"<0x7A>":123,"<0x7B>":124,"<0x7C>":125,"<0x7D>":126,"<0x7E>":127,"<0x7F>":128,"<0x80>":129,"<0x81>":130,"<0x82>":131,"<0x83>":132,"<0x84>":133,"<0x85>":134,"<0x86>":135,"<0x87>":136,"<0x88>":137,"<0x89>":138,"<0x8A>":139,"<0x8B>":140,"<0x8C>":141,"<0x8D>":142,"<0x8E>":143,"<0x8F>":144,"<0x90>":145,"<0x91>":146,"<0x92>":147,"<0x93>":148,"<0x94>":149,"<0x95>":150,"<0x96>":151,"<0x97>":152,"<0x98>":153,"<0x99>":154,"<0x9A>":155,"<0x9B>":156,"<0x9C>":157,"<0x9D>":158,"<0x9E>":159,"<0x9F>":160,"<0xA0>":161,"<0xA1>":162,"<0xA2>":163,"<0xA3>":164,"<0xA4>":165,"<0xA5>":166,"<0xA6>":167,"<0xA7>":168,"<0xA8>":169,"<0xA9>":170,"<0xAA>":171,"<0xAB>":172,"<0xAC>":173,"<0xAD>":174,"<0xAE>":175,"<0xAF>":176,"<0xB0>":177,"<0xB1>":178,"<0xB2>":179,"<0xB3>":180,"<0xB4>":181,"<0xB5>":182,"<0xB6>":183,"<0xB7>":184,"<0xB8>":185,"<0xB9>":186,"<0xBA>":187,"<0xBB>":188,"<0xBC>":189,"<0xBD>":190,"<0xBE>":191,"<0xBF>":192,"<0xC0>":193,"<0xC1>":194,"<0xC2>":195,"<0xC3>":196,"<0xC4>":197,"<0xC5>":198,"<0xC6>":199,"<0xC7>":200,"<0xC8>":201,"<0xC9>":202,"<0xCA>":203,"<0xCB>":204,"<0xCC>":205,"<0xCD>":206,"<0xCE>":207,"<0xCF>":208,"<0xD0>":209,"<0xD1>":210,"<0xD2>":211,"<0xD3>":212,"<0xD4>":213,"<0xD5>":214,"<0xD6>":215,"<0xD7>":216,"<0xD8>":217,"<0xD9>":218,"<0xDA>":219,"<0xDB>":220,"<0xDC>":221,"<0xDD>":222,"<0xDE>":223,"<0xDF>":224,"<0xE0>":225,"<0xE1>":226,"<0xE2>":227,"<0xE3>":228,"<0xE4>":229,"<0xE5>":230,"<0xE6>":231,"<0xE7>":232,"<0xE8>":233,"<0xE9>":234,"<0xEA>":235,"<0xEB>":236,"<0xEC>":237,"<0xED>":238,"<0xEE>":239,"<0xEF>":240,"<0xF0>":241,"<0xF1>":242,"<0xF2>":243,"<0xF3>":244,"<0xF4>":245,"<0xF5>":246,"<0xF6>":247,"<0xF7>":248,"<0xF8>":249,"<0xF9>":250,"<0xFA>":251,"<0xFB>":252,"<0xFC>":253,"<0xFD>":254,"<0xFE>":255,"<0xFF>":256,"a":257,"b":258,"ab":259,"▁":260,"▁a":261},"merges":[["a","b"],["▁","a"]]}}`, []encodedText{
		{"ab", []textToken{{"ab", 0, 2}}},
		{"é", []textToken{{"<0xC3>", 0, 2}, {"<0xA9>", 0, 2}}},
		{"a日b", []textToken{{"a", 0, 1}, {"<0xE6>", 1, 4}, {"<0x97>", 1, 4}, {"<0xA5>", 1, 4}, {"b", 4, 5}}},
		{"🙂", []textToken{{"<0xF0>", 0, 4}, {"<0x9F>", 0, 4}, {"<0x99>", 0, 4}, {"<0x82>", 0, 4}}},
		{"\x0a", []textToken{{"<0x0A>", 0, 1}}},
		{"▁ab", []textToken{{"▁", 0, 3}, {"ab", 3, 5}}},
		{"x▁", []textToken{{"<0x78>", 0, 1}, {"▁", 1, 4}}},
		{"<0x41>", []textToken{{"<0x3C>", 0, 1}, {"<0x30>", 1, 2}, {"<0x78>", 2, 3}, {"<0x34>", 3, 4}, {"<0x31>", 4, 5}, {"<0x3E>", 5, 6}}},
	})
}

// WordPiece with words of at most 100 characters.
func TestWordPieceWords100(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"[UNK]":0,"un":1,"##aff":2,"##able":3,"##a":4,"u":5,"##n":6,"a":7,"##日":8,"日":9,"é":10,"##é":11,"##é日":12,"unaff":13}}}`, []encodedText{
		{"unaffable", []textToken{{"unaff", 0, 5}, {"##able", 5, 9}}},
		{"una", []textToken{{"un", 0, 2}, {"##a", 2, 3}}},
		{"unn", []textToken{{"un", 0, 2}, {"##n", 2, 3}}},
		{"u", []textToken{{"u", 0, 1}}},
		{"a日", []textToken{{"a", 0, 1}, {"##日", 1, 4}}},
		{"日日日", []textToken{{"日", 0, 3}, {"##日", 3, 6}, {"##日", 6, 9}}},
		{"ééé", []textToken{{"é", 0, 2}, {"##é", 2, 4}, {"##é", 4, 6}}},
		{"éé日", []textToken{{"é", 0, 2}, {"##é日", 2, 7}}},
		{"unx", []textToken{{"[UNK]", 0, 3}}},
		{"日a", []textToken{{"日", 0, 3}, {"##a", 3, 4}}},
		{"aaaa", []textToken{{"a", 0, 1}, {"##a", 1, 2}, {"##a", 2, 3}, {"##a", 3, 4}}},
		{"aaaaa", []textToken{{"a", 0, 1}, {"##a", 1, 2}, {"##a", 2, 3}, {"##a", 3, 4}, {"##a", 4, 5}}},
		{"x", []textToken{{"[UNK]", 0, 1}}},
		{"", []textToken{}},
	})
}

// WordPiece with words of at most 4 characters.
func TestWordPieceWords4(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":4,"vocab":{"[UNK]":0,"un":1,"##aff":2,"##able":3,"##a":4,"u":5,"##n":6,"a":7,"##日":8,"日":9,"é":10,"##é":11,"##é日":12,"unaff":13}}}`, []encodedText{
		{"unaffable", []textToken{{"[UNK]", 0, 9}}},
		{"una", []textToken{{"un", 0, 2}, {"##a", 2, 3}}},
		{"unn", []textToken{{"un", 0, 2}, {"##n", 2, 3}}},
		{"u", []textToken{{"u", 0, 1}}},
		{"a日", []textToken{{"a", 0, 1}, {"##日", 1, 4}}},
		{"日日日", []textToken{{"日", 0, 3}, {"##日", 3, 6}, {"##日", 6, 9}}},
		{"ééé", []textToken{{"é", 0, 2}, {"##é", 2, 4}, {"##é", 4, 6}}},
		{"éé日", []textToken{{"é", 0, 2}, {"##é日", 2, 7}}},
		{"unx", []textToken{{"[UNK]", 0, 3}}},
		{"日a", []textToken{{"日", 0, 3}, {"##a", 3, 4}}},
		{"aaaa", []textToken{{"a", 0, 1}, {"##a", 1, 2}, {"##a", 2, 3}, {"##a", 3, 4}}},
		{"aaaaa", []textToken{{"[UNK]", 0, 5}}},
		{"x", []textToken{{"[UNK]", 0, 1}}},
		{"", []textToken{}},
	})
}

// Unigram takes the tokens with the best sum of scores.
func TestUnigramBest(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.0],["b",-1.5],["ab",-2.6],["aba",-3.1],["日",-2.0],["é",-2.0],["é日",-4.5],["ba",-2.2],["c",-9.0]],"byte_fallback":false}}`, []encodedText{
		{"abab", []textToken{{"aba", 0, 3}, {"b", 3, 4}}},
		{"aba", []textToken{{"aba", 0, 3}}},
		{"ababa", []textToken{{"aba", 0, 3}, {"ba", 3, 5}}},
		{"baba", []textToken{{"ba", 0, 2}, {"ba", 2, 4}}},
		{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
		{"日é", []textToken{{"日", 0, 3}, {"é", 3, 5}}},
		{"abc", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"c", 2, 3}}},
		{"xyz", []textToken{{"<unk>", 0, 3}}},
		{"axb", []textToken{{"a", 0, 1}, {"<unk>", 1, 2}, {"b", 2, 3}}},
		{"xx日x", []textToken{{"<unk>", 0, 2}, {"日", 2, 5}, {"<unk>", 5, 6}}},
		{"aaaa", []textToken{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}}},
		{"bb", []textToken{{"b", 0, 1}, {"b", 1, 2}}},
		{"c", []textToken{{"c", 0, 1}}},
		{"", []textToken{}},
	})
}

// Unigram with bytes for what it does not know.
func TestUnigramAllBytes(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.0],["b",-1.5],["ab",-2.6],["aba",-3.1],["日",-2.0],["é",-2.0],["é日",-4.5],["ba",-2.2],["c",-9.0],["<0x00>",-20.0],["<0x01>",-20.0],["<0x02>",-20.0],["<0x03>",-20.0],["<0x04>",-20.0],["<0x05>",-20.0],["<0x06>",-20.0],["<0x07>",-20.0],["<0x08>",-20.0],["<0x09>",-20.0],["<0x0A>",-20.0],["<0x0B>",-20.0],["<0x0C>",-20.0],["<0x0D>",-20.0],["<0x0E>",-20.0],["<0x0F>",-20.0],["<0x10>",-20.0],["<0x11>",-20.0],["<0x12>",-20.0],["<0x13>",-20.0],["<0x14>",-20.0],["<0x15>",-20.0],["<0x16>",-20.0],["<0x17>",-20.0],["<0x18>",-20.0],["<0x19>",-20.0],["<0x1A>",-20.0],["<0x1B>",-20.0],["<0x1C>",-20.0],["<0x1D>",-20.0],["<0x1E>",-20.0],["<0x1F>",-20.0],["<0x20>",-20.0],["<0x21>",-20.0],["<0x22>",-20.0],["<0x23>",-20.0],["<0x24>",-20.0],["<0x25>",-20.0],["<0x26>",-20.0],["<0x27>",-20.0],["<0x28>",-20.0],["<0x29>",-20.0],["<0x2A>",-20.0],["<0x2B>",-20.0],["<0x2C>",-20.0],["<0x2D>",-20.0],["<0x2E>",-20.0],["<0x2F>",-20.0],["<0x30>",-20.0],["<0x31>",-20.0],["<0x32>",-20.0],["<0x33>",-20.0],["<0x34>",-20.0],["<0x35>",-20.0],["<0x36>",-20.0],["<0x37>",-20.0],["<0x38>",-20.0],["<0x39>",-20.0],["<0x3A>",-20.0],["<0x3B>",-20.0],["<0x3C>",-20.0],["<0x3D>",-20.0],["<0x3E>",-20.0],["<0x3F>",-20.0],["<0x40>",-20.0],["<0x41>",-20.0],["<0x42>",-20.0],["<0x43>",-20.0],["<0x44>",-20.0],["<0x45>",-20.0],["<0x46>",-20.0],["<0x47>",-20.0],["<0x48>",-20.0],["<0x49>",-20.0],["<0x4A>",-20.0],["<0x4B>",-20.0],["<0x4C>",-20.0],["<0x4D>",-20.0],["<0x4E>",-20.0],["<0x4F>",-20.0],["<0x50>",-20.0],["<0x51>",-20.0],["<0x52>",-20.0],["<0x53>",-20.0],["<0x54>",-20.0],["<0x55>",-20.0],["<0x56>",-20.0],["<0x57>",-20.0],["<0x58>",-20.0],["<0x59>",-20.0],["<0x5A>",-20.0],["<0x5B>",-20.0],["<0x5C>",-20.0],["<0x5D>",-20.0],["<0x5E>",-20.0],["<0x5F>",-20.0],["<0x60>",-20.0],["<0x61>",-20.0],["<0x62>",-20.0],["<0x63>",-20.0],["<0x64>",-20.0],["<0x65>",-20.0],["<0x66>",-20.0],["<0x67>",-20.0],["<0x68>",-20.0],["<0x69>",-20.0],["<0x6A>",-20.0],["<0x6B>",-20.0],["<0x6C>",-20.0],["<0x6D>",-20.0],["<0x6E>",-20.0],["<0x6F>",-20.0],["<0x70>",-20.0],["<0x71>",-20.0],["<0x72>",-20.0],["<0x73>",-20.0],["<0x74>",-20.0],["<0x75>",-20.0],["<0x76>",-20.0],["<0x77>",-20.0],["<0x78>",-20.0],["<0x79>",-20.0],["<0x7A>",-20.0],["<0x7B>",-20.0],["<0x7C>",-20.0],["<0x7D>",-20.0],["<0x7E>",-20.0],["<0x7F>",-20.0],["<0x80>",-20.0],["<0x81>",-20.0],["<0x82>",-20.0],["<0x83>",-20.0],["<0x84>",-20.0],["<0x85>",-20.0],["<0x86>",-20.0],["<0x87>",-20.0],["<0x88>",-20.0],["<0x89>",-20.0],["<0x8A>",-20.0],["<0x8B>",-20.0],["<0x8C>",-20.0],["<0x8D>",-20.0],["<0x8E>",-20.0],["<0x8F>",-20.0],["<0x90>",-20.0],["<0x91>",-20.0],["<0x92>",-20.0],["<0x93>",-20.0],["<0x94>",-20.0],["<0x95>",-20.0],["<0x96>",-20.0],["<0x97>",-20.0],["<0x98>",-20.0],["<0x99>",-20.0],["<0x9A>",-20.0],["<0x9B>",-20.0],["<0x9C>",-20.0],["<0x9D>",-20.0],["<0x9E>",-20.0],["<0x9F>",-20.0],["<0xA0>",-20.0],["<0xA1>",-20.0],["<0xA2>",-20.0],["<0xA3>",-20.0],["<0xA4>",-20.0],["<0xA5>",-20.0],["<0xA6>",-20.0],["<0xA7>",-20.0],["<0xA8>",-20.0],["<0xA9>",-20.0],["<0xAA>",-20.0],["<0xAB>",-20.0],["<0xAC>",-20.0],["<0xAD>",-20.0],["<0xAE>",-20.0],["<0xAF>",-20.0],["<0xB0>",-20.0],["<0xB1>",-20.0],["<0xB2>",-20.0],["<0xB3>",-20.0],["<0xB4>",-20.0],["<0xB5>",-20.0],["<0xB6>",-20.0],["<0xB7>",-20.0],["<0xB8>",-20.0],["<0xB9>",-20.0],["<0xBA>",-20.0],["<0xBB>",-20.0],["<0xBC>",-20.0],["<0xBD>",-20.0],["<0xBE>",-20.0],["<0xBF>",-20.0],["<0xC0>",-20.0],["<0xC1>",-20.0],["<0xC2>",-20.0],["<0xC3>",-20.0],["<0xC4>",-20.0],["<0xC5>",-20.0],["<0xC6>",-20.0],["<0xC7>",-20.0],["<0xC8>",-20.0],["<0xC9>",-20.0],["<0xCA>",-20.0],["<0xCB>",-20.0],["<0xCC>",-20.0],["<0xCD>",-20.0],["<0xCE>",-20.0],["<0xCF>",-20.0],["<0xD0>",-20.0],["<0xD1>",-20.0],["<0xD2>",-20.0],["<0xD3>",-20.0],["<0xD4>",-20.0],["<0xD5>",-20.0],["<0xD6>",-20.0],["<0xD7>",-20.0],["<0xD8>",-20.0],["<0xD9>",-20.0],["<0xDA>",-20.0],["<0xDB>",-20.0],["<0xDC>",-20.0],["<0xDD>",-20.0],["<0xDE>",-20.0],["<0xDF>",-20.0],["<0xE0>",-20.0],["<0xE1>",-20.0],["<0xE2>",-20.0],["<0xE3>",-20.0],["<0xE4>",-20.0],["<0xE5>",-20.0],["<0xE6>",-20.0],["<0xE7>",-20.0],["<0xE8>",-20.0],["<0xE9>",-20.0],["<0xEA>",-20.0],["<0xEB>",-20.0],["<0xEC>",-20.0],["<0xED>",-20.0],["<0xEE>",-20.0],["<0xEF>",-20.0],["<0xF0>",-20.0],["<0xF1>",-20.0],["<0xF2>",-20.0],["<0xF3>",-20.0],["<0xF4>",-20.0],["<0xF5>",-20.0],["<0xF6>",-20.0],["<0xF7>",-20.0],["<0xF8>",-20.0],["<0xF9>",-20.0],["<0xFA>",-20.0],["<0xFB>",-20.0],["<0xFC>",-20.0],["<0xFD>",-20.0],["<0xFE>",-20.0],["<0xFF>",-20.0]],"byte_fallback":true}}`, []encodedText{
		{"x", []textToken{{"<0x78>", 0, 1}}},
		{"ax日", []textToken{{"a", 0, 1}, {"<0x78>", 1, 2}, {"日", 2, 5}}},
		{"🙂", []textToken{{"<0xF0>", 0, 4}, {"<0x9F>", 0, 4}, {"<0x99>", 0, 4}, {"<0x82>", 0, 4}}},
		{"xy", []textToken{{"<0x78>", 0, 2}, {"<0x79>", 0, 2}}},
		{"a\x0ab", []textToken{{"a", 0, 1}, {"<0x0A>", 1, 2}, {"b", 2, 3}}},
		{"日", []textToken{{"日", 0, 3}}},
	})
}

// The post_processor Bert: tokens that are added have no bytes.
func TestPostBert(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Split","pattern":{"Regex":" "},"behavior":"MergedWithNext","invert":false},"post_processor":{"type":"BertProcessing","sep":["b",2],"cls":["a",1]},"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"a", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"b", 0, 0}}},
		{"a b", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}}},
		{"", []textToken{{"a", 0, 0}, {"b", 0, 0}}},
		{"ab é", []textToken{{"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}}},
		{" a", []textToken{{"a", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}}},
		{"日", []textToken{{"a", 0, 0}, {"日", 0, 3}, {"b", 0, 0}}},
	})
}

// The post_processor RobertaTrim: tokens that are added have no bytes.
func TestPostRobertaTrim(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Split","pattern":{"Regex":" "},"behavior":"MergedWithNext","invert":false},"post_processor":{"type":"RobertaProcessing","sep":["b",2],"cls":["a",1],"trim_offsets":true,"add_prefix_space":true},"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"a", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"b", 0, 0}}},
		{"a b", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}}},
		{"", []textToken{{"a", 0, 0}, {"b", 0, 0}}},
		{"ab é", []textToken{{"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}}},
		{" a", []textToken{{"a", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}}},
		{"日", []textToken{{"a", 0, 0}, {"日", 0, 3}, {"b", 0, 0}}},
	})
}

// The post_processor RobertaPlain: tokens that are added have no bytes.
func TestPostRobertaPlain(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Split","pattern":{"Regex":" "},"behavior":"MergedWithNext","invert":false},"post_processor":{"type":"RobertaProcessing","sep":["b",2],"cls":["a",1],"trim_offsets":false,"add_prefix_space":false},"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"a", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"b", 0, 0}}},
		{"a b", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}}},
		{"", []textToken{{"a", 0, 0}, {"b", 0, 0}}},
		{"ab é", []textToken{{"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}}},
		{" a", []textToken{{"a", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}}},
		{"日", []textToken{{"a", 0, 0}, {"日", 0, 3}, {"b", 0, 0}}},
	})
}

// The post_processor Template: tokens that are added have no bytes.
func TestPostTemplate(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Split","pattern":{"Regex":" "},"behavior":"MergedWithNext","invert":false},"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"b","type_id":0}},{"SpecialToken":{"id":"b","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"a":{"id":"a","ids":[1],"tokens":["a"]},"b":{"id":"b","ids":[2],"tokens":["b"]}}},"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"a", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"b", 0, 0}, {"b", 0, 0}}},
		{"a b", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}, {"b", 0, 0}}},
		{"", []textToken{{"a", 0, 0}, {"b", 0, 0}, {"b", 0, 0}}},
		{"ab é", []textToken{{"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}, {"b", 0, 0}}},
		{" a", []textToken{{"a", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}, {"b", 0, 0}}},
		{"日", []textToken{{"a", 0, 0}, {"日", 0, 3}, {"b", 0, 0}, {"b", 0, 0}}},
	})
}

// The post_processor TemplateTwice: tokens that are added have no bytes.
func TestPostTemplateTwice(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Split","pattern":{"Regex":" "},"behavior":"MergedWithNext","invert":false},"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"a":{"id":"a","ids":[1],"tokens":["a"]}}},"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"a", []textToken{{"a", 0, 1}, {"a", 0, 0}, {"a", 0, 1}}},
		{"a b", []textToken{{"a", 0, 1}, {"[UNK]", 1, 3}, {"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}}},
		{"", []textToken{{"a", 0, 0}}},
		{"ab é", []textToken{{"ab", 0, 2}, {"[UNK]", 2, 5}, {"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}}},
		{" a", []textToken{{"[UNK]", 0, 2}, {"a", 0, 0}, {"[UNK]", 0, 2}}},
		{"日", []textToken{{"日", 0, 3}, {"a", 0, 0}, {"日", 0, 3}}},
	})
}

// The post_processor TemplateNone: tokens that are added have no bytes.
func TestPostTemplateNone(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Split","pattern":{"Regex":" "},"behavior":"MergedWithNext","invert":false},"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"a":{"id":"a","ids":[1],"tokens":["a"]}}},"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"a", []textToken{{"a", 0, 0}}},
		{"a b", []textToken{{"a", 0, 0}}},
		{"", []textToken{{"a", 0, 0}}},
		{"ab é", []textToken{{"a", 0, 0}}},
		{" a", []textToken{{"a", 0, 0}}},
		{"日", []textToken{{"a", 0, 0}}},
	})
}

// The post_processor Chain: tokens that are added have no bytes.
func TestPostChain(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Split","pattern":{"Regex":" "},"behavior":"MergedWithNext","invert":false},"post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"a":{"id":"a","ids":[1],"tokens":["a"]}}},{"type":"BertProcessing","sep":["b",2],"cls":["日",4]}]},"decoder":null,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1,"b":2,"ab":3,"日":4,"é":5,"▁a":6},"unk_token":"[UNK]"}}`, []encodedText{
		{"a", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"a", 0, 1}, {"b", 0, 0}}},
		{"a b", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}}},
		{"", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"b", 0, 0}}},
		{"ab é", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}}},
		{" a", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}}},
		{"日", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"日", 0, 3}, {"b", 0, 0}}},
	})
}

// Offsets of a byte-level tokenizer: trim_offsets True, add_prefix_space True.
func TestByteLevelTrimTrueTrue(t *testing.T) {
	checkTokens(t, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},\"decoder\":null,\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{\"!\":0,\"\\\"\":1,\"#\":2,\"$\":3,\"%\":4,\"&\":5,\"'\":6,\"(\":7,\")\":8,\"*\":9,\"+\":10,\",\":11,\"-\":12,\".\":13,\"/\":14,\"0\":15,\"1\":16,\"2\":17,\"3\":18,\"4\":19,\"5\":20,\"6\":21,\"7\":22,\"8\":23,\"9\":24,\":\":25,\";\":26,\"<\":27,\"=\":28,\">\":29,\"?\":30,\"@\":31,\"A\":32,\"B\":33,\"C\":34,\"D\":35,\"E\":36,\"F\":37,\"G\":38,\"H\":39,\"I\":40,\"J\":41,\"K\":42,\"L\":43,\"M\":44,\"N\":45,\"O\":46,\"P\":47,\"Q\":48,\"R\":49,\"S\":50,\"T\":51,\"U\":52,\"V\":53,\"W\":54,\"X\":55,\"Y\":56,\"Z\":57,\"[\":58,\"\\\\\":59,\"]\":60,\"^\":61,\"_\":62,\"`\":63,\"a\":64,\"b\":65,\"c\":66,\"d\":67,\"e\":68,\"f\":69,\"g\":70,\"h\":71,\"i\":72,\"j\":73,\"k\":74,\"l\":75,\"m\":76,\"n\":77,\"o\":78,\"p\":79,\"q\":80,\"r\":81,\"s\":82,\"t\":83,\"u\":84,\"v\":85,\"w\":86,\"x\":87,\"y\":88,\"z\":89,\"{\":90,\"|\":91,\"}\":92,\"~\":93,\"¡\":94,\"¢\":95,\"£\":96,\"¤\":97,\"¥\":98,\"¦\":99,\"§\":100,\"¨\":101,\"©\":102,\"ª\":103,\"«\":104,\"¬\":105,\"®\":106,\"¯\":107,\"°\":108,\"±\":109,\"²\":110,\"³\":111,\"´\":112,\"µ\":113,\"¶\":114,\"·\":115,\"¸\":116,\"¹\":117,\"º\":118,\"»\":119,\"¼\":120,\"½\":121,\"¾\":122,\"¿\":123,\"À\":124,\"Á\":125,\"Â\":126,\"Ã\":127,\"Ä\":128,\"Å\":129,\"Æ\":130,\"Ç\":131,\"È\":132,\"É\":133,\"Ê\":134,\"Ë\":135,\"Ì\":136,\"Í\":137,\"Î\":138,\"Ï\":139,\"Ð\":140,\"Ñ\":141,\"Ò\":142,\"Ó\":143,\"Ô\":144,\"Õ\":145,\"Ö\":146,\"×\":147,\"Ø\":148,\"Ù\":149,\"Ú\":150,\"Û\":151,\"Ü\":152,\"Ý\":153,\"Þ\":154,\"ß\":155,\"à\":156,\"á\":157,\"â\":158,\"ã\":159,\"ä\":160,\"å\":161,\"æ\":162,\"ç\":163,\"è\":164,\"é\":165,\"ê\":166,\"ë\":167,\"ì\":168,\"í\":169,\"î\":170,\"ï\":171,\"ð\":172,\"ñ\":173,\"ò\":174,\"ó\":175,\"ô\":176,\"õ\":177,\"ö\":178,\"÷\":179,\"ø\":180,\"ù\":181,\"ú\":182,\"û\":183,\"ü\":184,\"ý\":185,\"þ\":186,\"ÿ\":187,\"Ā\":188,\"ā\":189,\"Ă\":190,\"ă\":191,\"Ą\":192,\"ą\":193,\"Ć\":194,\"ć\":195,\"Ĉ\":196,\"ĉ\":197,\"Ċ\":198,\"ċ\":199,\"Č\":200,\"č\":201,\"Ď\":202,\"ď\":203,\"Đ\":204,\"đ\":205,\"Ē\":206,\"ē\":207,\"Ĕ\":208,\"ĕ\":209,\"Ė\":210,\"ė\":211,\"Ę\":212,\"ę\":213,\"Ě\":214,\"ě\":215,\"Ĝ\":216,\"ĝ\":217,\"Ğ\":218,\"ğ\":219,\"Ġ\":220,\"ġ\":221,\"Ģ\":222,\"ģ\":223,\"Ĥ\":224,\"ĥ\":225,\"Ħ\":226,\"ħ\":227,\"Ĩ\":228,\"ĩ\":229,\"Ī\":230,\"ī\":231,\"Ĭ\":232,\"ĭ\":233,\"Į\":234,\"į\":235,\"İ\":236,\"ı\":237,\"Ĳ\":238,\"ĳ\":239,\"Ĵ\":240,\"ĵ\":241,\"Ķ\":242,\"ķ\":243,\"ĸ\":244,\"Ĺ\":245,\"ĺ\":246,\"Ļ\":247,\"ļ\":248,\"Ľ\":249,\"ľ\":250,\"Ŀ\":251,\"ŀ\":252,\"Ł\":253,\"ł\":254,\"Ń\":255,\"Ġa\":256,\"ĠĠ\":257},\"merges\":[[\"Ġ\",\"a\"],[\"Ġ\",\"Ġ\"]]}}", []encodedText{
		{"a", []textToken{{"Ġa", 0, 1}}},
		{" a", []textToken{{"Ġa", 0, 2}}},
		{"a a", []textToken{{"Ġa", 0, 1}, {"Ġa", 2, 3}}},
		{"  a", []textToken{{"Ġ", 0, 0}, {"Ġa", 2, 3}}},
		{"a  ", []textToken{{"Ġa", 0, 1}, {"ĠĠ", 3, 3}}},
		{"é a", []textToken{{"Ġ", 0, 0}, {"Ã", 0, 2}, {"©", 0, 2}, {"Ġa", 3, 4}}},
		{"\x0a a", []textToken{{"Ġ", 0, 0}, {"Ċ", 0, 1}, {"Ġa", 2, 3}}},
		{"日", []textToken{{"Ġ", 0, 0}, {"æ", 0, 3}, {"Ĺ", 0, 3}, {"¥", 0, 3}}},
		{" ", []textToken{{"Ġ", 0, 0}}},
		{"   ", []textToken{{"ĠĠ", 2, 2}, {"Ġ", 3, 3}}},
		{"", []textToken{}},
	})
}

// Offsets of a byte-level tokenizer: trim_offsets True, add_prefix_space False.
func TestByteLevelTrimTrueFalse(t *testing.T) {
	checkTokens(t, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},\"decoder\":null,\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{\"!\":0,\"\\\"\":1,\"#\":2,\"$\":3,\"%\":4,\"&\":5,\"'\":6,\"(\":7,\")\":8,\"*\":9,\"+\":10,\",\":11,\"-\":12,\".\":13,\"/\":14,\"0\":15,\"1\":16,\"2\":17,\"3\":18,\"4\":19,\"5\":20,\"6\":21,\"7\":22,\"8\":23,\"9\":24,\":\":25,\";\":26,\"<\":27,\"=\":28,\">\":29,\"?\":30,\"@\":31,\"A\":32,\"B\":33,\"C\":34,\"D\":35,\"E\":36,\"F\":37,\"G\":38,\"H\":39,\"I\":40,\"J\":41,\"K\":42,\"L\":43,\"M\":44,\"N\":45,\"O\":46,\"P\":47,\"Q\":48,\"R\":49,\"S\":50,\"T\":51,\"U\":52,\"V\":53,\"W\":54,\"X\":55,\"Y\":56,\"Z\":57,\"[\":58,\"\\\\\":59,\"]\":60,\"^\":61,\"_\":62,\"`\":63,\"a\":64,\"b\":65,\"c\":66,\"d\":67,\"e\":68,\"f\":69,\"g\":70,\"h\":71,\"i\":72,\"j\":73,\"k\":74,\"l\":75,\"m\":76,\"n\":77,\"o\":78,\"p\":79,\"q\":80,\"r\":81,\"s\":82,\"t\":83,\"u\":84,\"v\":85,\"w\":86,\"x\":87,\"y\":88,\"z\":89,\"{\":90,\"|\":91,\"}\":92,\"~\":93,\"¡\":94,\"¢\":95,\"£\":96,\"¤\":97,\"¥\":98,\"¦\":99,\"§\":100,\"¨\":101,\"©\":102,\"ª\":103,\"«\":104,\"¬\":105,\"®\":106,\"¯\":107,\"°\":108,\"±\":109,\"²\":110,\"³\":111,\"´\":112,\"µ\":113,\"¶\":114,\"·\":115,\"¸\":116,\"¹\":117,\"º\":118,\"»\":119,\"¼\":120,\"½\":121,\"¾\":122,\"¿\":123,\"À\":124,\"Á\":125,\"Â\":126,\"Ã\":127,\"Ä\":128,\"Å\":129,\"Æ\":130,\"Ç\":131,\"È\":132,\"É\":133,\"Ê\":134,\"Ë\":135,\"Ì\":136,\"Í\":137,\"Î\":138,\"Ï\":139,\"Ð\":140,\"Ñ\":141,\"Ò\":142,\"Ó\":143,\"Ô\":144,\"Õ\":145,\"Ö\":146,\"×\":147,\"Ø\":148,\"Ù\":149,\"Ú\":150,\"Û\":151,\"Ü\":152,\"Ý\":153,\"Þ\":154,\"ß\":155,\"à\":156,\"á\":157,\"â\":158,\"ã\":159,\"ä\":160,\"å\":161,\"æ\":162,\"ç\":163,\"è\":164,\"é\":165,\"ê\":166,\"ë\":167,\"ì\":168,\"í\":169,\"î\":170,\"ï\":171,\"ð\":172,\"ñ\":173,\"ò\":174,\"ó\":175,\"ô\":176,\"õ\":177,\"ö\":178,\"÷\":179,\"ø\":180,\"ù\":181,\"ú\":182,\"û\":183,\"ü\":184,\"ý\":185,\"þ\":186,\"ÿ\":187,\"Ā\":188,\"ā\":189,\"Ă\":190,\"ă\":191,\"Ą\":192,\"ą\":193,\"Ć\":194,\"ć\":195,\"Ĉ\":196,\"ĉ\":197,\"Ċ\":198,\"ċ\":199,\"Č\":200,\"č\":201,\"Ď\":202,\"ď\":203,\"Đ\":204,\"đ\":205,\"Ē\":206,\"ē\":207,\"Ĕ\":208,\"ĕ\":209,\"Ė\":210,\"ė\":211,\"Ę\":212,\"ę\":213,\"Ě\":214,\"ě\":215,\"Ĝ\":216,\"ĝ\":217,\"Ğ\":218,\"ğ\":219,\"Ġ\":220,\"ġ\":221,\"Ģ\":222,\"ģ\":223,\"Ĥ\":224,\"ĥ\":225,\"Ħ\":226,\"ħ\":227,\"Ĩ\":228,\"ĩ\":229,\"Ī\":230,\"ī\":231,\"Ĭ\":232,\"ĭ\":233,\"Į\":234,\"į\":235,\"İ\":236,\"ı\":237,\"Ĳ\":238,\"ĳ\":239,\"Ĵ\":240,\"ĵ\":241,\"Ķ\":242,\"ķ\":243,\"ĸ\":244,\"Ĺ\":245,\"ĺ\":246,\"Ļ\":247,\"ļ\":248,\"Ľ\":249,\"ľ\":250,\"Ŀ\":251,\"ŀ\":252,\"Ł\":253,\"ł\":254,\"Ń\":255,\"Ġa\":256,\"ĠĠ\":257},\"merges\":[[\"Ġ\",\"a\"],[\"Ġ\",\"Ġ\"]]}}", []encodedText{
		{"a", []textToken{{"a", 0, 1}}},
		{" a", []textToken{{"Ġa", 1, 2}}},
		{"a a", []textToken{{"a", 0, 1}, {"Ġa", 2, 3}}},
		{"  a", []textToken{{"Ġ", 1, 1}, {"Ġa", 2, 3}}},
		{"a  ", []textToken{{"a", 0, 1}, {"ĠĠ", 3, 3}}},
		{"é a", []textToken{{"Ã", 0, 2}, {"©", 0, 2}, {"Ġa", 3, 4}}},
		{"\x0a a", []textToken{{"Ċ", 0, 1}, {"Ġa", 2, 3}}},
		{"日", []textToken{{"æ", 0, 3}, {"Ĺ", 0, 3}, {"¥", 0, 3}}},
		{" ", []textToken{{"Ġ", 1, 1}}},
		{"   ", []textToken{{"ĠĠ", 2, 2}, {"Ġ", 3, 3}}},
		{"", []textToken{}},
	})
}

// Offsets of a byte-level tokenizer: trim_offsets False, add_prefix_space True.
func TestByteLevelTrimFalseTrue(t *testing.T) {
	checkTokens(t, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":false,\"use_regex\":true},\"decoder\":null,\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{\"!\":0,\"\\\"\":1,\"#\":2,\"$\":3,\"%\":4,\"&\":5,\"'\":6,\"(\":7,\")\":8,\"*\":9,\"+\":10,\",\":11,\"-\":12,\".\":13,\"/\":14,\"0\":15,\"1\":16,\"2\":17,\"3\":18,\"4\":19,\"5\":20,\"6\":21,\"7\":22,\"8\":23,\"9\":24,\":\":25,\";\":26,\"<\":27,\"=\":28,\">\":29,\"?\":30,\"@\":31,\"A\":32,\"B\":33,\"C\":34,\"D\":35,\"E\":36,\"F\":37,\"G\":38,\"H\":39,\"I\":40,\"J\":41,\"K\":42,\"L\":43,\"M\":44,\"N\":45,\"O\":46,\"P\":47,\"Q\":48,\"R\":49,\"S\":50,\"T\":51,\"U\":52,\"V\":53,\"W\":54,\"X\":55,\"Y\":56,\"Z\":57,\"[\":58,\"\\\\\":59,\"]\":60,\"^\":61,\"_\":62,\"`\":63,\"a\":64,\"b\":65,\"c\":66,\"d\":67,\"e\":68,\"f\":69,\"g\":70,\"h\":71,\"i\":72,\"j\":73,\"k\":74,\"l\":75,\"m\":76,\"n\":77,\"o\":78,\"p\":79,\"q\":80,\"r\":81,\"s\":82,\"t\":83,\"u\":84,\"v\":85,\"w\":86,\"x\":87,\"y\":88,\"z\":89,\"{\":90,\"|\":91,\"}\":92,\"~\":93,\"¡\":94,\"¢\":95,\"£\":96,\"¤\":97,\"¥\":98,\"¦\":99,\"§\":100,\"¨\":101,\"©\":102,\"ª\":103,\"«\":104,\"¬\":105,\"®\":106,\"¯\":107,\"°\":108,\"±\":109,\"²\":110,\"³\":111,\"´\":112,\"µ\":113,\"¶\":114,\"·\":115,\"¸\":116,\"¹\":117,\"º\":118,\"»\":119,\"¼\":120,\"½\":121,\"¾\":122,\"¿\":123,\"À\":124,\"Á\":125,\"Â\":126,\"Ã\":127,\"Ä\":128,\"Å\":129,\"Æ\":130,\"Ç\":131,\"È\":132,\"É\":133,\"Ê\":134,\"Ë\":135,\"Ì\":136,\"Í\":137,\"Î\":138,\"Ï\":139,\"Ð\":140,\"Ñ\":141,\"Ò\":142,\"Ó\":143,\"Ô\":144,\"Õ\":145,\"Ö\":146,\"×\":147,\"Ø\":148,\"Ù\":149,\"Ú\":150,\"Û\":151,\"Ü\":152,\"Ý\":153,\"Þ\":154,\"ß\":155,\"à\":156,\"á\":157,\"â\":158,\"ã\":159,\"ä\":160,\"å\":161,\"æ\":162,\"ç\":163,\"è\":164,\"é\":165,\"ê\":166,\"ë\":167,\"ì\":168,\"í\":169,\"î\":170,\"ï\":171,\"ð\":172,\"ñ\":173,\"ò\":174,\"ó\":175,\"ô\":176,\"õ\":177,\"ö\":178,\"÷\":179,\"ø\":180,\"ù\":181,\"ú\":182,\"û\":183,\"ü\":184,\"ý\":185,\"þ\":186,\"ÿ\":187,\"Ā\":188,\"ā\":189,\"Ă\":190,\"ă\":191,\"Ą\":192,\"ą\":193,\"Ć\":194,\"ć\":195,\"Ĉ\":196,\"ĉ\":197,\"Ċ\":198,\"ċ\":199,\"Č\":200,\"č\":201,\"Ď\":202,\"ď\":203,\"Đ\":204,\"đ\":205,\"Ē\":206,\"ē\":207,\"Ĕ\":208,\"ĕ\":209,\"Ė\":210,\"ė\":211,\"Ę\":212,\"ę\":213,\"Ě\":214,\"ě\":215,\"Ĝ\":216,\"ĝ\":217,\"Ğ\":218,\"ğ\":219,\"Ġ\":220,\"ġ\":221,\"Ģ\":222,\"ģ\":223,\"Ĥ\":224,\"ĥ\":225,\"Ħ\":226,\"ħ\":227,\"Ĩ\":228,\"ĩ\":229,\"Ī\":230,\"ī\":231,\"Ĭ\":232,\"ĭ\":233,\"Į\":234,\"į\":235,\"İ\":236,\"ı\":237,\"Ĳ\":238,\"ĳ\":239,\"Ĵ\":240,\"ĵ\":241,\"Ķ\":242,\"ķ\":243,\"ĸ\":244,\"Ĺ\":245,\"ĺ\":246,\"Ļ\":247,\"ļ\":248,\"Ľ\":249,\"ľ\":250,\"Ŀ\":251,\"ŀ\":252,\"Ł\":253,\"ł\":254,\"Ń\":255,\"Ġa\":256,\"ĠĠ\":257},\"merges\":[[\"Ġ\",\"a\"],[\"Ġ\",\"Ġ\"]]}}", []encodedText{
		{"a", []textToken{{"Ġa", 0, 1}}},
		{" a", []textToken{{"Ġa", 0, 2}}},
		{"a a", []textToken{{"Ġa", 0, 1}, {"Ġa", 1, 3}}},
		{"  a", []textToken{{"Ġ", 0, 1}, {"Ġa", 1, 3}}},
		{"a  ", []textToken{{"Ġa", 0, 1}, {"ĠĠ", 1, 3}}},
		{"é a", []textToken{{"Ġ", 0, 2}, {"Ã", 0, 2}, {"©", 0, 2}, {"Ġa", 2, 4}}},
		{"\x0a a", []textToken{{"Ġ", 0, 1}, {"Ċ", 0, 1}, {"Ġa", 1, 3}}},
		{"日", []textToken{{"Ġ", 0, 3}, {"æ", 0, 3}, {"Ĺ", 0, 3}, {"¥", 0, 3}}},
		{" ", []textToken{{"Ġ", 0, 1}}},
		{"   ", []textToken{{"ĠĠ", 0, 2}, {"Ġ", 2, 3}}},
		{"", []textToken{}},
	})
}

// Offsets of a byte-level tokenizer: trim_offsets False, add_prefix_space False.
func TestByteLevelTrimFalseFalse(t *testing.T) {
	checkTokens(t, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":false,\"use_regex\":true},\"decoder\":null,\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{\"!\":0,\"\\\"\":1,\"#\":2,\"$\":3,\"%\":4,\"&\":5,\"'\":6,\"(\":7,\")\":8,\"*\":9,\"+\":10,\",\":11,\"-\":12,\".\":13,\"/\":14,\"0\":15,\"1\":16,\"2\":17,\"3\":18,\"4\":19,\"5\":20,\"6\":21,\"7\":22,\"8\":23,\"9\":24,\":\":25,\";\":26,\"<\":27,\"=\":28,\">\":29,\"?\":30,\"@\":31,\"A\":32,\"B\":33,\"C\":34,\"D\":35,\"E\":36,\"F\":37,\"G\":38,\"H\":39,\"I\":40,\"J\":41,\"K\":42,\"L\":43,\"M\":44,\"N\":45,\"O\":46,\"P\":47,\"Q\":48,\"R\":49,\"S\":50,\"T\":51,\"U\":52,\"V\":53,\"W\":54,\"X\":55,\"Y\":56,\"Z\":57,\"[\":58,\"\\\\\":59,\"]\":60,\"^\":61,\"_\":62,\"`\":63,\"a\":64,\"b\":65,\"c\":66,\"d\":67,\"e\":68,\"f\":69,\"g\":70,\"h\":71,\"i\":72,\"j\":73,\"k\":74,\"l\":75,\"m\":76,\"n\":77,\"o\":78,\"p\":79,\"q\":80,\"r\":81,\"s\":82,\"t\":83,\"u\":84,\"v\":85,\"w\":86,\"x\":87,\"y\":88,\"z\":89,\"{\":90,\"|\":91,\"}\":92,\"~\":93,\"¡\":94,\"¢\":95,\"£\":96,\"¤\":97,\"¥\":98,\"¦\":99,\"§\":100,\"¨\":101,\"©\":102,\"ª\":103,\"«\":104,\"¬\":105,\"®\":106,\"¯\":107,\"°\":108,\"±\":109,\"²\":110,\"³\":111,\"´\":112,\"µ\":113,\"¶\":114,\"·\":115,\"¸\":116,\"¹\":117,\"º\":118,\"»\":119,\"¼\":120,\"½\":121,\"¾\":122,\"¿\":123,\"À\":124,\"Á\":125,\"Â\":126,\"Ã\":127,\"Ä\":128,\"Å\":129,\"Æ\":130,\"Ç\":131,\"È\":132,\"É\":133,\"Ê\":134,\"Ë\":135,\"Ì\":136,\"Í\":137,\"Î\":138,\"Ï\":139,\"Ð\":140,\"Ñ\":141,\"Ò\":142,\"Ó\":143,\"Ô\":144,\"Õ\":145,\"Ö\":146,\"×\":147,\"Ø\":148,\"Ù\":149,\"Ú\":150,\"Û\":151,\"Ü\":152,\"Ý\":153,\"Þ\":154,\"ß\":155,\"à\":156,\"á\":157,\"â\":158,\"ã\":159,\"ä\":160,\"å\":161,\"æ\":162,\"ç\":163,\"è\":164,\"é\":165,\"ê\":166,\"ë\":167,\"ì\":168,\"í\":169,\"î\":170,\"ï\":171,\"ð\":172,\"ñ\":173,\"ò\":174,\"ó\":175,\"ô\":176,\"õ\":177,\"ö\":178,\"÷\":179,\"ø\":180,\"ù\":181,\"ú\":182,\"û\":183,\"ü\":184,\"ý\":185,\"þ\":186,\"ÿ\":187,\"Ā\":188,\"ā\":189,\"Ă\":190,\"ă\":191,\"Ą\":192,\"ą\":193,\"Ć\":194,\"ć\":195,\"Ĉ\":196,\"ĉ\":197,\"Ċ\":198,\"ċ\":199,\"Č\":200,\"č\":201,\"Ď\":202,\"ď\":203,\"Đ\":204,\"đ\":205,\"Ē\":206,\"ē\":207,\"Ĕ\":208,\"ĕ\":209,\"Ė\":210,\"ė\":211,\"Ę\":212,\"ę\":213,\"Ě\":214,\"ě\":215,\"Ĝ\":216,\"ĝ\":217,\"Ğ\":218,\"ğ\":219,\"Ġ\":220,\"ġ\":221,\"Ģ\":222,\"ģ\":223,\"Ĥ\":224,\"ĥ\":225,\"Ħ\":226,\"ħ\":227,\"Ĩ\":228,\"ĩ\":229,\"Ī\":230,\"ī\":231,\"Ĭ\":232,\"ĭ\":233,\"Į\":234,\"į\":235,\"İ\":236,\"ı\":237,\"Ĳ\":238,\"ĳ\":239,\"Ĵ\":240,\"ĵ\":241,\"Ķ\":242,\"ķ\":243,\"ĸ\":244,\"Ĺ\":245,\"ĺ\":246,\"Ļ\":247,\"ļ\":248,\"Ľ\":249,\"ľ\":250,\"Ŀ\":251,\"ŀ\":252,\"Ł\":253,\"ł\":254,\"Ń\":255,\"Ġa\":256,\"ĠĠ\":257},\"merges\":[[\"Ġ\",\"a\"],[\"Ġ\",\"Ġ\"]]}}", []encodedText{
		{"a", []textToken{{"a", 0, 1}}},
		{" a", []textToken{{"Ġa", 0, 2}}},
		{"a a", []textToken{{"a", 0, 1}, {"Ġa", 1, 3}}},
		{"  a", []textToken{{"Ġ", 0, 1}, {"Ġa", 1, 3}}},
		{"a  ", []textToken{{"a", 0, 1}, {"ĠĠ", 1, 3}}},
		{"é a", []textToken{{"Ã", 0, 2}, {"©", 0, 2}, {"Ġa", 2, 4}}},
		{"\x0a a", []textToken{{"Ċ", 0, 1}, {"Ġa", 1, 3}}},
		{"日", []textToken{{"æ", 0, 3}, {"Ĺ", 0, 3}, {"¥", 0, 3}}},
		{" ", []textToken{{"Ġ", 0, 1}}},
		{"   ", []textToken{{"ĠĠ", 0, 2}, {"Ġ", 2, 3}}},
		{"", []textToken{}},
	})
}

// Every character is a token: its bytes in the text after the normalizer Strip.
func TestCharactersAfterStrip(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{"type":"Strip","strip_left":true,"strip_right":true},"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"[UNK]":0,"a":1,"b":2,"日":3,"é":4,"e":5,"́":6,"i":7,"f":8,"1":9,"2":10,"⁄":11," ":12},"merges":[]}}`, []encodedText{
		{" ab ", []textToken{{"a", 1, 2}, {"b", 2, 3}}},
		{"é", []textToken{{"é", 0, 2}}},
		{"ﬁ", []textToken{{"[UNK]", 0, 3}}},
		{"½", []textToken{{"[UNK]", 0, 2}}},
		{"ab日ab", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"日", 2, 5}, {"a", 5, 6}, {"b", 6, 7}}},
		{"e\u0301", []textToken{{"e", 0, 1}, {"\u0301", 1, 3}}},
		{"\u0301a", []textToken{{"\u0301", 0, 2}, {"a", 2, 3}}},
		{"", []textToken{}},
		{"日 ", []textToken{{"日", 0, 3}}},
		{"\x09a\u00a0b", []textToken{{"a", 1, 2}, {"[UNK]", 2, 4}, {"b", 4, 5}}},
	})
}

// Every character is a token: its bytes in the text after the normalizer Replace.
func TestCharactersAfterReplace(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{"type":"Replace","pattern":{"String":"ab"},"content":"日"},"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"[UNK]":0,"a":1,"b":2,"日":3,"é":4,"e":5,"́":6,"i":7,"f":8,"1":9,"2":10,"⁄":11," ":12},"merges":[]}}`, []encodedText{
		{" ab ", []textToken{{" ", 0, 1}, {"日", 2, 3}, {" ", 3, 4}}},
		{"é", []textToken{{"é", 0, 2}}},
		{"ﬁ", []textToken{{"[UNK]", 0, 3}}},
		{"½", []textToken{{"[UNK]", 0, 2}}},
		{"ab日ab", []textToken{{"日", 1, 2}, {"日", 2, 5}, {"日", 6, 7}}},
		{"e\u0301", []textToken{{"e", 0, 1}, {"\u0301", 1, 3}}},
		{"\u0301a", []textToken{{"\u0301", 0, 2}, {"a", 2, 3}}},
		{"", []textToken{}},
		{"日 ", []textToken{{"日", 0, 3}, {" ", 3, 4}}},
		{"\x09a\u00a0b", []textToken{{"[UNK]", 0, 1}, {"a", 1, 2}, {"[UNK]", 2, 4}, {"b", 4, 5}}},
	})
}

// Every character is a token: its bytes in the text after the normalizer Prepend.
func TestCharactersAfterPrepend(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{"type":"Prepend","prepend":"a"},"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"[UNK]":0,"a":1,"b":2,"日":3,"é":4,"e":5,"́":6,"i":7,"f":8,"1":9,"2":10,"⁄":11," ":12},"merges":[]}}`, []encodedText{
		{" ab ", []textToken{{"a", 0, 1}, {" ", 0, 1}, {"a", 1, 2}, {"b", 2, 3}, {" ", 3, 4}}},
		{"é", []textToken{{"a", 0, 2}, {"é", 0, 2}}},
		{"ﬁ", []textToken{{"a", 0, 3}, {"[UNK]", 0, 3}}},
		{"½", []textToken{{"a", 0, 2}, {"[UNK]", 0, 2}}},
		{"ab日ab", []textToken{{"a", 0, 1}, {"a", 0, 1}, {"b", 1, 2}, {"日", 2, 5}, {"a", 5, 6}, {"b", 6, 7}}},
		{"e\u0301", []textToken{{"a", 0, 1}, {"e", 0, 1}, {"\u0301", 1, 3}}},
		{"\u0301a", []textToken{{"a", 0, 2}, {"\u0301", 0, 2}, {"a", 2, 3}}},
		{"", []textToken{}},
		{"日 ", []textToken{{"a", 0, 3}, {"日", 0, 3}, {" ", 3, 4}}},
		{"\x09a\u00a0b", []textToken{{"a", 0, 1}, {"[UNK]", 0, 1}, {"a", 1, 2}, {"[UNK]", 2, 4}, {"b", 4, 5}}},
	})
}

// Every character is a token: its bytes in the text after the normalizer Nfkd.
func TestCharactersAfterNfkd(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{"type":"NFKD"},"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"[UNK]":0,"a":1,"b":2,"日":3,"é":4,"e":5,"́":6,"i":7,"f":8,"1":9,"2":10,"⁄":11," ":12},"merges":[]}}`, []encodedText{
		{" ab ", []textToken{{" ", 0, 1}, {"a", 1, 2}, {"b", 2, 3}, {" ", 3, 4}}},
		{"é", []textToken{{"e", 0, 2}, {"\u0301", 0, 2}}},
		{"ﬁ", []textToken{{"f", 0, 3}, {"i", 0, 3}}},
		{"½", []textToken{{"1", 0, 2}, {"⁄", 0, 2}, {"2", 0, 2}}},
		{"ab日ab", []textToken{{"a", 0, 1}, {"b", 1, 2}, {"日", 2, 5}, {"a", 5, 6}, {"b", 6, 7}}},
		{"e\u0301", []textToken{{"e", 0, 1}, {"\u0301", 1, 3}}},
		{"\u0301a", []textToken{{"\u0301", 0, 2}, {"a", 2, 3}}},
		{"", []textToken{}},
		{"日 ", []textToken{{"日", 0, 3}, {" ", 3, 4}}},
		{"\x09a\u00a0b", []textToken{{"[UNK]", 0, 1}, {"a", 1, 2}, {" ", 2, 4}, {"b", 4, 5}}},
	})
}

// Every character is a token: its bytes in the text after the normalizer Bert.
func TestCharactersAfterBert(t *testing.T) {
	checkTokens(t, `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{"[UNK]":0,"a":1,"b":2,"日":3,"é":4,"e":5,"́":6,"i":7,"f":8,"1":9,"2":10,"⁄":11," ":12},"merges":[]}}`, []encodedText{
		{" ab ", []textToken{{" ", 0, 1}, {"a", 1, 2}, {"b", 2, 3}, {" ", 3, 4}}},
		{"é", []textToken{{"e", 0, 2}}},
		{"ﬁ", []textToken{{"[UNK]", 0, 3}}},
		{"½", []textToken{{"[UNK]", 0, 2}}},
		{"ab日ab", []textToken{{"a", 0, 1}, {"b", 1, 2}, {" ", 2, 5}, {"日", 2, 5}, {" ", 2, 5}, {"a", 5, 6}, {"b", 6, 7}}},
		{"e\u0301", []textToken{{"e", 0, 1}}},
		{"\u0301a", []textToken{{"a", 2, 3}}},
		{"", []textToken{}},
		{"日 ", []textToken{{" ", 0, 3}, {"日", 0, 3}, {" ", 0, 3}, {" ", 3, 4}}},
		{"\x09a\u00a0b", []textToken{{" ", 0, 1}, {"a", 1, 2}, {" ", 2, 4}, {"b", 4, 5}}},
	})
}
