package xlaplugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoGPU means that CUDA is asked for on a machine without a GPU, and no plugin is named.
var ErrNoGPU = errors.New("plugin: this machine shows no NVIDIA GPU to this process: " +
	"there is no /dev/nvidia0")

// CheckCPU is [Check] of a plugin for CPUs.
func CheckCPU(path string) error { return named(checkCPU(path), path, Env) }

func checkCPU(path string) error {
	if IsCUDA(path) {
		return fmt.Errorf("plugin: %s is taken for one of CUDA, for its path has cuda or nvidia "+
			"in it: take it as backend cuda:%s, or, if it is for CPUs, move it",
			path, path)
	}
	return checkPath(path)
}

// CheckCUDA is [Check] of a plugin for NVIDIA GPUs. It does not look for a GPU: a plugin that finds
// none returns an error.
func CheckCUDA(path string) error {
	if !IsCUDA(path) {
		err := fmt.Errorf("plugin: %s is not taken for one of CUDA, for its path has neither "+
			"cuda nor nvidia in it: take it as backend xla:%s, or, if it is for GPUs, rename it",
			path, path)
		return named(err, path, CUDAEnv)
	}
	return named(checkPath(path), path, CUDAEnv)
}

// named adds to the error about a plugin the environment variable, if it names that plugin.
func named(err error, path, variable string) error {
	value, absErr := filepath.Abs(os.Getenv(variable))
	if err == nil || absErr != nil || value != path {
		return err
	}
	return fmt.Errorf("%w (%s names it)", err, variable)
}

// checkPath is [Check], and a path that the XLA library can be told: a comma begins its options.
func checkPath(path string) error {
	if strings.Contains(path, ",") {
		return fmt.Errorf("plugin: %s has a comma in its path, which the XLA "+
			"library does not allow", path)
	}
	return Check(path)
}

// PrepareCUDA sets what [CUDASettings] returns in this process, but for LD_LIBRARY_PATH, which no
// longer has an effect.
func PrepareCUDA(plugin string) error {
	for _, setting := range CUDASettings(plugin) {
		name, value, _ := strings.Cut(setting, "=")
		if name == "LD_LIBRARY_PATH" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("plugin: %w", err)
		}
	}
	return nil
}
