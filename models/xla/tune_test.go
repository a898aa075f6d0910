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

// Without AVX-512, oneDNN is switched off, because products that it splits twice can wait for each
// other forever. What the user has chosen stays, and a plugin gets no flag that it does not know.
func TestChoose(t *testing.T) {
	all, none := []bool{true, true, true}, make([]bool, len(onCPU))
	if len(all) != len(onCPU) {
		t.Fatalf("there are %d settings", len(onCPU))
	}
	const level = "--xla_backend_optimization_level=1"
	for _, c := range []struct {
		flags  string
		knows  []bool
		avx512 bool
		want   string
	}{
		{"", all, true, onCPU[0].flags + " " + level},
		{"", all, false, "--xla_cpu_use_onednn=false " + level},
		{"--xla_cpu_use_onednn=true", all, false, "--xla_cpu_use_onednn=true " + level},
		{"--a --xla_backend_optimization_level=2", all, false, "--a --xla_backend_optimization_level=2 --xla_cpu_use_onednn=false"},
		{"--a", none, false, "--a"},
		{"", none, true, ""},
	} {
		if got := choose(c.flags, onCPU, c.knows, c.avx512); got != c.want {
			t.Errorf("%q, %v, %v: %q, want %q", c.flags, c.knows, c.avx512, got, c.want)
		}
	}
}

// A plugin that does not know the flags gets none, and a choice that the user made stays.
func TestKnows(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(data), 0o600))
		return path
	}
	for kind, all := range map[string][]setting{"cpu": onCPU, "cuda": onCUDA} {
		for i, s := range all {
			path := write(fmt.Sprint(kind, i), strings.Join(s.needed, "\x00"))
			if !knows(path, all)[i] {
				t.Errorf("a plugin that has %q does not know %s", s.needed, s.flags)
			}
			path = write(fmt.Sprint("old", kind, i), strings.Join(s.needed[1:], "\x00"))
			if knows(path, all)[i] {
				t.Errorf("a plugin without %s knows %s", s.needed[0], s.flags)
			}
			if knows(filepath.Join(dir, "missing"), all)[i] {
				t.Error("a plugin that is missing knows flags")
			}
		}
	}
}
