package tokenizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Characters and escapes.
func TestRegexCharacters(t *testing.T) {
	checkMatches(t, []regexMatches{
		{"a", "aba", []string{"a", "a"}},
		{"a", "", nil},
		{"a", "A", nil},
		{"é", "éaé", []string{"é", "é"}},
		{"漢", "漢字漢", []string{"漢", "漢"}},
		{`\.`, "a.b.", []string{".", "."}},
		{`\\`, `a\b`, []string{`\`}},
		{`\t|\n|\r`, "a\tb\nc\r", []string{"\t", "\n", "\r"}},
		{`\x41`, "ABA", []string{"A", "A"}},
		{`\x{1F600}`, "😀a", []string{"😀"}},
		{`\u00e9`, "é", []string{"é"}},
		{".", "aé\n", []string{"a", "é"}},
		{"a.c", "abc a\nc adc", []string{"abc", "adc"}},
		{`\e|\a|\f|\v`, "\x1b\x07\x0c\x0b", []string{"\x1b", "\x07", "\x0c", "\x0b"}},
	})
}

// Classes in brackets.
func TestRegexClasses(t *testing.T) {
	checkMatches(t, []regexMatches{
		{"[abc]", "axbyc", []string{"a", "b", "c"}},
		{"[a-c]", "abcd", []string{"a", "b", "c"}},
		{"[^a-c]", "abcd\n", []string{"d", "\n"}},
		{"[a-]", "a-b", []string{"a", "-"}},
		{"[-a]", "a-b", []string{"a", "-"}},
		{"[]a]", "]ab", []string{"]", "a"}},
		{`[\]]`, "a]", []string{"]"}},
		{"[a^]", "^ab", []string{"^", "a"}},
		{`[\w-]+`, "a-b c_d", []string{"a-b", "c_d"}},
		{`[\d.]+`, "3.14 x", []string{"3.14"}},
		{`[^\s]+`, "ab c", []string{"ab", "c"}},
		{`[a\n]+`, "a\nb", []string{"a\n"}},
		{"[é-ü]+", "éêaü", []string{"éê", "ü"}},
		{`[\x41-\x43]+`, "ABCD", []string{"ABC"}},
		{"[.*+?]", "a.b*", []string{".", "*"}},
	})
}

// Classes of characters.
func TestRegexKinds(t *testing.T) {
	checkMatches(t, []regexMatches{
		{`\d+`, "a12٣b", []string{"12٣"}},
		{`\D+`, "a12b", []string{"a", "b"}},
		{`\w+`, "aé_1-b", []string{"aé_1", "b"}},
		{`\W+`, "a, b", []string{", "}},
		{`\s+`, "a \t\u3000b", []string{" \t\u3000"}},
		{`\S+`, "a b", []string{"a", "b"}},
		{`\h+`, "xfF0g", []string{"fF0"}},
		{`\H+`, "xfg", []string{"x", "g"}},
		{`\p{L}+`, "aé1漢", []string{"aé", "漢"}},
		{`\P{L}+`, "a12b", []string{"12"}},
		{`\p{^L}+`, "a12b", []string{"12"}},
		{`\p{N}+`, "a1½Ⅷ", []string{"1½Ⅷ"}},
		{`\p{Lu}`, "aBÉc", []string{"B", "É"}},
		{`\p{Ll}+`, "aBéc", []string{"a", "éc"}},
		{`\p{P}+`, "a,.!b", []string{",.!"}},
		{`\p{S}`, "a+€b", []string{"+", "€"}},
		{`\p{Z}+`, "a \u00a0b", []string{" \u00a0"}},
		{`\p{M}`, "éx", []string{"́"}},
		{`\p{Han}+`, "a漢字b", []string{"漢字"}},
		{`\p{Hiragana}+`, "aひらb", []string{"ひら"}},
		{`\p{Greek}+`, "aαβb", []string{"αβ"}},
		{`\p{Cyrillic}+`, "aждb", []string{"жд"}},
		{`[\p{L}\p{N}]+`, "a1 é2", []string{"a1", "é2"}},
		{`[^\p{L}]+`, "a1b", []string{"1"}},
		{`\p{Sc}`, "$€a", []string{"$", "€"}},
		{`\p{Nd}+`, "1½2", []string{"1", "2"}},
	})
}

// Greedy, lazy and possessive quantifiers.
func TestRegexQuantifiers(t *testing.T) {
	checkMatches(t, []regexMatches{
		{"a*", "aab", []string{"aa"}},
		{"a*", "b", nil},
		{"a+", "aab", []string{"aa"}},
		{"a+", "b", nil},
		{"ab?", "abbaa", []string{"ab", "a", "a"}},
		{"a{2}", "aaaaa", []string{"aa", "aa"}},
		{"a{2,}", "aaaaa", []string{"aaaaa"}},
		{"a{2,}", "a", nil},
		{"a{1,2}", "aaaaa", []string{"aa", "aa", "a"}},
		{"a{,2}b", "aaab", []string{"aab"}},
		{"a+?", "aaa", []string{"a", "a", "a"}},
		{"a*?b", "aab", []string{"aab"}},
		{"a??b", "ab b", []string{"ab", "b"}},
		{"a{1,3}?", "aaaa", []string{"a", "a", "a", "a"}},
		{"<.+>", "<a><b>", []string{"<a><b>"}},
		{"<.+?>", "<a><b>", []string{"<a>", "<b>"}},
		{"a++b", "aab", []string{"aab"}},
		{"a*+b", "aab b", []string{"aab", "b"}},
		{"a?+b", "ab", []string{"ab"}},
		{"(?>a+)b", "aab", []string{"aab"}},
		{"(?>a|ab)c", "abc ac", []string{"ac"}},
		{"(ab)+", "ababa", []string{"abab"}},
		{"(?:a|b)*c", "abac", []string{"abac"}},
		{"(a|ab)(c|bcd)", "abcd", []string{"abcd"}},
		{"x{0}a", "a", []string{"a"}},
		{"(?:ab){2,3}", "abababab", []string{"ababab"}},
	})
}

// Groups, alternatives and options.
func TestRegexGroups(t *testing.T) {
	checkMatches(t, []regexMatches{
		{"a|b", "abc", []string{"a", "b"}},
		{"ab|a", "aba", []string{"ab", "a"}},
		{"a|ab", "aba", []string{"a", "a"}},
		{"(a)(b)", "ab", []string{"ab"}},
		{"(?:a)b", "ab", []string{"ab"}},
		{"a(?:b|c)d", "abd acd aed", []string{"abd", "acd"}},
		{"(?i:ab)", "ab AB aB", []string{"ab", "AB", "aB"}},
		{"(?i)ab", "AB", []string{"AB"}},
		{"(?i:a)b", "Ab AB", []string{"Ab"}},
		{"(?i:k)", "kK", []string{"k", "K"}},
		{"(?i:[a-c])+", "aBc", []string{"aBc"}},
		{"(?m:a.b)", "a\nb", []string{"a\nb"}},
		{"a(|b)c", "ac abc", []string{"ac", "abc"}},
		{"(?-i:a)", "aA", []string{"a"}},
		{"(?i:s)", "sSſ", []string{"s", "S", "ſ"}},
	})
}

// Anchors and look-around.
func TestRegexPlaces(t *testing.T) {
	checkMatches(t, []regexMatches{
		{"^a", "aa\na", []string{"a", "a"}},
		{"a$", "aa\na", []string{"a", "a"}},
		{`\Aa`, "aa\na", []string{"a"}},
		{`a\z`, "aa\na", []string{"a"}},
		{`a\Z`, "aa\n", []string{"a"}},
		{"a(?=b)", "abac", []string{"a"}},
		{"a(?!b)", "abac", []string{"a"}},
		{"(?<=b)a", "aba", []string{"a"}},
		{"(?<!b)a", "aba", []string{"a"}},
		{`\s+(?!\S)`, "a  b  ", []string{" ", "  "}},
		{"(?<=ab)c", "abc ac", []string{"c"}},
		{"(?<=a|bc)d", "ad bcd cd", []string{"d", "d"}},
		{"(?=ab)a", "abaa", []string{"a"}},
		{"(?<!^)a", "aaa", []string{"a", "a"}},
		{"(?=(?=a)a)a", "aa", []string{"a", "a"}},
		{`(?<=\n)b`, "a\nb", []string{"b"}},
		{"a(?=$)", "aa", []string{"a"}},
	})
}

// regexMatches are the matches, without empty ones, that version 0.23.3 of tokenizers finds.
type regexMatches struct {
	pattern, text string
	want          []string
}

func checkMatches(t *testing.T, cases []regexMatches) {
	t.Helper()
	for _, c := range cases {
		re, err := newRegex(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		var got []string
		for _, m := range matches(t, re, c.text) {
			if m != "" {
				got = append(got, m)
			}
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("matches of %s in %q (-want +got):\n%s", c.pattern, c.text, diff)
		}
	}
}
