// Package published gives end-to-end tests this checkout as a release that the go command can
// download: the module's zip, by the rules of the Go module proxy, in a proxy made of files.
package published

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

// Module is the path of the module, and Version what the checkout is published as.
const (
	Module  = "github.com/headwater-ml/headwater"
	Version = "v0.1.0"
)

// Release is a checkout that is published.
type Release struct {
	// Proxy is the folder of the proxy. Zip is the path of the module's zip in it.
	Proxy, Zip string
	// Env is the environment of a go command that knows this proxy and what this machine has
	// downloaded, and no network. Its module cache is empty.
	Env []string
}

// New publishes the checkout in the folder clone: every file that git tracks, or would if it were
// added. The test is skipped where git has no checkout.
func New(t testing.TB, clone string) Release {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard")
	list.Dir = clone
	names, err := list.Output()
	if err != nil {
		t.Skip("the files of a release are those that git tracks: ", err)
	}
	var files []zip.File
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		files = append(files, tracked{clone, name})
	}
	r := Release{Proxy: folder(t)}
	versions := filepath.Join(r.Proxy, Module, "@v")
	must(t, os.MkdirAll(versions, 0o750))
	mod, err := os.ReadFile(filepath.Join(clone, "go.mod"))
	must(t, err)
	for name, text := range map[string]string{
		"list":            Version + "\n",
		Version + ".mod":  string(mod),
		Version + ".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, Version),
	} {
		must(t, os.WriteFile(filepath.Join(versions, name), []byte(text), 0o600))
	}
	r.Zip = filepath.Join(versions, Version+".zip")
	archive, err := os.Create(r.Zip)
	must(t, err)
	defer archive.Close()
	must(t, zip.Create(archive, module.Version{Path: Module, Version: Version}, files))
	must(t, archive.Close())
	downloaded, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	must(t, err)
	// Without the paths of the folder, the next run finds the packages compiled.
	r.Env = []string{
		"GOPROXY=file://" + r.Proxy + ",file://" + strings.TrimSpace(string(downloaded)) +
			"/cache/download,off",
		"GOSUMDB=off", "GOMODCACHE=" + folder(t), "GOFLAGS=-modcacherw -trimpath",
	}
	return r
}

// tracked is a file of the checkout.
type tracked struct{ clone, name string }

func (f tracked) Path() string                 { return f.name }
func (f tracked) Lstat() (os.FileInfo, error)  { return os.Lstat(f.path()) }
func (f tracked) Open() (io.ReadCloser, error) { return os.Open(f.path()) }
func (f tracked) path() string                 { return filepath.Join(f.clone, f.name) }

var folder = testhelp.ShortDir // notebooks have sockets in theirs

var must = testhelp.Must // ends a test at an error
