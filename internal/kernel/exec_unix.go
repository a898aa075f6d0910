//go:build unix

package kernel

import (
	"syscall"
)

// replaceProcess makes this process the program command[0]. It keeps its process number, by which
// Jupyter and the engine know it.
func replaceProcess(command, env []string) error {
	//nolint:gosec // GoNB, which the user has installed
	return pkg.Errorf("starting %s: %w", command[0], syscall.Exec(command[0], command, env))
}
