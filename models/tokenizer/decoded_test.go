package tokenizer

import "testing"

// The texts of these tables are recorded from version 0.23.3 of tokenizers.

// ByteFallback decodes runs of bytes, each run as a whole.
func TestByteFallbackRuns(t *testing.T) {
	checkDecoder(t, `{"type":"ByteFallback"}`, []decodedTokens{
		{[]string{"<0xE6>", "<0x97>", "<0xA5>"}, "日"},
		{[]string{"<0xE6>", "<0x97>"}, "��"},
		{[]string{"<0x97>", "a"}, "�a"},
		{[]string{"a", "<0xE6>", "<0x97>", "<0xA5>", "b"}, "a日b"},
		{[]string{"<0xF0>", "<0x9F>", "<0x99>", "<0x82>"}, "🙂"},
		{[]string{"<0x61>", "<0xFF>"}, "��"},
		{[]string{"<0x+1>"}, "\x01"},
		{[]string{"<0x-1>"}, "<0x-1>"},
		{[]string{"<0x1>"}, "<0x1>"},
		{[]string{"<0x1G>"}, "<0x1G>"},
		{[]string{"<0xaa>"}, "�"},
		{[]string{"<0x41"}, "<0x41"},
		{[]string{"x<0x41>"}, "x<0x41>"},
		{[]string{"<0x00>"}, "\x00"},
		{[]string{"<0xC3>", "<0xA9>", "<0xC3>"}, "���"},
		{[]string{"日", "<0xC3>"}, "日�"},
		{[]string{}, ""},
	})
}

// ByteFallback before Fuse and Strip.
func TestByteFallbackFused(t *testing.T) {
	checkDecoder(t, `{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":1}]}`, []decodedTokens{
		{[]string{"<0xE6>", "<0x97>", "<0xA5>"}, "日"},
		{[]string{"<0xE6>", "<0x97>"}, "��"},
		{[]string{"<0x97>", "a"}, "�"},
		{[]string{"a", "<0xE6>", "<0x97>", "<0xA5>", "b"}, "日b"},
		{[]string{"<0xF0>", "<0x9F>", "<0x99>", "<0x82>"}, "🙂"},
		{[]string{"<0x61>", "<0xFF>"}, "��"},
		{[]string{"<0x+1>"}, "\x01"},
		{[]string{"<0x-1>"}, "<0x-1>"},
		{[]string{"<0x1>"}, "<0x1>"},
		{[]string{"<0x1G>"}, "<0x1G>"},
		{[]string{"<0xaa>"}, "�"},
		{[]string{"<0x41"}, "<0x41"},
		{[]string{"x<0x41>"}, "x<0x41>"},
		{[]string{"<0x00>"}, "\x00"},
		{[]string{"<0xC3>", "<0xA9>", "<0xC3>"}, "���"},
		{[]string{"日", "<0xC3>"}, "日�"},
		{[]string{"a", "b", "a"}, "b"},
		{[]string{"aa"}, ""},
		{[]string{"aaa"}, "a"},
	})
}

// WordPiece cleans up English punctuation, token by token.
func TestWordPieceCleanup(t *testing.T) {
	checkDecoder(t, `{"type":"WordPiece","prefix":"##","cleanup":true}`, []decodedTokens{
		{[]string{"a", "."}, "a."},
		{[]string{"a", "##."}, "a."},
		{[]string{"do", "n't"}, "don't"},
		{[]string{"do", " n't"}, "do n't"},
		{[]string{"a", " ' ", "b"}, "a ' b"},
		{[]string{"I", "'m"}, "I'm"},
		{[]string{"x", "do not"}, "x don't"},
		{[]string{"it", "'s", "'ve", "'re"}, "it's've're"},
		{[]string{"##a", "##b"}, "##ab"},
		{[]string{"##"}, "##"},
		{[]string{"a", "##"}, "a"},
		{[]string{"!", "?", ","}, "!?,"},
		{[]string{"a", " .b"}, "a .b"},
		{[]string{"  .", "."}, " .."},
		{[]string{"do", "not"}, "do not"},
		{[]string{}, ""},
	})
}

// WordPiece with another prefix, without cleanup.
func TestWordPieceOther(t *testing.T) {
	checkDecoder(t, `{"type":"WordPiece","prefix":"@@","cleanup":false}`, []decodedTokens{
		{[]string{"a", "@@b"}, "ab"},
		{[]string{"@@a"}, "@@a"},
		{[]string{"a", "."}, "a ."},
		{[]string{"a", "@@"}, "a"},
		{[]string{"a", "@@@@b"}, "a@@b"},
		{[]string{"a", "##b"}, "a ##b"},
		{[]string{}, ""},
	})
}

// CTC joins repeated tokens and drops the separator.
func TestCTCRepeats(t *testing.T) {
	checkDecoder(t, `{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true}`, []decodedTokens{
		{[]string{"a", "a", "<pad>", "a"}, "aa"},
		{[]string{"<pad>"}, ""},
		{[]string{"a", "|", "|", "b"}, "a b"},
		{[]string{"|", "a"}, " a"},
		{[]string{"a", "<pad>", "<pad>", "a"}, "aa"},
		{[]string{"a<pad>b"}, "ab"},
		{[]string{"a", "|", "."}, "a ."},
		{[]string{"a||b"}, "a  b"},
		{[]string{"h", "h", "e", "l", "l", "<pad>", "l", "o"}, "hello"},
		{[]string{}, ""},
	})
}

// CTC without cleanup keeps the word delimiter.
func TestCTCPlain(t *testing.T) {
	checkDecoder(t, `{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":false}`, []decodedTokens{
		{[]string{"a", "|", "b"}, "a|b"},
		{[]string{"a", "a", "|"}, "a|"},
		{[]string{"<pad>", "a"}, "a"},
		{[]string{"a", " ."}, "a ."},
		{[]string{}, ""},
	})
}

// BPEDecoder makes spaces of suffixes but at the end.
func TestBPESuffixes(t *testing.T) {
	checkDecoder(t, `{"type":"BPEDecoder","suffix":"</w>"}`, []decodedTokens{
		{[]string{"a</w>", "b</w>"}, "a b"},
		{[]string{"a", "b</w>", "c"}, "ab c"},
		{[]string{"</w>", "</w>"}, " "},
		{[]string{"a</w>b", "c"}, "a bc"},
		{[]string{"a</w></w>", "b</w></w>"}, "a  b"},
		{[]string{"a"}, "a"},
		{[]string{}, ""},
	})
}

// Metaspace with each prepend_scheme.
func TestMetaspaceDecoded(t *testing.T) {
	checkEach(t, checkDecoder, []configured[decodedTokens]{
		{
			"always",
			`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`,
			[]decodedTokens{
				{[]string{"▁a", "▁b"}, "a b"},
				{[]string{"a", "▁b"}, "a b"},
				{[]string{"▁", "▁a"}, " a"},
				{[]string{"▁▁a", "▁▁b"}, "a  b"},
				{[]string{"a▁b"}, "ab"},
				{[]string{"▁"}, ""},
				{[]string{"日▁"}, "日"},
				{[]string{}, ""},
			},
		},
		{
			"first",
			`{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}`,
			[]decodedTokens{
				{[]string{"▁a", "▁b"}, "a b"},
				{[]string{"a", "▁b"}, "a b"},
				{[]string{"▁", "▁a"}, " a"},
				{[]string{"▁▁a", "▁▁b"}, "a  b"},
				{[]string{"a▁b"}, "ab"},
				{[]string{"▁"}, ""},
				{[]string{"日▁"}, "日"},
				{[]string{}, ""},
			},
		},
		{
			"never",
			`{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true}`,
			[]decodedTokens{
				{[]string{"▁a", "▁b"}, " a b"},
				{[]string{"a", "▁b"}, "a b"},
				{[]string{"▁", "▁a"}, "  a"},
				{[]string{"▁▁a", "▁▁b"}, "  a  b"},
				{[]string{"a▁b"}, "a b"},
				{[]string{"▁"}, " "},
				{[]string{"日▁"}, "日 "},
				{[]string{}, ""},
			},
		},
	})
}

// Strip of é at the start and at the end of each token.
func TestStripDecoderCounts(t *testing.T) {
	checkEach(t, checkDecoder, []configured[decodedTokens]{
		{"one at the start", `{"type":"Strip","content":"é","start":1,"stop":0}`, []decodedTokens{
			{[]string{"éaé"}, "aé"},
			{[]string{"ééaéé"}, "éaéé"},
			{[]string{"é"}, ""},
			{[]string{"éé", "éé"}, "éé"},
			{[]string{"aéa"}, "aéa"},
			{[]string{"ééééé"}, "éééé"},
			{[]string{""}, ""},
			{[]string{}, ""},
		}},
		{"one at the end", `{"type":"Strip","content":"é","start":0,"stop":1}`, []decodedTokens{
			{[]string{"éaé"}, "éa"},
			{[]string{"ééaéé"}, "ééaé"},
			{[]string{"é"}, ""},
			{[]string{"éé", "éé"}, "éé"},
			{[]string{"aéa"}, "aéa"},
			{[]string{"ééééé"}, "éééé"},
			{[]string{}, ""},
		}},
		{"two at both ends", `{"type":"Strip","content":"é","start":2,"stop":2}`, []decodedTokens{
			{[]string{"éaé"}, "a"},
			{[]string{"ééaéé"}, "a"},
			{[]string{"aéa"}, "aéa"},
			{[]string{"ééééé"}, "é"},
			{[]string{}, ""},
		}},
		{"none", `{"type":"Strip","content":"é","start":0,"stop":0}`, []decodedTokens{
			{[]string{"éaé"}, "éaé"},
			{[]string{"ééaéé"}, "ééaéé"},
			{[]string{"é"}, "é"},
			{[]string{"éé", "éé"}, "éééé"},
			{[]string{"aéa"}, "aéa"},
			{[]string{"ééééé"}, "ééééé"},
			{[]string{""}, ""},
			{[]string{}, ""},
		}},
		{"nine at both ends", `{"type":"Strip","content":"é","start":9,"stop":9}`, []decodedTokens{
			{[]string{"éaé"}, "a"},
			{[]string{"ééaéé"}, "a"},
			{[]string{"aéa"}, "aéa"},
			{[]string{}, ""},
		}},
	})
}

// Replace with a pattern, in each token.
func TestReplaceDecoderRegex(t *testing.T) {
	checkDecoder(t, `{"type":"Replace","pattern":{"Regex":"\\s+|a$"},"content":"_"}`, []decodedTokens{
		{[]string{"a b"}, "a_b"},
		{[]string{"a", "ba"}, "_b_"},
		{[]string{"  ", "a  "}, "_a_"},
		{[]string{""}, ""},
		{[]string{"\x0a"}, "_"},
		{[]string{"é a"}, "é__"},
		{[]string{}, ""},
	})
}

// ByteLevel over the borders of tokens; what is no byte stays.
func TestByteLevelDecoded(t *testing.T) {
	checkDecoder(t, `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`, []decodedTokens{
		{[]string{"Ã©"}, "é"},
		{[]string{"Ã", "©a"}, "éa"},
		{[]string{"æĹ¥"}, "日"},
		{[]string{"æĹ", "¥"}, "日"},
		{[]string{"æ", "a"}, "�a"},
		{[]string{"æĹ", "æĹ¥"}, "�日"},
		{[]string{"ð", "Ł", "Ļ", "Ĥ"}, "🙂"},
		{[]string{"ÿ"}, "�"},
		{[]string{"Ġ", "Ġa"}, "  a"},
		{[]string{"é"}, "�"},
		{[]string{"日"}, "日"},
		{[]string{"a日Ã", "©"}, "a日Ã�"},
		{[]string{"ĠÃ"}, " �"},
		{[]string{"Ċ", "ĉ"}, "\x0a\x09"},
		{[]string{"č", "Ċ"}, "\x0d\x0a"},
		{[]string{"ł", "Ń"}, "��"},
		{[]string{"ðŁĻ", "x"}, "�x"},
		{[]string{"íł", "Ģ"}, "���"},
		{[]string{"ôĲ", "Ģ", "Ģ"}, "����"},
		{[]string{"Ąà"}, "\x04\ufffd"},
		{[]string{}, ""},
	})
}

// Decoders one after the other.
func TestDecoderChain(t *testing.T) {
	checkDecoder(t, `{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Replace","pattern":{"Regex":"^ "},"content":""},{"type":"Replace","pattern":{"String":"  "},"content":" "}]}`, []decodedTokens{
		{[]string{"▁a", "▁▁b"}, "a b"},
		{[]string{"▁", "<0x20>", "a"}, " a"},
		{[]string{"<0xE6>", "▁"}, "� "},
		{[]string{"a"}, "a"},
		{[]string{"▁▁▁▁"}, "  "},
		{[]string{}, ""},
	})
}
