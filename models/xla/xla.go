//go:build cgo && linux && amd64

// Package xla adds the XLA backend to package models when it is imported for its side effect. It links XLA's loader, so it needs
// cgo; without it the import does nothing and models run in pure Go.
//
// A PJRT plugin is looked for in $HEADWATER_XLA, beside the running program (../xla) and in .cache/xla of the working directory
// and its parents. Nothing is downloaded.
package xla

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gomlx/go-xla/compute/xla"

	"github.com/headwater-ml/headwater/models"
)

// plugin is the file name of the CPU plugin that the project's setup installs.
const plugin = "xla_cpu_pjrt.so"

// Env is the environment variable that names a PJRT plugin.
const Env = "HEADWATER_XLA"

func init() {
	xla.EnableAutoInstall(false)
	models.RegisterXLA(Find)
}

// Find returns the absolute path of a PJRT plugin, or an error that says where it was looked for.
func Find() (string, error) {
	if path := os.Getenv(Env); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("xla: %s: %w", Env, err)
		}
		return filepath.Abs(path)
	}
	for _, path := range candidates() {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("xla: no PJRT plugin: set %s to its path, or run make setup, which puts %s into .cache/xla", Env, plugin)
}

// candidates are the places where the project's setup puts the plugin.
func candidates() []string {
	var paths []string
	if program, err := os.Executable(); err == nil {
		paths = append(paths, filepath.Join(filepath.Dir(filepath.Dir(program)), "xla", plugin))
	}
	dir, err := os.Getwd()
	if err != nil {
		return paths
	}
	for {
		paths = append(paths, filepath.Join(dir, ".cache", "xla", plugin))
		parent := filepath.Dir(dir)
		if parent == dir {
			return paths
		}
		dir = parent
	}
}
