//go:build !unix

package kernel

// replaceProcess returns an error: GoNB runs on Unix only.
func replaceProcess(_, _ []string) error { return errUnsupported }
