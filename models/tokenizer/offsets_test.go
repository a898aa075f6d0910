package tokenizer

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// checkOffsets compares each character of a normalised text, and the bytes that it comes from, with
// those that version 0.23.3 of tokenizers gives.
func checkOffsets(t *testing.T, config string, cases []splitText) {
	t.Helper()
	n, err := parseNormalizer("normalizer", []byte(config), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		p, err := n.normalize(piece{text: c.text, input: c.text}, newMeter(len(c.text)))
		if err != nil {
			t.Errorf("%s of %+q: %v", config, c.text, err)
			continue
		}
		checkOrigins(t, p)
		got := []splitWord{}
		for i, r := range p.text {
			begin, end := p.offsets(i, i+utf8.RuneLen(r))
			got = append(got, splitWord{string(r), begin, end})
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(splitWord{})); diff != "" {
			t.Errorf("%s of %+q (-want +got):\n%s", config, c.text, diff)
		}
	}
}

// What each character of a normal form comes from.
func TestNormalFormOffsets(t *testing.T) {
	checkEach(t, checkOffsets, []configured[splitText]{
		{"NFC", `{"type":"NFC"}`, []splitText{
			{"é", []splitWord{{"é", 0, 2}}},
			{"e\u0301", []splitWord{{"é", 0, 1}}},
			{"a\u0323\u0301", []splitWord{{"ạ", 0, 1}, {"\u0301", 3, 5}}},
			{"a\u0301\u0323", []splitWord{{"ạ", 0, 1}, {"\u0301", 3, 5}}},
			{"가", []splitWord{{"가", 0, 3}}},
			{"가", []splitWord{{"가", 0, 3}}},
			{"각", []splitWord{{"각", 0, 3}}},
			{"ﬁ", []splitWord{{"ﬁ", 0, 3}}},
			{"½", []splitWord{{"½", 0, 2}}},
			{"Å", []splitWord{{"Å", 0, 2}}},
			{"\u1e9b\u0323", []splitWord{{"ẛ", 0, 3}, {"\u0323", 3, 5}}},
			{"ｶﾞ", []splitWord{{"ｶ", 0, 3}, {"ﾞ", 3, 6}}},
			{"㍻", []splitWord{{"㍻", 0, 3}}},
			{"ﷺ", []splitWord{{"ﷺ", 0, 3}}},
			{"\u0344", []splitWord{{"\u0308", 0, 2}, {"\u0301", 0, 2}}},
			{"x\u0308y", []splitWord{{"ẍ", 0, 1}, {"y", 3, 4}}},
			{"Ǆ", []splitWord{{"Ǆ", 0, 2}}},
			{"①", []splitWord{{"①", 0, 3}}},
			{"Ω", []splitWord{{"Ω", 0, 3}}},
			{"日", []splitWord{{"日", 0, 3}}},
			{"གྷ", []splitWord{{"ག", 0, 3}, {"\u0fb7", 0, 3}}},
			{"¨", []splitWord{{"¨", 0, 2}}},
			{";", []splitWord{{";", 0, 2}}},
		}},
		{"NFD", `{"type":"NFD"}`, []splitText{
			{"é", []splitWord{{"e", 0, 2}, {"\u0301", 0, 2}}},
			{"e\u0301", []splitWord{{"e", 0, 1}, {"\u0301", 1, 3}}},
			{"a\u0323\u0301", []splitWord{{"a", 0, 1}, {"\u0323", 1, 3}, {"\u0301", 3, 5}}},
			{"a\u0301\u0323", []splitWord{{"a", 0, 1}, {"\u0323", 1, 3}, {"\u0301", 3, 5}}},
			{"가", []splitWord{{"ᄀ", 0, 3}, {"ᅡ", 0, 3}}},
			{"가", []splitWord{{"ᄀ", 0, 3}, {"ᅡ", 3, 6}}},
			{"각", []splitWord{{"ᄀ", 0, 3}, {"ᅡ", 0, 3}, {"ᆨ", 0, 3}}},
			{"ﬁ", []splitWord{{"ﬁ", 0, 3}}},
			{"½", []splitWord{{"½", 0, 2}}},
			{"Å", []splitWord{{"A", 0, 2}, {"\u030a", 0, 2}}},
			{"\u1e9b\u0323", []splitWord{{"ſ", 0, 3}, {"\u0323", 3, 5}, {"\u0307", 3, 5}}},
			{"ｶﾞ", []splitWord{{"ｶ", 0, 3}, {"ﾞ", 3, 6}}},
			{"㍻", []splitWord{{"㍻", 0, 3}}},
			{"ﷺ", []splitWord{{"ﷺ", 0, 3}}},
			{"\u0344", []splitWord{{"\u0308", 0, 2}, {"\u0301", 0, 2}}},
			{"x\u0308y", []splitWord{{"x", 0, 1}, {"\u0308", 1, 3}, {"y", 3, 4}}},
			{"Ǆ", []splitWord{{"Ǆ", 0, 2}}},
			{"①", []splitWord{{"①", 0, 3}}},
			{"Ω", []splitWord{{"Ω", 0, 3}}},
			{"日", []splitWord{{"日", 0, 3}}},
			{"གྷ", []splitWord{{"ག", 0, 3}, {"\u0fb7", 0, 3}}},
			{"¨", []splitWord{{"¨", 0, 2}}},
			{";", []splitWord{{";", 0, 2}}},
		}},
		{"NFKC", `{"type":"NFKC"}`, []splitText{
			{"é", []splitWord{{"é", 0, 2}}},
			{"e\u0301", []splitWord{{"é", 0, 1}}},
			{"a\u0323\u0301", []splitWord{{"ạ", 0, 1}, {"\u0301", 3, 5}}},
			{"a\u0301\u0323", []splitWord{{"ạ", 0, 1}, {"\u0301", 3, 5}}},
			{"가", []splitWord{{"가", 0, 3}}},
			{"가", []splitWord{{"가", 0, 3}}},
			{"각", []splitWord{{"각", 0, 3}}},
			{"ﬁ", []splitWord{{"f", 0, 3}, {"i", 0, 3}}},
			{"½", []splitWord{{"1", 0, 2}, {"⁄", 0, 2}, {"2", 0, 2}}},
			{"Å", []splitWord{{"Å", 0, 2}}},
			{"\u1e9b\u0323", []splitWord{{"ṩ", 0, 3}}},
			{"ｶﾞ", []splitWord{{"ガ", 0, 3}}},
			{"㍻", []splitWord{{"平", 0, 3}, {"成", 0, 3}}},
			{"ﷺ", []splitWord{{"ص", 0, 3}, {"ل", 0, 3}, {"ى", 0, 3}, {" ", 0, 3}, {"ا", 0, 3}, {"ل", 0, 3}, {"ل", 0, 3}, {"ه", 0, 3}, {" ", 0, 3}, {"ع", 0, 3}, {"ل", 0, 3}, {"ي", 0, 3}, {"ه", 0, 3}, {" ", 0, 3}, {"و", 0, 3}, {"س", 0, 3}, {"ل", 0, 3}, {"م", 0, 3}}},
			{"\u0344", []splitWord{{"\u0308", 0, 2}, {"\u0301", 0, 2}}},
			{"x\u0308y", []splitWord{{"ẍ", 0, 1}, {"y", 3, 4}}},
			{"Ǆ", []splitWord{{"D", 0, 2}, {"Ž", 0, 2}}},
			{"①", []splitWord{{"1", 0, 3}}},
			{"Ω", []splitWord{{"Ω", 0, 3}}},
			{"日", []splitWord{{"日", 0, 3}}},
			{"གྷ", []splitWord{{"ག", 0, 3}, {"\u0fb7", 0, 3}}},
			{"¨", []splitWord{{" ", 0, 2}, {"\u0308", 0, 2}}},
			{";", []splitWord{{";", 0, 2}}},
		}},
		{"NFKD", `{"type":"NFKD"}`, []splitText{
			{"é", []splitWord{{"e", 0, 2}, {"\u0301", 0, 2}}},
			{"e\u0301", []splitWord{{"e", 0, 1}, {"\u0301", 1, 3}}},
			{"a\u0323\u0301", []splitWord{{"a", 0, 1}, {"\u0323", 1, 3}, {"\u0301", 3, 5}}},
			{"a\u0301\u0323", []splitWord{{"a", 0, 1}, {"\u0323", 1, 3}, {"\u0301", 3, 5}}},
			{"가", []splitWord{{"ᄀ", 0, 3}, {"ᅡ", 0, 3}}},
			{"가", []splitWord{{"ᄀ", 0, 3}, {"ᅡ", 3, 6}}},
			{"각", []splitWord{{"ᄀ", 0, 3}, {"ᅡ", 0, 3}, {"ᆨ", 0, 3}}},
			{"ﬁ", []splitWord{{"f", 0, 3}, {"i", 0, 3}}},
			{"½", []splitWord{{"1", 0, 2}, {"⁄", 0, 2}, {"2", 0, 2}}},
			{"Å", []splitWord{{"A", 0, 2}, {"\u030a", 0, 2}}},
			{"\u1e9b\u0323", []splitWord{{"s", 0, 3}, {"\u0323", 3, 5}, {"\u0307", 3, 5}}},
			{"ｶﾞ", []splitWord{{"カ", 0, 3}, {"\u3099", 3, 6}}},
			{"㍻", []splitWord{{"平", 0, 3}, {"成", 0, 3}}},
			{"ﷺ", []splitWord{{"ص", 0, 3}, {"ل", 0, 3}, {"ى", 0, 3}, {" ", 0, 3}, {"ا", 0, 3}, {"ل", 0, 3}, {"ل", 0, 3}, {"ه", 0, 3}, {" ", 0, 3}, {"ع", 0, 3}, {"ل", 0, 3}, {"ي", 0, 3}, {"ه", 0, 3}, {" ", 0, 3}, {"و", 0, 3}, {"س", 0, 3}, {"ل", 0, 3}, {"م", 0, 3}}},
			{"\u0344", []splitWord{{"\u0308", 0, 2}, {"\u0301", 0, 2}}},
			{"x\u0308y", []splitWord{{"x", 0, 1}, {"\u0308", 1, 3}, {"y", 3, 4}}},
			{"Ǆ", []splitWord{{"D", 0, 2}, {"Z", 0, 2}, {"\u030c", 0, 2}}},
			{"①", []splitWord{{"1", 0, 3}}},
			{"Ω", []splitWord{{"Ω", 0, 3}}},
			{"日", []splitWord{{"日", 0, 3}}},
			{"གྷ", []splitWord{{"ག", 0, 3}, {"\u0fb7", 0, 3}}},
			{"¨", []splitWord{{" ", 0, 2}, {"\u0308", 0, 2}}},
			{";", []splitWord{{";", 0, 2}}},
		}},
	})
}

// Lowercase: İ becomes two characters, both from it.
func TestLowercaseOffsets(t *testing.T) {
	checkOffsets(t, `{"type":"Lowercase"}`, []splitText{
		{"İA", []splitWord{{"i", 0, 2}, {"\u0307", 0, 2}, {"a", 2, 3}}},
		{"AİB", []splitWord{{"a", 0, 1}, {"i", 1, 3}, {"\u0307", 1, 3}, {"b", 3, 4}}},
		{"ΑΣ", []splitWord{{"α", 0, 2}, {"σ", 2, 4}}},
		{"ẞß", []splitWord{{"ß", 0, 3}, {"ß", 3, 5}}},
		{"ǅ", []splitWord{{"ǆ", 0, 2}}},
		{"ꭰ", []splitWord{{"ꭰ", 0, 3}}},
		{"Ⅷ", []splitWord{{"ⅷ", 0, 3}}},
		{"𐐀", []splitWord{{"𐐨", 0, 4}}},
		{"ÉÈ", []splitWord{{"é", 0, 2}, {"è", 2, 4}}},
		{"\u0130\u0307", []splitWord{{"i", 0, 2}, {"\u0307", 0, 2}, {"\u0307", 2, 4}}},
		{"abc", []splitWord{{"a", 0, 1}, {"b", 1, 2}, {"c", 2, 3}}},
		{"ǅa", []splitWord{{"ǆ", 0, 2}, {"a", 2, 3}}},
	})
}

// StripAccents: marks belong to no character.
func TestStripAccentsOffsets(t *testing.T) {
	checkOffsets(t, `{"type":"StripAccents"}`, []splitText{
		{"e\u0301a", []splitWord{{"e", 0, 1}, {"a", 3, 4}}},
		{"\u0301a", []splitWord{{"a", 2, 3}}},
		{"a\u0301", []splitWord{{"a", 0, 1}}},
		{"é", []splitWord{{"é", 0, 2}}},
		{"ำ", []splitWord{{"ำ", 0, 3}}},
		{"\u0e19\u0e49\u0e33", []splitWord{{"น", 0, 3}, {"ำ", 6, 9}}},
		{"a\u20dd", []splitWord{{"a", 0, 1}}},
		{"\u0903", []splitWord{}},
		{"x\u0308\u0301y", []splitWord{{"x", 0, 1}, {"y", 5, 6}}},
	})
}

// Nmt: control characters disappear, special spaces become spaces.
func TestNmtOffsets(t *testing.T) {
	checkOffsets(t, `{"type":"Nmt"}`, []splitText{
		{"a\x01b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{"a\x09b", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
		{"\x00a", []splitWord{{"\x00", 0, 1}, {"a", 1, 2}}},
		{"a\u200bb", []splitWord{{"a", 0, 1}, {" ", 1, 4}, {"b", 4, 5}}},
		{"a\ufeff", []splitWord{{"a", 0, 1}, {" ", 1, 4}}},
		{"▁a", []splitWord{{" ", 0, 3}, {"a", 3, 4}}},
		{"a\u00a0b", []splitWord{{"a", 0, 1}, {"\u00a0", 1, 3}, {"b", 3, 4}}},
		{"\x7f", []splitWord{}},
		{"a\u008fb\u009f", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"\u1680", []splitWord{{" ", 0, 3}}},
		{"a\x0d\x0ab", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {" ", 2, 3}, {"b", 3, 4}}},
		{"�", []splitWord{{" ", 0, 3}}},
		{"\x0b\x0e\x1f", []splitWord{}},
	})
}

// BertNormalizer: spaces around Chinese characters, no accents, small letters.
func TestBertOffsets(t *testing.T) {
	checkEach(t, checkOffsets, []configured[splitText]{
		{"everything", `{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}`, []splitText{
			{"É", []splitWord{{"e", 0, 2}}},
			{"a日b", []splitWord{{"a", 0, 1}, {" ", 1, 4}, {"日", 1, 4}, {" ", 1, 4}, {"b", 4, 5}}},
			{"日本", []splitWord{{" ", 0, 3}, {"日", 0, 3}, {" ", 0, 3}, {" ", 3, 6}, {"本", 3, 6}, {" ", 3, 6}}},
			{"a\x09b\x0d\x0ac", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}, {" ", 3, 4}, {" ", 4, 5}, {"c", 5, 6}}},
			{"a\x00b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
			{"�a", []splitWord{{"a", 3, 4}}},
			{"e\u0301", []splitWord{{"e", 0, 1}}},
			{"İx", []splitWord{{"i", 0, 2}, {"x", 2, 3}}},
			{"가", []splitWord{{"ᄀ", 0, 3}, {"ᅡ", 0, 3}}},
			{"㐀", []splitWord{{" ", 0, 3}, {"㐀", 0, 3}, {" ", 0, 3}}},
			{"ｶ", []splitWord{{"ｶ", 0, 3}}},
			{"a\u00adb", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
			{"\u200ba", []splitWord{{"a", 3, 4}}},
			{"ÀÉ日ô", []splitWord{{"a", 0, 2}, {"e", 2, 4}, {" ", 4, 7}, {"日", 4, 7}, {" ", 4, 7}, {"o", 7, 9}}},
		}},
		{"handle_chinese_chars alone", `{"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":true,"strip_accents":false,"lowercase":false}`, []splitText{
			{"É日", []splitWord{{"É", 0, 2}, {" ", 2, 5}, {"日", 2, 5}, {" ", 2, 5}}},
			{"a日b", []splitWord{{"a", 0, 1}, {" ", 1, 4}, {"日", 1, 4}, {" ", 1, 4}, {"b", 4, 5}}},
			{"日本", []splitWord{{" ", 0, 3}, {"日", 0, 3}, {" ", 0, 3}, {" ", 3, 6}, {"本", 3, 6}, {" ", 3, 6}}},
			{"\x00a", []splitWord{{"\x00", 0, 1}, {"a", 1, 2}}},
			{"豈", []splitWord{{" ", 0, 3}, {"豈", 0, 3}, {" ", 0, 3}}},
			{"𠀀a", []splitWord{{" ", 0, 4}, {"𠀀", 0, 4}, {" ", 0, 4}, {"a", 4, 5}}},
			{"々", []splitWord{{"々", 0, 3}}},
			{"ア日", []splitWord{{"ア", 0, 3}, {" ", 3, 6}, {"日", 3, 6}, {" ", 3, 6}}},
		}},
		{"clean_text alone", `{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":false,"strip_accents":false,"lowercase":false}`, []splitText{
			{"a\x09b", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
			{"a\x00b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
			{"日a", []splitWord{{"日", 0, 3}, {"a", 3, 4}}},
			{"\u2028a", []splitWord{{" ", 0, 3}, {"a", 3, 4}}},
			{"\u3000a", []splitWord{{" ", 0, 3}, {"a", 3, 4}}},
			{"\x7fa", []splitWord{{"a", 1, 2}}},
			{"\u00c9\u0301", []splitWord{{"É", 0, 2}, {"\u0301", 2, 4}}},
			{"a�b", []splitWord{{"a", 0, 1}, {"b", 4, 5}}},
			{"\u200e", []splitWord{}},
		}},
	})
}

// Strip removes the white space at both ends.
func TestStripOffsets(t *testing.T) {
	checkOffsets(t, `{"type":"Strip","strip_left":true,"strip_right":true}`, []splitText{
		{"  a b  ", []splitWord{{"a", 2, 3}, {" ", 3, 4}, {"b", 4, 5}}},
		{"\u00a0a\u3000", []splitWord{{"a", 2, 3}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"\x0a\x09a", []splitWord{{"a", 2, 3}}},
		{"a \u2028", []splitWord{{"a", 0, 1}}},
		{"\x1ca\x1c", []splitWord{{"\x1c", 0, 1}, {"a", 1, 2}, {"\x1c", 2, 3}}},
	})
}

// Prepend: the new text belongs to the first character.
func TestPrependOffsets(t *testing.T) {
	checkOffsets(t, `{"type":"Prepend","prepend":"▁x"}`, []splitText{
		{"a", []splitWord{{"▁", 0, 1}, {"x", 0, 1}, {"a", 0, 1}}},
		{"éb", []splitWord{{"▁", 0, 2}, {"x", 0, 2}, {"é", 0, 2}, {"b", 2, 3}}},
		{"日", []splitWord{{"▁", 0, 3}, {"x", 0, 3}, {"日", 0, 3}}},
		{" ", []splitWord{{"▁", 0, 1}, {"x", 0, 1}, {" ", 0, 1}}},
		{"🙂a", []splitWord{{"▁", 0, 4}, {"x", 0, 4}, {"🙂", 0, 4}, {"a", 4, 5}}},
	})
}

// Replace: the new text comes from the last character of what it replaces.
func TestReplaceOffsets(t *testing.T) {
	checkEach(t, checkOffsets, []configured[splitText]{
		{"a by bcd", `{"type":"Replace","pattern":{"String":"a"},"content":"bcd"}`, []splitText{
			{"a", []splitWord{{"b", 0, 1}, {"c", 0, 1}, {"d", 0, 1}}},
			{"aab", []splitWord{{"b", 0, 1}, {"c", 0, 1}, {"d", 0, 1}, {"b", 1, 2}, {"c", 1, 2}, {"d", 1, 2}, {"b", 2, 3}}},
			{"ab a", []splitWord{{"b", 0, 1}, {"c", 0, 1}, {"d", 0, 1}, {"b", 1, 2}, {" ", 2, 3}, {"b", 3, 4}, {"c", 3, 4}, {"d", 3, 4}}},
			{"é a é", []splitWord{{"é", 0, 2}, {" ", 2, 3}, {"b", 3, 4}, {"c", 3, 4}, {"d", 3, 4}, {" ", 4, 5}, {"é", 5, 7}}},
			{"xaax", []splitWord{{"x", 0, 1}, {"b", 1, 2}, {"c", 1, 2}, {"d", 1, 2}, {"b", 2, 3}, {"c", 2, 3}, {"d", 2, 3}, {"x", 3, 4}}},
			{"aaaa", []splitWord{{"b", 0, 1}, {"c", 0, 1}, {"d", 0, 1}, {"b", 1, 2}, {"c", 1, 2}, {"d", 1, 2}, {"b", 2, 3}, {"c", 2, 3}, {"d", 2, 3}, {"b", 3, 4}, {"c", 3, 4}, {"d", 3, 4}}},
			{"b", []splitWord{{"b", 0, 1}}},
			{"a b", []splitWord{{"b", 0, 1}, {"c", 0, 1}, {"d", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
		}},
		{"a by nothing", `{"type":"Replace","pattern":{"String":"a"},"content":""}`, []splitText{
			{"a", []splitWord{}},
			{"aab", []splitWord{{"b", 2, 3}}},
			{"ab a", []splitWord{{"b", 1, 2}, {" ", 2, 3}}},
			{"é a é", []splitWord{{"é", 0, 2}, {" ", 2, 3}, {" ", 4, 5}, {"é", 5, 7}}},
			{"xaax", []splitWord{{"x", 0, 1}, {"x", 3, 4}}},
			{"aaaa", []splitWord{}},
			{"b", []splitWord{{"b", 0, 1}}},
			{"a b", []splitWord{{" ", 1, 2}, {"b", 2, 3}}},
		}},
		{"ab by x", `{"type":"Replace","pattern":{"String":"ab"},"content":"x"}`, []splitText{
			{"a", []splitWord{{"a", 0, 1}}},
			{"aab", []splitWord{{"a", 0, 1}, {"x", 2, 3}}},
			{"ab a", []splitWord{{"x", 1, 2}, {" ", 2, 3}, {"a", 3, 4}}},
			{"é a é", []splitWord{{"é", 0, 2}, {" ", 2, 3}, {"a", 3, 4}, {" ", 4, 5}, {"é", 5, 7}}},
			{"xaax", []splitWord{{"x", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"x", 3, 4}}},
			{"aaaa", []splitWord{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}}},
			{"b", []splitWord{{"b", 0, 1}}},
			{"a b", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
		}},
		{"space by mark", `{"type":"Replace","pattern":{"String":" "},"content":"▁"}`, []splitText{
			{"a", []splitWord{{"a", 0, 1}}},
			{"aab", []splitWord{{"a", 0, 1}, {"a", 1, 2}, {"b", 2, 3}}},
			{"ab a", []splitWord{{"a", 0, 1}, {"b", 1, 2}, {"▁", 2, 3}, {"a", 3, 4}}},
			{"é a é", []splitWord{{"é", 0, 2}, {"▁", 2, 3}, {"a", 3, 4}, {"▁", 4, 5}, {"é", 5, 7}}},
			{"xaax", []splitWord{{"x", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"x", 3, 4}}},
			{"aaaa", []splitWord{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}}},
			{"b", []splitWord{{"b", 0, 1}}},
			{"a b", []splitWord{{"a", 0, 1}, {"▁", 1, 2}, {"b", 2, 3}}},
		}},
		{
			"é by e and an accent",
			`{"type":"Replace","pattern":{"String":"é"},"content":"é"}`,
			[]splitText{
				{"a", []splitWord{{"a", 0, 1}}},
				{"aab", []splitWord{{"a", 0, 1}, {"a", 1, 2}, {"b", 2, 3}}},
				{"ab a", []splitWord{{"a", 0, 1}, {"b", 1, 2}, {" ", 2, 3}, {"a", 3, 4}}},
				{"é a é", []splitWord{{"e", 0, 2}, {"\u0301", 0, 2}, {" ", 2, 3}, {"a", 3, 4}, {" ", 4, 5}, {"e", 5, 7}, {"\u0301", 5, 7}}},
				{"xaax", []splitWord{{"x", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"x", 3, 4}}},
				{"aaaa", []splitWord{{"a", 0, 1}, {"a", 1, 2}, {"a", 2, 3}, {"a", 3, 4}}},
				{"b", []splitWord{{"b", 0, 1}}},
				{"a b", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
			},
		},
		{"aa by a", `{"type":"Replace","pattern":{"String":"aa"},"content":"a"}`, []splitText{
			{"a", []splitWord{{"a", 0, 1}}},
			{"aab", []splitWord{{"a", 1, 2}, {"b", 2, 3}}},
			{"ab a", []splitWord{{"a", 0, 1}, {"b", 1, 2}, {" ", 2, 3}, {"a", 3, 4}}},
			{"é a é", []splitWord{{"é", 0, 2}, {" ", 2, 3}, {"a", 3, 4}, {" ", 4, 5}, {"é", 5, 7}}},
			{"xaax", []splitWord{{"x", 0, 1}, {"a", 2, 3}, {"x", 3, 4}}},
			{"aaaa", []splitWord{{"a", 1, 2}, {"a", 3, 4}}},
			{"b", []splitWord{{"b", 0, 1}}},
			{"a b", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
		}},
	})
}

// Replace with a pattern: the new text comes from the last character of a match, or, if the match
// is empty, from the character before it.
func TestReplaceRegexOffsets(t *testing.T) {
	checkEach(t, checkOffsets, []configured[splitText]{
		{
			"white space by a space",
			`{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "}`,
			[]splitText{
				{"a b", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
				{"a  b\x09\x0ac", []splitWord{{"a", 0, 1}, {" ", 2, 3}, {"b", 3, 4}, {" ", 5, 6}, {"c", 6, 7}}},
				{"aab", []splitWord{{"a", 0, 1}, {"a", 1, 2}, {"b", 2, 3}}},
				{"ab cab", []splitWord{{"a", 0, 1}, {"b", 1, 2}, {" ", 2, 3}, {"c", 3, 4}, {"a", 4, 5}, {"b", 5, 6}}},
				{"éa", []splitWord{{"é", 0, 2}, {"a", 2, 3}}},
				{"aeiou", []splitWord{{"a", 0, 1}, {"e", 1, 2}, {"i", 2, 3}, {"o", 3, 4}, {"u", 4, 5}}},
				{"\u65e5\x0a\u65e5", []splitWord{{"日", 0, 3}, {" ", 3, 4}, {"日", 4, 7}}},
				{"bb", []splitWord{{"b", 0, 1}, {"b", 1, 2}}},
			},
		},
		{
			"vowels by two stars",
			`{"type":"Replace","pattern":{"Regex":"[aeiou]"},"content":"**"}`,
			[]splitText{
				{"a b", []splitWord{{"*", 0, 1}, {"*", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
				{"a  b\x09\x0ac", []splitWord{{"*", 0, 1}, {"*", 0, 1}, {" ", 1, 2}, {" ", 2, 3}, {"b", 3, 4}, {"\x09", 4, 5}, {"\x0a", 5, 6}, {"c", 6, 7}}},
				{"aab", []splitWord{{"*", 0, 1}, {"*", 0, 1}, {"*", 1, 2}, {"*", 1, 2}, {"b", 2, 3}}},
				{"ab cab", []splitWord{{"*", 0, 1}, {"*", 0, 1}, {"b", 1, 2}, {" ", 2, 3}, {"c", 3, 4}, {"*", 4, 5}, {"*", 4, 5}, {"b", 5, 6}}},
				{"éa", []splitWord{{"é", 0, 2}, {"*", 2, 3}, {"*", 2, 3}}},
				{"aeiou", []splitWord{{"*", 0, 1}, {"*", 0, 1}, {"*", 1, 2}, {"*", 1, 2}, {"*", 2, 3}, {"*", 2, 3}, {"*", 3, 4}, {"*", 3, 4}, {"*", 4, 5}, {"*", 4, 5}}},
				{"\u65e5\x0a\u65e5", []splitWord{{"日", 0, 3}, {"\x0a", 3, 4}, {"日", 4, 7}}},
				{"bb", []splitWord{{"b", 0, 1}, {"b", 1, 2}}},
			},
		},
		{
			"runs of a by nothing",
			`{"type":"Replace","pattern":{"Regex":"a+"},"content":""}`,
			[]splitText{
				{"a b", []splitWord{{" ", 1, 2}, {"b", 2, 3}}},
				{"a  b\x09\x0ac", []splitWord{{" ", 1, 2}, {" ", 2, 3}, {"b", 3, 4}, {"\x09", 4, 5}, {"\x0a", 5, 6}, {"c", 6, 7}}},
				{"aab", []splitWord{{"b", 2, 3}}},
				{"ab cab", []splitWord{{"b", 1, 2}, {" ", 2, 3}, {"c", 3, 4}, {"b", 5, 6}}},
				{"éa", []splitWord{{"é", 0, 2}}},
				{"aeiou", []splitWord{{"e", 1, 2}, {"i", 2, 3}, {"o", 3, 4}, {"u", 4, 5}}},
				{"\u65e5\x0a\u65e5", []splitWord{{"日", 0, 3}, {"\x0a", 3, 4}, {"日", 4, 7}}},
				{"bb", []splitWord{{"b", 0, 1}, {"b", 1, 2}}},
			},
		},
		{
			"b after a by X",
			`{"type":"Replace","pattern":{"Regex":"(?<=a)b"},"content":"X"}`,
			[]splitText{
				{"a b", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
				{"a  b\x09\x0ac", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {" ", 2, 3}, {"b", 3, 4}, {"\x09", 4, 5}, {"\x0a", 5, 6}, {"c", 6, 7}}},
				{"aab", []splitWord{{"a", 0, 1}, {"a", 1, 2}, {"X", 2, 3}}},
				{"ab cab", []splitWord{{"a", 0, 1}, {"X", 1, 2}, {" ", 2, 3}, {"c", 3, 4}, {"a", 4, 5}, {"X", 5, 6}}},
				{"éa", []splitWord{{"é", 0, 2}, {"a", 2, 3}}},
				{"aeiou", []splitWord{{"a", 0, 1}, {"e", 1, 2}, {"i", 2, 3}, {"o", 3, 4}, {"u", 4, 5}}},
				{"\u65e5\x0a\u65e5", []splitWord{{"日", 0, 3}, {"\x0a", 3, 4}, {"日", 4, 7}}},
				{"bb", []splitWord{{"b", 0, 1}, {"b", 1, 2}}},
			},
		},
		{
			"begin of line by a mark",
			`{"type":"Replace","pattern":{"Regex":"^"},"content":"> "}`,
			[]splitText{
				{"a b", []splitWord{{">", 0, 0}, {" ", 0, 0}, {"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
				{"a  b\x09\x0ac", []splitWord{{">", 0, 0}, {" ", 0, 0}, {"a", 0, 1}, {" ", 1, 2}, {" ", 2, 3}, {"b", 3, 4}, {"\x09", 4, 5}, {"\x0a", 5, 6}, {">", 5, 6}, {" ", 5, 6}, {"c", 6, 7}}},
				{"aab", []splitWord{{">", 0, 0}, {" ", 0, 0}, {"a", 0, 1}, {"a", 1, 2}, {"b", 2, 3}}},
				{"ab cab", []splitWord{{">", 0, 0}, {" ", 0, 0}, {"a", 0, 1}, {"b", 1, 2}, {" ", 2, 3}, {"c", 3, 4}, {"a", 4, 5}, {"b", 5, 6}}},
				{"éa", []splitWord{{">", 0, 0}, {" ", 0, 0}, {"é", 0, 2}, {"a", 2, 3}}},
				{"aeiou", []splitWord{{">", 0, 0}, {" ", 0, 0}, {"a", 0, 1}, {"e", 1, 2}, {"i", 2, 3}, {"o", 3, 4}, {"u", 4, 5}}},
				{"\u65e5\x0a\u65e5", []splitWord{{">", 0, 0}, {" ", 0, 0}, {"日", 0, 3}, {"\x0a", 3, 4}, {">", 3, 4}, {" ", 3, 4}, {"日", 4, 7}}},
				{"bb", []splitWord{{">", 0, 0}, {" ", 0, 0}, {"b", 0, 1}, {"b", 1, 2}}},
			},
		},
		{
			"b or nothing by a hyphen",
			`{"type":"Replace","pattern":{"Regex":"b?"},"content":"-"}`,
			[]splitText{
				{"a b", []splitWord{{"-", 0, 0}, {"a", 0, 1}, {"-", 0, 1}, {" ", 1, 2}, {"-", 2, 3}}},
				{"a  b\x09\x0ac", []splitWord{{"-", 0, 0}, {"a", 0, 1}, {"-", 0, 1}, {" ", 1, 2}, {"-", 1, 2}, {" ", 2, 3}, {"-", 3, 4}, {"\x09", 4, 5}, {"-", 4, 5}, {"\x0a", 5, 6}, {"-", 5, 6}, {"c", 6, 7}, {"-", 6, 7}}},
				{"aab", []splitWord{{"-", 0, 0}, {"a", 0, 1}, {"-", 0, 1}, {"a", 1, 2}, {"-", 2, 3}}},
				{"ab cab", []splitWord{{"-", 0, 0}, {"a", 0, 1}, {"-", 1, 2}, {" ", 2, 3}, {"-", 2, 3}, {"c", 3, 4}, {"-", 3, 4}, {"a", 4, 5}, {"-", 5, 6}}},
				{"éa", []splitWord{{"-", 0, 0}, {"é", 0, 2}, {"-", 0, 2}, {"a", 2, 3}, {"-", 2, 3}}},
				{"aeiou", []splitWord{{"-", 0, 0}, {"a", 0, 1}, {"-", 0, 1}, {"e", 1, 2}, {"-", 1, 2}, {"i", 2, 3}, {"-", 2, 3}, {"o", 3, 4}, {"-", 3, 4}, {"u", 4, 5}, {"-", 4, 5}}},
				{"\u65e5\x0a\u65e5", []splitWord{{"-", 0, 0}, {"日", 0, 3}, {"-", 0, 3}, {"\x0a", 3, 4}, {"-", 3, 4}, {"日", 4, 7}, {"-", 4, 7}}},
				{"bb", []splitWord{{"-", 0, 1}, {"-", 1, 2}}},
			},
		},
	})
}

// Several normalizers: origins are those of the text that was given.
func TestNormalizerChain(t *testing.T) {
	checkOffsets(t, `{"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"StripAccents"},{"type":"Lowercase"},{"type":"Replace","pattern":{"String":" "},"content":"▁"},{"type":"Prepend","prepend":"▁"}]}`, []splitText{
		{"É a", []splitWord{{"▁", 0, 2}, {"e", 0, 2}, {"▁", 2, 3}, {"a", 3, 4}}},
		{"ﬁ ½", []splitWord{{"▁", 0, 3}, {"f", 0, 3}, {"i", 0, 3}, {"▁", 3, 4}, {"1", 4, 6}, {"⁄", 4, 6}, {"2", 4, 6}}},
		{"  x", []splitWord{{"▁", 0, 1}, {"▁", 0, 1}, {"▁", 1, 2}, {"x", 2, 3}}},
		{"İ", []splitWord{{"▁", 0, 2}, {"i", 0, 2}}},
		{"ｶﾞ日", []splitWord{{"▁", 0, 3}, {"カ", 0, 3}, {"日", 6, 9}}},
		{"e\u0301\u0323 Z", []splitWord{{"▁", 0, 1}, {"e", 0, 1}, {"▁", 5, 6}, {"z", 6, 7}}},
		{"a\u00a0b", []splitWord{{"▁", 0, 1}, {"a", 0, 1}, {"▁", 1, 3}, {"b", 3, 4}}},
	})
}

// A text that becomes shorter and longer again.
func TestNormalizerChainBack(t *testing.T) {
	checkOffsets(t, `{"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"ab"},"content":"c"},{"type":"Replace","pattern":{"String":"c"},"content":"xyz"},{"type":"Strip","strip_left":true,"strip_right":true},{"type":"NFC"}]}`, []splitText{
		{"ab", []splitWord{{"x", 1, 2}, {"y", 1, 2}, {"z", 1, 2}}},
		{"c ab c", []splitWord{{"x", 0, 1}, {"y", 0, 1}, {"z", 0, 1}, {" ", 1, 2}, {"x", 3, 4}, {"y", 3, 4}, {"z", 3, 4}, {" ", 4, 5}, {"x", 5, 6}, {"y", 5, 6}, {"z", 5, 6}}},
		{" abc ", []splitWord{{"x", 2, 3}, {"y", 2, 3}, {"z", 2, 3}, {"x", 3, 4}, {"y", 3, 4}, {"z", 3, 4}}},
		{"éab", []splitWord{{"é", 0, 2}, {"x", 3, 4}, {"y", 3, 4}, {"z", 3, 4}}},
		{"xab\u0301", []splitWord{{"x", 0, 1}, {"x", 2, 3}, {"y", 2, 3}, {"ź", 2, 3}}},
	})
}

// ByteLevel: the characters of bytes come from the character with the byte.
func TestByteLevelOffsets(t *testing.T) {
	checkOffsets(t, `{"type":"ByteLevel"}`, []splitText{
		{"a b", []splitWord{{"a", 0, 1}, {"Ġ", 1, 2}, {"b", 2, 3}}},
		{"é", []splitWord{{"Ã", 0, 2}, {"©", 0, 2}}},
		{"日", []splitWord{{"æ", 0, 3}, {"Ĺ", 0, 3}, {"¥", 0, 3}}},
		{"🙂", []splitWord{{"ð", 0, 4}, {"Ł", 0, 4}, {"Ļ", 0, 4}, {"Ĥ", 0, 4}}},
		{"\x0a\x00\x7f", []splitWord{{"Ċ", 0, 1}, {"Ā", 1, 2}, {"ġ", 2, 3}}},
		{"\u00a0", []splitWord{{"Â", 0, 2}, {"ł", 0, 2}}},
		{"a\u0301", []splitWord{{"a", 0, 1}, {"Ì", 1, 3}, {"ģ", 1, 3}}},
	})
}
