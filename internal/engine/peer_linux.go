package engine

import (
	"net"
	"syscall"
)

// peer returns the process that listens at the other end of a unix socket, or 0 if that is not
// known. It asks the system and not the process, which may be stopped.
func peer(conn net.Conn) (pid int) {
	return peerWith(conn, func(fd int) int {
		cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		if err != nil {
			return 0
		}
		return int(cred.Pid)
	})
}
