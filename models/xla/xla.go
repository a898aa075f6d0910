//go:build cgo && linux && amd64

// Package xla adds the XLA backend to package models, on CPUs and on NVIDIA GPUs, if it is imported
// for its side effect. It links XLA's loader, so it needs cgo; without cgo the import does nothing
// and models run in pure Go.
//
// Plugins are found by package internal/xlaplugin. Nothing is downloaded.
package xla

import (
	"github.com/gomlx/go-xla/compute/xla"

	"github.com/headwater-ml/headwater/internal/xlaplugin"
	"github.com/headwater-ml/headwater/models"
)

func init() {
	xla.EnableAutoInstall(false)
	models.RegisterXLA(models.Plugins{
		FindCPU: xlaplugin.Find, CheckCPU: checkCPU,
		FindCUDA: findCUDA, CheckCUDA: xlaplugin.CheckCUDA, PrepareCUDA: xlaplugin.PrepareCUDA,
		ReleaseMemory: releaseMemory, KeptGraphs: keptGraphs,
	})
}

// findCUDA is [xlaplugin.FindCUDA] where there is a GPU, for without one no plugin would help.
func findCUDA() (string, error) {
	if !xlaplugin.HasGPU() {
		return "", xlaplugin.ErrNoGPU
	}
	return xlaplugin.FindCUDA()
}
