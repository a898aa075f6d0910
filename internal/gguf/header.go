package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// Limits of a header. They are far above those of real files: a vocabulary of 300,000 tokens with
// merges takes less than 50 MB. They bound the memory for a header whose counts are true, but whose
// entries are as small as they can be: an empty text takes 8 bytes of the file and 16 of memory.
const (
	maxHeader    = 1 << 28 // bytes before the tensor data
	maxKeys      = 1 << 14
	maxTensors   = 1 << 17
	maxAxes      = 4
	maxName      = 1 << 16 // bytes of a key or of the name of a tensor
	maxNesting   = 3       // arrays in arrays
	maxArrays    = 1 << 16 // arrays in arrays, together
	maxAlign     = 1 << 20
	defaultAlign = 32
)

// readHeader reads everything before the tensor data:
//
//	"GGUF", version uint32, tensors uint64, keys uint64,
//	keys × (name string, type uint32, value),
//	tensors × (name string, axes uint32, axes × length uint64, type uint32, offset uint64)
//
// A string is its length as uint64 and its bytes. The data begins at the next multiple of the
// alignment.
func (p *part) readHeader() error {
	r := &reader{raw: p.raw}
	tensors, keys, err := r.start()
	if err != nil {
		return err
	}
	p.metadata = map[string]Value{}
	for i := range keys {
		if err := p.readKey(r); err != nil {
			return fmt.Errorf("metadata entry %d of %d: %w", i, keys, err)
		}
	}
	alignment, err := p.alignment()
	if err != nil {
		return err
	}
	p.tensors = map[string]tensor{}
	type entry struct {
		name string
		axes []uint64
	}
	var entries []entry
	for i := range tensors {
		name, axes, t, err := r.tensor()
		if err != nil {
			return fmt.Errorf("tensor %d of %d: %w", i, tensors, err)
		}
		if _, twice := p.tensors[name]; twice {
			return fmt.Errorf("tensor %s is in the file twice", quoted(name))
		}
		t.part = p
		p.tensors[name], entries = t, append(entries, entry{name, axes})
	}
	p.data = (r.at + alignment - 1) / alignment * alignment
	for _, e := range entries {
		t := p.tensors[e.name]
		if t.offset%alignment != 0 {
			return fmt.Errorf("tensor %s begins at %d, which is no multiple of the alignment, %d",
				quoted(e.name), t.offset, alignment)
		}
		left := p.raw.Size() - p.data - t.offset
		if left < 0 {
			return fmt.Errorf("tensor %s begins at %d, after the end of the data, which has %d "+
				"bytes: the file is truncated", quoted(e.name), t.offset,
				max(0, p.raw.Size()-p.data))
		}
		if err := t.setShape(e.axes, left); err != nil {
			return fmt.Errorf("tensor %s: %w", quoted(e.name), err)
		}
		p.tensors[e.name] = t
	}
	return p.checkTensors(alignment)
}

// start reads the fixed part of the header and returns the counts.
func (r *reader) start() (tensors, keys int, err error) {
	begin, err := r.bytes(4)
	if err != nil {
		return 0, 0, fmt.Errorf("not a GGUF file: %w", err)
	}
	switch {
	case string(begin) == "vers":
		return 0, 0, errors.New("this is a Git LFS pointer, not the model: run git lfs pull")
	case string(begin) == "FUGG":
		return 0, 0, errBigEndian
	case string(begin) != magic:
		return 0, 0, fmt.Errorf("not a GGUF file: it begins with %q, not with \"GGUF\"", begin)
	}
	version, err := r.uint32()
	if err != nil {
		return 0, 0, fmt.Errorf("version: %w", err)
	}
	switch {
	case version&0xffff == 0 && version != 0:
		return 0, 0, errBigEndian
	case version != 2 && version != 3:
		return 0, 0, fmt.Errorf("GGUF version %d is not supported; supported are 2 and 3: "+
			"convert the model again with a current llama.cpp", version)
	}
	// The smallest tensor and key: two lengths and a type, and one number.
	if tensors, err = r.count("tensors", maxTensors, 8+4+8+4+8); err != nil {
		return 0, 0, err
	}
	keys, err = r.count("metadata entries", maxKeys, 8+4+1)
	return tensors, keys, err
}

var errBigEndian = errors.New("the file is in big-endian byte order, which is not supported: " +
	"convert the model again without --bigendian")

// readKey reads one entry of the metadata.
func (p *part) readKey(r *reader) error {
	key, err := r.name("key")
	if err != nil {
		return err
	}
	kind, err := r.uint32()
	if err != nil {
		return fmt.Errorf("key %s: type: %w", quoted(key), err)
	}
	if _, twice := p.metadata[key]; twice {
		return fmt.Errorf("key %s is in the file twice", quoted(key))
	}
	v, err := r.value(valueType(kind), 0)
	if err != nil {
		return fmt.Errorf("key %s: %w", quoted(key), err)
	}
	p.metadata[key] = v
	return nil
}

// alignment returns how the tensor data is aligned.
func (p *part) alignment() (int64, error) {
	const key = "general.alignment"
	v, ok := p.metadata[key]
	if !ok {
		return defaultAlign, nil
	}
	n, ok := v.Int()
	if !ok || n < 1 || n > maxAlign || n&(n-1) != 0 {
		return 0, fmt.Errorf("%s is %v; it must be a power of 2 up to %d", key, v, maxAlign)
	}
	return n, nil
}

// tensor reads one entry of the tensor table. Its shape is not checked yet.
func (r *reader) tensor() (name string, axes []uint64, t tensor, err error) {
	if name, err = r.name("name"); err != nil {
		return "", nil, t, err
	}
	n, err := r.uint32()
	if err == nil && n > maxAxes {
		err = fmt.Errorf("%d axes, the limit is %d", n, maxAxes)
	}
	for i := uint32(0); i < n && err == nil; i++ {
		var length uint64
		length, err = r.uint64()
		axes = append(axes, length)
	}
	var kind uint32
	if err == nil {
		kind, err = r.uint32()
	}
	var offset uint64
	if err == nil {
		offset, err = r.uint64()
	}
	if err == nil && offset > uint64(r.raw.Size()) {
		err = fmt.Errorf("offset %d is after the end of the file, which has %d bytes: the file "+
			"is truncated", offset, r.raw.Size())
	}
	if err != nil {
		return "", nil, t, fmt.Errorf("%s: %w", quoted(name), err)
	}
	return name, axes, tensor{kind: Type(kind), offset: int64(offset)}, nil
}

// reader reads the header from front to back, through a window.
type reader struct {
	raw    *checkpoint.Raw
	at     int64  // of the next byte
	window []byte // the bytes from at on that are in memory
	arrays int    // arrays in arrays so far
}

// windowSize is how many bytes of the header are copied from the file at once.
const windowSize = 1 << 18

// left returns how many bytes the file has after what was read.
func (r *reader) left() int64 { return r.raw.Size() - r.at }

// bytes returns the next n bytes, which are valid until the next call.
func (r *reader) bytes(n int64) ([]byte, error) {
	if n > r.left() {
		return nil, fmt.Errorf("%d bytes at %d, where the file has %d left: it is truncated, or "+
			"its header is wrong", n, r.at, r.left())
	}
	if err := r.checkEnd(n); err != nil {
		return nil, err
	}
	if n > int64(len(r.window)) {
		if err := r.fill(max(n, min(windowSize, r.left()))); err != nil {
			return nil, err
		}
	}
	b := r.window[:n:n]
	r.window, r.at = r.window[n:], r.at+n
	return b, nil
}

// checkEnd returns an error if the next n bytes of the file end after what a header may have.
func (r *reader) checkEnd(n int64) error {
	if n > maxHeader-r.at {
		return fmt.Errorf("the header has more than %d bytes, the limit", maxHeader)
	}
	return nil
}

// fill makes the window the next n bytes.
func (r *reader) fill(n int64) error {
	window := make([]byte, 0, n)
	err := r.raw.Each(r.at, r.at+n, windowSize, func(b []byte) error {
		window = append(window, b...)
		return nil
	})
	r.window = window
	return err
}

func (r *reader) uint32() (uint32, error) {
	b, err := r.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (r *reader) uint64() (uint64, error) {
	b, err := r.bytes(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads how many entries follow. Each takes at least size bytes, so that a count for which
// the file, or a header, has no room is an error before anything is allocated.
func (r *reader) count(what string, most, size uint64) (int, error) {
	n, err := r.uint64()
	if err != nil {
		return 0, fmt.Errorf("number of %s: %w", what, err)
	}
	if n > uint64(r.left())/size {
		return 0, fmt.Errorf("%d %s do not fit in the %d bytes that the file has left: it is "+
			"truncated, or its header is wrong", n, what, r.left())
	}
	if n > most {
		return 0, fmt.Errorf("%d %s, the limit is %d", n, what, most)
	}
	if err := r.checkEnd(int64(n * size)); err != nil { // no overflow: the file has as many bytes
		return 0, fmt.Errorf("%d %s: %w", n, what, err)
	}
	return int(n), nil
}

// text reads a string.
func (r *reader) text() (string, error) {
	n, err := r.uint64()
	if err != nil {
		return "", err
	}
	if n > uint64(r.left()) {
		return "", fmt.Errorf("a text of %d bytes at %d, where the file has %d left: it is "+
			"truncated, or its header is wrong", n, r.at, r.left())
	}
	b, err := r.bytes(int64(n))
	return string(b), err
}

// name reads a key or the name of a tensor.
func (r *reader) name(what string) (string, error) {
	name, err := r.text()
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", what, err)
	case name == "":
		return "", fmt.Errorf("%s is empty", what)
	case len(name) > maxName:
		return "", fmt.Errorf("%s of %d bytes, the limit is %d", what, len(name), maxName)
	case !utf8.ValidString(name):
		return "", fmt.Errorf("%s %s is not UTF-8", what, quoted(name))
	}
	return name, nil
}

// quoted returns a text of the file for a message: in quotes and cut if it is long.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}
