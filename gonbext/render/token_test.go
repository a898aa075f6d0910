package render

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"plain", "keys", 0, "keys"},
		{"spaces", " a b  c ", 0, "␣a b␣␣c␣"},
		{"space alone", " ", 0, "␣"},
		{"newline and tab", "a\n\tb\r", 0, "a↵⇥b␍"},
		{"control", "\x00\x1b[0m\x7f\u0085", 0, "␀␛[0m␡⟨U+0085⟩"},
		{"direction marks", "a\u202eb\u2066", 0, "a⟨U+202E⟩b⟨U+2066⟩"},
		{"zero width", "a\u200bb\ufeff\u00ad", 0, "a⟨U+200B⟩b⟨U+FEFF⟩⟨U+00AD⟩"},
		{"fillers", "\u3164\ufe0f", 0, "⟨U+3164⟩⟨U+FE0F⟩"},
		{"part of a character", "\xe2\x82", 0, "⟨E2⟩⟨82⟩"},
		{"replacement character", "\ufffd", 0, "\ufffd"},
		{"mark alone", "\u0301a", 0, "◌\u0301a"},
		{"many marks", "a\u0301\u0301\u0301\u0301", 0, "a\u0301\u0301\u0301⟨U+0301⟩"},
		{"no-break space", "a\u00a0b", 0, "a⟨U+00A0⟩b"},
		{"cut", strings.Repeat("ab", 5000), 4, "abab… (10,000 bytes)"},
		{"cut wide", "東京都", 4, "東京… (9 bytes)"},
		{"markup", "<b>", 0, "<b>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Visible(c.in, c.limit); got != c.want {
				t.Errorf("Visible(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
			}
		})
	}
}

func TestWidthOfText(t *testing.T) {
	for in, want := range map[string]int{
		"abc": 3, "東京": 4, "e\u0301": 1, "é": 1, "🙂": 2, "한": 2,
		"ｱ": 1, "↵": 1, "": 0,
	} {
		if got := Width(in); got != want {
			t.Errorf("Width(%q) = %d, want %d", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{
		"", " the", "<script>alert(1)</script>", `"' onmouseover=x`, "&amp;", "\xe2\x28\xa1",
		"\u202eabc",
		"\x1b[31m", "a\u0301\u0301\u0301\u0301\u0301", strings.Repeat("x", 300), "\u2028",
		"\U000e0041",
	} {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if len(s) > 10_000 {
			return
		}
		got := Visible(s, limit)
		if !utf8.ValidString(got) {
			t.Fatalf("Visible(%q) is not UTF-8", s)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Fatalf("Visible(%q) holds %U", s, r)
			}
		}
		if limit > 0 && Width(got) > limit+len("… (10,000 bytes)") {
			t.Fatalf("Visible(%q, %d) is %d columns wide", s, limit, Width(got))
		}
		if s != "" && got == "" {
			t.Fatalf("Visible(%q) shows nothing", s)
		}
		if e := escape(s, limit); strings.ContainsAny(e, `<>"'`) {
			t.Fatalf("escape(%q) = %q", s, e)
		}
	})
}
