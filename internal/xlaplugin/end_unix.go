//go:build unix

package xlaplugin

import (
	"os/exec"
	"syscall"
)

// endTogether makes the end of the context of a command end the processes too that the command
// started, such as the interpreter behind a shell script named python3.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
