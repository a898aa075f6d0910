// Package checkpoint reads the weights and settings of a model from disk: a safetensors [File], alone or in a Hugging Face
// directory [Dir]. It also writes safetensors ([Write], [WriteFile]).
//
//	dir, err := checkpoint.OpenDir("path/to/gpt2")
//	if err != nil {
//		return err
//	}
//	defer dir.Close()
//	embedding, err := dir.Weights.Float32("wte.weight") // [V,D], flat
//
// A file is checked as a whole when it is opened: after that every tensor named in its header lies inside it, none overlap
// and none is left out. Only the header is read then; a tensor's bytes are read when it is asked for, in small pieces, so
// that the result is the only large allocation. Sizes that a file claims are compared with the size that it has before
// anything is allocated.
//
// This package knows files, not architectures: which tensors a model needs and what a key of config.json means is the work
// of the package family.
package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// File is an open safetensors file. It is safe for concurrent use.
type File struct {
	name     string
	r        io.ReaderAt
	closer   io.Closer // nil if there is nothing to close
	size     int64     // bytes of the whole file
	start    int64     // where the tensor data begins
	tensors  map[string]entry
	metadata map[string]string
}

// entry is one tensor of the header, checked: end−begin is the size of shape × dtype.
type entry struct {
	dtype      DType
	shape      []int
	count      int   // product of shape
	begin, end int64 // bytes, from the start of the tensor data
}

// Open opens a safetensors file. It returns an error if the file is missing, truncated or malformed.
func Open(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	// Opening a pipe would wait for a writer.
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("checkpoint: %s is not a regular file (%s)", path, info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	file, err := fromReaderAt(path, f, info.Size())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file.closer = f
	return file, nil
}

// FromBytes reads a safetensors file that is already in memory; name stands for it in errors. The file keeps b.
func FromBytes(name string, b []byte) (*File, error) {
	return fromReaderAt(name, bytes.NewReader(b), int64(len(b)))
}

// openFS opens a safetensors file of a file system. An embedded file or one on disk is read in place.
func openFS(fsys fs.FS, path, name string) (*File, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint: %w", err), f.Close())
	}
	r, ok := f.(io.ReaderAt)
	if !ok {
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("checkpoint: %s: %w", name, err)
		}
		return FromBytes(name, b)
	}
	file, err := fromReaderAt(name, r, info.Size())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file.closer = f
	return file, nil
}

// maxHeader is the longest header in bytes, the limit of the reference implementation.
const maxHeader = 100_000_000

// fromReaderAt reads and checks the header: 8 bytes little-endian length, JSON of that length, tensor data.
func fromReaderAt(name string, r io.ReaderAt, size int64) (*File, error) {
	if size < 8 {
		return nil, fmt.Errorf("checkpoint: %s: truncated: %d bytes, a safetensors file has at least 8", name, size)
	}
	var prefix [8]byte
	if err := readFull(r, prefix[:], 0); err != nil {
		return nil, fmt.Errorf("checkpoint: %s: header length: %w", name, err)
	}
	if string(prefix[:]) == "version " {
		return nil, fmt.Errorf("checkpoint: %s: this is a Git LFS pointer, not the weights: run git lfs pull", name)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > uint64(size-8) {
		return nil, fmt.Errorf("checkpoint: %s: header of %d bytes is longer than the file, which has %d after the length: truncated or not safetensors",
			name, length, size-8)
	}
	if length > maxHeader {
		return nil, fmt.Errorf("checkpoint: %s: header of %d bytes, the limit is %d", name, length, maxHeader)
	}
	header := make([]byte, length)
	if err := readFull(r, header, 8); err != nil {
		return nil, fmt.Errorf("checkpoint: %s: header: %w", name, err)
	}
	f := &File{name: name, r: r, size: size, start: 8 + int64(length)}
	if err := f.parse(header); err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", name, err)
	}
	return f, nil
}

// readFull fills b from offset off. The end of the file inside b is an error, at the end of b it is not.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d of %d bytes at %d: %w", n, len(b), off, err)
}

// Close closes the file. Tensors cannot be read afterwards.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Name returns the path or name that the file was opened by.
func (f *File) Name() string { return f.name }

// Names returns the names of the tensors, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.tensors)) }

// Has returns whether there is a tensor of that name.
func (f *File) Has(name string) bool {
	_, ok := f.tensors[name]
	return ok
}

// Metadata returns a copy of the free text that the file carries, by key; empty if it has none.
func (f *File) Metadata() map[string]string {
	m := make(map[string]string, len(f.metadata))
	maps.Copy(m, f.metadata)
	return m
}

// Shape returns the shape of a tensor, outermost axis first; a scalar has an empty one. It returns an error if there is no
// tensor of that name.
func (f *File) Shape(name string) ([]int, error) {
	e, err := f.lookup(name)
	return slices.Clone(e.shape), err
}

// DType returns the element type of a tensor. It returns an error if there is no tensor of that name.
func (f *File) DType(name string) (DType, error) {
	e, err := f.lookup(name)
	return e.dtype, err
}

func (f *File) lookup(name string) (entry, error) {
	e, ok := f.tensors[name]
	if !ok {
		return entry{}, fmt.Errorf("checkpoint: %s: no tensor %q among its %d", f.name, name, len(f.tensors))
	}
	return e, nil
}
