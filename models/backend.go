package models

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers the pure-Go backend
)

// backends are those that were opened; one of each serves all models of the process.
var backends = struct {
	sync.Mutex
	byConfig map[string]compute.Backend
	// findXLA returns the path of a PJRT plugin; nil unless models/xla is imported.
	findXLA func() (string, error)
}{byConfig: map[string]compute.Backend{}}

// RegisterXLA tells how a PJRT plugin is found. The package models/xla calls it; it panics on a second call.
func RegisterXLA(find func() (path string, err error)) {
	backends.Lock()
	defer backends.Unlock()
	if backends.findXLA != nil {
		panic("models: RegisterXLA is called twice")
	}
	backends.findXLA = find
}

// OpenBackend returns the backend of that name: go, xla, xla:PATH, or empty for the best there is.
func OpenBackend(name string) (compute.Backend, error) {
	backends.Lock()
	defer backends.Unlock()
	config, err := backendConfig(name)
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
	backends.byConfig[config] = b
	return b, nil
}

// newBackend calls the library, which panics on some of what it is told.
func newBackend(config string) (b compute.Backend, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return compute.NewWithConfig(config)
}

// backendConfig returns what the library calls the backend.
func backendConfig(name string) (string, error) {
	kind, path, _ := strings.Cut(name, ":")
	switch {
	case name == "go":
		return "go", nil
	case name == "":
		if backends.findXLA == nil {
			return "go", nil
		}
		found, err := backends.findXLA()
		if err != nil {
			return "go", nil //nolint:nilerr // no plugin is no error where pure Go will do
		}
		return "xla:" + found, nil
	case kind != "xla":
		return "", fmt.Errorf("models: backend %q is unknown; known are go, xla and xla:PATH of a PJRT plugin", name)
	case backends.findXLA == nil || !slices.Contains(compute.List(), "xla"):
		return "", fmt.Errorf("models: backend xla is not part of this program: build it with cgo (a C compiler) and import models/xla")
	case path != "":
		return name, nil
	}
	found, err := backends.findXLA()
	if err != nil {
		return "", err
	}
	return "xla:" + found, nil
}
