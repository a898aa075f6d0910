package cli

import (
	"bytes"
	"strings"
	"testing"
)

// Say keeps hostile text and errors of many lines on one printable line.
func TestSay(t *testing.T) {
	var b bytes.Buffer
	k := Kit{Stderr: &b}
	k.Say("%v", "two\nlines, \x1b[31mred and \u202ebackwards")
	want := "headwater: two; lines, ␛[31mred and ⟨U+202E⟩backwards\n"
	if b.String() != want {
		t.Errorf("say wrote %q, want %q", b.String(), want)
	}
}

// TestSayPython checks that Python code in an error message can be copied from its one line.
func TestSayPython(t *testing.T) {
	var out strings.Builder
	k := &Kit{Stderr: &out}
	k.Say("found m.bin: convert it:\n\timport a\n\ta.b()\nand go on")
	const want = "headwater: found m.bin: convert it: import a; a.b(); and go on\n"
	if out.String() != want {
		t.Errorf("say wrote %q, want %q", out.String(), want)
	}
}
