//go:build !unix

package kernel

// replaceProcess returns an error: GoNB runs on Unix only.
func replaceProcess(_, _ []string) error {
	return pkg.Errorf("notebooks need Linux, macOS, or WSL on Windows: " +
		"the command headwater works here without them")
}
