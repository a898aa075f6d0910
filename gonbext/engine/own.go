package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Own says how this program itself is an engine, so that what it registers is there: package gonbext/local, which links the models,
// makes it so.
type Own struct {
	// Divert serves and ends the process if it was started as an engine; elsewhere it returns at once.
	Divert func()
	// Key names the code, in letters and digits that a file name can have: an engine with the same key is used again, one with another
	// key is ended. It is empty in a program that is no notebook's cell, whose engine belongs to it alone and ends with it.
	Key func() (string, error)
	// Arguments are the command line with which this program is an engine, in place of [Arguments].
	Arguments func(socket string, pid int, idle time.Duration) []string
}

var own *Own

// SetOwn makes this program its own engine, in place of the command headwater. It is for init.
func SetOwn(o Own) { own = &o }

// IsOwn reports whether this program is its own engine.
func IsOwn() bool { return own != nil }

// isOwn reports whether this program is what is to be started.
func (s Start) isOwn() bool { return own != nil && s.Binary == "" }

// find returns the socket of the engine that is wanted, and settles whose it is.
func (s *Start) find() (socket string, err error) {
	key := ""
	if s.isOwn() {
		own.Divert()
		if key, err = own.Key(); err != nil {
			return "", err
		}
	}
	switch {
	case s.PID != 0:
	case s.isOwn() && key == "":
		s.PID = os.Getpid()
	default:
		s.PID = os.Getppid()
	}
	return socketFor(s.PID, key)
}

// stopOthers ends the engines of other code that belong to the same process: models are large, and one set of them is enough. The
// cells of a kernel run one after the other, so that nobody waits for those.
func stopOthers(ctx context.Context, socket string) {
	locks, _ := filepath.Glob(filepath.Join(filepath.Dir(socket), owner(socket)+"*.lock"))
	for _, lock := range locks {
		other := strings.TrimSuffix(lock, ".lock") + ".sock"
		if other == socket {
			continue
		}
		// One that is stopped finds the request when it goes on. Its files stay until then, so that it
		// is asked again.
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
