//go:build cgo && linux && amd64

package xla

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestContainsAll(t *testing.T) {
	// The first word lies across two reads.
	long := strings.Repeat("x", 1<<20-5) + "needle" + strings.Repeat("y", 3<<20)
	for _, c := range []struct {
		name, data string
		words      []string
		want       bool
	}{
		{"across reads", long, []string{"needle"}, true},
		{"both", long + "thread", []string{"needle", "thread"}, true},
		{"one is missing", long, []string{"needle", "thread"}, false},
		{"empty", "", []string{"needle"}, false},
		{"no words", "", nil, true},
	} {
		got := containsAll(iotest.HalfReader(strings.NewReader(c.data)), c.words)
		if got != c.want {
			t.Errorf("%s: containsAll = %v, want %v", c.name, got, c.want)
		}
	}
}

// A plugin that does not know the flags gets none, and a choice that the user made stays.
func TestFast(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if path := write("knows", strings.Join(needed, "\x00")); !fast(path) {
		t.Error("a plugin that knows the flags is not fast")
	}
	if path := write("old", strings.Join(needed[:2], "\x00")); fast(path) {
		t.Error("a plugin that does not know all flags is fast")
	}
	if fast(filepath.Join(dir, "missing")) {
		t.Error("a plugin that is not there is fast")
	}
}
