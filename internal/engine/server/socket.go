package server

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/internal/engine"
)

// socket is a listener on a path. Another program may remove or replace the file at that path.
type socket struct {
	*net.UnixListener
	path string
	info fs.FileInfo
}

// probePatience is how long something that listens on the socket may take to answer.
const probePatience = 5 * time.Second

// listen opens the socket. It replaces a file that an engine left behind. If something listens
// there, listen returns an error, whether that answers or not.
func listen(ctx context.Context, path string) (*socket, error) {
	if err := checkDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, pkg.Errorf("%s exists and is not a socket: "+
				"remove it, or take another path", path)
		}
		if err := probe(ctx, path); err != nil {
			return nil, err
		}
		_ = os.Remove(path)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	s := &socket{UnixListener: listener.(*net.UnixListener), path: path}
	s.SetUnlinkOnClose(false) // it would remove what another program may have put there
	// While the socket is open no other file gets its inode, so SameFile recognises it.
	s.info, err = os.Lstat(path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		s.Close()
		return nil, pkg.Errorf("%w", err)
	}
	return s, nil
}

// checkDir returns an error if other users could replace a socket in the directory.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil // listening there returns a better error
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		return pkg.Errorf("other users can write to %s (%v): take a directory of mode 0700",
			dir, info.Mode())
	}
	return nil
}

// probe returns nil if nothing listens on a socket.
func probe(ctx context.Context, path string) error {
	_, err := (engine.Client{Socket: path, Patience: probePatience}).Info(ctx)
	var refused *engine.Error
	switch {
	case err == nil, errors.As(err, &refused):
		return pkg.Errorf("an engine answers there already: %s", path)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return pkg.Errorf("something listens at %s and does not answer like an engine: %w", path, err)
}

// exists reports whether the file at the path still is this socket.
func (s *socket) exists() bool {
	if s.info == nil {
		return false
	}
	info, err := os.Lstat(s.path)
	return err == nil && os.SameFile(s.info, info)
}

// Close stops listening, and removes the socket if it is still this one.
func (s *socket) Close() error {
	if s.exists() {
		_ = os.Remove(s.path)
	}
	return s.UnixListener.Close()
}
