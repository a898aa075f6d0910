package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// modulePath is this module, which is taken as it was when the engine started.
const modulePath = "github.com/headwater-ml/headwater"

// ownModules returns the state of every source file in the modules of this program that come from a folder and not from a release: a
// plugin may be edited there while the notebook runs.
func ownModules(dir string) ([]string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, nil
	}
	args := []string{"list", "-m", "-f", "{{.Dir}}"}
	none := len(args)
	for _, m := range info.Deps {
		version := m.Version
		if m.Replace != nil {
			version = m.Replace.Version
		}
		if m.Path != modulePath && (version == "" || version == "(devel)") {
			args = append(args, m.Path)
		}
	}
	if len(args) == none {
		return nil, nil
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %.500s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("local: looking for the modules of the cell: %w", err)
	}
	var states []string
	for folder := range strings.Lines(string(out)) {
		found, err := sourceStates(strings.TrimSpace(folder))
		if err != nil {
			return nil, err
		}
		states = append(states, found...)
	}
	return states, nil
}

// sourceStates returns name, size and time of every Go file below a folder, but for hidden folders.
func sourceStates(folder string) (states []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != folder && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		info, err := d.Info()
		if err == nil {
			states = append(states, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano()))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	return states, nil
}
