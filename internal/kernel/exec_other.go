//go:build !unix

package kernel

import "errors"

// replaceProcess returns an error: GoNB runs on Unix only.
func replaceProcess(_, _ []string) error {
	return errors.New("kernel: notebooks need Linux, macOS, or WSL on Windows: " +
		"the command headwater works here without them")
}
