//go:build cgo && linux && amd64

package xlaplugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gomlx/go-xla/installer"
)

// fromGoXLA runs go-xla's installer. It cannot be stopped, so it is left behind when the context
// ends.
func fromGoXLA(ctx context.Context, opts InstallOptions, work string) (Installed, error) {
	opts.OnProgress("fetching the plugin of go-xla", 0, 0)
	folder := filepath.Join(work, "go-xla")
	if err := os.Mkdir(folder, 0o755); err != nil { //nolint:gosec // not secret
		return Installed{}, err
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Errorf("go-xla's installer: %v", r)
			}
		}()
		done <- installer.CPUAutoInstall(folder, false, installer.Quiet)
	}()
	select {
	case <-ctx.Done():
		return Installed{}, ctx.Err()
	case err := <-done:
		if err != nil {
			return Installed{}, err
		}
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(folder), "pjrt_c_api_cpu_*_plugin.so"))
	if err != nil || len(found) == 0 {
		return Installed{}, errors.New("go-xla's installer left no plugin")
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "pjrt_c_api_cpu_"),
		"_plugin.so")
	return Installed{Path: found[0], Source: SourceGoXLA, Version: version}, nil
}
