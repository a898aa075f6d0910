package tokenizer

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// TestClasses compares the class of every code point with the reference.
func TestClasses(t *testing.T) {
	f, err := os.Open("testdata/classes.txt")
	must(t, err)
	defer f.Close()
	names := map[charClass]string{other: "O", letter: "L", number: "N", space: "S"}
	next := rune(0)
	for s := bufio.NewScanner(f); s.Scan(); {
		var first, last rune
		var class string
		if _, err := fmt.Sscanf(s.Text(), "%x %x %s", &first, &last, &class); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		if first != next {
			t.Fatalf("classes.txt goes on at %x, want %x", first, next)
		}
		for r := first; r <= last; r++ {
			if got := names[classOf(r)]; class != "X" && got != class {
				t.Errorf("class of %U = %s, want %s", r, got, class)
			}
		}
		next = last + 1
	}
	if next != 0x110000 {
		t.Errorf("classes.txt ends before %x", next)
	}
}

// TestWordChars compares what counts as part of a word with the reference, for every code point.
func TestWordChars(t *testing.T) {
	f, err := os.Open("testdata/words.txt")
	must(t, err)
	defer f.Close()
	var words [0x110000]bool
	for s := bufio.NewScanner(f); s.Scan(); {
		var first, last rune
		if _, err := fmt.Sscanf(s.Text(), "%x %x", &first, &last); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		for r := first; r <= last; r++ {
			words[r] = true
		}
	}
	for r, want := range words {
		if got := isWordChar(rune(r)); got != want {
			t.Errorf("isWordChar(%U) = %v, want %v", r, got, want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"words", "the cat", []string{"the", " cat"}},
		{"spaces before a word", "a   b", []string{"a", "  ", " b"}},
		{"spaces at the end", "a   ", []string{"a", "   "}},
		{"line break before a word is its own", "a\nb", []string{"a", "\n", "b"}},
		{"no-break space is not taken along", "a\u00a0b", []string{"a", "\u00a0", "b"}},
		{"blanks of several bytes", "\u3000\u3000b", []string{"\u3000", "\u3000", "b"}},
		{"contractions", "it's we'll they've I'd I'm you're don't", []string{
			"it", "'s", " we", "'ll", " they", "'ve", " I", "'d",
			" I", "'m", " you", "'re", " don", "'t",
		}},
		{"capitals are no contraction", "IT'S", []string{"IT", "'", "S"}},
		{"contraction goes before the letters", "'sand", []string{"'s", "and"}},
		{"quote after a space is no contraction", "a 's", []string{"a", " '", "s"}},
		{"quote at the end", "a'", []string{"a", "'"}},
		{"half a contraction", "'r 'v", []string{"'", "r", " '", "v"}},
		{"numbers and signs", "a1.5 %x", []string{"a", "1", ".", "5", " %", "x"}},
		{"bytes that are not a character", "a\xff\xfeb", []string{"a", "\xff\xfe", "b"}},
		{"space alone", " ", []string{" "}},
	} {
		var got []string
		splitWords(piece{text: c.text}, func(w piece) { got = append(got, w.text) })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: words of %q (-want +got):\n%s", c.name, c.text, diff)
		}
	}
}

// TestScanners compares each pattern that is scanned by hand with its regular expression.
func TestScanners(t *testing.T) {
	var texts []string
	for _, c := range refCases(t) {
		texts = append(texts, c.Text, c.Text+" "+c.Kind)
	}
	for _, x := range extra(t).Tokenizers {
		for _, c := range x.Cases {
			texts = append(texts, c.Text)
		}
	}
	for source, scanned := range scanners {
		re, err := newRegex(source)
		must(t, err)
		for _, text := range texts {
			if diff := cmp.Diff(matches(t, re, text), matches(t, scanned, text)); diff != "" {
				t.Fatalf("matches of %s in %q (-regex +scanned):\n%s", source, text, diff)
			}
		}
	}
}

func matches(t *testing.T, p pattern, text string) (found []string) {
	t.Helper()
	must(t, p.find(text, newMeter(len(text)), func(begin, end int) {
		found = append(found,
			text[begin:end])
	}))
	return found
}

// TestTranslate has what Oniguruma finds, as Ruby documents it.
func TestTranslate(t *testing.T) {
	for _, c := range []struct {
		name, source, text string
		want               []string
	}{
		{"lines begin", "^.", "ab\ncd\n", []string{"a", "c"}},
		{"lines end", ".$", "ab\ncd", []string{"b", "d"}},
		{"text begins and ends", `\A.|.\z`, "ab\ncd", []string{"a", "d"}},
		{"dot does not match a line break", ".+", "a\nb", []string{"a", "b"}},
		{"but with m", "(?m:.+)", "a\nb", []string{"a\nb"}},
		{"either case", "(?i:'s)", "'s'S'ſ's", []string{"'s", "'S", "'ſ", "'s"}},
		{"possessive", "a++b|a", "aab aa", []string{"aab", "a", "a"}},
		{"look-ahead", `\s+(?!\S)`, "a   b", []string{"  "}},
		{"look-behind", `(?<=a)b`, "ab b", []string{"b"}},
		{"counts", `a{2}|b{,2}c|d{1,}`, "aaa bbbc dd", []string{"aa", "bbc", "dd"}},
		{"a brace that counts nothing", `a{x}`, "a{x}", []string{"a{x}"}},
		{"empty matches", "a*", "baac", []string{"", "aa", ""}},
		{"one half is of \\w alone", `\w+`, "a½", []string{"a½"}},
		{"and not in a class", `[\w]+`, "a½", []string{"a"}},
		{"marks in a class", `[\]\-^a-c]+`, "]-^abcd", []string{"]-^abc"}},
		{"hexadecimal", `\x41\x{1F600}\u00e9`, "A😀é", []string{"A😀é"}},
		{"a letter of Unicode 16", `\p{L}+`, "a\u1c89b", []string{"a\u1c89b"}},
		{"no category", `\P{L}+|\p{^L}x`, "ab12", []string{"12"}},
		{"lazy", `a.*?b`, "acbcb", []string{"acb"}},
	} {
		re, err := newRegex(c.source)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, matches(t, re, c.text)); diff != "" {
			t.Errorf("%s: matches of %s in %q (-want +got):\n%s", c.name, c.source, c.text, diff)
		}
	}
}

func TestTranslateRefuses(t *testing.T) {
	for _, c := range []struct {
		source      string
		unsupported bool
	}{
		{`(a)\1`, true},
		{`\bword\b`, true},
		{`[a[b]]`, true},
		{`[a-z&&[aeiou]]`, true},
		{`(?<name>a)`, true},
		{`a(?i)b`, true},
		{`(?i:ss)`, true},
		{`(?i:é)`, true},
		{`\p{Klingon}`, true},
		{`a{1,2}+`, true},
		{`\X`, true},
		{`(a`, false},
		{`a)`, false},
		{`[a`, false},
		{`*a`, false},
		{`a\`, false},
		{`[b-a]`, false},
		{`a{200000}`, false},
		{strings.Repeat("(", 60) + strings.Repeat(")", 60), false},
		{strings.Repeat("a", maxPattern+1), false},
	} {
		_, err := newRegex(c.source)
		if err == nil || errors.As(err, new(*unsupportedError)) != c.unsupported {
			t.Errorf("%.40q: error %v, want unsupported %v", c.source, err, c.unsupported)
		}
	}
}

// TestNormalForms compares with Go's own, where both know the characters and no marks are so many
// that Go breaks them up.
func TestNormalForms(t *testing.T) {
	for _, f := range []normalForm{nfc, nfd, nfkc, nfkd} {
		for r := rune(0); r <= unicode.MaxRune; r++ {
			p := norm.NFKD.PropertiesString(string(r))
			ordinary := p.CCC() == 0 && p.Decomposition() == nil && r%97 != 0
			if ordinary || newDecomposed.has(r) || 0xd800 <= r && r < 0xe000 ||
				p.CCC() != combiningClass(r) {
				continue
			}
			for _, text := range []string{
				string(r), "a" + string(r) + "\u0323\u0301",
				"\u1100" + string(r),
			} {
				got, err := f.rewrite(piece{text: text, input: text}, newMeter(len(text)))
				if err != nil || got.text != f.form.String(text) {
					t.Fatalf("form %v of %+q = %+q, %v, want %+q", f.form, text, got.text, err,
						f.form.String(text))
				}
			}
		}
	}
}
