//go:build cgo && linux && amd64

// Package xla adds the XLA backend to package models, on CPUs and on NVIDIA GPUs, if it is imported
// for its side effect. It links XLA's loader, so it needs cgo; without cgo the import does nothing
// and models run in pure Go.
//
// Plugins are found by package internal/xlaplugin. Nothing is downloaded.
package xla

import (
	"os"
	"syscall"

	"github.com/gomlx/go-xla/compute/xla"

	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

func init() {
	xla.EnableAutoInstall(false)
	backends.Register(backends.Plugins{
		FindCPU: xlaplugin.Find, CheckCPU: checkCPU,
		FindCUDA: findCUDA, CheckCUDA: xlaplugin.CheckCUDA, LoadCUDA: loadCUDA,
		ReleaseMemory: releaseMemory, GPUMemory: gpuMemory, KeptGraphs: keptGraphs,
	})
}

// findCUDA is [xlaplugin.FindCUDA] where there is a GPU or the user names a plugin. Otherwise no
// plugin would help.
func findCUDA() (string, error) {
	if !xlaplugin.HasGPU() && os.Getenv(xlaplugin.CUDAEnv) == "" {
		return "", xlaplugin.ErrNoGPU
	}
	return xlaplugin.FindCUDA()
}

// loadCUDA sets the environment of a plugin for GPUs, calls load, and lets the GPU compute while
// the next graph is handed to it. The plugin logs to standard error before it reads how much it
// shall log, so nothing arrives there meanwhile, unless the user wants to know all.
func loadCUDA(path string, load func() error) (err error) {
	if err := xlaplugin.PrepareCUDA(path); err != nil {
		return err
	}
	if _, err := setFlags(path, onCUDA); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			runAhead(path)
		}
	}()
	if os.Getenv(xlaplugin.LogEnv) < xlaplugin.LogErrors {
		return load()
	}
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return load() // which matters more than a quiet terminal
	}
	defer nowhere.Close()
	before, err := syscall.Dup(syscall.Stderr)
	if err != nil {
		return load()
	}
	syscall.CloseOnExec(before)
	defer syscall.Close(before)                        //nolint:errcheck // it is open
	syscall.Dup3(int(nowhere.Fd()), syscall.Stderr, 0) //nolint:errcheck // both are open
	defer syscall.Dup3(before, syscall.Stderr, 0)      //nolint:errcheck // both are open
	return load()
}
