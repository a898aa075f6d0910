// Package release tests what a release of this checkout would be: the module that the go command
// downloads, and programs for several systems.
package release

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/headwater-ml/headwater/internal/e2e/published"
)

// checkout is the root of the checkout.
const checkout = "../../.."

// maxZip is the most bytes that the module may have as a zip. The weights of the embedded models
// are 10.6 MB of them; docs/decisions.md has the reasons.
const maxZip = 14_500_000

// TestModule publishes this checkout and installs the command from there, in a module cache that
// has nothing else of it. The program knows its version and explains a prompt.
func TestModule(t *testing.T) {
	if testing.Short() {
		t.Skip("links the command")
	}
	r := published.New(t, checkout)
	bin, home := t.TempDir(), t.TempDir()
	env := append(os.Environ(), r.Env...)
	run(t, home, append(env, "GOBIN="+bin, "GOWORK=off"), "go", "install",
		published.Module+"/cmd/headwater@"+published.Version)
	headwater := filepath.Join(bin, "headwater")
	env = append(os.Environ(), "HOME="+home)
	version := run(t, home, env, headwater, "version")
	if !strings.HasPrefix(version, "headwater "+published.Version+", ") {
		t.Errorf("the installed program is %q, want headwater %s", version, published.Version)
	}
	picture := run(t, home, env, headwater, "explain", "--backend", "go", "--max-tokens", "1",
		"the keys to the cabinet")
	if !strings.Contains(picture, "toy grammar model") || !strings.Contains(picture, "are") {
		t.Errorf("the installed program explains nothing:\n%.500s", picture)
	}
}

// TestZip compares the size of the module's zip with its limit, and looks for what users need and
// for what only a clone has.
func TestZip(t *testing.T) {
	archive, err := zip.OpenReader(published.New(t, checkout).Zip)
	must(t, err)
	defer archive.Close()
	var size uint64
	found := map[string]bool{}
	for _, f := range archive.File {
		size += f.CompressedSize64
		name := strings.TrimPrefix(f.Name, published.Module+"@"+published.Version+"/")
		found[name] = true
		for _, folder := range []string{
			"docs/", "notebooks/", "models/testdata/", "internal/tokenizer/testdata/",
		} {
			if strings.HasPrefix(name, folder) {
				t.Errorf("%s is in the module; %sgo.mod keeps that folder out", name, folder)
			}
		}
	}
	t.Logf("the module has %d files, %d bytes compressed", len(archive.File), size)
	if size > maxZip {
		t.Errorf("the module has %d bytes compressed, more than %d: give a folder that no package "+
			"needs its own go.mod", size, maxZip)
	}
	for _, name := range []string{
		"LICENSE", "README.md", "cmd/headwater/main.go", "internal/tiny/data/model.safetensors",
	} {
		if !found[name] {
			t.Errorf("%s is not in the module", name)
		}
	}
}

// TestReproducible builds the command in two folders, as a release does. Equal sources give equal
// bytes.
func TestReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("links the command twice")
	}
	r := published.New(t, checkout)
	var sums [2][sha256.Size]byte
	for i := range sums {
		dir := filepath.Join(t.TempDir(), strings.Repeat("folder", i+1))
		unzip(t, r.Zip, dir)
		env := append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		run(t, dir, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o",
			"program", "./cmd/headwater")
		program, err := os.ReadFile(filepath.Join(dir, "program"))
		must(t, err)
		if bytes.Contains(program, []byte(dir)) {
			t.Errorf("the program names the folder in which it was built, %s", dir)
		}
		sums[i] = sha256.Sum256(program)
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds differ: %x and %x", sums[0], sums[1])
	}
}

// unzip writes the files of the module's zip into a folder.
func unzip(t *testing.T, path, dir string) {
	t.Helper()
	release := module.Version{Path: published.Module, Version: published.Version}
	must(t, modzip.Unzip(dir, release, path))
}

// run runs a program in a folder and returns what it prints to stdout.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
