//go:build linux || darwin

package engine

import "net"

// peerWith calls ask with the file descriptor of a unix socket.
func peerWith(conn net.Conn, ask func(fd int) (pid int)) (pid int) {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return 0
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return 0
	}
	if err := raw.Control(func(fd uintptr) { pid = ask(int(fd)) }); err != nil {
		return 0
	}
	return pid
}
