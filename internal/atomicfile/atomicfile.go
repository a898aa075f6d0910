// Package atomicfile writes files that appear under their names when they are complete. Until then
// an older file stays, and an error leaves nothing behind.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
func Create(path string) (*File, error) {
	info, err := os.Stat(path)
	var mode fs.FileMode // of the file to be replaced, which the new one keeps
	switch {
	case errors.Is(err, fs.ErrNotExist): // nothing to replace
	case err != nil:
		return nil, Cause(err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is not a regular file (%s), it cannot be replaced",
			info.Mode().Type())
	default:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, Cause(err)
		}
	}
	dir, base := filepath.Split(path)
	if len(base) > longestBase {
		base = strings.ToValidUTF8(base[:longestBase], "") // no half of a character
	}
	for n := range unfinished {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%d-%d.tmp", base, os.Getpid(), n))
		// With O_EXCL the file is new, so two programs do not write into one.
		const create = os.O_WRONLY | os.O_CREATE | os.O_EXCL
		file, err := os.OpenFile(name, create, 0o666) //nolint:gosec // the umask decides
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
func Write(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abandon()
	if _, err := f.Write(data); err != nil {
		return Cause(err)
	}
	return f.Commit()
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
