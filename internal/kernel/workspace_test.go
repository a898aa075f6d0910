package kernel

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes files below a directory, by their paths.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// realDir returns a temporary directory without links in its path, which the go command resolves.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// goCommand returns the path of Go and keeps it from the network and from the user's settings.
func goCommand(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no Go here:", err)
	}
	for name, value := range map[string]string{
		"GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOWORK": "", "GO111MODULE": "",
		"GONOSUMDB": "*", "GOTOOLCHAIN": "local",
	} {
		t.Setenv(name, value)
	}
	return path
}

const ownModule = "module example.com/own\n\ngo 1.26\n"

// TestWorkspace looks for modules in every kind of folder that a notebook can be in.
func TestWorkspace(t *testing.T) {
	command := goCommand(t)
	clone, err := builtFrom()
	must(t, err)
	root := realDir(t)
	other := filepath.Join(root, "clone") // another clone of this module
	write(t, other, map[string]string{"go.mod": "module " + modulePath + "\n\ngo 1.26\n"})
	requires := ownModule + "\nrequire " + modulePath + " v0.1.0\n"
	for name, c := range map[string]struct {
		files  map[string]string // below the folder D
		folder string            // of the notebook, in D
		want   []string
		remark string
	}{
		"blank folder": {want: []string{clone}},
		"project": {
			files: map[string]string{
				"go.mod":         requires + "\nreplace " + modulePath + " => ../clone\n",
				"go.sum":         "",
				"pages/sub/file": "",
			},
			folder: "pages/sub", want: []string{"D", other},
		},
		"another clone": {
			files:  map[string]string{"go.mod": "module " + modulePath + "\n", "notebooks/x": ""},
			folder: "notebooks", want: []string{"D"},
		},
		"project that does not require it": {files: map[string]string{"go.mod": ownModule}, want: []string{"D", clone}},
		"project whose version is not there": {
			files: map[string]string{"go.mod": requires}, want: []string{"D", clone},
			remark: "the version of " + modulePath + " that this project requires is not available",
		},
		"workspace": {
			files: map[string]string{
				"go.work":    "go 1.26\n\nuse (\n\t./a\n\t./b\n)\n",
				"a/go.mod":   "module example.com/a\n\ngo 1.26\n",
				"b/go.mod":   "module example.com/b\n\ngo 1.26\n",
				"notebook/x": "",
			},
			folder: "notebook", want: []string{"D/a", "D/b", clone},
		},
		"workspace with a clone": {
			files: map[string]string{
				"go.work":  "go 1.26\n\nuse (\n\t./a\n\t../clone\n)\n",
				"a/go.mod": "module example.com/a\n\ngo 1.26\n",
			},
			folder: "a", want: []string{"D/a", other},
		},
		"broken go.mod": {
			files: map[string]string{"go.mod": "modul x\n"}, want: []string{clone},
			remark: "the module of the notebook's folder cannot be used: go ",
		},
		"broken go.work": {
			files: map[string]string{"go.work": "use ./nothing\n"}, want: []string{clone},
			remark: "the module of the notebook's folder cannot be used: go ",
		},
		"comma": {
			files: map[string]string{"a,b/go.mod": ownModule}, folder: "a,b", want: []string{clone},
			remark: "GoNB cannot use a folder with a comma in its name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, strings.ReplaceAll(name, " ", "-"))
			must(t, os.MkdirAll(filepath.Join(dir, c.folder), 0o755))
			write(t, dir, c.files)
			before := contents(t, dir)
			w, err := findWorkspace(t.Context(), command, filepath.Join(dir, c.folder))
			must(t, err)
			var want []string
			for _, d := range c.want {
				if rest, ok := strings.CutPrefix(d, "D"); ok {
					d = dir + rest
				}
				want = append(want, d)
			}
			slices.Sort(want)
			got := slices.Sorted(slices.Values(w.dirs))
			if !slices.Equal(got, want) || w.ownRelease {
				t.Errorf("cells import from %q (a release: %v), want %q", got, w.ownRelease, want)
			}
			said := strings.Join(w.remarks, "\n")
			if (c.remark == "") != (said == "") || !strings.Contains(said, c.remark) {
				t.Errorf("remarks %q, want %q", said, c.remark)
			}
			if after := contents(t, dir); after != before {
				t.Errorf("the folder was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// release makes a module proxy in a folder with one release of this module, and a module cache that
// is empty, and lets the go command use both.
func release(t *testing.T, version string) (cache string) {
	t.Helper()
	mod := "module " + modulePath + "\n\ngo 1.26\n"
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	f, err := z.Create(modulePath + "@" + version + "/go.mod")
	if err == nil {
		_, err = f.Write([]byte(mod))
	}
	if closing := z.Close(); err == nil {
		err = closing
	}
	must(t, err)
	proxy, cache := realDir(t), realDir(t)
	write(t, filepath.Join(proxy, modulePath, "@v"), map[string]string{
		version + ".info": `{"Version":"` + version + `"}`, version + ".mod": mod,
		version + ".zip": archive.String(), "list": version + "\n",
	})
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GOMODCACHE", cache)
	t.Setenv("GOFLAGS", "-modcacherw")
	return cache
}

// TestWorkspaceOfRelease looks for a release that a project requires: it is downloaded once, and
// then needs no network.
func TestWorkspaceOfRelease(t *testing.T) {
	command := goCommand(t)
	cache := release(t, "v0.1.0")
	dir := realDir(t)
	write(t, dir, map[string]string{"go.mod": ownModule})
	get := exec.Command(command, "get", modulePath+"@v0.1.0")
	get.Dir = dir
	if out, err := get.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", get, err, out)
	}
	source := filepath.Join(cache, modulePath+"@v0.1.0")
	must(t, os.RemoveAll(source))
	for _, network := range []string{os.Getenv("GOPROXY"), "off"} {
		t.Setenv("GOPROXY", network)
		w, err := findWorkspace(t.Context(), command, dir)
		if err != nil || !slices.Equal(w.dirs, []string{dir, source}) || len(w.remarks) > 0 {
			t.Errorf("GOPROXY=%s: workspace %+v, %v; want %s and %s", network, w, err, dir, source)
		}
	}
}

// TestOwnRelease checks that a program that was built from a release says so, and that one whose
// source is gone tells what to do.
func TestOwnRelease(t *testing.T) {
	command := goCommand(t)
	built := sourceFile
	t.Cleanup(func() { sourceFile = built })
	root := realDir(t)
	own := filepath.Join(root, "headwater@v0.1.0")
	write(t, own, map[string]string{"go.mod": "module " + modulePath + "\n"})
	sourceFile = filepath.Join(own, "internal", "kernel", "workspace.go")
	blank := filepath.Join(root, "blank")
	write(t, blank, map[string]string{"x": ""})
	if w, err := findWorkspace(t.Context(), command, blank); err != nil || !w.ownRelease ||
		!slices.Equal(w.dirs, []string{own}) {
		t.Errorf("workspace %+v, %v; want the release %s", w, err, own)
	}
	for _, gone := range []string{
		filepath.Join(root, "gone", "internal", "kernel", "workspace.go"),
		modulePath + "/internal/kernel/workspace.go", // built with -trimpath
	} {
		sourceFile = gone
		if _, err := findWorkspace(t.Context(), command, blank); err == nil ||
			!strings.Contains(err.Error(), "the folder in which this program was built is gone") {
			t.Errorf("built from %s: %v", gone, err)
		}
	}
}
