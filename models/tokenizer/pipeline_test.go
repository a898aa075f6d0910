package tokenizer

import (
	"fmt"
	"strings"
	"testing"
)

// The tokens of these tables are recorded from version 0.23.3 of tokenizers.

// An added token with each set of three flags.
func TestAddedTokenFlags(t *testing.T) {
	file := func(flags ...string) string {
		return parts{
			added: addedTokenJSON(7, "<s>", flags...), pre: whitespaceSplit, model: wordLevelModel,
		}.file()
	}
	checkEach(t, checkTokens, []configured[encodedText]{
		{"no flag", file(), []encodedText{
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
		}},
		{"single_word", file("single_word"), []encodedText{
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
		}},
		{"rstrip", file("rstrip"), []encodedText{
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
		}},
		{"rstrip and single_word", file("rstrip", "single_word"), []encodedText{
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
		}},
		{"lstrip", file("lstrip"), []encodedText{
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
		}},
		{"lstrip and single_word", file("lstrip", "single_word"), []encodedText{
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
		}},
		{"lstrip and rstrip", file("lstrip", "rstrip"), []encodedText{
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
		}},
		{"all flags", file("lstrip", "rstrip", "single_word"), []encodedText{
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
		}},
	})
}

// An added token with the flag normalized matches the normalised text, another the given text.
func TestAddedNormalized(t *testing.T) {
	file := func(flag ...string) string {
		return parts{
			added: addedTokenJSON(3, "ab", append(flag, "single_word")...) + "," +
				addedTokenJSON(7, "TÉK", flag...),
			normalizer: `{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"}]}`,
			pre:        whitespaceSplit, model: wordLevelModel,
		}.file()
	}
	checkEach(t, checkTokens, []configured[encodedText]{
		{"normalized", file("normalized"), []encodedText{
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
		}},
		{"as given", file(), []encodedText{
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
		}},
	})
}

// Of added tokens that begin at the same place the longest is taken.
func TestAddedLongest(t *testing.T) {
	added := []string{
		addedTokenJSON(7, "<s>", "normalized"), addedTokenJSON(8, "<s>x", "normalized"),
		addedTokenJSON(9, "<s", "normalized"), addedTokenJSON(10, "s>", "normalized"),
		addedTokenJSON(11, "<|end|>", "special"),
	}
	file := parts{
		added: strings.Join(added, ","), pre: whitespaceSplit, model: wordLevelModel,
	}.file()
	checkTokens(t, file, []encodedText{
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

// The order of merges decides.
func TestBPEMergeOrders(t *testing.T) {
	file := func(vocab, merges string) string {
		return parts{model: bpeModel{
			unknown: `"[UNK]"`, vocab: letters + vocab, merges: merges,
		}.json()}.file()
	}
	checkEach(t, checkTokens, []configured[encodedText]{
		{
			"a+b, c+d, ab+cd",
			file(`"ab":7,"abcd":8,"cd":9,"[UNK]":10`, `["a","b"],["c","d"],["ab","cd"]`),
			[]encodedText{
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
			},
		},
		{
			"b+c, a+bc, abc+d",
			file(`"abc":7,"abcd":8,"bc":9,"[UNK]":10`, `["b","c"],["a","bc"],["abc","d"]`),
			[]encodedText{
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
			},
		},
		{
			"a+a, aa+aa, aa+a",
			file(`"aa":7,"aaa":8,"aaaa":9,"[UNK]":10`, `["a","a"],["aa","aa"],["aa","a"]`),
			[]encodedText{
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
			},
		},
		{
			"c+d, b+cd, a+bcd, a+b",
			file(
				`"ab":7,"abcd":8,"bcd":9,"cd":10,"[UNK]":11`,
				`["c","d"],["b","cd"],["a","bcd"],["a","b"]`,
			),
			[]encodedText{
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
			},
		},
	})
}

// The order of merges decides, with fused unknown characters and whole words first.
func TestBPEMergeOrdersFused(t *testing.T) {
	file := func(vocab, merges string) string {
		return parts{model: bpeModel{
			unknown: `"[UNK]"`, fuse: true, whole: true, vocab: letters + vocab, merges: merges,
		}.json()}.file()
	}
	checkEach(t, checkTokens, []configured[encodedText]{
		{
			"a+b, c+d, ab+cd",
			file(`"ab":7,"abcd":8,"cd":9,"[UNK]":10`, `["a","b"],["c","d"],["ab","cd"]`),
			[]encodedText{
				{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
				{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
				{"xyz", []textToken{{"[UNK]", 0, 3}}},
				{"a", []textToken{{"a", 0, 1}}},
				{"", []textToken{}},
				{"bcdabcd", []textToken{{"b", 0, 1}, {"cd", 1, 3}, {"abcd", 3, 7}}},
			},
		},
		{
			"b+c, a+bc, abc+d",
			file(`"abc":7,"abcd":8,"bc":9,"[UNK]":10`, `["b","c"],["a","bc"],["abc","d"]`),
			[]encodedText{
				{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
				{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
				{"xyz", []textToken{{"[UNK]", 0, 3}}},
				{"a", []textToken{{"a", 0, 1}}},
				{"", []textToken{}},
				{"bcdabcd", []textToken{{"bc", 0, 2}, {"d", 2, 3}, {"abcd", 3, 7}}},
			},
		},
		{
			"a+a, aa+aa, aa+a",
			file(`"aa":7,"aaa":8,"aaaa":9,"[UNK]":10`, `["a","a"],["aa","aa"],["aa","a"]`),
			[]encodedText{
				{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
				{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
				{"xyz", []textToken{{"[UNK]", 0, 3}}},
				{"a", []textToken{{"a", 0, 1}}},
				{"", []textToken{}},
				{"bcdabcd", []textToken{{"b", 0, 1}, {"c", 1, 2}, {"d", 2, 3}, {"a", 3, 4}, {"b", 4, 5}, {"c", 5, 6}, {"d", 6, 7}}},
			},
		},
		{
			"c+d, b+cd, a+bcd, a+b",
			file(
				`"ab":7,"abcd":8,"bcd":9,"cd":10,"[UNK]":11`,
				`["c","d"],["b","cd"],["a","bcd"],["a","b"]`,
			),
			[]encodedText{
				{"é日", []textToken{{"é", 0, 2}, {"日", 2, 5}}},
				{"aé", []textToken{{"a", 0, 1}, {"é", 1, 3}}},
				{"xyz", []textToken{{"[UNK]", 0, 3}}},
				{"a", []textToken{{"a", 0, 1}}},
				{"", []textToken{}},
				{"bcdabcd", []textToken{{"bcd", 0, 3}, {"abcd", 3, 7}}},
			},
		},
	})
}

// byte_fallback with a token for each byte.
func TestBPEAllBytes(t *testing.T) {
	file := parts{model: bpeModel{
		unknown: `"[UNK]"`, fuse: true, bytes: true,
		vocab: `"[UNK]":0,` + forBytes(func(b int) string {
			return fmt.Sprintf(`"<0x%02X>":%d`, b, b+1)
		}) + `,"a":257,"b":258,"ab":259,"▁":260,"▁a":261`,
		merges: `["a","b"],["▁","a"]`,
	}.json()}.file()
	checkTokens(t, file, []encodedText{
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

// WordPiece takes a word of more characters than max_input_chars_per_word for unknown.
func TestWordPieceLongWords(t *testing.T) {
	file := func(most int) string {
		return parts{model: fmt.Sprintf(`{"type":"WordPiece","unk_token":"[UNK]",`+
			`"continuing_subword_prefix":"##","max_input_chars_per_word":%d,"vocab":%s}`, most,
			`{"[UNK]":0,"un":1,"##aff":2,"##able":3,"##a":4,"u":5,"##n":6,"a":7,"##日":8,"日":9,"é":10,"##é":11,"##é日":12,"unaff":13}`)}.file()
	}
	checkEach(t, checkTokens, []configured[encodedText]{
		{"100 characters", file(100), []encodedText{
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
		}},
		{"4 characters", file(4), []encodedText{
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
		}},
	})
}

// Unigram takes the tokens with the best sum of scores.
func TestUnigramBest(t *testing.T) {
	checkTokens(t, withUnigram(unigramVocab, false), []encodedText{
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
	vocab := unigramVocab + "," + forBytes(func(b int) string {
		return fmt.Sprintf(`["<0x%02X>",-20.0]`, b)
	})
	checkTokens(t, withUnigram(vocab, true), []encodedText{
		{"x", []textToken{{"<0x78>", 0, 1}}},
		{"ax日", []textToken{{"a", 0, 1}, {"<0x78>", 1, 2}, {"日", 2, 5}}},
		{"🙂", []textToken{{"<0xF0>", 0, 4}, {"<0x9F>", 0, 4}, {"<0x99>", 0, 4}, {"<0x82>", 0, 4}}},
		{"xy", []textToken{{"<0x78>", 0, 2}, {"<0x79>", 0, 2}}},
		{"a\x0ab", []textToken{{"a", 0, 1}, {"<0x0A>", 1, 2}, {"b", 2, 3}}},
		{"日", []textToken{{"日", 0, 3}}},
	})
}

// The tokens that a post_processor adds have no bytes.
func TestPostProcessors(t *testing.T) {
	file := func(post string) string {
		return parts{
			pre:  `{"type":"Split","pattern":{"Regex":" "},"behavior":"MergedWithNext","invert":false}`,
			post: post, model: wordLevelModel,
		}.file()
	}
	checkEach(t, checkTokens, []configured[encodedText]{
		{"BERT", file(`{"type":"BertProcessing","sep":["b",2],"cls":["a",1]}`), []encodedText{
			{"a", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"b", 0, 0}}},
			{"a b", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}}},
			{"", []textToken{{"a", 0, 0}, {"b", 0, 0}}},
			{"ab é", []textToken{{"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}}},
			{" a", []textToken{{"a", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}}},
			{"日", []textToken{{"a", 0, 0}, {"日", 0, 3}, {"b", 0, 0}}},
		}},
		{"RoBERTa, offsets trimmed", file(`{"type":"RobertaProcessing","sep":["b",2],"cls":["a",1],"trim_offsets":true,"add_prefix_space":true}`), []encodedText{
			{"a", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"b", 0, 0}}},
			{"a b", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}}},
			{"", []textToken{{"a", 0, 0}, {"b", 0, 0}}},
			{"ab é", []textToken{{"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}}},
			{" a", []textToken{{"a", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}}},
			{"日", []textToken{{"a", 0, 0}, {"日", 0, 3}, {"b", 0, 0}}},
		}},
		{"RoBERTa, offsets not trimmed", file(`{"type":"RobertaProcessing","sep":["b",2],"cls":["a",1],"trim_offsets":false,"add_prefix_space":false}`), []encodedText{
			{"a", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"b", 0, 0}}},
			{"a b", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}}},
			{"", []textToken{{"a", 0, 0}, {"b", 0, 0}}},
			{"ab é", []textToken{{"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}}},
			{" a", []textToken{{"a", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}}},
			{"日", []textToken{{"a", 0, 0}, {"日", 0, 3}, {"b", 0, 0}}},
		}},
		{"template", file(`{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"b","type_id":0}},{"SpecialToken":{"id":"b","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"a":{"id":"a","ids":[1],"tokens":["a"]},"b":{"id":"b","ids":[2],"tokens":["b"]}}}`), []encodedText{
			{"a", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"b", 0, 0}, {"b", 0, 0}}},
			{"a b", []textToken{{"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}, {"b", 0, 0}}},
			{"", []textToken{{"a", 0, 0}, {"b", 0, 0}, {"b", 0, 0}}},
			{"ab é", []textToken{{"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}, {"b", 0, 0}}},
			{" a", []textToken{{"a", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}, {"b", 0, 0}}},
			{"日", []textToken{{"a", 0, 0}, {"日", 0, 3}, {"b", 0, 0}, {"b", 0, 0}}},
		}},
		{"template with the text twice", file(`{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"a":{"id":"a","ids":[1],"tokens":["a"]}}}`), []encodedText{
			{"a", []textToken{{"a", 0, 1}, {"a", 0, 0}, {"a", 0, 1}}},
			{"a b", []textToken{{"a", 0, 1}, {"[UNK]", 1, 3}, {"a", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}}},
			{"", []textToken{{"a", 0, 0}}},
			{"ab é", []textToken{{"ab", 0, 2}, {"[UNK]", 2, 5}, {"a", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}}},
			{" a", []textToken{{"[UNK]", 0, 2}, {"a", 0, 0}, {"[UNK]", 0, 2}}},
			{"日", []textToken{{"日", 0, 3}, {"a", 0, 0}, {"日", 0, 3}}},
		}},
		{"template without the text", file(`{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"a":{"id":"a","ids":[1],"tokens":["a"]}}}`), []encodedText{
			{"a", []textToken{{"a", 0, 0}}},
			{"a b", []textToken{{"a", 0, 0}}},
			{"", []textToken{{"a", 0, 0}}},
			{"ab é", []textToken{{"a", 0, 0}}},
			{" a", []textToken{{"a", 0, 0}}},
			{"日", []textToken{{"a", 0, 0}}},
		}},
		{"three in a row", file(`{"type":"Sequence","processors":[{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"a":{"id":"a","ids":[1],"tokens":["a"]}}},{"type":"BertProcessing","sep":["b",2],"cls":["日",4]}]}`), []encodedText{
			{"a", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"a", 0, 1}, {"b", 0, 0}}},
			{"a b", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"a", 0, 1}, {"[UNK]", 1, 3}, {"b", 0, 0}}},
			{"", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"b", 0, 0}}},
			{"ab é", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"ab", 0, 2}, {"[UNK]", 2, 5}, {"b", 0, 0}}},
			{" a", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"[UNK]", 0, 2}, {"b", 0, 0}}},
			{"日", []textToken{{"日", 0, 0}, {"a", 0, 0}, {"b", 0, 0}, {"日", 0, 3}, {"b", 0, 0}}},
		}},
	})
}

// Offsets of a byte-level tokenizer.
func TestByteLevelTrim(t *testing.T) {
	file := func(trim, prefix bool) string {
		const format = `{"type":"ByteLevel","add_prefix_space":%t,"trim_offsets":%t,"use_regex":true}`
		return parts{
			pre: fmt.Sprintf(format, prefix, true), post: fmt.Sprintf(format, prefix, trim),
			model: bpeModel{
				unknown: "null", vocab: byteSymbols() + `,"Ġa":256,"ĠĠ":257`,
				merges: `["Ġ","a"],["Ġ","Ġ"]`,
			}.json(),
		}.file()
	}
	checkEach(t, checkTokens, []configured[encodedText]{
		{"trim_offsets and add_prefix_space", file(true, true), []encodedText{
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
		}},
		{"trim_offsets", file(true, false), []encodedText{
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
		}},
		{"add_prefix_space", file(false, true), []encodedText{
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
		}},
		{"neither", file(false, false), []encodedText{
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
		}},
	})
}

// Every character is a token: its bytes in the given text, after a normalizer.
func TestCharactersAfterNormalizer(t *testing.T) {
	file := func(normalizer string) string {
		return parts{normalizer: normalizer, model: bpeModel{
			unknown: `"[UNK]"`, vocab: "\"[UNK]\":0,\"a\":1,\"b\":2,\"日\":3,\"é\":4,\"e\":5,\"\u0301\":6,\"i\":7,\"f\":8,\"1\":9,\"2\":10,\"⁄\":11,\" \":12",
		}.json()}.file()
	}
	checkEach(t, checkTokens, []configured[encodedText]{
		{"Strip", file(`{"type":"Strip","strip_left":true,"strip_right":true}`), []encodedText{
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
		}},
		{
			"Replace",
			file(`{"type":"Replace","pattern":{"String":"ab"},"content":"日"}`),
			[]encodedText{
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
			},
		},
		{"Prepend", file(`{"type":"Prepend","prepend":"a"}`), []encodedText{
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
		}},
		{"NFKD", file(`{"type":"NFKD"}`), []encodedText{
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
		}},
		{"BertNormalizer", file(`{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}`), []encodedText{
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
		}},
	})
}
