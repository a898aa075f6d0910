// Package checkpoint reads the weights and settings of a model from disk. It reads safetensors: one
// [File], or the shards of a large model, alone or in a Hugging Face directory [Dir]. It also
// writes safetensors ([Write], [WriteFile]).
//
//	dir, err := checkpoint.OpenDir("path/to/gpt2")
//	if err != nil {
//		return err
//	}
//	defer dir.Close()
//	embedding, err := dir.Weights.Float32("wte.weight") // [V,D], flat
//
// Opening a file checks all of it: after that, every tensor named in the header lies inside the
// file, no two overlap, and no bytes are left over. Opening reads the header only. A size that the
// file claims is compared with the real size of the file before any memory is allocated for it.
//
// # Memory
//
// A file on disk is mapped into memory where the system supports it (Linux, macOS, the BSDs). On
// other systems, and in other file systems such as an embedded one, it is read in pieces. In both
// cases the bytes of a tensor are read only when the tensor is asked for, at most 1 MiB at a time,
// and a mapped piece is given back to the system as soon as its values are converted. So the peak
// memory of a program is what the program keeps: the result of [File.Float32], or what it builds
// from the pieces of [File.Float32At].
//
// If another program shortens a file while it is mapped, reading it would normally end this program
// with SIGBUS, or return zeros from the last page. Here both become an error: a fault while reading
// is turned into a panic and recovered, and the size of the file is checked again after each piece.
//
// This package knows files, not architectures. Which tensors a model needs, and what a key of
// config.json means, is the work of package family.
package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("checkpoint")

// File is open safetensors data: one file, or several files of a sharded checkpoint that are read
// as one. It is safe for concurrent use.
type File struct {
	name     string
	parts    []*part // sorted by name, one if the data is not sharded
	tensors  map[string]entry
	metadata map[string]string
}

// part is one file on disk or in memory.
type part struct {
	name    string
	storage storage
	size    int64 // bytes of the whole file
	start   int64 // where the tensor data begins
}

// entry is one tensor of the header. It has been checked: end−begin is the size of shape × dtype.
type entry struct {
	part       *part
	dtype      DType
	shape      []int
	count      int   // product of shape
	begin, end int64 // bytes, from the start of the tensor data
	// absent reports whether an index says that the tensor is in the part, and it is not; only the
	// part is then known. It has a name all the same, because a model may need it.
	absent bool
}

// Open opens a safetensors file. It returns an error if the file is missing, truncated or
// malformed.
func Open(path string) (*File, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	return fromFile(path, f)
}

// FromBytes reads a safetensors file that is already in memory. The name is for error messages. The
// result keeps b, so the caller must not change it.
func FromBytes(name string, b []byte) (*File, error) {
	return fromStorage(name, &mapped{data: b}, int64(len(b)))
}

// openFS opens a safetensors file of a file system. A file on disk is mapped; an embedded one is
// used where it is.
func openFS(fsys fs.FS, path, name string) (*File, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	return fromFile(name, f)
}

// fromFile reads and checks an open file. It closes the file if there is an error.
func fromFile(name string, f fs.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(pkg.Errorf("%w", err), f.Close())
	}
	if r, ok := f.(io.ReaderAt); ok {
		return fromStorage(name, newStorage(f, r, info.Size()), info.Size())
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, pkg.Errorf("%s: %w", name, err)
	}
	return FromBytes(name, b)
}

// maxHeader is the longest header in bytes, the limit of the reference implementation.
const maxHeader = 100_000_000

// fromStorage reads and checks the header: its length in 8 bytes (little-endian), then JSON of that
// length; the tensor data follows. It closes the storage if there is an error.
func fromStorage(name string, s storage, size int64) (*File, error) {
	p := &part{name: name, storage: s, size: size}
	f := &File{name: name, parts: []*part{p}}
	header, err := p.header()
	if err == nil {
		err = f.parse(header)
	}
	if err != nil {
		return nil, errors.Join(pkg.Errorf("%s: %w", name, err), s.Close())
	}
	return f, nil
}

// header returns the JSON text of the header and sets where the tensor data begins.
func (p *part) header() ([]byte, error) {
	if p.size < 8 {
		return nil, fmt.Errorf("truncated: %d bytes, a safetensors file has at least 8", p.size)
	}
	prefix, err := p.copyOf(0, 8)
	if err != nil {
		return nil, fmt.Errorf("header length: %w", err)
	}
	if string(prefix) == "version " {
		return nil, errors.New("this is a Git LFS pointer, not the weights: run git lfs pull")
	}
	length := binary.LittleEndian.Uint64(prefix)
	if length > uint64(p.size-8) {
		return nil, explainBeginning(prefix, fmt.Errorf("header of %d bytes is longer than the "+
			"file, which has %d after the length: truncated or not safetensors",
			length, p.size-8))
	}
	if length > maxHeader {
		return nil, explainBeginning(prefix, fmt.Errorf("header of %d bytes, the limit is %d",
			length, maxHeader))
	}
	p.start = 8 + int64(length)
	header, err := p.copyOf(8, p.start)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return header, nil
}

// copyOf returns a copy of the bytes from begin to end.
func (p *part) copyOf(begin, end int64) ([]byte, error) {
	dst := make([]byte, 0, end-begin)
	err := p.storage.each(begin, end, chunk, func(b []byte) error {
		dst = append(dst, b...)
		return nil
	})
	return dst, err
}

// Close closes the file. It waits for calls that are still reading; afterwards no tensor can be
// read.
func (f *File) Close() error {
	var err error
	for _, p := range f.parts {
		err = errors.Join(err, p.storage.Close())
	}
	return err
}

// Name returns the path or name that the file was opened with. For a sharded checkpoint it is the
// path of the index.
func (f *File) Name() string { return f.name }

// FileOf returns the name of the file that holds a tensor: a shard, or [File.Name] if there are no
// shards. It returns the empty string if there is no tensor with that name.
func (f *File) FileOf(name string) string {
	e, err := f.lookup(name)
	if err != nil {
		return ""
	}
	return e.part.name
}

// Names returns the names of the tensors, sorted. They include those that an index names and that
// are not there, for which the other methods return an error that says so.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.tensors)) }

// Stored returns how many numbers the tensors have, and how many bytes they take in the file.
func (f *File) Stored() (numbers, bytes int64) {
	for _, e := range f.tensors {
		numbers, bytes = numbers+int64(e.count), bytes+e.end-e.begin
	}
	return numbers, bytes
}

// Has returns whether there is a tensor with that name.
func (f *File) Has(name string) bool {
	_, ok := f.tensors[name]
	return ok
}

// Metadata returns a copy of the free text in the header, by key. It is empty if the file has none.
// If several shards have the same key, the value of the first shard by name is used.
func (f *File) Metadata() map[string]string {
	m := make(map[string]string, len(f.metadata))
	maps.Copy(m, f.metadata)
	return m
}

// Shape returns the shape of a tensor, outermost axis first. The shape of a scalar is empty. It
// returns an error if there is no tensor with that name.
func (f *File) Shape(name string) ([]int, error) {
	e, err := f.lookup(name)
	return slices.Clone(e.shape), err
}

// DType returns the element type of a tensor. It returns an error if there is no tensor with that
// name.
func (f *File) DType(name string) (DType, error) {
	e, err := f.lookup(name)
	return e.dtype, err
}

func (f *File) lookup(name string) (entry, error) {
	e, ok := f.tensors[name]
	if !ok {
		return entry{}, pkg.Errorf("%s: no tensor %q among its %d", f.name, name, len(f.tensors))
	}
	if e.absent {
		return entry{}, pkg.Errorf("%s has no tensor %s, where %s says it is; download the shard "+
			"again", e.part.name, quoted(name), indexFile)
	}
	return e, nil
}
