package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// whileAlive is a shell script that runs the command line $2… with an input that has a line for
// every second that process $1 runs, and ends with it. So the engine at the other end of ssh ends
// with the kernel, although the cell that starts it ends long before.
const whileAlive = `pid=$1
shift
while kill -0 "$pid" 2>/dev/null; do echo; sleep 1; done | "$@"`

// remotePoll is how often a start looks at the log of ssh. Every connection to a socket that is not
// there yet would be a line of it.
const remotePoll = 100 * time.Millisecond

// arguments returns the arguments of ssh that start an engine on the machine and forward the local
// socket to its socket there. Nothing asks for a password, and no port is opened.
func (r *remote) arguments(local, there string, idle time.Duration) []string {
	args := []string{
		"-T", "-a", "-x", // no terminal, no agent, no X11
		"-S", "none", // a connection of its own, which ends with the engine
		"-L", local + ":" + there,
	}
	for _, option := range []string{
		"BatchMode=yes", "ConnectTimeout=20", "ExitOnForwardFailure=yes",
		"StreamLocalBindUnlink=yes", "StreamLocalBindMask=0177",
		"ServerAliveInterval=15", "ServerAliveCountMax=4", "RemoteCommand=none",
	} {
		args = append(args, "-o", option)
	}
	if r.port != "" {
		args = append(args, "-p", r.port)
	}
	if r.user != "" {
		args = append(args, "-l", r.user)
	}
	command := fmt.Sprintf("exec %s serve --remote --socket %s --idle %v", r.command, there, idle)
	return append(args, "--", r.host, command)
}

// launchRemote starts an engine on another machine and waits until it answers.
func (s Start) launchRemote(ctx context.Context, c Client, r *remote) (err error) {
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return pkg.Errorf("%s names another machine, and the program ssh is missing: "+
			"install OpenSSH", binaryVariable)
	}
	sweep(filepath.Dir(c.Socket))
	stopOthers(ctx, c.Socket)
	s.stage("connecting to " + r.name())
	there, err := remoteSocket()
	if err != nil {
		return err
	}
	args := append([]string{"-c", whileAlive, "sh", fmt.Sprint(s.PID), ssh},
		r.arguments(c.Socket, there, s.idle())...)
	pid, exited, err := s.run("sh", args, c.Socket)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			endSession(pid)
		}
	}()
	deadline := time.Now().Add(s.wait())
	began := false
	for {
		if !began {
			if began, err = r.began(c.Socket); err != nil {
				return err
			}
		}
		if began {
			running, err := s.answers(ctx, c)
			if running || err != nil {
				return err
			}
			if err := r.forwards(c.Socket); err != nil {
				return err
			}
		}
		select {
		case ended := <-exited:
			return r.failure(c.Socket, ended)
		case <-ctx.Done():
			return pkg.Errorf("interrupted while connecting to %s: %w", r.name(),
				context.Cause(ctx))
		case <-time.After(remotePoll):
		}
		if time.Now().After(deadline) {
			return pkg.Errorf("no engine answered on %s within %v%s", r.name(), s.wait(),
				lastLines(c.Socket))
		}
	}
}

// remoteSocket returns where the engine listens on the other machine: in a folder that it makes,
// and that nobody can have made before, because nobody can know its name.
func remoteSocket() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", pkg.Errorf("%w", err)
	}
	return "/tmp/headwater-" + hex.EncodeToString(b[:]) + "/s", nil
}

// began reports whether the engine says in the log that it listens. The error says that it is of
// another version.
func (r *remote) began(socket string) (bool, error) {
	log, _ := os.ReadFile(logFile(socket))
	ready := readyLine.FindStringSubmatch(string(log))
	if ready == nil {
		return false, nil
	}
	return true, r.checkVersions(ready[1], ready[2])
}

// forwards returns an error if the other machine refuses to connect the two sockets, although the
// engine listens.
func (r *remote) forwards(socket string) error {
	log, _ := os.ReadFile(logFile(socket))
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, ": open failed: ") { // of a channel
			return pkg.Errorf("%s refuses to forward a socket (%s): its sshd needs "+
				"AllowStreamLocalForwarding yes", r.name(), strings.TrimSpace(line))
		}
	}
	return nil
}

// failure says why ssh ended before the engine answered.
func (r *remote) failure(socket string, ended error) error {
	data, _ := os.ReadFile(logFile(socket))
	log := strings.TrimSpace(string(data))
	last := log[strings.LastIndexByte(log, '\n')+1:]
	status := 0
	var exit *exec.ExitError
	if errors.As(ended, &exit) {
		status = exit.ExitCode()
	}
	const ssh, notExecutable, notFound = 255, 126, 127
	switch {
	case status == notFound || status == notExecutable:
		return pkg.Errorf("%s has no program %s (%.300s): install it there, or say where "+
			"it is, as in %s=ssh://%s/~/go/bin/headwater", r.name(), r.command, last,
			binaryVariable, r.name())
	case strings.Contains(log, "unknown flag: --remote"),
		strings.Contains(log, `unknown command "serve"`):
		return pkg.Errorf("headwater on %s is older than this notebook and cannot serve "+
			"it: install the same version on both", r.name())
	case status == ssh && strings.Contains(log, "Permission denied"):
		return pkg.Errorf("ssh cannot log in on %s: %.300s: it must work without a "+
			"password; try ssh %s in a terminal", r.name(), last, r.name())
	case status == ssh && strings.Contains(log, "Host key verification failed"):
		return pkg.Errorf("ssh does not know %s or its key has changed: "+
			"run ssh %s once in a terminal", r.name(), r.name())
	case status == ssh:
		return pkg.Errorf("ssh cannot connect to %s: %.300s", r.name(), last)
	}
	return pkg.Errorf("headwater on %s ended before it was ready (%v)%s", r.name(), ended,
		lastLines(socket))
}
