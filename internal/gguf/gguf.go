// Package gguf opens models in the GGUF format of llama.cpp: one file, or the parts of a split
// file, with settings, tokenizer and weights together.
//
//	m, err := gguf.Open("SmolLM2-135M-Instruct.Q4_1.gguf")
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	embedding := make([]float32, 576)
//	err = m.Weights.Float32At(embedding, "token_embd.weight", 0) // the first row
//
// [OpenFile] opens the container alone: metadata and tensors under the names of the file. [Open]
// also reads the metadata as the settings of a model family, as a tokenizer and as a chat template.
//
// # Checks
//
// Opening a file checks the whole header: every count and every length is compared with the bytes
// that the file has left before memory is allocated for it, every tensor lies inside the file, and
// no two overlap. Versions 2 and 3 are read, in little-endian byte order.
//
// # Memory
//
// Weights stay in the file. [File.Float32At] converts them to float32 in pieces, so that the memory
// of a program is what it keeps of them. The metadata is kept until the file is closed.
//
// # Numbers
//
// Quantised blocks become float32 by the same operations in the same order as in version 0.19.0 of
// the Python package gguf, and give the same bits.
package gguf

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("gguf")

// File is an open GGUF file, or all parts of a split one. It is safe for concurrent use.
type File struct {
	name     string
	parts    []*part // in the order of their numbers, one if the file is not split
	metadata map[string]Value
	tensors  map[string]tensor
}

// part is one file.
type part struct {
	raw     *checkpoint.Raw
	data    int64 // where the tensor data begins
	tensors map[string]tensor
	// metadata is by key.
	metadata map[string]Value
}

// tensor is one entry of the tensor table, checked against the file.
type tensor struct {
	part   *part
	kind   Type
	shape  []int // outermost axis first
	count  int   // product of shape
	offset int64 // bytes, from the start of the tensor data
	size   int64 // bytes
}

// OpenFile opens a GGUF file. If it is the first part of a split file, whose name ends in
// -00001-of-00003.gguf, it opens the other parts in the same directory too. It returns an error if
// a file is missing, truncated or malformed. The caller must close the result.
func OpenFile(path string) (*File, error) {
	p, err := openPart(path)
	if err != nil {
		return nil, explainPiece(path, err)
	}
	f := &File{name: path, parts: []*part{p}, metadata: p.metadata, tensors: p.tensors}
	if err := f.openSplit(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// FromBytes reads a GGUF file that is already in memory. The name is for error messages. The result
// keeps b, so the caller must not change it. A split file is an error.
func FromBytes(name string, b []byte) (*File, error) {
	p, err := readPart(checkpoint.RawFromBytes(name, b))
	if err != nil {
		return nil, err
	}
	f := &File{name: name, parts: []*part{p}, metadata: p.metadata, tensors: p.tensors}
	s, err := f.split()
	if err == nil && s.count > 1 {
		err = f.fail("split.count is %d: a split file must be opened by its path", s.count)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openPart opens one file.
func openPart(path string) (*part, error) {
	raw, err := checkpoint.OpenRaw(path)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	p, err := readPart(raw)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return p, nil
}

// readPart reads and checks the header of one file.
func readPart(raw *checkpoint.Raw) (*part, error) {
	p := &part{raw: raw}
	err := p.readHeader()
	if joined := p.joined(); joined != nil {
		return nil, joined
	}
	if err != nil {
		return nil, pkg.Errorf("%s: %w", raw.Name(), err)
	}
	return p, nil
}

// Close closes the file. It waits for calls that are still reading.
func (f *File) Close() error {
	var err error
	for _, p := range f.parts {
		err = errors.Join(err, p.raw.Close())
	}
	return err
}

// fail returns an error about the file.
func (f *File) fail(format string, args ...any) error {
	return pkg.Errorf("%s: %w", f.name, fmt.Errorf(format, args...))
}

// Name returns the path or name that the file was opened with.
func (f *File) Name() string { return f.name }

// Names returns the names of the tensors, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.tensors)) }

// Has returns whether there is a tensor with that name.
func (f *File) Has(name string) bool {
	_, ok := f.tensors[name]
	return ok
}

// Type returns how the numbers of a tensor are stored. It returns an error if there is no tensor
// with that name.
func (f *File) Type(name string) (Type, error) {
	t, err := f.lookup(name)
	return t.kind, err
}

// Shape returns the shape of a tensor, outermost axis first, which is the reverse of the order in
// the file. It returns an error if there is no tensor with that name.
func (f *File) Shape(name string) ([]int, error) {
	t, err := f.lookup(name)
	return slices.Clone(t.shape), err
}

// Stored returns how many numbers the tensors have, and how many bytes they take in the file.
func (f *File) Stored() (numbers, bytes int64) {
	for _, t := range f.tensors {
		numbers, bytes = numbers+int64(t.count), bytes+t.size
	}
	return numbers, bytes
}

// FileOf returns the name of the file that holds a tensor: a part of a split file, or [File.Name].
// It returns the empty string if there is no tensor with that name.
func (f *File) FileOf(name string) string {
	t, err := f.lookup(name)
	if err != nil {
		return ""
	}
	return t.part.raw.Name()
}

func (f *File) lookup(name string) (tensor, error) {
	t, ok := f.tensors[name]
	if !ok {
		return tensor{}, f.fail("no tensor %s among its %d", quoted(name), len(f.tensors))
	}
	return t, nil
}

// Float32At fills dst with the numbers of a tensor as float32, row-major, beginning with element
// number first (from 0). It returns an error if there is no tensor with that name, if its type
// cannot be converted, if the tensor has fewer than first+len(dst) elements, or if the file cannot
// be read. After an error the content of dst is undefined.
func (f *File) Float32At(dst []float32, name string, first int) error {
	t, err := f.lookup(name)
	if err != nil {
		return err
	}
	if first < 0 || first > t.count || len(dst) > t.count-first {
		return f.fail("tensor %s has %d elements, not %d from %d on", quoted(name), t.count,
			len(dst), first)
	}
	if err := f.checkType(name, t); err != nil {
		return err
	}
	if err := t.read(formats[t.kind], dst, first); err != nil {
		return pkg.Errorf("%s: tensor %s: %w", t.part.raw.Name(), quoted(name), err)
	}
	return nil
}

// checkType returns an error if the numbers of a tensor cannot be converted.
func (f *File) checkType(name string, t tensor) error {
	if formats[t.kind].convert != nil {
		return nil
	}
	return f.fail("tensor %s has type %v, which cannot be converted; types that can are %s",
		quoted(name), t.kind, convertible())
}

// pieceBlocks is how many blocks are read at once: at most 1.1 MB.
const pieceBlocks = 4096

// read converts elements first to first+len(dst). Blocks of which only a part is asked for are
// converted outside dst.
func (t tensor) read(format format, dst []float32, first int) error {
	if len(dst) == 0 {
		return nil
	}
	size, bytes := format.block, int64(format.bytes)
	skip := first % size
	begin := int64(first / size)
	end := int64((first + len(dst) + size - 1) / size)
	base := t.part.data + t.offset
	var scratch []float32 // a block of which a part is asked for; most calls have none
	return t.part.raw.Each(base+begin*bytes, base+end*bytes, pieceBlocks*bytes,
		func(b []byte) error {
			for len(b) > 0 {
				if whole := min(len(dst)/size, len(b)/int(bytes)); skip == 0 && whole > 0 {
					format.convert(dst[:whole*size], b[:whole*int(bytes)])
					dst, b = dst[whole*size:], b[whole*int(bytes):]
					continue
				}
				if scratch == nil {
					scratch = make([]float32, size)
				}
				format.convert(scratch, b[:bytes])
				dst = dst[copy(dst, scratch[skip:]):]
				skip, b = 0, b[bytes:]
			}
			return nil
		})
}

// checkTensors checks that the tensors of a part lie in the file, in any order, without overlap.
// Between two of them, and before the first, are less bytes than the alignment.
func (p *part) checkTensors(alignment int64) error {
	names := slices.Sorted(maps.Keys(p.tensors))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(p.tensors[a].offset, p.tensors[b].offset)
	})
	end, before := int64(0), "the header"
	for _, name := range names {
		t := p.tensors[name]
		switch {
		case t.offset < end:
			return fmt.Errorf("tensor %s begins at %d, inside %s, which ends at %d", quoted(name),
				t.offset, before, end)
		case t.offset-end >= alignment:
			return fmt.Errorf("tensor %s begins at %d and leaves a hole from %d, the end of %s",
				quoted(name), t.offset, end, before)
		}
		end, before = t.offset+t.size, "tensor "+quoted(name)
	}
	// Writers fill the last tensor up to the alignment, as they do between tensors.
	if tail := p.raw.Size() - p.data - end; len(names) > 0 && tail >= alignment {
		return fmt.Errorf("%d bytes follow %s, which ends at %d: the file was joined with "+
			"something else or written twice; download it again", tail, before, p.data+end)
	}
	return nil
}

// setShape checks the axes of a tensor, innermost first as in the file, against the bytes that the
// data of the file has. The product is compared with the limit after each factor, so an overflow
// cannot go unnoticed.
func (t *tensor) setShape(axes []uint64, left int64) error {
	format, ok := formats[t.kind]
	if !ok {
		return fmt.Errorf("type %d is unknown, known are %s", uint32(t.kind), knownTypes())
	}
	if len(axes) == 0 {
		return errors.New("it has no axes")
	}
	if axes[0]%uint64(format.block) != 0 {
		return fmt.Errorf("a row has %d elements, which is no multiple of the %d of a block of %v",
			axes[0], format.block, t.kind)
	}
	most := uint64(left) / uint64(format.bytes)
	blocks := axes[0] / uint64(format.block)
	for i, n := range axes {
		if n == 0 {
			return errors.New("one of its axes has no elements")
		}
		if i > 0 {
			if n > most/max(1, blocks) {
				blocks = math.MaxUint64
				break
			}
			blocks *= n
		}
		t.shape = append(t.shape, int(n))
	}
	if blocks > most {
		return fmt.Errorf("axes %v of %v need more than the %d bytes after its offset: the file "+
			"is truncated, or its header is wrong", axes, t.kind, left)
	}
	slices.Reverse(t.shape)
	t.size = int64(blocks) * int64(format.bytes)
	if blocks > math.MaxInt/uint64(format.block) {
		return fmt.Errorf("%d blocks are too many for this machine", blocks)
	}
	t.count = int(blocks) * format.block
	return nil
}
