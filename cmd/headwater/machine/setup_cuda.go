package machine

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

// cudaSettings returns the environment that a backend's native libraries need and that this process
// lacks; none but cuda needs any.
func cudaSettings(backend string) []string {
	if kind, _, _ := strings.Cut(backend, ":"); kind != "cuda" {
		return nil
	}
	path, err := backends.PluginPath(backend)
	if err != nil {
		return nil // opening the backend will say so
	}
	return xlaplugin.CUDASettings(path)
}

// serveSettings returns the environment that an engine needs so that a cell can choose cuda. It is
// empty for other commands and where there is no GPU. It leaves XLA_FLAGS as they are, because the
// plugin for CPUs loads only graphs that were compiled with the same ones.
func serveSettings(args []string, gpu bool) []string {
	if len(args) < 2 || args[1] != "serve" || !gpu {
		return nil
	}
	path, err := xlaplugin.FindCUDA()
	if err != nil {
		return nil // opening the backend will say so, if a cell asks for it
	}
	return slices.DeleteFunc(xlaplugin.CUDASettings(path), func(setting string) bool {
		return !strings.HasPrefix(setting, "LD_LIBRARY_PATH=")
	})
}

// restarted marks a program that was started again, so that it is not a third time.
const restarted = "HEADWATER_RESTARTED"

// RestartForCUDA starts the program again with the environment that --backend cuda, or an engine
// whose cells may choose cuda, needs: the system's loader reads LD_LIBRARY_PATH only when a program
// starts. It returns if nothing is needed or if that does not work.
func RestartForCUDA(args []string) {
	if os.Getenv(restarted) != "" {
		return
	}
	settings := cudaSettings(backendArgument(args))
	if settings == nil {
		settings = serveSettings(args, xlaplugin.HasGPU())
	}
	if len(settings) == 0 {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	for _, setting := range append(settings, restarted+"=1") {
		name, value, _ := strings.Cut(setting, "=")
		if os.Setenv(name, value) != nil {
			return
		}
	}
	// Where this fails, the libraries may be found without it.
	_ = syscall.Exec(self, args, os.Environ()) //nolint:gosec // this program itself
}

// backendArgument returns the value of --backend in a command line, the last one if there are
// several.
func backendArgument(args []string) string {
	found := ""
	for i, arg := range args {
		switch value, ok := strings.CutPrefix(arg, "--backend="); {
		case arg == "--":
			return found
		case ok:
			found = value
		case arg == "--backend" && i+1 < len(args):
			found = args[i+1]
		}
	}
	return found
}
