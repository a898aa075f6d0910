package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const docs = "../../../docs"

// The page is the record: its text and its pictures are made of the figures that it gives.
func TestPage(t *testing.T) {
	all, err := recorded(docs)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := write(dir, all); err != nil {
		t.Fatal(err)
	}
	names := []string{pageName}
	for _, f := range figures {
		names = append(names, "growth-"+f.name+".svg")
	}
	for _, name := range names {
		old, made := read(t, filepath.Join(docs, name)), read(t, filepath.Join(dir, name))
		if diff := cmp.Diff(old, made); diff != "" {
			t.Errorf("%s is not what its figures make; go run ./internal/bench/growth -redraw "+
				"writes it (-docs +made):\n%.2000s", name, diff)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The last tick has room to its right: its label is centred on it, and a font may be wider than the
// one that was measured.
func TestRoom(t *testing.T) {
	_, svg, _ := strings.Cut(read(t, filepath.Join(docs, "growth-first.svg")), `viewBox="0 0 `)
	width := parse(t, svg[:strings.Index(svg, " ")])
	_, label, ok := strings.Cut(svg, ">1024</text>\n<text x=\"")
	if !ok {
		t.Fatal("the picture has no label 1024 before another one")
	}
	if x := parse(t, label[:strings.Index(label, `"`)]); x > width-1.5*20 {
		t.Errorf("the last label begins %.0f of %.0f points from the left; it is 20 wide, and "+
			"more in another font", x, width)
	}
}

func parse(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A page without its tables is refused with what is missing.
func TestRecordedRefusals(t *testing.T) {
	for _, c := range []struct{ name, page, say string }{
		{"empty", "", "the table of first has no raw at 64 tokens"},
		{"no number", "(growth-first.svg)\n| `raw` | x |\n", "first of raw at 64 tokens"},
		{"a table is missing", "(growth-first.svg)\n| `raw` | 1 |\n(growth-next.svg)\n| `raw` | 1 |\n", "the table of memory has no raw at 64 tokens"},
		{"short row", "(growth-first.svg)\n| `raw` | – |\n", "the table of first has no raw at 128 tokens"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, pageName), []byte(c.page), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := recorded(dir); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %q", c.name, err, c.say)
		}
	}
}
