// Package backends opens what graphs run on: pure Go, and XLA for CPUs and NVIDIA GPUs if
// models/xla is linked. All models of a process share the backends that it opened.
package backends

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers the pure-Go backend

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Plugins has the functions that find and check the native libraries of XLA. Paths are absolute.
type Plugins struct {
	// FindCPU and FindCUDA return the path of the plugin for CPUs and for NVIDIA GPUs, or an error
	// that says how to get one.
	FindCPU, FindCUDA func() (path string, err error)
	// CheckCPU and CheckCUDA return an error for a file that cannot be such a plugin on this
	// machine, because loading it could end the program.
	CheckCPU, CheckCUDA func(path string) error
	// LoadCUDA sets up what a plugin for GPUs needs and calls load, which loads it.
	LoadCUDA func(path string, load func() error) error
	// ReleaseMemory returns memory that plugins hold and do not use to the system.
	ReleaseMemory func()
	// GPUMemory returns how many bytes of memory the GPU of LoadCUDA has, 0 if that is not known.
	GPUMemory func() int64
	// KeptGraphs returns how many compiled graphs this process has stored for later programs, and
	// why it stores none although the user wants that.
	KeptGraphs func() (graphs int, unused error)
}

// pkg is the name that the errors of this package begin with: that of the package that programs
// call.
const pkg = message.Package("models")

// backends are the backends that were opened. All models of the process share them.
var backends = struct {
	sync.Mutex
	byConfig map[string]compute.Backend
	// plugins is nil unless models/xla is imported.
	plugins *Plugins
}{byConfig: map[string]compute.Backend{}}

// Register makes XLA available. The package models/xla calls it. It panics if it is called
// twice. A test that registers plugins of its own removes them in the end.
func Register(p Plugins) (remove func()) {
	backends.Lock()
	defer backends.Unlock()
	if backends.plugins != nil {
		panic("backends: Register is called twice")
	}
	backends.plugins = &p
	return func() {
		backends.Lock()
		defer backends.Unlock()
		backends.plugins = nil
	}
}

// Names lists the kinds of backend that [Open] takes.
func Names() []string { return []string{"go", "xla", "cuda"} }

// Open returns the backend with a name: go, xla, cuda, or xla:PATH or cuda:PATH of a plugin.
// An empty name is xla if its plugin is found, and otherwise go.
func Open(name string) (compute.Backend, error) {
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
		return nil, pkg.Errorf("backend %s: %w", cmp.Or(name, config), err)
	}
	if device := b.DeviceDescription(0); isCUDA(config) &&
		strings.Contains(strings.ToLower(device), "cpu") {
		b.Finalize()
		return nil, pkg.Errorf("backend %s: its plugin computes on %s, which is not a "+
			"GPU; take it as backend xla:PATH", cmp.Or(name, config), device)
	}
	backends.byConfig[config] = b
	return b, nil
}

// Name returns the kind of a backend that [Open] returned: go, xla or cuda.
func Name(b compute.Backend) string {
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

// PluginPath returns the path of the plugin for the name of a backend, which is empty for pure Go.
// It does not load the plugin.
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

// KeptGraphs returns how many compiled graphs this process has stored, so that a later program
// loads them instead. The error says why the folder for them cannot be used; [PluginPath] and
// [Open] find that out.
func KeptGraphs() (int, error) {
	backends.Lock()
	defer backends.Unlock()
	p := backends.plugins
	if p == nil || p.KeptGraphs == nil {
		return 0, nil
	}
	graphs, err := p.KeptGraphs()
	if err != nil {
		return 0, pkg.Errorf("compiled graphs are not kept: %w", err)
	}
	return graphs, nil
}

// newBackend opens a backend. Of an error it returns what the plugin itself says, without the
// library's words around it. The library panics for some configurations; that is an error, too.
func newBackend(config string) (b compute.Backend, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			err = cause
		}
	}()
	if config == "go" {
		config = goConfig
	}
	if !isCUDA(config) {
		return compute.NewWithConfig(config)
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(config, "xla:"), ",")
	err = backends.plugins.LoadCUDA(path, func() error {
		b, err = compute.NewWithConfig(config)
		return err
	})
	return b, err
}

// goConfig is the configuration of the pure-Go backend. By default it runs the operations of a
// graph beside each other, each in a worker of a pool. A product of matrices then waits for
// workers of the same pool, so that a few products at once wait for each other without end. One
// after the other they still use all processors, each for itself.
const goConfig = "go:ops_sequential"

// cudaOptions turn off TF32, which rounds factors to 10 bits and so would change results, and the
// allocation of most of the GPU's memory at the start.
const cudaOptions = ",tf32=false,preallocate=false"

// isCUDA reports whether a configuration is one of [backendConfig] for GPUs.
func isCUDA(config string) bool { return strings.HasSuffix(config, cudaOptions) }

// backendConfig returns the library's configuration for the name of a backend.
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
			return "go", nil //nolint:nilerr // pure Go works without a plugin
		}
		if err := plugins.CheckCPU(found); err != nil {
			return "", pkg.Errorf("backend xla: %w", err)
		}
		return "xla:" + found, nil
	case kind != "xla" && kind != "cuda" || named && path == "":
		near := message.DidYouMean(kind, Names())
		if kind == "go" {
			near = "" // the name is right, and has no PATH
		}
		return "", &trace.UsageError{Package: "models", Reason: fmt.Sprintf(
			"backend %.60q is unknown; %sknown are go, xla, cuda, and xla:PATH and cuda:PATH of a "+
				"PJRT plugin", name, near)}
	case plugins == nil:
		return "", pkg.Errorf("backend %s is not part of this program: build it with "+
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
		return "", pkg.Errorf("backend %s: %w", kind, err)
	}
	return "xla:" + path + options, nil
}

// ReleaseMemory returns the memory that this process holds and does not use to the system. A
// program that waits calls it: while models run, the memory of one pass is kept for the next.
func ReleaseMemory() {
	debug.FreeOSMemory()
	ReleasePlugins()
}

// ReleasePlugins is [ReleaseMemory] for the plugins of backends alone. It takes milliseconds.
func ReleasePlugins() {
	backends.Lock()
	p := backends.plugins
	backends.Unlock()
	if p != nil && p.ReleaseMemory != nil {
		p.ReleaseMemory()
	}
}

// GPUMemory returns how many bytes of memory the GPU of a backend has, 0 if that is not known or
// the backend has none.
func GPUMemory(backend string) int64 {
	backends.Lock()
	p := backends.plugins
	backends.Unlock()
	if backend != "cuda" || p == nil || p.GPUMemory == nil {
		return 0
	}
	return p.GPUMemory()
}
