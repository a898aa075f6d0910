package tokenizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Split with the behavior Removed.
func TestSplitRemoved(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Split", "pattern": {"String": "-"}, "behavior": "Removed", "invert": false}`, []splitText{
		{"a-b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{"--a--", []splitWord{{"a", 2, 3}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"-", []splitWord{}},
		{"a--b-", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"", []splitWord{}},
	})
}

// Split with the behavior Isolated.
func TestSplitIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Split", "pattern": {"String": "-"}, "behavior": "Isolated", "invert": false}`, []splitText{
		{"a-b", []splitWord{{"a", 0, 1}, {"-", 1, 2}, {"b", 2, 3}}},
		{"--a--", []splitWord{{"-", 0, 1}, {"-", 1, 2}, {"a", 2, 3}, {"-", 3, 4}, {"-", 4, 5}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"-", []splitWord{{"-", 0, 1}}},
		{"a--b-", []splitWord{{"a", 0, 1}, {"-", 1, 2}, {"-", 2, 3}, {"b", 3, 4}, {"-", 4, 5}}},
		{"", []splitWord{}},
	})
}

// Split with the behavior MergedWithPrevious.
func TestSplitMergedWithPrevious(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Split", "pattern": {"String": "-"}, "behavior": "MergedWithPrevious", "invert": false}`, []splitText{
		{"a-b", []splitWord{{"a-", 0, 2}, {"b", 2, 3}}},
		{"--a--", []splitWord{{"-", 0, 1}, {"-", 1, 2}, {"a-", 2, 4}, {"-", 4, 5}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"-", []splitWord{{"-", 0, 1}}},
		{"a--b-", []splitWord{{"a-", 0, 2}, {"-", 2, 3}, {"b-", 3, 5}}},
		{"", []splitWord{}},
	})
}

// Split with the behavior MergedWithNext.
func TestSplitMergedWithNext(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Split", "pattern": {"String": "-"}, "behavior": "MergedWithNext", "invert": false}`, []splitText{
		{"a-b", []splitWord{{"a", 0, 1}, {"-b", 1, 3}}},
		{"--a--", []splitWord{{"-", 0, 1}, {"-a", 1, 3}, {"-", 3, 4}, {"-", 4, 5}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"-", []splitWord{{"-", 0, 1}}},
		{"a--b-", []splitWord{{"a", 0, 1}, {"-", 1, 2}, {"-b", 2, 4}, {"-", 4, 5}}},
		{"", []splitWord{}},
	})
}

// Split with the behavior Contiguous.
func TestSplitContiguous(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Split", "pattern": {"String": "-"}, "behavior": "Contiguous", "invert": false}`, []splitText{
		{"a-b", []splitWord{{"a", 0, 1}, {"-", 1, 2}, {"b", 2, 3}}},
		{"--a--", []splitWord{{"--", 0, 2}, {"a", 2, 3}, {"--", 3, 5}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"-", []splitWord{{"-", 0, 1}}},
		{"a--b-", []splitWord{{"a", 0, 1}, {"--", 1, 3}, {"b", 3, 4}, {"-", 4, 5}}},
		{"", []splitWord{}},
	})
}

// With invert the matches are the words, and the rest separates them.
func TestSplitInverted(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Split", "pattern": {"Regex": "\\w+"}, "behavior": "Removed", "invert": true}`, []splitText{
		{"a b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{"a, b!", []splitWord{{"a", 0, 1}, {"b", 3, 4}}},
		{"  ", []splitWord{}},
		{"", []splitWord{}},
	})
}

// With invert and Isolated both are kept.
func TestSplitInvertedIsolated(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Isolated", "invert": true}`, []splitText{
		{"ab12cd", []splitWord{{"ab", 0, 2}, {"12", 2, 4}, {"cd", 4, 6}}},
		{"12", []splitWord{{"12", 0, 2}}},
		{"ab", []splitWord{{"ab", 0, 2}}},
	})
}

// Split at a regular expression.
func TestSplitRegex(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Split", "pattern": {"Regex": "\\d{1,3}"}, "behavior": "Isolated", "invert": false}`, []splitText{
		{"1234567", []splitWord{{"123", 0, 3}, {"456", 3, 6}, {"7", 6, 7}}},
		{"a12b", []splitWord{{"a", 0, 1}, {"12", 1, 3}, {"b", 3, 4}}},
		{"12 34", []splitWord{{"12", 0, 2}, {" ", 2, 3}, {"34", 3, 5}}},
		{"", []splitWord{}},
	})
}

// Split with a look-ahead.
func TestSplitLookAhead(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Split", "pattern": {"Regex": " ?\\w+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false}`, []splitText{
		{"a  b", []splitWord{{"a", 0, 1}, {" ", 1, 2}, {" b", 2, 4}}},
		{"a b  ", []splitWord{{"a", 0, 1}, {" b", 1, 3}, {"  ", 3, 5}}},
	})
}

// Whitespace keeps runs of letters and digits, and runs of other characters.
func TestWhitespace(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Whitespace"}`, []splitText{
		{"a b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{"Hi, you!", []splitWord{{"Hi", 0, 2}, {",", 2, 3}, {"you", 4, 7}, {"!", 7, 8}}},
		{"don't", []splitWord{{"don", 0, 3}, {"'", 3, 4}, {"t", 4, 5}}},
		{"a_1-b", []splitWord{{"a_1", 0, 3}, {"-", 3, 4}, {"b", 4, 5}}},
		{"é漢 x", []splitWord{{"é漢", 0, 5}, {"x", 6, 7}}},
		{"...", []splitWord{{"...", 0, 3}}},
		{"  ", []splitWord{}},
		{"", []splitWord{}},
	})
}

// WhitespaceSplit splits only at white space.
func TestWhitespaceSplit(t *testing.T) {
	checkPreTokenizer(t, `{"type": "WhitespaceSplit"}`, []splitText{
		{"a b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{"Hi, you!", []splitWord{{"Hi,", 0, 3}, {"you!", 4, 8}}},
		{"\u3000a\u00a0b\n", []splitWord{{"a", 3, 4}, {"b", 6, 7}}},
		{"  ", []splitWord{}},
	})
}

// BertPreTokenizer splits at white space and isolates punctuation.
func TestBertPreTokenizer(t *testing.T) {
	checkPreTokenizer(t, `{"type": "BertPreTokenizer"}`, []splitText{
		{"Hi, you!", []splitWord{{"Hi", 0, 2}, {",", 2, 3}, {"you", 4, 7}, {"!", 7, 8}}},
		{"don't", []splitWord{{"don", 0, 3}, {"'", 3, 4}, {"t", 4, 5}}},
		{"a-b", []splitWord{{"a", 0, 1}, {"-", 1, 2}, {"b", 2, 3}}},
		{"«a»", []splitWord{{"«", 0, 2}, {"a", 2, 3}, {"»", 3, 5}}},
		{"a\u3000b", []splitWord{{"a", 0, 1}, {"b", 4, 5}}},
		{"$5", []splitWord{{"$", 0, 1}, {"5", 1, 2}}},
		{"。x", []splitWord{{"。", 0, 3}, {"x", 3, 4}}},
	})
}

// Punctuation isolates punctuation.
func TestPunctuationDefault(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Punctuation"}`, []splitText{
		{"Hi, you!", []splitWord{{"Hi", 0, 2}, {",", 2, 3}, {" you", 3, 7}, {"!", 7, 8}}},
		{"...", []splitWord{{".", 0, 1}, {".", 1, 2}, {".", 2, 3}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"a…b", []splitWord{{"a", 0, 1}, {"…", 1, 4}, {"b", 4, 5}}},
	})
}

// Punctuation may keep runs together.
func TestPunctuationContiguous(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Punctuation", "behavior": "Contiguous"}`, []splitText{
		{"a...b", []splitWord{{"a", 0, 1}, {"...", 1, 4}, {"b", 4, 5}}},
		{"?!", []splitWord{{"?!", 0, 2}}},
		{"a", []splitWord{{"a", 0, 1}}},
	})
}

// Punctuation may be removed.
func TestPunctuationRemoved(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Punctuation", "behavior": "Removed"}`, []splitText{
		{"a.b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{"...", []splitWord{}},
	})
}

// Digits may stand alone.
func TestDigitsIndividual(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Digits", "individual_digits": true}`, []splitText{
		{"a12b", []splitWord{{"a", 0, 1}, {"1", 1, 2}, {"2", 2, 3}, {"b", 3, 4}}},
		{"12", []splitWord{{"1", 0, 1}, {"2", 1, 2}}},
		{"½x", []splitWord{{"½", 0, 2}, {"x", 2, 3}}},
		{"٣٤", []splitWord{{"٣", 0, 2}, {"٤", 2, 4}}},
	})
}

// Digits may stand together.
func TestDigitsTogether(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Digits", "individual_digits": false}`, []splitText{
		{"a12b3", []splitWord{{"a", 0, 1}, {"12", 1, 3}, {"b", 3, 4}, {"3", 4, 5}}},
		{"12", []splitWord{{"12", 0, 2}}},
		{"no", []splitWord{{"no", 0, 2}}},
	})
}

// CharDelimiterSplit removes its character.
func TestCharDelimiter(t *testing.T) {
	checkPreTokenizer(t, `{"type": "CharDelimiterSplit", "delimiter": "/"}`, []splitText{
		{"a/b", []splitWord{{"a", 0, 1}, {"b", 2, 3}}},
		{"//a", []splitWord{{"a", 2, 3}}},
		{"a", []splitWord{{"a", 0, 1}}},
		{"/", []splitWord{}},
	})
}

// Metaspace replaces spaces and puts one in front.
func TestMetaspaceAlways(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}`, []splitText{
		{"a b", []splitWord{{"▁a", 0, 1}, {"▁b", 1, 3}}},
		{" a", []splitWord{{"▁a", 0, 2}}},
		{"a  b", []splitWord{{"▁a", 0, 1}, {"▁", 1, 2}, {"▁b", 2, 4}}},
		{"", []splitWord{}},
		{"▁a", []splitWord{{"▁a", 0, 4}}},
		{" ", []splitWord{{"▁", 0, 1}}},
	})
}

// Metaspace with prepend_scheme never.
func TestMetaspaceNever(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true}`, []splitText{
		{"a b", []splitWord{{"a", 0, 1}, {"▁b", 1, 3}}},
		{" a", []splitWord{{"▁a", 0, 2}}},
		{"a  b ", []splitWord{{"a", 0, 1}, {"▁", 1, 2}, {"▁b", 2, 4}, {"▁", 4, 5}}},
	})
}

// Metaspace with prepend_scheme first.
func TestMetaspaceFirst(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}`, []splitText{
		{"a b", []splitWord{{"▁a", 0, 1}, {"▁b", 1, 3}}},
		{" a", []splitWord{{"▁a", 0, 2}}},
	})
}

// Metaspace without split keeps the text whole.
func TestMetaspaceWhole(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": false}`, []splitText{
		{"a b", []splitWord{{"_a_b", 0, 3}}},
		{" a  b", []splitWord{{"_a__b", 0, 5}}},
	})
}

// ByteLevel splits by the rule of GPT-2 and writes bytes as characters.
func TestByteLevelWords(t *testing.T) {
	checkPreTokenizer(t, `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}`, []splitText{
		{"Hello world", []splitWord{{"Hello", 0, 5}, {"Ġworld", 5, 11}}},
		{"it's 42!", []splitWord{{"it", 0, 2}, {"'s", 2, 4}, {"Ġ42", 4, 7}, {"!", 7, 8}}},
		{"a  b\n", []splitWord{{"a", 0, 1}, {"Ġ", 1, 2}, {"Ġb", 2, 4}, {"Ċ", 4, 5}}},
		{"é 漢", []splitWord{{"Ã©", 0, 2}, {"Ġæ¼¢", 2, 6}}},
	})
}

// ByteLevel with a space in front.
func TestByteLevelPrefix(t *testing.T) {
	checkPreTokenizer(t, `{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}`, []splitText{
		{"Hi you", []splitWord{{"ĠHi", 0, 2}, {"Ġyou", 2, 6}}},
		{" Hi", []splitWord{{"ĠHi", 0, 3}}},
		{"é", []splitWord{{"ĠÃ©", 0, 2}}},
	})
}

// ByteLevel without the rule.
func TestByteLevelWhole(t *testing.T) {
	checkPreTokenizer(t, `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}`, []splitText{
		{"Hi you!", []splitWord{{"HiĠyou!", 0, 7}}},
		{"\n", []splitWord{{"Ċ", 0, 1}}},
	})
}

// A Sequence splits the words of the part before.
func TestPreTokenizerSequence(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": true}]}`, []splitText{
		{
			"a1, b22!",
			[]splitWord{{"a", 0, 1}, {"1", 1, 2}, {",", 2, 3}, {"b", 4, 5}, {"2", 5, 6}, {"2", 6, 7}, {"!", 7, 8}},
		},
		{"12.5", []splitWord{{"1", 0, 1}, {"2", 1, 2}, {".", 2, 3}, {"5", 3, 4}}},
		{"", []splitWord{}},
	})
}

// A Sequence that ends with ByteLevel.
func TestPreTokenizerSequenceBytes(t *testing.T) {
	checkPreTokenizer(t, `{"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}]}`, []splitText{
		{"a 12", []splitWord{{"a", 0, 1}, {"Ġ", 1, 2}, {"1", 2, 3}, {"2", 3, 4}}},
		{"é1", []splitWord{{"Ã©", 0, 2}, {"1", 2, 3}}},
	})
}

// splitText is a text and the words into which version 0.23.3 of tokenizers splits it.
type splitText struct {
	text string
	want []splitWord
}

// splitWord is a word and its bytes [begin,end) in the text.
type splitWord struct {
	text       string
	begin, end int
}

func checkPreTokenizer(t *testing.T, config string, cases []splitText) {
	t.Helper()
	pre, err := parsePreTokenizer("pre_tokenizer", []byte(config), 0)
	must(t, err)
	for _, c := range cases {
		got := []splitWord{}
		err := pre.split(piece{text: c.text, input: c.text}, newMeter(len(c.text)), func(p piece) {
			if p.text != "" {
				begin, end := p.offsets(0, len(p.text))
				got = append(got, splitWord{p.text, begin, end})
			}
		})
		diff := cmp.Diff(c.want, got, cmp.AllowUnexported(splitWord{}))
		if err != nil || diff != "" {
			t.Errorf("%s of %q: error %v (-want +got):\n%s", config, c.text, err, diff)
		}
	}
}
