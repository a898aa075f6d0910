package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// openers are the programs that open a file as a click on it does, by operating system.
var openers = map[string][]string{
	"darwin":  {"open"},
	"windows": {"rundll32", "url.dll,FileProtocolHandler"}, // what start calls, without a shell
}

// OpenFiles opens files with the program of the desktop and does not wait for it.
func OpenFiles(paths []string) error {
	words := append([]string{}, openers[runtime.GOOS]...)
	if len(words) == 0 {
		words = []string{"xdg-open"}
	}
	for _, path := range paths {
		if path == "" { // standard output
			continue
		}
		whole, err := filepath.Abs(path) // which no program takes for an option
		if err != nil {
			return fmt.Errorf("--open %s: %w", path, err)
		}
		cmd := exec.Command(words[0], append(words[1:], whole)...)
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("--open: %s cannot be started (%w); install it, or open %s yourself",
				words[0], err, path)
		}
		_ = cmd.Process.Release() // it goes on by itself
	}
	return nil
}
