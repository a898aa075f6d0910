package tokenizer

import "testing"

// Lowercase maps each character by itself, without context.
func TestLowercase(t *testing.T) {
	checkNormalizer(t, `{"type": "Lowercase"}`, []normalizedText{
		{"ABC", "abc"},
		{"aBc1", "abc1"},
		{"ÀÉ", "àé"},
		{"ΑΣ", "ασ"},
		{"İI", "i̇i"},
		{"ẞ", "ß"},
		{"Ǆ", "ǆ"},
		{"Ａ", "ａ"},
		{"漢字", "漢字"},
		{"", ""},
		{"\u1c89", "\u1c8a"},
	})
}

// NFC composes: e and an acute accent become é.
func TestNFC(t *testing.T) {
	checkNormalizer(t, `{"type": "NFC"}`, []normalizedText{
		{"é", "é"},
		{"é", "é"},
		{"각", "각"},
		{"ạ́", "ạ́"},
		{"ạ́", "ạ́"},
		{"Ω", "Ω"},
		{"ﬁ", "ﬁ"},
		{"क़", "क़"},
		{"q̣̇", "q̣̇"},
		{"̈́", "̈́"},
		{"́", "́"},
		{"יִ", "יִ"},
	})
}

// NFD decomposes and sorts marks by their class.
func TestNFD(t *testing.T) {
	checkNormalizer(t, `{"type": "NFD"}`, []normalizedText{
		{"é", "é"},
		{"각", "각"},
		{"ậ", "ậ"},
		{"ạ́", "ạ́"},
		{"Å", "Å"},
		{"Ω", "Ω"},
		{"ﬁ", "ﬁ"},
		{"ǭ", "ǭ"},
		{"ẛ̣", "ẛ̣"},
		{"̈́", "̈́"},
	})
}

// NFKC also replaces compatibility characters.
func TestNFKC(t *testing.T) {
	checkNormalizer(t, `{"type": "NFKC"}`, []normalizedText{
		{"ﬁ", "fi"},
		{"²", "2"},
		{"①", "1"},
		{"Ａ", "A"},
		{"ｶﾞ", "ガ"},
		{"Ω", "Ω"},
		{"…", "..."},
		{"\u00a0", " "},
		{"\u3000", " "},
		{"ẛ̣", "ṩ"},
		{"㌔", "キロ"},
		{"ﷺ", "صلى الله عليه وسلم"},
		{"½", "1⁄2"},
	})
}

// NFKD decomposes compatibility characters and the rest.
func TestNFKD(t *testing.T) {
	checkNormalizer(t, `{"type": "NFKD"}`, []normalizedText{
		{"ﬁ", "fi"},
		{"é", "é"},
		{"½", "1⁄2"},
		{"ｶﾞ", "ガ"},
		{"ẛ̣", "ṩ"},
		{"가", "가"},
		{"㎏", "kg"},
		{"™", "TM"},
	})
}

// Nmt drops control characters and replaces special spaces.
func TestNmt(t *testing.T) {
	checkNormalizer(t, `{"type": "Nmt"}`, []normalizedText{
		{"a\x01b", "ab"},
		{"a\tb", "a b"},
		{"a\nb\r", "a b "},
		{"\u200bx", " x"},
		{"\u2028", " "},
		{"\ufeffa", " a"},
		{"a\u0085b", "a\u0085b"},
		{"\x7f", ""},
		{"\u00a0", "\u00a0"},
		{"▁", " "},
		{"\u008f", ""},
	})
}

// StripAccents drops marks; it does not decompose.
func TestStripAccents(t *testing.T) {
	checkNormalizer(t, `{"type": "StripAccents"}`, []normalizedText{
		{"é", "e"},
		{"é", "é"},
		{"ạ́b", "ab"},
		{"́", ""},
		{"҃x", "x"},
		{"a⃝", "a"},
		{"ั", ""},
	})
}

// Strip removes white space at both ends.
func TestStripBoth(t *testing.T) {
	const strip = `{"type": "Strip", "strip_left": true, "strip_right": true}`
	checkNormalizer(t, strip, []normalizedText{
		{"  a b  ", "a b"},
		{"a", "a"},
		{"   ", ""},
		{"", ""},
		{"\u3000a\u00a0", "a"},
		{"\n a\t", "a"},
	})
}

// Strip removes white space on the left only.
func TestStripLeft(t *testing.T) {
	checkNormalizer(t, `{"type": "Strip", "strip_left": true, "strip_right": false}`, []normalizedText{
		{"  a  ", "a  "},
		{" ", ""},
		{"a ", "a "},
	})
}

// Strip removes white space on the right only.
func TestStripRight(t *testing.T) {
	checkNormalizer(t, `{"type": "Strip", "strip_left": false, "strip_right": true}`, []normalizedText{
		{"  a  ", "  a"},
		{" ", ""},
		{" a", " a"},
	})
}

// Prepend adds a text at the start, but not to an empty text.
func TestPrepend(t *testing.T) {
	checkNormalizer(t, `{"type": "Prepend", "prepend": "▁"}`, []normalizedText{
		{"a", "▁a"},
		{"", ""},
		{"▁a", "▁▁a"},
		{" a", "▁ a"},
		{"é", "▁é"},
	})
}

// Replace takes the pattern as it stands.
func TestReplaceString(t *testing.T) {
	checkNormalizer(t, `{"type": "Replace", "pattern": {"String": "."}, "content": "-"}`, []normalizedText{
		{"a.b", "a-b"},
		{"...", "---"},
		{"", ""},
		{"abc", "abc"},
		{"é.漢", "é-漢"},
	})
}

// Matches do not overlap.
func TestReplaceLonger(t *testing.T) {
	checkNormalizer(t, `{"type": "Replace", "pattern": {"String": "aa"}, "content": "b"}`, []normalizedText{
		{"aaa", "ba"},
		{"aaaa", "bb"},
		{"a", "a"},
		{"baab", "bbb"},
	})
}

// An empty pattern matches before each character and at the end.
func TestReplaceGaps(t *testing.T) {
	checkNormalizer(t, `{"type": "Replace", "pattern": {"String": ""}, "content": "-"}`, []normalizedText{
		{"ab", "-a-b-"},
		{"", ""},
		{"é", "-é-"},
	})
}

// Replace with a regular expression.
func TestReplaceRegex(t *testing.T) {
	checkNormalizer(t, `{"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}`, []normalizedText{
		{"a  b", "a b"},
		{"a\n\t b", "a b"},
		{"  ", " "},
		{"ab", "ab"},
	})
}

// Classes in a regular expression.
func TestReplaceDigits(t *testing.T) {
	checkNormalizer(t, `{"type": "Replace", "pattern": {"Regex": "[0-9]{2}"}, "content": "#"}`, []normalizedText{
		{"12345", "##5"},
		{"1", "1"},
		{"a1b22c", "a1b#c"},
	})
}

// Empty matches of a regular expression.
func TestReplaceEmptyMatches(t *testing.T) {
	checkNormalizer(t, `{"type": "Replace", "pattern": {"Regex": "x*"}, "content": "-"}`, []normalizedText{
		{"axxb", "-a-b-"},
		{"x", "-"},
		{"b", "-b-"},
		{"", ""},
	})
}

// ByteLevel writes each byte as a character.
func TestByteLevelNormalizer(t *testing.T) {
	checkNormalizer(t, `{"type": "ByteLevel"}`, []normalizedText{
		{"a b", "aĠb"},
		{"é", "Ã©"},
		{"\n", "Ċ"},
		{"漢", "æ¼¢"},
		{"\x00\x7f", "Āġ"},
		{"Ġ", "Äł"},
	})
}

// BertNormalizer cleans, separates Chinese characters, strips accents and lowers case.
func TestBertNormalizer(t *testing.T) {
	checkNormalizer(t, `{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}`, []normalizedText{
		{"Héllo", "hello"},
		{"a\x00b�c", "abc"},
		{"a\tb\u00a0c", "a b c"},
		{"漢字a", " 漢  字 a"},
		{"ÅB", "ab"},
		{"\u200b", ""},
		{"İ", "i"},
		{"ｱ", "ｱ"},
		{"㐀𠀀", " 㐀  𠀀 "},
		{"é", "e"},
	})
}

// With case kept, accents are kept too.
func TestBertNormalizerCased(t *testing.T) {
	checkNormalizer(t, `{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": false, "strip_accents": null, "lowercase": false}`, []normalizedText{
		{"Héllo", "Héllo"},
		{"漢字", "漢字"},
		{"a\tb", "a b"},
		{"\x07x", "x"},
	})
}

// strip_accents counts more than lowercase.
func TestBertNormalizerAccents(t *testing.T) {
	checkNormalizer(t, `{"type": "BertNormalizer", "clean_text": false, "handle_chinese_chars": false, "strip_accents": true, "lowercase": false}`, []normalizedText{
		{"Héllo", "Hello"},
		{"Ñandú", "Nandu"},
		{"a\tb", "a\tb"},
		{"ẹ́", "e"},
	})
}

// A Sequence applies its parts in order.
func TestNormalizerSequence(t *testing.T) {
	checkNormalizer(t, `{"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]}`, []normalizedText{
		{"ÉÀ", "ea"},
		{"Ño", "no"},
		{"각", "각"},
	})
}

// normalizedText is a text and what version 0.23.3 of tokenizers makes of it.
type normalizedText struct{ text, want string }

func checkNormalizer(t *testing.T, config string, cases []normalizedText) {
	t.Helper()
	n, err := parseNormalizer("normalizer", []byte(config), 0)
	must(t, err)
	for _, c := range cases {
		p, err := n.normalize(piece{text: c.text, input: c.text}, newMeter(len(c.text)))
		if err != nil || p.text != c.want {
			t.Errorf("%s of %+q = %+q, %v, want %+q", config, c.text, p.text, err, c.want)
		}
		checkOrigins(t, p)
	}
}

// checkOrigins checks that every byte of a piece comes from a range of the input, from left to
// right.
func checkOrigins(t *testing.T, p piece) {
	t.Helper()
	if p.origins != nil && len(p.origins) != len(p.text) {
		t.Fatalf("%d origins for %d bytes of %q", len(p.origins), len(p.text), p.text)
	}
	last := 0
	for i, o := range p.origins {
		if o.begin() > o.end() || o.end() > len(p.input) || o.begin() < last {
			t.Errorf("byte %d of %q comes from [%d,%d)", i, p.text, o.begin(), o.end())
		}
		last = o.begin()
	}
}
