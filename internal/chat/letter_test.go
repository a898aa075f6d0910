package chat

import "testing"

// Text has the cases and kinds of characters that Python's str knows; the wanted texts are recorded
// from Jinja2 3.1.6 on Python 3.11.

// upper, lower, title and capitalize know characters whose capital is several, the dotted I and
// the last sigma of a word.
func TestCases(t *testing.T) {
	checkKnown(t, []knownText{
		{"{% set s = 'straße' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "STRASSE straße Straße Straße"},
		{"{% set s = 'ß' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "SS ß Ss Ss"},
		{"{% set s = 'ŉa' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ʼNA ŉa ʼNa ʼNa"},
		{"{% set s = 'ﬁx' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "FIX ﬁx Fix Fix"},
		{"{% set s = 'ﬃ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "FFI ﬃ Ffi Ffi"},
		{"{% set s = 'ǆ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "Ǆ ǆ ǅ ǅ"},
		{"{% set s = 'ǅ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "Ǆ ǆ ǅ ǅ"},
		{"{% set s = 'Ǆ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "Ǆ ǆ ǅ ǅ"},
		{"{% set s = 'İ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "İ i̇ İ İ"},
		{"{% set s = 'ıI' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "II ıi Ii Ii"},
		{"{% set s = 'ΐ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "Ϊ́ ΐ Ϊ́ Ϊ́"},
		{"{% set s = 'ᾳ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ΑΙ ᾳ ᾼ ᾼ"},
		{"{% set s = 'ᾼx' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ΑΙX ᾳx ᾼx ᾼx"},
		{"{% set s = 'ὐ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "Υ̓ ὐ Υ̓ Υ̓"},
		{"{% set s = 'ʼn' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ʼN ʼn ʼN ʼn"},
		{"{% set s = 'և' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ԵՒ և Եւ Եւ"},
		{"{% set s = 'ﬗ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ՄԽ ﬗ Մխ Մխ"},
		{"{% set s = 'ΟΔΥΣΣΕΥΣ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ΟΔΥΣΣΕΥΣ οδυσσευς Οδυσσευς Οδυσσευς"},
		{"{% set s = 'Σ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "Σ σ Σ Σ"},
		{"{% set s = 'ΑΣ.' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ΑΣ. ας. Ας. Ας."},
		{"{% set s = 'ΑΣ Β' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ΑΣ Β ας β Ας Β Ας β"},
		{`{% set s = 'ΑΣ\'Β' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}`, "ΑΣ'Β ασ'β Ασ'Β Ασ'β"},
		{`{% set s = '\'Σ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}`, "'Σ 'σ 'Σ 'σ"},
		{"{% set s = 'ΆΣ́' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ΆΣ́ άς́ ΆΣ́ Άς́"},
		{"{% set s = 'Σ́Α' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "Σ́Α σ́α Σ́Α Σ́α"},
		{"{% set s = 'aΣb' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "AΣB aσb Aσb Aσb"},
		{"{% set s = '漢a' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "漢A 漢a 漢A 漢a"},
		{"{% set s = 'a漢b' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "A漢B a漢b A漢B A漢b"},
		{"{% set s = '1a' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "1A 1a 1A 1a"},
		{"{% set s = 'a1b c' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "A1B C a1b c A1B C A1b c"},
		{`{% set s = 'x\'y' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}`, "X'Y x'y X'Y X'y"},
		{"{% set s = 'ªb' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ªB ªb ªb ªb"},
		{"{% set s = 'ⅷ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "Ⅷ ⅷ Ⅷ Ⅷ"},
		{"{% set s = 'ⓐ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "Ⓐ ⓐ Ⓐ Ⓐ"},
		{"{% set s = 'Ⓐb' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ⒶB ⓐb Ⓐb Ⓐb"},
		{"{% set s = 'ʰa' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ʰA ʰa ʰa ʰa"},
		{"{% set s = '𝐚' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "𝐚 𝐚 𝐚 𝐚"},
		{"{% set s = 'éa' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ÉA éa ÉA Éa"},
		{"{% set s = 'Éa' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ÉA éa Éa Éa"},
		{"{% set s = '-ßa' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "-SSA -ßa -Ssa -ßa"},
		{"{% set s = '(ﬁ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "(FI (ﬁ (Fi (ﬁ"},
		{"{% set s = 'a_b' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "A_B a_b A_B A_b"},
		{"{% set s = 'ΣΣ ΣΑ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ΣΣ ΣΑ σς σα Σς Σα Σς σα"},
		{"{% set s = 'ﬆ{ﬆ<ﬆ[ﬆ(ﬆ-ﬆ' %}{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.capitalize() }}", "ST{ST<ST[ST(ST-ST ﬆ{ﬆ<ﬆ[ﬆ(ﬆ-ﬆ St{St<St[St(St-St St{ﬆ<ﬆ[ﬆ(ﬆ-ﬆ"},
	})
}

// The filters of the same names; title differs from the method.
func TestCaseFilters(t *testing.T) {
	checkKnown(t, []knownText{
		{"{% set s = 'straße' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "STRASSE straße Straße Straße"},
		{"{% set s = 'ŉa' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ʼNA ŉa ʼNa ʼNa"},
		{"{% set s = 'ﬁx' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "FIX ﬁx FIx Fix"},
		{"{% set s = 'ıI' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "II ıi Ii Ii"},
		{"{% set s = 'ᾼx' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ΑΙX ᾳx ΑΙx ᾼx"},
		{"{% set s = 'ʼn' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ʼN ʼn ʼn ʼn"},
		{"{% set s = 'ΟΔΥΣΣΕΥΣ' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ΟΔΥΣΣΕΥΣ οδυσσευς Οδυσσευς Οδυσσευς"},
		{"{% set s = 'ΑΣ.' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ΑΣ. ας. Ασ. Ας."},
		{"{% set s = 'ΑΣ Β' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ΑΣ Β ας β Ασ Β Ας β"},
		{`{% set s = 'ΑΣ\'Β' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}`, "ΑΣ'Β ασ'β Ασ'β Ασ'β"},
		{`{% set s = '\'Σ' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}`, "'Σ 'σ 'σ 'σ"},
		{"{% set s = 'ΆΣ́' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ΆΣ́ άς́ Άσ́ Άς́"},
		{"{% set s = 'Σ́Α' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "Σ́Α σ́α Σ́α Σ́α"},
		{"{% set s = 'aΣb' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "AΣB aσb Aσb Aσb"},
		{"{% set s = '漢a' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "漢A 漢a 漢a 漢a"},
		{"{% set s = 'a漢b' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "A漢B a漢b A漢b A漢b"},
		{"{% set s = '1a' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "1A 1a 1a 1a"},
		{"{% set s = 'a1b c' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "A1B C a1b c A1b C A1b c"},
		{`{% set s = 'x\'y' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}`, "X'Y x'y X'y X'y"},
		{"{% set s = 'ªb' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ªB ªb ªb ªb"},
		{"{% set s = 'Ⓐb' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ⒶB ⓐb Ⓐb Ⓐb"},
		{"{% set s = 'ʰa' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ʰA ʰa ʰa ʰa"},
		{"{% set s = 'éa' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ÉA éa Éa Éa"},
		{"{% set s = 'Éa' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ÉA éa Éa Éa"},
		{"{% set s = '-ßa' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "-SSA -ßa -SSa -ßa"},
		{"{% set s = '(ﬁ' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "(FI (ﬁ (FI (ﬁ"},
		{"{% set s = 'a_b' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "A_B a_b A_b A_b"},
		{"{% set s = 'ΣΣ ΣΑ' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ΣΣ ΣΑ σς σα Σσ Σα Σς σα"},
		{"{% set s = 'ﬆ{ﬆ<ﬆ[ﬆ(ﬆ-ﬆ' %}{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }}", "ST{ST<ST[ST(ST-ST ﬆ{ﬆ<ﬆ[ﬆ(ﬆ-ﬆ ST{ST<ST[ST(ST-ST St{ﬆ<ﬆ[ﬆ(ﬆ-ﬆ"},
	})
}

// The methods and tests that ask about characters.
func TestKindsOfCharacters(t *testing.T) {
	checkKnown(t, []knownText{
		{"{% set s = '²' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "True False True False False False False False 1"},
		{"{% set s = '½' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False True False False False False False 1"},
		{"{% set s = '٣' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "True False True False False False False False 1"},
		{"{% set s = '①' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "True False True False False False False False 1"},
		{"{% set s = '⒈' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "True False True False False False False False 1"},
		{"{% set s = '፩' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "True False True False False False False False 1"},
		{"{% set s = 'Ⅷ' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False True True False False True False 1"},
		{"{% set s = 'ⅷ' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False True False True False False True 1"},
		{"{% set s = '一' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True False False False False False 1"},
		{"{% set s = 'ª' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True False True False False True 1"},
		{"{% set s = 'ǅ' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True False False False False False 1"},
		{"{% set s = 'Aß' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True False False False False False 1"},
		{"{% set s = 'AǅB' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True False False False False False 1"},
		{"{% set s = 'aǅ' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True False False False False False 1"},
		{"{% set s = '漢' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True False False False False False 1"},
		{"{% set s = '漢A' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True True False False True False 1"},
		{"{% set s = '漢a' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True False True False False True 1"},
		{"{% set s = 'á' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False True False False True 1"},
		{"{% set s = 'Á B' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False True False False True False 2"},
		{"{% set s = '_' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False False False False False 1"},
		{"{% set s = 'a-b_c' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False True False False True 2"},
		{"{% set s = 'é éa' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False True False False True 3"},
		{"{% set s = 'ⓐ' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False True False False True 0"},
		{"{% set s = 'Ⓐ' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False True False False True False 0"},
		{"{% set s = '𝐀' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True True False False True False 1"},
		{"{% set s = '\u00a0' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False False True False False 0"},
		{"{% set s = '\u200b' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False False False False False 0"},
		{"{% set s = '\u3000\u2028' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False False True False False 0"},
		{"{% set s = 'x y  z' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False True False False True 3"},
		{"{% set s = '' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False False False False False 0"},
		{"{% set s = '١a' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False True False True False False True 1"},
		{"{% set s = 'ʰ' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False True True False True False False True 1"},
		{"{% set s = '🙂' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False False False False False 0"},
		{"{% set s = 'a🙂b' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False False False True False False True 2"},
		{"{% set s = '1½' %}{{ s.isdigit() }} {{ s.isalpha() }} {{ s.isalnum() }} {{ s.isupper() }} {{ s.islower() }} {{ s.isspace() }} {{ s is upper }} {{ s is lower }} {{ s|wordcount }}", "False False True False False False False False 1"},
	})
}

// splitlines takes a carriage return and a line feed as one break.
func TestSplitLines(t *testing.T) {
	checkKnown(t, []knownText{
		{`{% set s = 'a\r\nb' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['a', 'b'] ['a\r\n', 'b']`},
		{`{% set s = 'a\n\rb' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['a', '', 'b'] ['a\n', '\r', 'b']`},
		{`{% set s = 'a\r' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['a'] ['a\r']`},
		{`{% set s = 'a\r\n' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['a'] ['a\r\n']`},
		{`{% set s = '\r\n\r\n' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['', ''] ['\r\n', '\r\n']`},
		{"{% set s = 'a\uffff\\nb' %}{{ s.splitlines() }} {{ s.splitlines(true) }}", `['a\uffff', 'b'] ['a\uffff\n', 'b']`},
		{"{% set s = '\uffff' %}{{ s.splitlines() }} {{ s.splitlines(true) }}", `['\uffff'] ['\uffff']`},
		{"{% set s = 'a\uffff\\r\\nb' %}{{ s.splitlines() }} {{ s.splitlines(true) }}", `['a\uffff', 'b'] ['a\uffff\r\n', 'b']`},
		{`{% set s = '\r\r\n\n' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['', '', ''] ['\r', '\r\n', '\n']`},
		{`{% set s = 'a\x0bb\x0cc' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['a', 'b', 'c'] ['a\x0b', 'b\x0c', 'c']`},
		{`{% set s = 'a\x1cb\x1dc\x1ed' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['a', 'b', 'c', 'd'] ['a\x1c', 'b\x1d', 'c\x1e', 'd']`},
		{`{% set s = 'a\x1fb' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['a\x1fb'] ['a\x1fb']`},
		{`{% set s = 'a\u0085b' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['a', 'b'] ['a\x85', 'b']`},
		{`{% set s = '\u2028\u2029' %}{{ s.splitlines() }} {{ s.splitlines(true) }}`, `['', ''] ['\u2028', '\u2029']`},
		{"{% set s = 'a b' %}{{ s.splitlines() }} {{ s.splitlines(true) }}", "['a b'] ['a b']"},
	})
}

// The filter replace makes text of its arguments.
func TestReplaceAndIndent(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 'a1'|replace(1, 2) }}", "a2"},
		{"{{ 'aNone'|replace(none, 'x') }}", "ax"},
		{"{{ 'ax'|replace('x', none) }}", "aNone"},
		{"{{ 5|replace('5', 'x') }}", "x"},
		{"{{ 'a'|replace(missing, '-') }}", "-a-"},
		{"{{ [1]|replace('[', '<') }}", "<1]"},
		{"{{ 'aa'|replace('a', 1, 1) }}", "1a"},
		{"{{ 'aa'|replace('a', 'b', none) }}", "bb"},
		{"{{ 'aa'|replace('a', 'b', true) }}", "ba"},
		{"{{ 'aa'|replace('a', 'b', -5) }}", "bb"},
		{"{{ 1.5|replace('.', ',') }}", "1,5"},
		{"{{ true|replace('T', 't') }}", "true"},
		{`{{ 'a\nb\r\nc'|indent }}`, "a\n    b\n    c"},
		{`{{ 'a\n \nb'|indent(2) }}`, "a\n   \n  b"},
		{`{{ '\n'|indent(2, true) }}`, "  \n"},
		{`{{ '\na'|indent(2, true, true) }}`, "  \n  a"},
		{`{{ 'a\n\n\nb'|indent('>', blank=true) }}`, "a\n>\n>\n>b"},
		{`{{ 'a\u2028b'|indent(1) }}`, "a\n b"},
		{"{{ ''|indent(0, true) }}", ""},
		{`{{ 'a\nb'|indent(true) }}`, "a\n b"},
		{`{{ 'a\nb'|indent('') }}`, "a\nb"},
	})
}
