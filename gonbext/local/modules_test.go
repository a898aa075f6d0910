package local

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The key changes if a source file of a module is added, changed or removed, and only then.
func TestSourceStates(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	states := func() []string {
		t.Helper()
		all, err := sourceStates(dir)
		must(t, err)
		return all
	}
	write("a.go", "package a")
	before := states()
	for _, c := range []struct {
		name, file, text string
		changes          bool
	}{
		{"hidden folder", ".git/b.go", "package b", false},
		{"another kind of file", "notes.txt", "a", false},
		{"file below", "sub/c.go", "package c", true},
		{"longer file", "a.go", "package a // longer", true},
	} {
		write(c.file, c.text)
		after := states()
		if changed := !slices.Equal(before, after); changed != c.changes {
			t.Errorf("%s: change noticed: %v, want %v", c.name, changed, c.changes)
		}
		before = after
	}
	must(t, os.Remove(filepath.Join(dir, "a.go")))
	if slices.Equal(before, states()) {
		t.Error("a file that is gone is not noticed")
	}
	if _, err := sourceStates(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

// The test's binary has only this module and released ones.
func TestOwnModules(t *testing.T) {
	if states, err := ownModules("/nowhere"); err != nil || len(states) > 0 {
		t.Errorf("modules %v, %v; want none, without asking the go command", states, err)
	}
}
