package engine

import (
	"net"
	"syscall"
)

// peer returns the process that listens at the other end of a unix socket, or 0 if that is not
// known. It asks the system and not the process, which may be stopped.
func peer(conn net.Conn) (pid int) {
	const solLocal, localPeerPID = 0, 2 // of sys/un.h
	return peerWith(conn, func(fd int) int {
		pid, err := syscall.GetsockoptInt(fd, solLocal, localPeerPID)
		if err != nil {
			return 0
		}
		return pid
	})
}
