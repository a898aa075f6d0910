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

// modulePath is this module. The engine keeps the version of it that it started with.
const modulePath = "github.com/headwater-ml/headwater"

// ownModules returns the state of every source file in those modules of this program that come from
// a directory and not from a release: a user may edit a plugin there while the notebook runs.
func ownModules(dir string) ([]string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, nil
	}
	args := []string{"list", "-m", "-f", "{{.Dir}}"}
	options := len(args)
	for _, m := range info.Deps {
		version := m.Version
		if m.Replace != nil {
			version = m.Replace.Version
		}
		if m.Path != modulePath && (version == "" || version == "(devel)") {
			args = append(args, m.Path)
		}
	}
	if len(args) == options {
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
		return nil, pkg.Errorf("looking for the modules of the cell: %w", err)
	}
	var states []string
	for directory := range strings.Lines(string(out)) {
		found, err := sourceStates(strings.TrimSpace(directory))
		if err != nil {
			return nil, err
		}
		states = append(states, found...)
	}
	return states, nil
}

// sourceStates returns the name, size and time of every Go file below a directory, except in hidden
// directories.
func sourceStates(directory string) (states []string, err error) {
	err = filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != directory && strings.HasPrefix(d.Name(), ".") {
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
		return nil, pkg.Errorf("%w", err)
	}
	return states, nil
}
