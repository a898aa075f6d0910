//go:build cgo && linux && amd64

package xla

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestMissingFrom(t *testing.T) {
	// The first word lies across two reads.
	long := strings.Repeat("x", 1<<20-5) + "needle" + strings.Repeat("y", 3<<20)
	for _, c := range []struct {
		name, data string
		words      []string
		want       map[string]bool
	}{
		{"across reads", long, []string{"needle"}, map[string]bool{}},
		{"both", long + "thread", []string{"needle", "thread"}, map[string]bool{}},
		{"one is missing", long, []string{"needle", "thread"}, map[string]bool{"thread": true}},
		{"empty", "", []string{"needle"}, map[string]bool{"needle": true}},
		{"no words", "", nil, map[string]bool{}},
	} {
		got := missingFrom(iotest.HalfReader(strings.NewReader(c.data)), c.words)
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v is missing, want %v", c.name, got, c.want)
		}
	}
}

// A plugin that does not know the flags gets none, and a choice that the user made stays.
func TestKnows(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for i, s := range settings {
		if path := write(fmt.Sprint("knows", i), strings.Join(s.needed, "\x00")); !knows(path)[i] {
			t.Errorf("a plugin that has %q does not know %s", s.needed, s.flags)
		}
		if path := write(fmt.Sprint("old", i), strings.Join(s.needed[1:], "\x00")); knows(path)[i] {
			t.Errorf("a plugin without %s knows %s", s.needed[0], s.flags)
		}
		if knows(filepath.Join(dir, "missing"))[i] {
			t.Error("a plugin that is missing knows flags")
		}
	}
}

// oneDNN stands still on processors without AVX-512, and a choice of the user stays.
func TestWithSettings(t *testing.T) {
	const oneDNN = "--xla_cpu_use_onednn=true"
	all := []bool{true, true, true}
	for _, c := range []struct {
		name, flags, processor string
		knows                  []bool
		with, without          string
	}{
		{"AVX-512", "", "X\nfpu avx2 avx512f sse", all, oneDNN, "none"},
		{"AVX2", "", "X\nfpu avx2 sse", all, "--xla_cpu_prefer_vector_width=512", "onednn"},
		{"unknown processor", "", "", all, "--xla_backend_optimization_level=1", "onednn"},
		{"another word", "", "avx512fp16", all, "--xla_cpu_prefer", "onednn"},
		{"chosen on", oneDNN, "avx2", all, oneDNN, "LIBRARY_FUSION"},
		{"chosen off", "--xla_cpu_use_onednn=false", "avx512f", all, "--xla_cpu_use_onednn=false", oneDNN},
		{"old plugin", "--a", "avx512f", []bool{false, false, false}, "--a", "--xla"},
	} {
		got := withSettings(c.flags, c.knows, c.processor)
		if !strings.Contains(got, c.with) || strings.Contains(got, c.without) {
			t.Errorf("%s: %q, want %q and not %q", c.name, got, c.with, c.without)
		}
	}
}
