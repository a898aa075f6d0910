package firstminutes

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is a user without rights of their own.
const nobody = 65534

// leaveRoot lets a command of root run as somebody whom permissions stop.
func leaveRoot(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
		}
	}
}
