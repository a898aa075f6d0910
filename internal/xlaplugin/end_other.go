//go:build !unix

package xlaplugin

import "os/exec"

// endTogether does nothing here: only the command itself is ended.
func endTogether(*exec.Cmd) {}
