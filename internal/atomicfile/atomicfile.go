// Package atomicfile writes files that appear under their names when they are complete. Until then
// an older file stays, and an error leaves nothing behind. And it opens files without waiting for
// another program, as a named pipe would.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// File is a file that is being written. It has another name in the folder of the file that it is to
// become. Commit or Abandon ends it.
type File struct {
	*os.File
	path string
}

// unfinished is how many unfinished files may be beside one file, of programs that were killed.
const unfinished = 1000

// longestBase is how many bytes of a file's name the unfinished file has in its own. File systems
// allow 255, and process and number take up to 20.
const longestBase = 200

// Create begins a file. A link stays, and the file that it leads to is replaced. What is no regular
// file, such as a device or a directory, is an error. The permissions are those of the file that is
// replaced, and otherwise those of a plain create, which the umask decides. The errors name no
// unfinished file.
func Create(path string) (*File, error) { return create(path, 0) }

// create is Create, for a file with certain permissions if mode is not 0.
func create(path string, mode fs.FileMode) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // nothing to replace
	case err != nil:
		return nil, Cause(err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is not a regular file (%s), it cannot be replaced",
			info.Mode().Type())
	default:
		if mode == 0 {
			mode = info.Mode().Perm()
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, Cause(err)
		}
	}
	first := mode
	if first == 0 {
		first = 0o666 // the umask decides
	}
	dir, base := filepath.Split(path)
	if len(base) > longestBase {
		base = strings.ToValidUTF8(base[:longestBase], "") // no half of a character
	}
	for n := range unfinished {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%d-%d.tmp", base, os.Getpid(), n))
		// With O_EXCL the file is new, so two programs do not write into one.
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, first)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, Cause(err)
		}
		f := &File{file, path}
		if mode == 0 {
			return f, nil
		}
		if err := f.Chmod(mode); err != nil {
			f.Abandon()
			return nil, Cause(err)
		}
		return f, nil
	}
	return nil, fmt.Errorf("%d unfinished files are beside it; remove .%s.*.tmp", unfinished, base)
}

// Commit ends the file and gives it its name. A rename within a folder is one step for the file
// system, so a reader sees the old file or the whole new one. After an error the file is removed.
func (f *File) Commit() error {
	err := f.Close() // a full disk may be noticed only now
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return Cause(err)
}

// Abandon removes the file. After Commit it does nothing.
func (f *File) Abandon() {
	if f.Close() == nil { // it was open
		os.Remove(f.Name())
	}
}

// Write writes a file in one call.
func Write(path string, data []byte) error { return write(path, data, 0) }

// WritePrivate writes a file that only this user can read or write, whatever the umask is.
func WritePrivate(path string, data []byte) error { return write(path, data, 0o600) }

func write(path string, data []byte, mode fs.FileMode) error {
	f, err := create(path, mode)
	if err != nil {
		return err
	}
	defer f.Abandon()
	if _, err := f.Write(data); err != nil {
		return Cause(err)
	}
	return f.Commit()
}

// OpenRegular opens a regular file to read it. Anything else is a *[fs.PathError], and nothing
// waits: to open a named pipe would wait for another program.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is not a regular file "+
			"(%s); copy what it gives to a file", info.Mode().Type())}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ReadRegular returns the content of a regular file of at most limit bytes; see [OpenRegular].
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, _, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than %d bytes, which is the limit", limit)
	}
	return data, err
}

// Cause returns an error of a file without the operation and the name of the file, which may be
// that of an unfinished one and means nothing to a user.
func Cause(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	if l := (*os.LinkError)(nil); errors.As(err, &l) {
		return l.Err
	}
	return err
}
