package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// only checks that a folder has one entry, with the text.
func only(t *testing.T, path, want string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v; want one", len(entries), err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the file has %q, %v; want %q", got, err, want)
	}
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, text := range []string{"old", "new"} {
		must(t, atomicfile.Write(path, []byte(text)))
		only(t, path, text)
	}
	f, err := atomicfile.Create(path)
	must(t, err)
	if _, err := f.WriteString("half"); err != nil {
		t.Fatal(err)
	}
	f.Abandon()
	f.Abandon() // the second time it does nothing
	only(t, path, "new")
}

// TestPermissions: a file that only its owner may read stays so when it is replaced.
func TestPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(path, nil, 0o600))
	must(t, atomicfile.Write(path, []byte("new")))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: the new file has mode %v, want that of the old one, 0600", err, info.Mode())
	}
}

// TestLongName: the name of the unfinished file is not longer than the system allows.
func TestLongName(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", 255), strings.Repeat("世", 85)} {
		path := filepath.Join(t.TempDir(), name)
		must(t, atomicfile.Write(path, []byte("text")))
		only(t, path, "text")
	}
}

// TestCommitFails: a file that cannot get its name is removed.
func TestCommitFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := atomicfile.Create(path)
	must(t, err)
	must(t, os.Mkdir(path, 0o700))
	if err := f.Commit(); err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("error %v, want one without the name of the unfinished file", err)
	}
	if _, err := os.Stat(f.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unfinished file is left: %v", err)
	}
}

func TestLinkStays(t *testing.T) {
	there, here := filepath.Join(t.TempDir(), "target"), filepath.Join(t.TempDir(), "link")
	must(t, os.WriteFile(there, nil, 0o600))
	if err := os.Symlink(there, here); err != nil {
		t.Skip(err)
	}
	must(t, atomicfile.Write(here, []byte("text")))
	only(t, there, "text")
	if to, err := os.Readlink(here); err != nil || to != there {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                                "not a regular file",
		os.DevNull:                         "not a regular file",
		filepath.Join(dir, "missing", "a"): "no such file",
	} {
		if err := atomicfile.Write(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
}

var must = testhelp.Must // ends a test at an error
