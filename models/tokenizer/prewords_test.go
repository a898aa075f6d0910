package tokenizer

import "testing"

// The words of these tables are recorded from version 0.23.3 of tokenizers.

// Whitespace splits at the white space of Unicode.
func TestWhitespaceSpaces(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Whitespace"}`, []splitText{
		{"a  b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{" a ", []splitWord{{"a", 1, 2}}},
		{"\x09\x0a", []splitWord{}},
		{"a\u00a0b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"a\u3000b", []splitWord{{"a", 0, 1}, {"b", 4, 5}}},
		{"a\u200bb", []splitWord{{"a", 0, 1}, {"\u200b", 1, 4}, {"b", 4, 5}}},
		{"a\u2028b", []splitWord{{"a", 0, 1}, {"b", 4, 5}}},
		{"a\u0085b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"a\x1cb", []splitWord{{"a", 0, 1}, {"\x1c", 1, 2}, {"b", 2, 3}}},
		{"\ufeffa", []splitWord{{"\ufeff", 0, 3}, {"a", 3, 4}}},
		{"", []splitWord{}},
	})
}

// Whitespace keeps words by the definition of \w apart from other characters.
func TestWhitespaceWords(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Whitespace"}`, []splitText{
		{"don't", []splitWord{{"don", 0, 3}, {"'", 3, 4}, {"t", 4, 5}}},
		{"x_y-z", []splitWord{{"x_y", 0, 3}, {"-", 3, 4}, {"z", 4, 5}}},
		{"a1b2", []splitWord{{"a1b2", 0, 4}}},
		{"e\u0301a", []splitWord{{"e\u0301a", 0, 4}}},
		{"日本語", []splitWord{{"日本語", 0, 9}}},
		{"🙂a", []splitWord{{"🙂", 0, 4}, {"a", 4, 5}}},
		{"½a", []splitWord{{"½", 0, 2}, {"a", 2, 3}}},
		{"٣a", []splitWord{{"٣a", 0, 3}}},
		{"Ⅷ", []splitWord{{"Ⅷ", 0, 3}}},
		{"a\u200db", []splitWord{{"a\u200db", 0, 5}}},
		{"ａｂ", []splitWord{{"ａｂ", 0, 6}}},
		{"…", []splitWord{{"…", 0, 3}}},
		{"¿que?", []splitWord{{"¿", 0, 2}, {"que", 2, 5}, {"?", 5, 6}}},
		{"a.b,c", []splitWord{{"a", 0, 1}, {".", 1, 2}, {"b", 2, 3}, {",", 3, 4}, {"c", 4, 5}}},
	})
}

// WhitespaceSplit splits at white space only.
func TestWhitespaceSplitSpaces(t *testing.T) {
	checkPreTokenizer(t, `{"type":"WhitespaceSplit"}`, []splitText{
		{"a  b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{" a ", []splitWord{{"a", 1, 2}}},
		{"\x09\x0a", []splitWord{}},
		{"a\u00a0b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"a\u3000b", []splitWord{{"a", 0, 1}, {"b", 4, 5}}},
		{"a\u200bb", []splitWord{{"a\u200bb", 0, 5}}},
		{"a\u2028b", []splitWord{{"a", 0, 1}, {"b", 4, 5}}},
		{"a\u0085b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"a\x1cb", []splitWord{{"a\x1cb", 0, 3}}},
		{"\ufeffa", []splitWord{{"\ufeffa", 0, 4}}},
		{"", []splitWord{}},
		{"don't", []splitWord{{"don't", 0, 5}}},
		{"x_y-z", []splitWord{{"x_y-z", 0, 5}}},
		{"a1b2", []splitWord{{"a1b2", 0, 4}}},
		{"e\u0301a", []splitWord{{"e\u0301a", 0, 4}}},
	})
}

// BertPreTokenizer splits at white space and isolates punctuation.
func TestBertSpaces(t *testing.T) {
	checkPreTokenizer(t, `{"type":"BertPreTokenizer"}`, []splitText{
		{"a  b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{" a ", []splitWord{{"a", 1, 2}}},
		{"\x09\x0a", []splitWord{}},
		{"a\u00a0b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"a\u3000b", []splitWord{{"a", 0, 1}, {"b", 4, 5}}},
		{"a\u200bb", []splitWord{{"a\u200bb", 0, 5}}},
		{"a\u2028b", []splitWord{{"a", 0, 1}, {"b", 4, 5}}},
		{"a\u0085b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"a\x1cb", []splitWord{{"a\x1cb", 0, 3}}},
		{"\ufeffa", []splitWord{{"\ufeffa", 0, 4}}},
		{"", []splitWord{}},
	})
}

// Symbols of ASCII are punctuation for BERT, others are not.
func TestBertPunctuation(t *testing.T) {
	checkPreTokenizer(t, `{"type":"BertPreTokenizer"}`, []splitText{
		{"don't", []splitWord{{"don", 0, 3}, {"'", 3, 4}, {"t", 4, 5}}},
		{"x_y-z", []splitWord{{"x", 0, 1}, {"_", 1, 2}, {"y", 2, 3}, {"-", 3, 4}, {"z", 4, 5}}},
		{"a1b2", []splitWord{{"a1b2", 0, 4}}},
		{"e\u0301a", []splitWord{{"e\u0301a", 0, 4}}},
		{"日本語", []splitWord{{"日本語", 0, 9}}},
		{"🙂a", []splitWord{{"🙂a", 0, 5}}},
		{"½a", []splitWord{{"½a", 0, 3}}},
		{"٣a", []splitWord{{"٣a", 0, 3}}},
		{"Ⅷ", []splitWord{{"Ⅷ", 0, 3}}},
		{"a\u200db", []splitWord{{"a\u200db", 0, 5}}},
		{"ａｂ", []splitWord{{"ａｂ", 0, 6}}},
		{"…", []splitWord{{"…", 0, 3}}},
		{"¿que?", []splitWord{{"¿", 0, 2}, {"que", 2, 5}, {"?", 5, 6}}},
		{"a.b,c", []splitWord{{"a", 0, 1}, {".", 1, 2}, {"b", 2, 3}, {",", 3, 4}, {"c", 4, 5}}},
		{"$1+2=3", []splitWord{{"$", 0, 1}, {"1", 1, 2}, {"+", 2, 3}, {"2", 3, 4}, {"=", 4, 5}, {"3", 5, 6}}},
		{"£5", []splitWord{{"£5", 0, 3}}},
		{"a|b~c", []splitWord{{"a", 0, 1}, {"|", 1, 2}, {"b", 2, 3}, {"~", 3, 4}, {"c", 4, 5}}},
		{"«x»", []splitWord{{"«", 0, 2}, {"x", 2, 3}, {"»", 3, 5}}},
		{"¡a", []splitWord{{"¡", 0, 2}, {"a", 2, 3}}},
		{"。a", []splitWord{{"。", 0, 3}, {"a", 3, 4}}},
		{"a_b", []splitWord{{"a", 0, 1}, {"_", 1, 2}, {"b", 2, 3}}},
		{"`a`", []splitWord{{"`", 0, 1}, {"a", 1, 2}, {"`", 2, 3}}},
		{"^", []splitWord{{"^", 0, 1}}},
		{"\u0600a", []splitWord{{"\u0600a", 0, 3}}},
		{"™", []splitWord{{"™", 0, 3}}},
	})
}

// Punctuation with the behavior Isolated.
func TestPunctuationIsolatedRuns(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Punctuation","behavior":"Isolated"}`, []splitText{
		{"a!!b", []splitWord{{"a", 0, 1}, {"!", 1, 2}, {"!", 2, 3}, {"b", 3, 4}}},
		{"!a!", []splitWord{{"!", 0, 1}, {"a", 1, 2}, {"!", 2, 3}}},
		{"!!", []splitWord{{"!", 0, 1}, {"!", 1, 2}}},
		{"a, b", []splitWord{{"a", 0, 1}, {",", 1, 2}, {" b", 2, 4}}},
		{"«a»", []splitWord{{"«", 0, 2}, {"a", 2, 3}, {"»", 3, 5}}},
		{"a…", []splitWord{{"a", 0, 1}, {"…", 1, 4}}},
		{"don't", []splitWord{{"don", 0, 3}, {"'", 3, 4}, {"t", 4, 5}}},
		{"(a)(b)", []splitWord{{"(", 0, 1}, {"a", 1, 2}, {")", 2, 3}, {"(", 3, 4}, {"b", 4, 5}, {")", 5, 6}}},
		{"a+b", []splitWord{{"a", 0, 1}, {"+", 1, 2}, {"b", 2, 3}}},
		{"$", []splitWord{{"$", 0, 1}}},
		{"-a--b-", []splitWord{{"-", 0, 1}, {"a", 1, 2}, {"-", 2, 3}, {"-", 3, 4}, {"b", 4, 5}, {"-", 5, 6}}},
		{"", []splitWord{}},
	})
}

// Punctuation with the behavior Removed.
func TestPunctuationRemovedRuns(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Punctuation","behavior":"Removed"}`, []splitText{
		{"a!!b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"!a!", []splitWord{{"a", 1, 2}}},
		{"!!", []splitWord{}},
		{"a, b", []splitWord{{"a", 0, 1}, {" b", 2, 4}}},
		{"«a»", []splitWord{{"a", 2, 3}}},
		{"a…", []splitWord{{"a", 0, 1}}},
		{"don't", []splitWord{{"don", 0, 3}, {"t", 4, 5}}},
		{"(a)(b)", []splitWord{{"a", 1, 2}, {"b", 4, 5}}},
		{"a+b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{"$", []splitWord{}},
		{"-a--b-", []splitWord{{"a", 1, 2}, {"b", 4, 5}}},
		{"", []splitWord{}},
	})
}

// Punctuation with the behavior MergedWithPrevious.
func TestPunctuationMergedWithPreviousRuns(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Punctuation","behavior":"MergedWithPrevious"}`, []splitText{
		{"a!!b", []splitWord{{"a!", 0, 2}, {"!", 2, 3}, {"b", 3, 4}}},
		{"!a!", []splitWord{{"!", 0, 1}, {"a!", 1, 3}}},
		{"!!", []splitWord{{"!", 0, 1}, {"!", 1, 2}}},
		{"a, b", []splitWord{{"a,", 0, 2}, {" b", 2, 4}}},
		{"«a»", []splitWord{{"«", 0, 2}, {"a»", 2, 5}}},
		{"a…", []splitWord{{"a…", 0, 4}}},
		{"don't", []splitWord{{"don'", 0, 4}, {"t", 4, 5}}},
		{"(a)(b)", []splitWord{{"(", 0, 1}, {"a)", 1, 3}, {"(", 3, 4}, {"b)", 4, 6}}},
		{"a+b", []splitWord{{"a+", 0, 2}, {"b", 2, 3}}},
		{"$", []splitWord{{"$", 0, 1}}},
		{"-a--b-", []splitWord{{"-", 0, 1}, {"a-", 1, 3}, {"-", 3, 4}, {"b-", 4, 6}}},
		{"", []splitWord{}},
	})
}

// Punctuation with the behavior MergedWithNext.
func TestPunctuationMergedWithNextRuns(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Punctuation","behavior":"MergedWithNext"}`, []splitText{
		{"a!!b", []splitWord{{"a", 0, 1}, {"!", 1, 2}, {"!b", 2, 4}}},
		{"!a!", []splitWord{{"!a", 0, 2}, {"!", 2, 3}}},
		{"!!", []splitWord{{"!", 0, 1}, {"!", 1, 2}}},
		{"a, b", []splitWord{{"a", 0, 1}, {", b", 1, 4}}},
		{"«a»", []splitWord{{"«a", 0, 3}, {"»", 3, 5}}},
		{"a…", []splitWord{{"a", 0, 1}, {"…", 1, 4}}},
		{"don't", []splitWord{{"don", 0, 3}, {"'t", 3, 5}}},
		{"(a)(b)", []splitWord{{"(a", 0, 2}, {")", 2, 3}, {"(b", 3, 5}, {")", 5, 6}}},
		{"a+b", []splitWord{{"a", 0, 1}, {"+b", 1, 3}}},
		{"$", []splitWord{{"$", 0, 1}}},
		{"-a--b-", []splitWord{{"-a", 0, 2}, {"-", 2, 3}, {"-b", 3, 5}, {"-", 5, 6}}},
		{"", []splitWord{}},
	})
}

// Punctuation with the behavior Contiguous.
func TestPunctuationContiguousRuns(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Punctuation","behavior":"Contiguous"}`, []splitText{
		{"a!!b", []splitWord{{"a", 0, 1}, {"!!", 1, 3}, {"b", 3, 4}}},
		{"!a!", []splitWord{{"!", 0, 1}, {"a", 1, 2}, {"!", 2, 3}}},
		{"!!", []splitWord{{"!!", 0, 2}}},
		{"a, b", []splitWord{{"a", 0, 1}, {",", 1, 2}, {" b", 2, 4}}},
		{"«a»", []splitWord{{"«", 0, 2}, {"a", 2, 3}, {"»", 3, 5}}},
		{"a…", []splitWord{{"a", 0, 1}, {"…", 1, 4}}},
		{"don't", []splitWord{{"don", 0, 3}, {"'", 3, 4}, {"t", 4, 5}}},
		{"(a)(b)", []splitWord{{"(", 0, 1}, {"a", 1, 2}, {")(", 2, 4}, {"b", 4, 5}, {")", 5, 6}}},
		{"a+b", []splitWord{{"a", 0, 1}, {"+", 1, 2}, {"b", 2, 3}}},
		{"$", []splitWord{{"$", 0, 1}}},
		{"-a--b-", []splitWord{{"-", 0, 1}, {"a", 1, 2}, {"--", 2, 4}, {"b", 4, 5}, {"-", 5, 6}}},
		{"", []splitWord{}},
	})
}

// Digits are all characters of the categories Nd, Nl and No.
func TestDigitsScripts(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Digits","individual_digits":true}`, []splitText{
		{"a12", []splitWord{{"a", 0, 1}, {"1", 1, 2}, {"2", 2, 3}}},
		{"1²½", []splitWord{{"1", 0, 1}, {"²", 1, 3}, {"½", 3, 5}}},
		{"٣٤", []splitWord{{"٣", 0, 2}, {"٤", 2, 4}}},
		{"Ⅷx", []splitWord{{"Ⅷ", 0, 3}, {"x", 3, 4}}},
		{"①②", []splitWord{{"①", 0, 3}, {"②", 3, 6}}},
		{"𝟙a", []splitWord{{"𝟙", 0, 4}, {"a", 4, 5}}},
		{"一二", []splitWord{{"一二", 0, 6}}},
		{"1.5", []splitWord{{"1", 0, 1}, {".", 1, 2}, {"5", 2, 3}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"123abc45", []splitWord{{"1", 0, 1}, {"2", 1, 2}, {"3", 2, 3}, {"abc", 3, 6}, {"4", 6, 7}, {"5", 7, 8}}},
	})
}

// Without individual_digits a run of digits is one word.
func TestDigitsScriptsTogether(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Digits","individual_digits":false}`, []splitText{
		{"a12", []splitWord{{"a", 0, 1}, {"12", 1, 3}}},
		{"1²½", []splitWord{{"1²½", 0, 5}}},
		{"٣٤a", []splitWord{{"٣٤", 0, 4}, {"a", 4, 5}}},
		{"Ⅷx", []splitWord{{"Ⅷ", 0, 3}, {"x", 3, 4}}},
		{"①②", []splitWord{{"①②", 0, 6}}},
		{"1.5", []splitWord{{"1", 0, 1}, {".", 1, 2}, {"5", 2, 3}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"123abc45", []splitWord{{"123", 0, 3}, {"abc", 3, 6}, {"45", 6, 8}}},
		{"1a1", []splitWord{{"1", 0, 1}, {"a", 1, 2}, {"1", 2, 3}}},
	})
}

// CharDelimiterSplit removes the delimiter U+0020.
func TestDelimiter32(t *testing.T) {
	checkPreTokenizer(t, `{"type":"CharDelimiterSplit","delimiter":" "}`, []splitText{
		{"a b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{" a ", []splitWord{{"a", 1, 2}}},
		{"a  b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"ab", []splitWord{{"ab", 0, 2}}},
		{" ", []splitWord{}},
		{"é🙂- ", []splitWord{{"é🙂-", 0, 7}}},
	})
}

// CharDelimiterSplit removes the delimiter U+002D.
func TestDelimiter45(t *testing.T) {
	checkPreTokenizer(t, `{"type":"CharDelimiterSplit","delimiter":"-"}`, []splitText{
		{"a-b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{"-a-", []splitWord{{"a", 1, 2}}},
		{"a--b", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"ab", []splitWord{{"ab", 0, 2}}},
		{"-", []splitWord{}},
		{"é🙂- ", []splitWord{{"é🙂", 0, 6}, {" ", 7, 8}}},
	})
}

// CharDelimiterSplit removes the delimiter U+00E9.
func TestDelimiter233(t *testing.T) {
	checkPreTokenizer(t, `{"type":"CharDelimiterSplit","delimiter":"é"}`, []splitText{
		{"aéb", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"éaé", []splitWord{{"a", 2, 3}}},
		{"aééb", []splitWord{{"a", 0, 1}, {"b", 5, 6}}},
		{"ab", []splitWord{{"ab", 0, 2}}},
		{"é", []splitWord{}},
		{"é🙂- ", []splitWord{{"🙂- ", 2, 8}}},
	})
}

// CharDelimiterSplit removes the delimiter U+1F642.
func TestDelimiter128578(t *testing.T) {
	checkPreTokenizer(t, `{"type":"CharDelimiterSplit","delimiter":"🙂"}`, []splitText{
		{"a🙂b", []splitWord{{"a", 0, 1}, {"b", 5, 6}}},
		{"🙂a🙂", []splitWord{{"a", 4, 5}}},
		{"a🙂🙂b", []splitWord{{"a", 0, 1}, {"b", 9, 10}}},
		{"ab", []splitWord{{"ab", 0, 2}}},
		{"🙂", []splitWord{}},
		{"é🙂- ", []splitWord{{"é", 0, 2}, {"- ", 6, 8}}},
	})
}

// Metaspace with prepend_scheme always, split before each mark.
func TestMetaspaceAlwaysSplit(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`, []splitText{
		{"a b", []splitWord{{"▁a", 0, 1}, {"▁b", 1, 3}}},
		{" a", []splitWord{{"▁a", 0, 2}}},
		{"a ", []splitWord{{"▁a", 0, 1}, {"▁", 1, 2}}},
		{"  a  b", []splitWord{{"▁", 0, 1}, {"▁a", 1, 3}, {"▁", 3, 4}, {"▁b", 4, 6}}},
		{"▁a", []splitWord{{"▁a", 0, 4}}},
		{"a▁b", []splitWord{{"▁a", 0, 1}, {"▁b", 1, 5}}},
		{"▁", []splitWord{{"▁", 0, 3}}},
		{"", []splitWord{}},
		{"é 日本", []splitWord{{"▁é", 0, 2}, {"▁日本", 2, 9}}},
		{"a\x09b", []splitWord{{"\u2581a\x09b", 0, 3}}},
		{"\u00a0a", []splitWord{{"\u2581\u00a0a", 0, 3}}},
	})
}

// Metaspace with prepend_scheme always, not split.
func TestMetaspaceAlwaysWhole(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}`, []splitText{
		{"a b", []splitWord{{"▁a▁b", 0, 3}}},
		{" a", []splitWord{{"▁a", 0, 2}}},
		{"a ", []splitWord{{"▁a▁", 0, 2}}},
		{"  a  b", []splitWord{{"▁▁a▁▁b", 0, 6}}},
		{"▁a", []splitWord{{"▁a", 0, 4}}},
		{"a▁b", []splitWord{{"▁a▁b", 0, 5}}},
		{"▁", []splitWord{{"▁", 0, 3}}},
		{"", []splitWord{}},
		{"é 日本", []splitWord{{"▁é▁日本", 0, 9}}},
		{"a\x09b", []splitWord{{"\u2581a\x09b", 0, 3}}},
		{"\u00a0a", []splitWord{{"\u2581\u00a0a", 0, 3}}},
	})
}

// Metaspace with prepend_scheme first, split before each mark.
func TestMetaspaceFirstSplit(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}`, []splitText{
		{"a b", []splitWord{{"▁a", 0, 1}, {"▁b", 1, 3}}},
		{" a", []splitWord{{"▁a", 0, 2}}},
		{"a ", []splitWord{{"▁a", 0, 1}, {"▁", 1, 2}}},
		{"  a  b", []splitWord{{"▁", 0, 1}, {"▁a", 1, 3}, {"▁", 3, 4}, {"▁b", 4, 6}}},
		{"▁a", []splitWord{{"▁a", 0, 4}}},
		{"a▁b", []splitWord{{"▁a", 0, 1}, {"▁b", 1, 5}}},
		{"▁", []splitWord{{"▁", 0, 3}}},
		{"", []splitWord{}},
		{"é 日本", []splitWord{{"▁é", 0, 2}, {"▁日本", 2, 9}}},
		{"a\x09b", []splitWord{{"\u2581a\x09b", 0, 3}}},
		{"\u00a0a", []splitWord{{"\u2581\u00a0a", 0, 3}}},
	})
}

// Metaspace with prepend_scheme first, not split.
func TestMetaspaceFirstWhole(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false}`, []splitText{
		{"a b", []splitWord{{"▁a▁b", 0, 3}}},
		{" a", []splitWord{{"▁a", 0, 2}}},
		{"a ", []splitWord{{"▁a▁", 0, 2}}},
		{"  a  b", []splitWord{{"▁▁a▁▁b", 0, 6}}},
		{"▁a", []splitWord{{"▁a", 0, 4}}},
		{"a▁b", []splitWord{{"▁a▁b", 0, 5}}},
		{"▁", []splitWord{{"▁", 0, 3}}},
		{"", []splitWord{}},
		{"é 日本", []splitWord{{"▁é▁日本", 0, 9}}},
		{"a\x09b", []splitWord{{"\u2581a\x09b", 0, 3}}},
		{"\u00a0a", []splitWord{{"\u2581\u00a0a", 0, 3}}},
	})
}

// Metaspace with prepend_scheme never, split before each mark.
func TestMetaspaceNeverSplit(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true}`, []splitText{
		{"a b", []splitWord{{"a", 0, 1}, {"▁b", 1, 3}}},
		{" a", []splitWord{{"▁a", 0, 2}}},
		{"a ", []splitWord{{"a", 0, 1}, {"▁", 1, 2}}},
		{"  a  b", []splitWord{{"▁", 0, 1}, {"▁a", 1, 3}, {"▁", 3, 4}, {"▁b", 4, 6}}},
		{"▁a", []splitWord{{"▁a", 0, 4}}},
		{"a▁b", []splitWord{{"a", 0, 1}, {"▁b", 1, 5}}},
		{"▁", []splitWord{{"▁", 0, 3}}},
		{"", []splitWord{}},
		{"é 日本", []splitWord{{"é", 0, 2}, {"▁日本", 2, 9}}},
		{"a\x09b", []splitWord{{"a\x09b", 0, 3}}},
		{"\u00a0a", []splitWord{{"\u00a0a", 0, 3}}},
	})
}

// Metaspace with prepend_scheme never, not split.
func TestMetaspaceNeverWhole(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":false}`, []splitText{
		{"a b", []splitWord{{"a▁b", 0, 3}}},
		{" a", []splitWord{{"▁a", 0, 2}}},
		{"a ", []splitWord{{"a▁", 0, 2}}},
		{"  a  b", []splitWord{{"▁▁a▁▁b", 0, 6}}},
		{"▁a", []splitWord{{"▁a", 0, 4}}},
		{"a▁b", []splitWord{{"a▁b", 0, 5}}},
		{"▁", []splitWord{{"▁", 0, 3}}},
		{"", []splitWord{}},
		{"é 日本", []splitWord{{"é▁日本", 0, 9}}},
		{"a\x09b", []splitWord{{"a\x09b", 0, 3}}},
		{"\u00a0a", []splitWord{{"\u00a0a", 0, 3}}},
	})
}

// Metaspace after another pre-tokenizer: each piece, or the first, gets the mark.
func TestMetaspaceAfterSplitAlways(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"-"},"behavior":"Removed","invert":false},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]}`, []splitText{
		{"a-b", []splitWord{{"▁a", 0, 1}, {"▁b", 2, 3}}},
		{"-a b", []splitWord{{"▁a", 1, 2}, {"▁b", 2, 4}}},
		{"a b-c d", []splitWord{{"▁a", 0, 1}, {"▁b", 1, 3}, {"▁c", 4, 5}, {"▁d", 5, 7}}},
		{"-", []splitWord{}},
		{"--a", []splitWord{{"▁a", 2, 3}}},
		{"a- b", []splitWord{{"▁a", 0, 1}, {"▁b", 2, 4}}},
	})
}

// Metaspace after another pre-tokenizer: each piece, or the first, gets the mark.
func TestMetaspaceAfterSplitFirst(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"-"},"behavior":"Removed","invert":false},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}]}`, []splitText{
		{"a-b", []splitWord{{"▁a", 0, 1}, {"b", 2, 3}}},
		{"-a b", []splitWord{{"a", 1, 2}, {"▁b", 2, 4}}},
		{"a b-c d", []splitWord{{"▁a", 0, 1}, {"▁b", 1, 3}, {"c", 4, 5}, {"▁d", 5, 7}}},
		{"-", []splitWord{}},
		{"--a", []splitWord{{"a", 2, 3}}},
		{"a- b", []splitWord{{"▁a", 0, 1}, {"▁b", 2, 4}}},
	})
}

// ByteLevel with a space in front, with the pattern of GPT-2.
func TestByteLevelPrefixRegex(t *testing.T) {
	checkPreTokenizer(t, `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`, []splitText{
		{"Hello world", []splitWord{{"ĠHello", 0, 5}, {"Ġworld", 5, 11}}},
		{" a", []splitWord{{"Ġa", 0, 2}}},
		{"a  b", []splitWord{{"Ġa", 0, 1}, {"Ġ", 1, 2}, {"Ġb", 2, 4}}},
		{"don't we'll I'M", []splitWord{{"Ġdon", 0, 3}, {"'t", 3, 5}, {"Ġwe", 5, 8}, {"'ll", 8, 11}, {"ĠI", 11, 13}, {"'", 13, 14}, {"M", 14, 15}}},
		{"é 日", []splitWord{{"ĠÃ©", 0, 2}, {"ĠæĹ¥", 2, 6}}},
		{"a\x0a\x0ab", []splitWord{{"Ġa", 0, 1}, {"Ċ", 1, 2}, {"Ċ", 2, 3}, {"b", 3, 4}}},
		{"\x0a a", []splitWord{{"ĠĊ", 0, 1}, {"Ġa", 1, 3}}},
		{"12ab34", []splitWord{{"Ġ12", 0, 2}, {"ab", 2, 4}, {"34", 4, 6}}},
		{"a.b!", []splitWord{{"Ġa", 0, 1}, {".", 1, 2}, {"b", 2, 3}, {"!", 3, 4}}},
		{"\u00a0a", []splitWord{{"Ġ", 0, 2}, {"Âł", 0, 2}, {"a", 2, 3}}},
		{"🙂🙂", []splitWord{{"ĠðŁĻĤðŁĻĤ", 0, 8}}},
		{"'s's", []splitWord{{"Ġ'", 0, 1}, {"s", 1, 2}, {"'s", 2, 4}}},
		{"  ", []splitWord{{"ĠĠ", 0, 2}}},
		{"", []splitWord{}},
	})
}

// ByteLevel with a space in front, without the pattern of GPT-2.
func TestByteLevelPrefixWhole(t *testing.T) {
	checkPreTokenizer(t, `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":false}`, []splitText{
		{"Hello world", []splitWord{{"ĠHelloĠworld", 0, 11}}},
		{" a", []splitWord{{"Ġa", 0, 2}}},
		{"a  b", []splitWord{{"ĠaĠĠb", 0, 4}}},
		{"don't we'll I'M", []splitWord{{"Ġdon'tĠwe'llĠI'M", 0, 15}}},
		{"é 日", []splitWord{{"ĠÃ©ĠæĹ¥", 0, 6}}},
		{"a\x0a\x0ab", []splitWord{{"ĠaĊĊb", 0, 4}}},
		{"\x0a a", []splitWord{{"ĠĊĠa", 0, 3}}},
		{"12ab34", []splitWord{{"Ġ12ab34", 0, 6}}},
		{"a.b!", []splitWord{{"Ġa.b!", 0, 4}}},
		{"\u00a0a", []splitWord{{"ĠÂła", 0, 3}}},
		{"🙂🙂", []splitWord{{"ĠðŁĻĤðŁĻĤ", 0, 8}}},
		{"'s's", []splitWord{{"Ġ's's", 0, 4}}},
		{"  ", []splitWord{{"ĠĠ", 0, 2}}},
		{"", []splitWord{}},
	})
}

// ByteLevel without a space in front, with the pattern of GPT-2.
func TestByteLevelPlainRegex(t *testing.T) {
	checkPreTokenizer(t, `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`, []splitText{
		{"Hello world", []splitWord{{"Hello", 0, 5}, {"Ġworld", 5, 11}}},
		{" a", []splitWord{{"Ġa", 0, 2}}},
		{"a  b", []splitWord{{"a", 0, 1}, {"Ġ", 1, 2}, {"Ġb", 2, 4}}},
		{"don't we'll I'M", []splitWord{{"don", 0, 3}, {"'t", 3, 5}, {"Ġwe", 5, 8}, {"'ll", 8, 11}, {"ĠI", 11, 13}, {"'", 13, 14}, {"M", 14, 15}}},
		{"é 日", []splitWord{{"Ã©", 0, 2}, {"ĠæĹ¥", 2, 6}}},
		{"a\x0a\x0ab", []splitWord{{"a", 0, 1}, {"Ċ", 1, 2}, {"Ċ", 2, 3}, {"b", 3, 4}}},
		{"\x0a a", []splitWord{{"Ċ", 0, 1}, {"Ġa", 1, 3}}},
		{"12ab34", []splitWord{{"12", 0, 2}, {"ab", 2, 4}, {"34", 4, 6}}},
		{"a.b!", []splitWord{{"a", 0, 1}, {".", 1, 2}, {"b", 2, 3}, {"!", 3, 4}}},
		{"\u00a0a", []splitWord{{"Âł", 0, 2}, {"a", 2, 3}}},
		{"🙂🙂", []splitWord{{"ðŁĻĤðŁĻĤ", 0, 8}}},
		{"'s's", []splitWord{{"'s", 0, 2}, {"'s", 2, 4}}},
		{"  ", []splitWord{{"ĠĠ", 0, 2}}},
		{"", []splitWord{}},
	})
}

// ByteLevel without a space in front, without the pattern of GPT-2.
func TestByteLevelPlainWhole(t *testing.T) {
	checkPreTokenizer(t, `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}`, []splitText{
		{"Hello world", []splitWord{{"HelloĠworld", 0, 11}}},
		{" a", []splitWord{{"Ġa", 0, 2}}},
		{"a  b", []splitWord{{"aĠĠb", 0, 4}}},
		{"don't we'll I'M", []splitWord{{"don'tĠwe'llĠI'M", 0, 15}}},
		{"é 日", []splitWord{{"Ã©ĠæĹ¥", 0, 6}}},
		{"a\x0a\x0ab", []splitWord{{"aĊĊb", 0, 4}}},
		{"\x0a a", []splitWord{{"ĊĠa", 0, 3}}},
		{"12ab34", []splitWord{{"12ab34", 0, 6}}},
		{"a.b!", []splitWord{{"a.b!", 0, 4}}},
		{"\u00a0a", []splitWord{{"Âła", 0, 3}}},
		{"🙂🙂", []splitWord{{"ðŁĻĤðŁĻĤ", 0, 8}}},
		{"'s's", []splitWord{{"'s's", 0, 4}}},
		{"  ", []splitWord{{"ĠĠ", 0, 2}}},
		{"", []splitWord{}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitSpacesIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\s+"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}, {"  ", 3, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1234567", 0, 7}, {" ", 7, 8}, {"89", 8, 10}}},
		{"It'S we'RE", []splitWord{{"It'S", 0, 4}, {" ", 4, 5}, {"we'RE", 5, 10}}},
		{"ab acd cb", []splitWord{{"ab", 0, 2}, {" ", 2, 3}, {"acd", 3, 6}, {" ", 6, 7}, {"cb", 7, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab", 0, 3}, {" ", 3, 4}, {"a", 4, 5}, {"\x0a", 5, 6}, {"b", 6, 7}, {"\x0d\x0a\x0d\x0a", 7, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld", 0, 10}, {" ", 10, 11}, {"Éa", 11, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!?", 0, 2}, {" ", 2, 3}, {"a-b", 3, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitSpacesMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\s+"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a", 0, 1}, {" b", 1, 3}, {"  c", 3, 6}}},
		{"1234567 89", []splitWord{{"1234567", 0, 7}, {" 89", 7, 10}}},
		{"It'S we'RE", []splitWord{{"It'S", 0, 4}, {" we'RE", 4, 10}}},
		{"ab acd cb", []splitWord{{"ab", 0, 2}, {" acd", 2, 6}, {" cb", 6, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab", 0, 3}, {" a", 3, 5}, {"\x0ab", 5, 7}, {"\x0d\x0a\x0d\x0aC", 7, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld", 0, 10}, {" Éa", 10, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!?", 0, 2}, {" a-b", 2, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitTriplesIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\d{1,3}"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"123", 0, 3}, {"456", 3, 6}, {"7", 6, 7}, {" ", 7, 8}, {"89", 8, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a\x0ab\x0d\x0a\x0d\x0aC", 0, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitTriplesMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\d{1,3}"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"123", 0, 3}, {"456", 3, 6}, {"7 ", 6, 8}, {"89", 8, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a\x0ab\x0d\x0a\x0d\x0aC", 0, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitThousandsIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\d{1,3}(?=(?:\\d{3})*(?:\\D|$))"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"1", 0, 1}, {"234", 1, 4}, {"567", 4, 7}, {" ", 7, 8}, {"89", 8, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a\x0ab\x0d\x0a\x0d\x0aC", 0, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitThousandsMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\d{1,3}(?=(?:\\d{3})*(?:\\D|$))"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"1", 0, 1}, {"234", 1, 4}, {"567 ", 4, 8}, {"89", 8, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a\x0ab\x0d\x0a\x0d\x0aC", 0, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitContractionsIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re)|\\p{L}+"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}, {"  ", 3, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It", 0, 2}, {"'S", 2, 4}, {" ", 4, 5}, {"we", 5, 7}, {"'RE", 7, 10}}},
		{"ab acd cb", []splitWord{{"ab", 0, 2}, {" ", 2, 3}, {"acd", 3, 6}, {" ", 6, 7}, {"cb", 7, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab", 0, 3}, {" ", 3, 4}, {"a", 4, 5}, {"\x0a", 5, 6}, {"b", 6, 7}, {"\x0d\x0a\x0d\x0a", 7, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld", 0, 10}, {" ", 10, 11}, {"Éa", 11, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? ", 0, 3}, {"a", 3, 4}, {"-", 4, 5}, {"b", 5, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitContractionsMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re)|\\p{L}+"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a ", 0, 2}, {"b  ", 2, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It", 0, 2}, {"'S ", 2, 5}, {"we", 5, 7}, {"'RE", 7, 10}}},
		{"ab acd cb", []splitWord{{"ab ", 0, 3}, {"acd ", 3, 7}, {"cb", 7, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab ", 0, 4}, {"a\x0a", 4, 6}, {"b\x0d\x0a\x0d\x0a", 6, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld ", 0, 11}, {"Éa", 11, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? ", 0, 3}, {"a-", 3, 5}, {"b", 5, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitMarksIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"[^\\s\\p{L}\\p{N}]+"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It", 0, 2}, {"'", 2, 3}, {"S we", 3, 7}, {"'", 7, 8}, {"RE", 8, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a\x0ab\x0d\x0a\x0d\x0aC", 0, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!?", 0, 2}, {" a", 2, 4}, {"-", 4, 5}, {"b", 5, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitMarksMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"[^\\s\\p{L}\\p{N}]+"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It", 0, 2}, {"'S we", 2, 7}, {"'RE", 7, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a\x0ab\x0d\x0a\x0d\x0aC", 0, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a", 0, 4}, {"-b", 4, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitLooksIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"(?<=a)b|c(?!d)"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  ", 0, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"a", 0, 1}, {"b", 1, 2}, {" acd ", 2, 7}, {"c", 7, 8}, {"b", 8, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aa", 0, 2}, {"b", 2, 3}, {" a\x0ab\x0d\x0a\x0d\x0aC", 3, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitLooksMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"(?<=a)b|c(?!d)"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  ", 0, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"a", 0, 1}, {"b acd ", 1, 7}, {"cb", 7, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aa", 0, 2}, {"b a\x0ab\x0d\x0a\x0d\x0aC", 2, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitEmptyIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":""},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}, {" ", 3, 4}, {" ", 4, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1", 0, 1}, {"2", 1, 2}, {"3", 2, 3}, {"4", 3, 4}, {"5", 4, 5}, {"6", 5, 6}, {"7", 6, 7}, {" ", 7, 8}, {"8", 8, 9}, {"9", 9, 10}}},
		{"It'S we'RE", []splitWord{{"I", 0, 1}, {"t", 1, 2}, {"'", 2, 3}, {"S", 3, 4}, {" ", 4, 5}, {"w", 5, 6}, {"e", 6, 7}, {"'", 7, 8}, {"R", 8, 9}, {"E", 9, 10}}},
		{"ab acd cb", []splitWord{{"a", 0, 1}, {"b", 1, 2}, {" ", 2, 3}, {"a", 3, 4}, {"c", 4, 5}, {"d", 5, 6}, {" ", 6, 7}, {"c", 7, 8}, {"b", 8, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"a", 0, 1}, {"a", 1, 2}, {"b", 2, 3}, {" ", 3, 4}, {"a", 4, 5}, {"\x0a", 5, 6}, {"b", 6, 7}, {"\x0d", 7, 8}, {"\x0a", 8, 9}, {"\x0d", 9, 10}, {"\x0a", 10, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"H", 0, 1}, {"e", 1, 2}, {"l", 2, 3}, {"l", 3, 4}, {"o", 4, 5}, {"W", 5, 6}, {"o", 6, 7}, {"r", 7, 8}, {"l", 8, 9}, {"d", 9, 10}, {" ", 10, 11}, {"É", 11, 13}, {"a", 13, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!", 0, 1}, {"?", 1, 2}, {" ", 2, 3}, {"a", 3, 4}, {"-", 4, 5}, {"b", 5, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitEmptyMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":""},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}, {" ", 3, 4}, {" ", 4, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1", 0, 1}, {"2", 1, 2}, {"3", 2, 3}, {"4", 3, 4}, {"5", 4, 5}, {"6", 5, 6}, {"7", 6, 7}, {" ", 7, 8}, {"8", 8, 9}, {"9", 9, 10}}},
		{"It'S we'RE", []splitWord{{"I", 0, 1}, {"t", 1, 2}, {"'", 2, 3}, {"S", 3, 4}, {" ", 4, 5}, {"w", 5, 6}, {"e", 6, 7}, {"'", 7, 8}, {"R", 8, 9}, {"E", 9, 10}}},
		{"ab acd cb", []splitWord{{"a", 0, 1}, {"b", 1, 2}, {" ", 2, 3}, {"a", 3, 4}, {"c", 4, 5}, {"d", 5, 6}, {" ", 6, 7}, {"c", 7, 8}, {"b", 8, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"a", 0, 1}, {"a", 1, 2}, {"b", 2, 3}, {" ", 3, 4}, {"a", 4, 5}, {"\x0a", 5, 6}, {"b", 6, 7}, {"\x0d", 7, 8}, {"\x0a", 8, 9}, {"\x0d", 9, 10}, {"\x0a", 10, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"H", 0, 1}, {"e", 1, 2}, {"l", 2, 3}, {"l", 3, 4}, {"o", 4, 5}, {"W", 5, 6}, {"o", 6, 7}, {"r", 7, 8}, {"l", 8, 9}, {"d", 9, 10}, {" ", 10, 11}, {"É", 11, 13}, {"a", 13, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!", 0, 1}, {"?", 1, 2}, {" ", 2, 3}, {"a", 3, 4}, {"-", 4, 5}, {"b", 5, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitEmptyOrNotIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"a*"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}, {" ", 3, 4}, {" ", 4, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1", 0, 1}, {"2", 1, 2}, {"3", 2, 3}, {"4", 3, 4}, {"5", 4, 5}, {"6", 5, 6}, {"7", 6, 7}, {" ", 7, 8}, {"8", 8, 9}, {"9", 9, 10}}},
		{"It'S we'RE", []splitWord{{"I", 0, 1}, {"t", 1, 2}, {"'", 2, 3}, {"S", 3, 4}, {" ", 4, 5}, {"w", 5, 6}, {"e", 6, 7}, {"'", 7, 8}, {"R", 8, 9}, {"E", 9, 10}}},
		{"ab acd cb", []splitWord{{"a", 0, 1}, {"b", 1, 2}, {" ", 2, 3}, {"a", 3, 4}, {"c", 4, 5}, {"d", 5, 6}, {" ", 6, 7}, {"c", 7, 8}, {"b", 8, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aa", 0, 2}, {"b", 2, 3}, {" ", 3, 4}, {"a", 4, 5}, {"\x0a", 5, 6}, {"b", 6, 7}, {"\x0d", 7, 8}, {"\x0a", 8, 9}, {"\x0d", 9, 10}, {"\x0a", 10, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"H", 0, 1}, {"e", 1, 2}, {"l", 2, 3}, {"l", 3, 4}, {"o", 4, 5}, {"W", 5, 6}, {"o", 6, 7}, {"r", 7, 8}, {"l", 8, 9}, {"d", 9, 10}, {" ", 10, 11}, {"É", 11, 13}, {"a", 13, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!", 0, 1}, {"?", 1, 2}, {" ", 2, 3}, {"a", 3, 4}, {"-", 4, 5}, {"b", 5, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitEmptyOrNotMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"a*"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a ", 0, 2}, {"b", 2, 3}, {" ", 3, 4}, {" ", 4, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1", 0, 1}, {"2", 1, 2}, {"3", 2, 3}, {"4", 3, 4}, {"5", 4, 5}, {"6", 5, 6}, {"7", 6, 7}, {" ", 7, 8}, {"8", 8, 9}, {"9", 9, 10}}},
		{"It'S we'RE", []splitWord{{"I", 0, 1}, {"t", 1, 2}, {"'", 2, 3}, {"S", 3, 4}, {" ", 4, 5}, {"w", 5, 6}, {"e", 6, 7}, {"'", 7, 8}, {"R", 8, 9}, {"E", 9, 10}}},
		{"ab acd cb", []splitWord{{"ab", 0, 2}, {" ", 2, 3}, {"ac", 3, 5}, {"d", 5, 6}, {" ", 6, 7}, {"c", 7, 8}, {"b", 8, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab", 0, 3}, {" ", 3, 4}, {"a\x0a", 4, 6}, {"b", 6, 7}, {"\x0d", 7, 8}, {"\x0a", 8, 9}, {"\x0d", 9, 10}, {"\x0a", 10, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"H", 0, 1}, {"e", 1, 2}, {"l", 2, 3}, {"l", 3, 4}, {"o", 4, 5}, {"W", 5, 6}, {"o", 6, 7}, {"r", 7, 8}, {"l", 8, 9}, {"d", 9, 10}, {" ", 10, 11}, {"É", 11, 13}, {"a", 13, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!", 0, 1}, {"?", 1, 2}, {" ", 2, 3}, {"a-", 3, 5}, {"b", 5, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitLinesIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"^|$"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a", 0, 5}, {"\x0a", 5, 6}, {"b\x0d", 6, 8}, {"\x0a", 8, 9}, {"\x0d", 9, 10}, {"\x0a", 10, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitLinesMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"^|$"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a", 0, 5}, {"\x0a", 5, 6}, {"b\x0d", 6, 8}, {"\x0a", 8, 9}, {"\x0d", 9, 10}, {"\x0a", 10, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld Éa", 0, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitAtomicIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"(?>a+)b|a"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a", 0, 1}, {" b  c", 1, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"ab", 0, 2}, {" ", 2, 3}, {"a", 3, 4}, {"cd cb", 4, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab", 0, 3}, {" ", 3, 4}, {"a", 4, 5}, {"\x0ab\x0d\x0a\x0d\x0aC", 5, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld É", 0, 13}, {"a", 13, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? ", 0, 3}, {"a", 3, 4}, {"-b", 4, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitAtomicMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"(?>a+)b|a"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It'S we'RE", 0, 10}}},
		{"ab acd cb", []splitWord{{"ab ", 0, 3}, {"acd cb", 3, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab ", 0, 4}, {"a\x0ab\x0d\x0a\x0d\x0aC", 4, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld É", 0, 13}, {"a", 13, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? ", 0, 3}, {"a-b", 3, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitCapitalsIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\p{Lu}\\p{Ll}*"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It", 0, 2}, {"'", 2, 3}, {"S", 3, 4}, {" we'", 4, 8}, {"R", 8, 9}, {"E", 9, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a\x0ab\x0d\x0a\x0d\x0a", 0, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"Hello", 0, 5}, {"World", 5, 10}, {" ", 10, 11}, {"Éa", 11, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitCapitalsMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\p{Lu}\\p{Ll}*"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a b  c", 0, 6}}},
		{"1234567 89", []splitWord{{"1234567 89", 0, 10}}},
		{"It'S we'RE", []splitWord{{"It'", 0, 3}, {"S we'", 3, 8}, {"R", 8, 9}, {"E", 9, 10}}},
		{"ab acd cb", []splitWord{{"ab acd cb", 0, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab a\x0ab\x0d\x0a\x0d\x0a", 0, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"Hello", 0, 5}, {"World ", 5, 11}, {"Éa", 11, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!? a-b", 0, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior Isolated.
func TestSplitLineBreaksIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"[\\r\\n]+|\\p{Zs}"},"behavior":"Isolated","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}, {" ", 3, 4}, {" ", 4, 5}, {"c", 5, 6}}},
		{"1234567 89", []splitWord{{"1234567", 0, 7}, {" ", 7, 8}, {"89", 8, 10}}},
		{"It'S we'RE", []splitWord{{"It'S", 0, 4}, {" ", 4, 5}, {"we'RE", 5, 10}}},
		{"ab acd cb", []splitWord{{"ab", 0, 2}, {" ", 2, 3}, {"acd", 3, 6}, {" ", 6, 7}, {"cb", 7, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab", 0, 3}, {" ", 3, 4}, {"a", 4, 5}, {"\x0a", 5, 6}, {"b", 6, 7}, {"\x0d\x0a\x0d\x0a", 7, 11}, {"C", 11, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld", 0, 10}, {" ", 10, 11}, {"Éa", 11, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!?", 0, 2}, {" ", 2, 3}, {"a-b", 3, 6}}},
	})
}

// Split at the matches of a pattern, with the behavior MergedWithNext.
func TestSplitLineBreaksMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"[\\r\\n]+|\\p{Zs}"},"behavior":"MergedWithNext","invert":false}`, []splitText{
		{"a b  c", []splitWord{{"a", 0, 1}, {" b", 1, 3}, {" ", 3, 4}, {" c", 4, 6}}},
		{"1234567 89", []splitWord{{"1234567", 0, 7}, {" 89", 7, 10}}},
		{"It'S we'RE", []splitWord{{"It'S", 0, 4}, {" we'RE", 4, 10}}},
		{"ab acd cb", []splitWord{{"ab", 0, 2}, {" acd", 2, 6}, {" cb", 6, 9}}},
		{"aab a\x0ab\x0d\x0a\x0d\x0aC", []splitWord{{"aab", 0, 3}, {" a", 3, 5}, {"\x0ab", 5, 7}, {"\x0d\x0a\x0d\x0aC", 7, 12}}},
		{"HelloWorld Éa", []splitWord{{"HelloWorld", 0, 10}, {" Éa", 10, 14}}},
		{"", []splitWord{}},
		{"\x0a", []splitWord{{"\x0a", 0, 1}}},
		{"!? a-b", []splitWord{{"!?", 0, 2}, {" a-b", 2, 6}}},
	})
}

// An inverted Split takes what is between matches for the matches, with the behavior Removed.
func TestSplitInvertedRemovedWords(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Removed","invert":true}`, []splitText{
		{"a b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{" a, b.", []splitWord{{"a", 1, 2}, {"b", 4, 5}}},
		{"ab", []splitWord{{"ab", 0, 2}}},
		{"...", []splitWord{}},
		{"é-日", []splitWord{{"é", 0, 2}, {"日", 3, 6}}},
		{"", []splitWord{}},
	})
}

// An inverted Split takes what is between matches for the matches, with the behavior Contiguous.
func TestSplitInvertedContiguousWords(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Contiguous","invert":true}`, []splitText{
		{"a b", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {"b", 2, 3}}},
		{" a, b.", []splitWord{{" ", 0, 1}, {"a", 1, 2}, {", ", 2, 4}, {"b", 4, 5}, {".", 5, 6}}},
		{"ab", []splitWord{{"ab", 0, 2}}},
		{"...", []splitWord{{"...", 0, 3}}},
		{"é-日", []splitWord{{"é", 0, 2}, {"-", 2, 3}, {"日", 3, 6}}},
		{"", []splitWord{}},
	})
}

// An inverted Split takes what is between matches for the matches, with the behavior
// MergedWithPrevious.
func TestSplitInvertedMergedWithPreviousWords(t *testing.T) {
	checkPreTokenizer(t, `{"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"MergedWithPrevious","invert":true}`, []splitText{
		{"a b", []splitWord{{"a ", 0, 2}, {"b", 2, 3}}},
		{" a, b.", []splitWord{{" ", 0, 1}, {"a, ", 1, 4}, {"b.", 4, 6}}},
		{"ab", []splitWord{{"ab", 0, 2}}},
		{"...", []splitWord{{"...", 0, 3}}},
		{"é-日", []splitWord{{"é-", 0, 3}, {"日", 3, 6}}},
		{"", []splitWord{}},
	})
}
