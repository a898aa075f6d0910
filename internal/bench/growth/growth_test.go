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

// The page and its pictures are made of what was measured.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	names := []string{pageName}
	for _, f := range figures {
		names = append(names, "growth-"+f.name+".svg")
	}
	for _, name := range names {
		old, made := read(t, filepath.Join(docs, name)), read(t, filepath.Join(dir, name))
		if diff := cmp.Diff(old, made); diff != "" {
			t.Errorf("%s is not made of what was measured; go run ./internal/bench/growth "+
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
