package firstminutes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/e2e/command"
)

// checkout is the root of the checkout.
const checkout = "../../.."

// A place is a folder whose path has a space. It has a clone, a home and a program.
type place struct {
	// root has everything; clone and bin are in it.
	root, clone, bin string
	// oldGo, develGo and oldPython are folders with programs that know their versions and no more.
	oldGo, develGo, oldPython string
	// hub is the address of a server that has the model org/name.
	hub string
	// readOnly is a HOME in which nobody can write, and macOS an environment whose paths look as
	// those of macOS.
	readOnly string
	macOS    []string
}

// newPlace makes a place. It is a temporary folder that every user can read: root, whom permissions
// do not stop, tries a read-only home as somebody else.
func newPlace(t *testing.T) *place {
	t.Helper()
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("runs the command and make many times, on Linux")
	}
	dir, err := os.MkdirTemp("", "hw")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) //nolint:gosec // see above
	p := &place{root: filepath.Join(dir, "first minutes")}
	p.clone, p.hub = p.folder(t, "clone"), hub(t)
	p.folder(t, "home")
	p.bin = filepath.Join(p.folder(t, "bin"), "headwater")
	copyFile(t, command.Path(t), p.bin)
	p.copyClone(t)
	p.oldGo = p.script(t, "old", "go", "echo go1.19.8")
	p.develGo = p.script(t, "devel", "go", "echo devel go1.27-c2d5f0e Tue Mar 3 2026")
	p.oldPython = p.script(t, "old", "python3", `[ "$1" = --version ] && echo Python 3.9.2`)
	home := p.folder(t, "read only")
	must(t, os.Chmod(home, 0o555)) //nolint:gosec // to be read
	p.readOnly = "HOME=" + home
	mac := p.folder(t, "Users/Jane Doe")
	p.macOS = []string{
		"HOME=" + mac, "XDG_CACHE_HOME=" + mac + "/Library/Caches",
		"JUPYTER_DATA_DIR=" + mac + "/Library/Jupyter",
		"TMPDIR=" + p.folder(t, "var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T") + "/",
	}
	return p
}

// folder makes a folder of the place.
func (p *place) folder(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(p.root, name)
	must(t, os.MkdirAll(dir, 0o755)) //nolint:gosec // see newPlace
	return dir
}

// script writes a script of sh into a folder of its own, which it returns.
func (p *place) script(t *testing.T, age, name, line string) (dir string) {
	t.Helper()
	dir = p.folder(t, age+" "+name)
	text := "#!/bin/sh\n" + line + "\n"
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755)) //nolint:gosec // it is run
	return dir
}

// copyClone copies the files that git tracks, or would if they were added, without documents and
// notebooks.
func (p *place) copyClone(t *testing.T) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard", "--", ".", ":!docs", ":!notebooks")
	list.Dir = checkout
	names, err := list.Output()
	if err != nil {
		t.Skip("the files of a clone are those that git tracks: ", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		p.folder(t, filepath.Join("clone", filepath.Dir(name)))
		copyFile(t, filepath.Join(checkout, name), filepath.Join(p.clone, name))
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	must(t, err)
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, data, info.Mode()))
}

// programs returns a PATH with the program and those of this machine, but for some. It never has
// apt-get, with which make would install what is missing.
func (p *place) programs(t *testing.T, without ...string) string {
	t.Helper()
	dir := p.folder(t, "path without "+strings.Join(without, " "))
	without = append(without, "apt-get", "headwater")
	if slices.Contains(without, "gcc") {
		without = append(without, "cc", "clang", "g++", "c++")
	}
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from) // a folder of PATH need not be there
		for _, e := range entries {
			if slices.Contains(without, e.Name()) {
				continue
			}
			path, err := filepath.Abs(filepath.Join(from, e.Name()))
			must(t, err)
			_ = os.Symlink(path, filepath.Join(dir, e.Name())) // the first one of PATH stays
		}
	}
	return filepath.Dir(p.bin) + ":" + dir
}

// goCaches are the variables with which Go finds what this machine has downloaded and compiled.
func (*place) goCaches(t *testing.T) []string {
	t.Helper()
	var env []string
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		must(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return append(env, "GOPROXY=off", "GOFLAGS=-buildvcs=false -trimpath")
}

// files lists the files of the place, without those that are there for tests and those that hold
// nothing: locks, and what the go command notes for itself.
func (p *place) files(t *testing.T) []string {
	t.Helper()
	var names []string
	must(t, filepath.WalkDir(p.root, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(p.root, path)
		switch {
		case err != nil || e.IsDir() && strings.HasPrefix(name, "path without "):
			return fs.SkipDir
		case e.IsDir(), strings.HasSuffix(name, ".lock"), strings.Contains(name, "/.config/go/"):
			return nil
		}
		names = append(names, name)
		return nil
	}))
	return names
}

// hub serves org/name as the Hub does, a model of 1.5 MB, and refuses org/gated.
func hub(t *testing.T) string {
	t.Helper()
	files := map[string]string{
		"config.json": "{}", "model.safetensors": strings.Repeat("w", 1_500_000),
	}
	commit := strings.Repeat("c", 40)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/models/org/name/revision/") {
			siblings := []map[string]string{}
			for f := range files {
				siblings = append(siblings, map[string]string{"rfilename": f})
			}
			// The client sees what is missing.
			_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": siblings})
			return
		}
		if strings.HasPrefix(r.URL.Path, "/api/models/org/gated/") {
			w.Header().Set("X-Error-Code", "GatedRepo")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		text, ok := files[strings.TrimPrefix(r.URL.Path, "/org/name/resolve/"+commit+"/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256([]byte(text))
		w.Header().Set("ETag", fmt.Sprintf("%q", hex.EncodeToString(sum[:])))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}))
	t.Cleanup(server.Close)
	return server.URL
}
