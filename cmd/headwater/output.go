package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// output is where a result goes: standard output, or a file that appears when it is complete.
type output struct {
	*bufio.Writer
	// path is the file to replace and temp the one that is written, both empty for what is written in place.
	path, temp string
	file       *os.File
}

// outputFlag is what -o says in every command.
const outputFlag = "write to `FILE`, which appears when it is complete"

// create opens the output that -o names, standard output if that is empty or "-". The caller closes it.
func (p *program) create(path string) (*output, error) {
	if path == "" || path == "-" {
		return &output{Writer: bufio.NewWriter(p.stdout)}, nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return createBeside(path)
	case err != nil:
		return nil, fmt.Errorf("output %s: %w", path, err)
	case info.IsDir():
		return nil, fmt.Errorf("output %s is a directory; name a file in it", path)
	case info.Mode().IsRegular():
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, fmt.Errorf("output %s: %w", path, err)
		}
		return createBeside(path)
	}
	// A device or a pipe cannot be replaced.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return &output{Writer: bufio.NewWriter(f), file: f}, nil
}

// createBeside creates an unfinished file in the folder of path.
func createBeside(path string) (*output, error) {
	dir, base := filepath.Split(path)
	if base == "" {
		return nil, fmt.Errorf("output %s is no file's name", path)
	}
	f, err := createNew(filepath.Join(dir, "."+base))
	if _, missing := os.Stat(filepath.Clean(dir)); errors.Is(missing, fs.ErrNotExist) {
		return nil, fmt.Errorf("output %s: the directory %s does not exist", path, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", path, err)
	}
	return &output{Writer: bufio.NewWriter(f), path: path, temp: f.Name(), file: f}, nil
}

// createNew creates a file of a name that is not there yet, with the permissions that a plain create gives.
func createNew(prefix string) (f *os.File, err error) {
	for n := range 100 {
		name := fmt.Sprintf("%s.%d-%d.tmp", prefix, os.Getpid(), n)
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // the umask decides
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// commit ends the output and puts the file in its place.
func (o *output) commit() error {
	err := o.Flush()
	if o.file == nil {
		return err
	}
	err = errors.Join(err, o.file.Close())
	if err == nil && o.temp != "" {
		err = os.Rename(o.temp, o.path)
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	o.file, o.temp = nil, ""
	return nil
}

// abandon removes what was not committed.
func (o *output) abandon() {
	if o.file == nil {
		return
	}
	o.file.Close()
	if o.temp != "" {
		os.Remove(o.temp)
	}
}

// writeJSON writes a value on one line. Text stays readable: < is not written as an escape.
func writeJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}
