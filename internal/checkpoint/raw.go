package checkpoint

import (
	"errors"
	"os"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// Raw is a file of another format than safetensors whose bytes are read in pieces. It is mapped
// into memory where the system supports that, under the rules that the package comment gives for
// [File]. It is safe for concurrent use.
type Raw struct {
	name    string
	storage storage
	size    int64
}

// OpenRaw opens a file for reading in pieces. It returns an error if the path is not a regular
// file. The caller must close the result.
func OpenRaw(path string) (*Raw, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(pkg.Errorf("%w", err), f.Close())
	}
	return &Raw{name: path, storage: newStorage(f, f, info.Size()), size: info.Size()}, nil
}

// RawFromBytes returns bytes that are already in memory as a Raw. The name is for error messages.
// The result keeps b, so the caller must not change it.
func RawFromBytes(name string, b []byte) *Raw {
	return &Raw{name: name, storage: &mapped{data: b}, size: int64(len(b))}
}

// Name returns the path or name that the file was opened with.
func (r *Raw) Name() string { return r.name }

// Size returns the length of the file in bytes.
func (r *Raw) Size() int64 { return r.size }

// Each calls use with the bytes from begin to end, in order, in pieces of step bytes; the last
// piece may be shorter. A piece is valid only during the call. Each returns the error of use, and
// an error if the range does not lie in the file or the file cannot be read.
func (r *Raw) Each(begin, end, step int64, use func([]byte) error) error {
	if begin < 0 || end < begin || end > r.size || step < 1 {
		return pkg.Errorf("bytes %d to %d are not in a file of %d bytes", begin, end, r.size)
	}
	return r.storage.each(begin, end, step, use)
}

// Close closes the file. It waits for calls that are still reading.
func (r *Raw) Close() error { return r.storage.Close() }

// openRegular opens a file. It returns an error if the path is not a regular file, because opening
// a pipe would wait for a writer.
func openRegular(path string) (*os.File, error) {
	f, _, err := atomicfile.OpenRegular(path)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	return f, nil
}
