package kernel

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// workspace is what the cells of a notebook may import.
type workspace struct {
	// dirs are the directories of modules, absolute. One of them is this module.
	dirs []string
	// source is that of this module.
	source string
	// ownRelease reports whether this module is the release that this program was built from, so
	// that the program can be the engine of the notebook.
	ownRelease bool
	// remarks name what of the notebook's folder cannot be used.
	remarks []string
}

// findWorkspace returns the workspace of a notebook in the folder dir. The error says that the
// source of this module is not available at all.
func findWorkspace(ctx context.Context, goCommand, dir string) (workspace, error) {
	var w workspace
	modules, err := mainModules(ctx, goCommand, dir)
	if err != nil {
		w.remarks = append(w.remarks, "the module of the notebook's folder cannot be used: "+
			err.Error())
	}
	for _, m := range modules {
		w.add(m.Dir)
		if m.Path == modulePath {
			w.source = m.Dir
		}
	}
	if w.source != "" {
		return w, nil
	}
	own, ownErr := builtFrom()
	used := ""
	if len(modules) > 0 {
		used, err = required(ctx, goCommand, dir)
		if err != nil {
			w.remarks = append(w.remarks, "the version of "+modulePath+" that this project "+
				"requires is not available, so the one of this program is used: "+err.Error())
		}
	}
	if used == "" {
		if ownErr != nil {
			if own, ownErr = downloaded(ctx, goCommand); ownErr != nil {
				return workspace{}, ownErr
			}
		}
		used = own
	}
	if strings.Contains(used, ",") {
		return workspace{}, pkg.Errorf("the source of %s is in %s, and GoNB cannot use a "+
			"folder with a comma in its name: move it", modulePath, used)
	}
	w.add(used)
	w.source = used
	w.ownRelease = used == own && strings.Contains(filepath.Base(own), "@")
	return w, nil
}

// add adds the directory of a module, unless GoNB cannot use it.
func (w *workspace) add(dir string) {
	if strings.Contains(dir, ",") {
		w.remarks = append(w.remarks, fmt.Sprintf("cells cannot import packages of %s: "+
			"GoNB cannot use a folder with a comma in its name", dir))
		return
	}
	if !slices.Contains(w.dirs, dir) {
		w.dirs = append(w.dirs, dir)
	}
}

// module is what the command go list -m says about a module.
type module struct{ Path, Dir string }

// mainModules returns the module of a folder, or the modules of its go.work; none if there is
// neither.
func mainModules(ctx context.Context, goCommand, dir string) ([]module, error) {
	out, err := goOutput(ctx, goCommand, dir, os.Environ(), "env", "GOMOD", "GOWORK")
	if err != nil {
		return nil, err
	}
	mod, work, _ := strings.Cut(out, "\n")
	work = strings.TrimSpace(work)
	if (mod == "" || mod == os.DevNull) && (work == "" || work == "off") {
		return nil, nil
	}
	return listModules(ctx, goCommand, dir)
}

// required returns the directory of this module in the version that the module of dir requires, or
// "" if that does not require it.
func required(ctx context.Context, goCommand, dir string) (string, error) {
	modules, err := listModules(ctx, goCommand, dir, modulePath)
	if err != nil {
		if strings.Contains(err.Error(), "not a known dependency") {
			return "", nil
		}
		return "", err
	}
	if len(modules) == 1 && modules[0].Dir != "" {
		return modules[0].Dir, nil
	}
	m, err := download(ctx, goCommand, dir, os.Environ(), modulePath)
	return m.Dir, err
}

// listModules runs go list -m, which changes no file.
func listModules(
	ctx context.Context, goCommand, dir string, modules ...string,
) ([]module, error) {
	args := append([]string{"list", "-m", "-mod=readonly", "-json=Path,Dir"}, modules...)
	out, err := goOutput(ctx, goCommand, dir, os.Environ(), args...)
	if err != nil {
		return nil, err
	}
	var all []module
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var m module
		if err := d.Decode(&m); err != nil {
			return nil, pkg.Errorf("what go list prints cannot be read: %w", err)
		}
		all = append(all, m)
	}
	return all, nil
}

// download brings a module into the module cache, if it is not there, and returns it.
func download(
	ctx context.Context, goCommand, dir string, env []string, name string,
) (module, error) {
	out, err := goOutput(ctx, goCommand, dir, env, "mod", "download", "-json", name)
	if err != nil {
		return module{}, err
	}
	var m module
	if err := json.Unmarshal([]byte(out), &m); err != nil || m.Dir == "" {
		return module{}, pkg.Errorf("what go mod download prints cannot be read (%w)", err)
	}
	return m, nil
}

// sourceFile is the path of this file when the program was built.
var sourceFile = func() string {
	_, file, _, _ := runtime.Caller(0)
	return file
}()

// builtFrom returns the directory of the source that this program was built from: a clone, or a
// release in the module cache. The error says that it is no longer there.
func builtFrom() (string, error) {
	dir := filepath.Dir(filepath.Dir(filepath.Dir(sourceFile))) // internal/kernel/FILE
	if !filepath.IsAbs(dir) {                                   // built with -trimpath
		return "", pkg.Errorf("the program does not say where it was built")
	}
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", pkg.Errorf("the source of this program: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if lines.Text() == "module "+modulePath {
			return dir, nil
		}
	}
	return "", pkg.Errorf("%s is no longer the source of this program", dir)
}

// downloaded returns the directory of the release that this program was built from, which is
// downloaded if the module cache does not have it.
func downloaded(ctx context.Context, goCommand string) (string, error) {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	if strings.HasPrefix(version, "(") || strings.Contains(version, "+") {
		return "", pkg.Errorf("no source of %s: the folder in which this program "+
			"was built is gone (%s); build it again there, or install a release with: "+
			"go install %s/cmd/headwater@latest", modulePath, sourceFile, modulePath)
	}
	env := append(without(os.Environ(), "GOWORK", "GOFLAGS"), "GOWORK=off", "GOFLAGS= ")
	m, err := download(ctx, goCommand, os.TempDir(), env, modulePath+"@"+version)
	if err != nil {
		return "", pkg.Errorf("no source of %s %s: %w", modulePath, version, err)
	}
	return m.Dir, nil
}
