package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// replaceFile lets write fill a new file in the same folder, then renames that file to path. After
// an error the new file is removed and path is unchanged. A rename within a folder is one step for
// the file system, so a reader sees the old file or the whole new one.
func replaceFile(path string, write func(io.Writer) error) error {
	path, err := regularTarget(path)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	f, err := createBeside(path)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	// Closing may fail too: a full disk may be noticed only then.
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// regularTarget follows links. It returns an error for what must not be replaced, such as a device
// or a directory. A link stays, and the file that it leads to is replaced.
func regularTarget(path string) (string, error) {
	info, err := os.Stat(path)
	// A new file has nothing to replace.
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file (%s), it cannot be replaced", path,
			info.Mode().Type())
	}
	return filepath.EvalSymlinks(path)
}

// createBeside creates a new file in the folder of path with the usual permissions; with
// os.CreateTemp only the owner could read it. O_EXCL makes sure that the file is new, so two
// programs do not write into one.
func createBeside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	for n := range 1000 {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%d-%d.tmp", base, os.Getpid(), n))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s: 1000 unfinished files are beside it; remove .%s.*.tmp", path,
		base)
}
