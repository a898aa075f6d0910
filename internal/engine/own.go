package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Own says how this program itself becomes an engine, so that the engine has the plugins that the
// program registers. Package gonbext/local, which links the models, sets it.
type Own struct {
	// Divert serves and ends the process if it was started as an engine; otherwise it returns at
	// once.
	Divert func()
	// Key identifies the code, in letters and digits that a file name can have. An engine with the
	// same key is used again, and one with another key is ended. Key is empty in a program that is
	// not a notebook's cell: its engine belongs to it alone and ends with it.
	Key func() (string, error)
	// Arguments returns the command line that makes this program an engine.
	Arguments func(socket string, pid int, idle time.Duration) []string
}

var own *Own

// SetOwn makes this program its own engine, instead of the command headwater. An init function
// calls it.
func SetOwn(o Own) { own = &o }

// IsOwn reports whether this program is its own engine.
func IsOwn() bool { return own != nil }

// isOwn reports whether this program is the one to start.
func (s Start) isOwn() bool { return own != nil && s.Binary == "" }

// find returns a client of the engine. It sets PID if it is 0.
func (s *Start) find() (c Client, err error) {
	key := ""
	if s.isOwn() {
		own.Divert()
		if key, err = own.Key(); err != nil {
			return Client{}, err
		}
	}
	switch {
	case s.PID != 0:
	case s.isOwn() && key == "":
		s.PID = os.Getpid()
	default:
		s.PID = os.Getppid()
	}
	c.Socket, err = socketFor(s.PID, key)
	return c, err
}

// stopOthers ends the engines of other code that belong to the same process, because each keeps
// models in memory. The cells of a kernel run one after the other, so none uses such an engine.
func stopOthers(ctx context.Context, socket string) {
	locks, _ := filesIn(filepath.Dir(socket), owner(socket), ".lock")
	for _, lock := range locks {
		other := strings.TrimSuffix(lock, ".lock") + ".sock"
		if other == socket {
			continue
		}
		// A process that is stopped (SIGSTOP) gets the request when it continues. Until then its
		// files stay, so that the next call asks it again.
		var silent *SilentError
		err := Client{Socket: other, Patience: time.Second}.Stop(ctx)
		if errors.As(err, &silent) {
			continue
		}
		for _, file := range Files(other) {
			_ = os.Remove(file)
		}
	}
}
