package tokenizer

import (
	"strings"
	"testing"
)

// Without a decoder there is a space between tokens.
func TestNoDecoder(t *testing.T) {
	checkDecoder(t, `null`, []decodedTokens{
		{[]string{"a", "b"}, "a b"},
		{[]string{"a"}, "a"},
		{[]string{}, ""},
		{[]string{"a ", "b"}, "a  b"},
	})
}

// ByteLevel reads characters as bytes; bytes that are not a character become U+FFFD.
func TestByteLevelDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}`, []decodedTokens{
		{[]string{"Hello", "Ġworld"}, "Hello world"},
		{[]string{"Ã", "©"}, "é"},
		{[]string{"Ã"}, "�"},
		{[]string{"æ¼", "¢"}, "漢"},
		{[]string{"æ¼"}, "�"},
		{[]string{"Ċ"}, "\n"},
		{[]string{"ĠĠ"}, "  "},
		{[]string{"日"}, "日"},
		{[]string{"a", "ð", "Ł", "ĺ"}, "a�"},
	})
}

// ByteFallback reads <0xHH>; a run that is not UTF-8 becomes as many U+FFFD.
func TestByteFallbackDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "ByteFallback"}`, []decodedTokens{
		{[]string{"<0x61>"}, "a"},
		{[]string{"<0xC3>", "<0xA9>"}, "é"},
		{[]string{"<0xC3>"}, "�"},
		{[]string{"<0xC3>", "x", "<0xA9>"}, "�x�"},
		{[]string{"<0xE6>", "<0xBC>", "<0x41>"}, "���"},
		{[]string{"<0xZZ>"}, "<0xZZ>"},
		{[]string{"<0x6>"}, "<0x6>"},
		{[]string{"<0x0a>"}, "\n"},
		{[]string{"a", "<0x62>", "c"}, "abc"},
	})
}

// Fuse joins tokens.
func TestFuseDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "Fuse"}`, []decodedTokens{
		{[]string{"a", "b"}, "ab"},
		{[]string{}, ""},
		{[]string{"a", " b"}, "a b"},
	})
}

// Metaspace makes spaces, but not at the start.
func TestMetaspaceDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}`, []decodedTokens{
		{[]string{"▁a", "▁b"}, "a b"},
		{[]string{"a", "▁b"}, "a b"},
		{[]string{"▁▁a"}, "a"},
		{[]string{"a▁b", "c▁"}, "abc "},
		{[]string{"▁"}, ""},
	})
}

// With never the first space stays.
func TestMetaspaceNeverDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true}`, []decodedTokens{
		{[]string{"▁a", "▁b"}, " a b"},
		{[]string{"a"}, "a"},
	})
}

// WordPiece joins tokens with the prefix and removes spaces before punctuation.
func TestWordPieceDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "WordPiece", "prefix": "##", "cleanup": true}`, []decodedTokens{
		{[]string{"play", "##ing"}, "playing"},
		{[]string{"hello", "world"}, "hello world"},
		{[]string{"##a", "##b"}, "##ab"},
		{[]string{"do", "n't"}, "don't"},
		{[]string{"it", "'", "s"}, "it ' s"},
		{[]string{"a", ".", "b", "?", "c", "!"}, "a. b? c!"},
		{[]string{"I", "'m"}, "I'm"},
		{[]string{"do", "not"}, "do not"},
		{[]string{"a", ",", "b"}, "a, b"},
		{[]string{"we", "'", "ve"}, "we ' ve"},
		{[]string{"a ' b"}, "a'b"},
	})
}

// Without cleanup spaces stay.
func TestWordPieceRawDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "WordPiece", "prefix": "##", "cleanup": false}`, []decodedTokens{
		{[]string{"a", ".", "##b"}, "a .b"},
		{[]string{"do", "n't"}, "do n't"},
		{[]string{"##", "a"}, "## a"},
	})
}

// BPEDecoder makes spaces of the suffix, except in the last token.
func TestBPEDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "BPEDecoder", "suffix": "</w>"}`, []decodedTokens{
		{[]string{"he", "llo</w>", "you</w>"}, "hello you"},
		{[]string{"a</w>"}, "a"},
		{[]string{"a", "b"}, "ab"},
		{[]string{"</w>a</w>", "b"}, " a b"},
	})
}

// CTC drops repeated tokens and the padding, and cleans up.
func TestCTCDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true}`, []decodedTokens{
		{[]string{"h", "h", "e", "<pad>", "l", "l", "<pad>", "l", "o"}, "hello"},
		{[]string{"a", "|", "|", "b"}, "a b"},
		{[]string{"<pad>"}, ""},
		{[]string{"a", "<pad>", "a"}, "aa"},
		{[]string{"a", "|", ".", "b"}, "a .b"},
	})
}

// CTC without cleanup keeps the delimiter.
func TestCTCRawDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": false}`, []decodedTokens{
		{[]string{"a", "|", "b"}, "a|b"},
		{[]string{"a", "a"}, "a"},
	})
}

// Replace changes each token by itself.
func TestReplaceDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}`, []decodedTokens{
		{[]string{"▁a", "▁b▁"}, " a b "},
		{[]string{"a"}, "a"},
		{[]string{"▁"}, " "},
	})
}

// Replace with a regular expression.
func TestReplaceRegexDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "Replace", "pattern": {"Regex": "^ +"}, "content": ""}`, []decodedTokens{
		{[]string{"  a", " b"}, "ab"},
		{[]string{"a b"}, "a b"},
	})
}

// Strip removes up to so many characters at the ends of each token.
func TestStripDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "Strip", "content": " ", "start": 1, "stop": 0}`, []decodedTokens{
		{[]string{"  a", " b"}, " ab"},
		{[]string{"a "}, "a "},
		{[]string{" "}, ""},
	})
}

// Strip at the end.
func TestStripStopDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "Strip", "content": "x", "start": 0, "stop": 2}`, []decodedTokens{
		{[]string{"axxx"}, "ax"},
		{[]string{"xx"}, ""},
		{[]string{"a"}, "a"},
	})
}

// The decoder of Llama 2: spaces, bytes, then one space less.
func TestLlamaDecoder(t *testing.T) {
	checkDecoder(t, `{"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}`, []decodedTokens{
		{[]string{"▁Hello", "▁world"}, "Hello world"},
		{[]string{"▁", "<0xE6>", "<0xBC>", "<0xA2>"}, "漢"},
		{[]string{"▁▁a"}, " a"},
		{[]string{"a"}, "a"},
		{[]string{}, ""},
	})
}

// decodedTokens are tokens and the text that version 0.23.3 of tokenizers decodes.
type decodedTokens struct {
	tokens []string
	want   string
}

func checkDecoder(t *testing.T, config string, cases []decodedTokens) {
	t.Helper()
	d, err := parseDecoder("decoder", []byte(config), 0)
	must(t, err)
	for _, c := range cases {
		got, err := d.decode(c.tokens, false, newMeter(100))
		if text := strings.Join(got, ""); err != nil || text != c.want {
			t.Errorf("%s of %q = %q, %v, want %q", config, c.tokens, text, err, c.want)
		}
	}
}
