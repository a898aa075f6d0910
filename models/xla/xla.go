//go:build cgo && linux && amd64

// Package xla adds the XLA backend to package models, on CPUs and on NVIDIA GPUs, when it is imported for its side effect. It links
// XLA's loader, so it needs cgo; without it the import does nothing and models run in pure Go.
//
// Plugins are found by package models/xla/plugin. Nothing is downloaded.
package xla

import (
	"github.com/gomlx/go-xla/compute/xla"

	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/xla/plugin"
)

func init() {
	xla.EnableAutoInstall(false)
	models.RegisterXLA(models.Plugins{
		FindCPU: plugin.Find, CheckCPU: checkCPU,
		FindCUDA: findCUDA, CheckCUDA: plugin.CheckCUDA, PrepareCUDA: plugin.PrepareCUDA,
	})
}

// findCUDA is [plugin.FindCUDA] where there is a GPU, for without one no plugin would help.
func findCUDA() (string, error) {
	if !plugin.HasGPU() {
		return "", plugin.ErrNoGPU
	}
	return plugin.FindCUDA()
}
