package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/gonbext/engine"
)

// socket is a listener on a path, which others may remove or put something else at.
type socket struct {
	*net.UnixListener
	path string
	info fs.FileInfo
}

// probeFor is how long something that listens on the socket has to answer.
const probeFor = 5 * time.Second

// listen opens the socket. A file left by an engine that is gone is replaced; something that listens
// there is not, whether it answers or not.
func listen(ctx context.Context, path string) (*socket, error) {
	if err := checkDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("server: %s is in the way: it is no socket", path)
		}
		if err := probe(ctx, path); err != nil {
			return nil, err
		}
		_ = os.Remove(path)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s := &socket{UnixListener: listener.(*net.UnixListener), path: path}
	s.SetUnlinkOnClose(false) // it would remove whatever is there by then
	// As long as it is bound its inode is not given to another file, so that the two tell it apart.
	s.info, err = os.Lstat(path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("server: %w", err)
	}
	return s, nil
}

// checkDir returns an error if other users could put their own socket in place of one in the directory.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil // to listen there says it better
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("server: other users can write to %s (%v): take a directory of mode 0700",
			dir, info.Mode())
	}
	return nil
}

// probe returns nil if nothing listens on a socket.
func probe(ctx context.Context, path string) error {
	_, err := (engine.Client{Socket: path, Patience: probeFor}).Info(ctx)
	var refused *engine.Error
	switch {
	case err == nil, errors.As(err, &refused):
		return fmt.Errorf("%w: %s", ErrRunning, path)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return fmt.Errorf("server: something listens at %s and is no engine that answers: %w", path, err)
}

// there reports whether the path still is this socket.
func (s *socket) there() bool {
	if s.info == nil {
		return false
	}
	info, err := os.Lstat(s.path)
	return err == nil && os.SameFile(s.info, info)
}

// Close stops listening, and removes the socket if it is still this one.
func (s *socket) Close() error {
	if s.there() {
		_ = os.Remove(s.path)
	}
	return s.UnixListener.Close()
}
