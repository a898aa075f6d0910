package tokenizer

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClasses compares the class of every code point with the reference.
func TestClasses(t *testing.T) {
	f, err := os.Open("testdata/classes.txt")
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
		{"bytes that are no character", "a\xff\xfeb", []string{"a", "\xff\xfe", "b"}},
		{"space alone", " ", []string{" "}},
	} {
		var got []string
		splitWords(piece{text: c.text}, func(w piece) { got = append(got, w.text) })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: words of %q (-want +got):\n%s", c.name, c.text, diff)
		}
	}
}
