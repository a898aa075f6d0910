package models

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers the pure-Go backend

	"github.com/headwater-ml/headwater/internal/message"
)

// Plugins say how the native libraries of XLA are found and checked. Paths are absolute.
type Plugins struct {
	// FindCPU and FindCUDA return the path of the plugin for CPUs and for NVIDIA GPUs, or an error
	// that says how to get one.
	FindCPU, FindCUDA func() (path string, err error)
	// CheckCPU and CheckCUDA refuse a file that cannot be such a plugin on this machine; loading it
	// could end the program.
	CheckCPU, CheckCUDA func(path string) error
	// PrepareCUDA sets up what a plugin for GPUs needs before it is loaded.
	PrepareCUDA func(path string) error
}

// backends are those that were opened; one of each serves all models of the process.
var backends = struct {
	sync.Mutex
	byConfig map[string]compute.Backend
	// plugins is nil unless models/xla is imported.
	plugins *Plugins
}{byConfig: map[string]compute.Backend{}}

// RegisterXLA tells how PJRT plugins are found. The package models/xla calls it; it panics on a
// second call.
func RegisterXLA(p Plugins) {
	backends.Lock()
	defer backends.Unlock()
	if backends.plugins != nil {
		panic("models: RegisterXLA is called twice")
	}
	backends.plugins = &p
}

// Backends lists the kinds of backend that [OpenBackend] takes.
func Backends() []string { return []string{"go", "xla", "cuda"} }

// OpenBackend returns the backend of that name: go, xla, cuda, xla:PATH or cuda:PATH of a plugin,
// or empty for the best there is without a GPU: xla if its plugin is found, else go.
func OpenBackend(name string) (compute.Backend, error) {
	backends.Lock()
	defer backends.Unlock()
	config, err := backendConfig(name, backends.plugins)
	if err != nil {
		return nil, err
	}
	if b, ok := backends.byConfig[config]; ok {
		return b, nil
	}
	b, err := newBackend(config)
	if err != nil {
		return nil, fmt.Errorf("models: backend %s: %w", config, err)
	}
	if device := b.DeviceDescription(0); isCUDA(config) &&
		strings.Contains(strings.ToLower(device), "cpu") {
		b.Finalize()
		return nil, fmt.Errorf("models: backend %s: its plugin computes on %s, which is not a "+
			"GPU; take it as backend xla:PATH", config, device)
	}
	backends.byConfig[config] = b
	return b, nil
}

// BackendName returns the kind of a backend that [OpenBackend] returned: go, xla or cuda.
func BackendName(b compute.Backend) string {
	backends.Lock()
	defer backends.Unlock()
	for config, opened := range backends.byConfig {
		if opened == b && isCUDA(config) {
			return "cuda"
		}
	}
	if strings.EqualFold(b.Name(), "Go Backend") { // what package gobackend calls itself
		return "go"
	}
	return b.Name()
}

// PluginPath returns the path of the plugin that a backend's name stands for, empty for pure Go. It
// loads nothing.
func PluginPath(name string) (string, error) {
	backends.Lock()
	defer backends.Unlock()
	config, err := backendConfig(name, backends.plugins)
	if err != nil {
		return "", err
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(config, "xla:"), ",")
	if config == "go" {
		path = ""
	}
	return path, nil
}

// newBackend calls the library, which panics on some of what it is told.
func newBackend(config string) (b compute.Backend, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	if isCUDA(config) {
		path, _, _ := strings.Cut(strings.TrimPrefix(config, "xla:"), ",")
		if err := backends.plugins.PrepareCUDA(path); err != nil {
			return nil, err
		}
	}
	return compute.NewWithConfig(config)
}

// cudaOptions turn off what rounds multiplications to 10 bits, because results are compared with
// those of other backends, and what takes most of the GPU's memory at once.
const cudaOptions = ",tf32=false,preallocate=false"

// isCUDA reports whether a configuration is one of [backendConfig] for GPUs.
func isCUDA(config string) bool { return strings.HasSuffix(config, cudaOptions) }

// backendConfig returns what the library calls the backend.
func backendConfig(name string, plugins *Plugins) (string, error) {
	kind, path, named := strings.Cut(name, ":")
	switch {
	case name == "go":
		return "go", nil
	case name == "":
		if plugins == nil {
			return "go", nil
		}
		found, err := plugins.FindCPU()
		if err != nil {
			return "go", nil //nolint:nilerr // no plugin is no error where pure Go will do
		}
		return "xla:" + found, plugins.CheckCPU(found)
	case kind != "xla" && kind != "cuda" || named && path == "":
		near := message.DidYouMean(kind, Backends())
		if kind == "go" {
			near = "" // the name is right, and has no PATH
		}
		return "", fmt.Errorf("models: backend %.60q is unknown; %sknown are go, xla, cuda, "+
			"and xla:PATH and cuda:PATH of a PJRT plugin", name, near)
	case plugins == nil:
		return "", fmt.Errorf("models: backend %s is not part of this program: build it with "+
			"cgo (a C compiler) and import models/xla", kind)
	}
	find, check, options := plugins.FindCPU, plugins.CheckCPU, ""
	if kind == "cuda" {
		find, check, options = plugins.FindCUDA, plugins.CheckCUDA, cudaOptions
	}
	var err error
	if path == "" {
		path, err = find()
	} else {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		err = check(path)
	}
	if err != nil {
		return "", fmt.Errorf("models: backend %s: %w", kind, err)
	}
	return "xla:" + path + options, nil
}
