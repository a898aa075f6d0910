package checkpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// Tensor is a named array to write.
type Tensor struct {
	Name string
	// Shape is outermost axis first. The shape of a scalar is empty.
	Shape []int
	// Data is row-major and has one element for each place of Shape. It is a []float32, []float64,
	// []Float16, []BFloat16, []int32 or []int64, which is stored as F32, F64, F16, BF16, I32 or
	// I64.
	Data any
}

// Write writes tensors as one safetensors file. Equal arguments give equal bytes: tensors are
// sorted by element size, largest first so that all are aligned, then by name. Metadata, which may
// be nil, is sorted by key. It returns an error, before it writes anything, if a name is empty,
// reserved, not UTF-8 or not unique, or if a shape does not fit its data.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	sorted := slices.Clone(tensors)
	slices.SortStableFunc(sorted, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(elementSize(b), elementSize(a)), cmp.Compare(a.Name, b.Name))
	})
	header, err := encodeHeader(sorted, metadata)
	if err != nil {
		return pkg.Errorf("%w", err)
	}
	b := bufio.NewWriterSize(w, chunk)
	// A file is the length of the header in 8 bytes, the header, and the data of all tensors.
	if err := binary.Write(b, binary.LittleEndian, uint64(len(header))); err != nil {
		return pkg.Errorf("%w", err)
	}
	if _, err := b.Write(header); err != nil {
		return pkg.Errorf("%w", err)
	}
	for _, t := range sorted {
		if err := t.writeData(b); err != nil {
			return pkg.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	if err := b.Flush(); err != nil {
		return pkg.Errorf("%w", err)
	}
	return nil
}

// WriteFile writes tensors to a file as [Write] does. The file appears when it is complete: until
// then an older file with the same name stays as it is, and after an error no new file is left.
func WriteFile(path string, tensors []Tensor, metadata map[string]string) error {
	return replaceFile(path, func(w io.Writer) error { return Write(w, tensors, metadata) })
}

// headerEntry is a tensor in the header. Its keys have the order that other programs use.
type headerEntry struct {
	DType   DType    `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// encodeHeader returns the JSON header, padded with spaces to a multiple of 8 bytes. With the 8
// bytes before it the data then begin at a multiple of 8, and because larger elements come first,
// each tensor at a multiple of its element size.
func encodeHeader(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	b := []byte{'{'}
	var err error
	if metadata != nil {
		if b, err = appendMetadata(b, metadata); err != nil {
			return nil, err
		}
	}
	seen := make(map[string]bool, len(tensors))
	var offset int64
	for _, t := range tensors {
		dtype, count, err := t.check()
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if seen[t.Name] {
			return nil, fmt.Errorf("tensor %q comes twice", t.Name)
		}
		seen[t.Name] = true
		end := offset + int64(count)*int64(dtypeSizes[dtype])
		// A scalar's shape is [] in JSON and not null.
		e := headerEntry{dtype, append([]int{}, t.Shape...), [2]int64{offset, end}}
		if b, err = appendField(b, t.Name, e); err != nil {
			return nil, err
		}
		offset = end
	}
	b = append(b, '}')
	// Spaces are white space in JSON, so readers skip them.
	if n := len(b) % 8; n > 0 {
		b = append(b, bytes.Repeat([]byte{' '}, 8-n)...)
	}
	if len(b) > maxHeader {
		return nil, fmt.Errorf("header of %d bytes, the limit is %d", len(b), maxHeader)
	}
	return b, nil
}

// appendMetadata appends __metadata__, which comes before the tensors. encoding/json would replace
// bytes that are not UTF-8 without saying so.
func appendMetadata(b []byte, metadata map[string]string) ([]byte, error) {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if !utf8.ValidString(key) || !utf8.ValidString(metadata[key]) {
			return nil, fmt.Errorf("metadata %q: %q is not valid UTF-8", key, metadata[key])
		}
	}
	return appendField(b, "__metadata__", metadata) // encoding/json sorts the keys of a map
}

// appendField appends "name":value to the JSON object that b begins. The header is written key by
// key, because a Go map would lose the order of the tensors.
func appendField(b []byte, name string, value any) ([]byte, error) {
	key, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	v, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(append(b, key...), ':'), v...), nil
}

// check returns the element type and the number of elements, or an error. The limits are those of
// the reader, so that what is written can be opened again.
func (t Tensor) check() (DType, int, error) {
	if t.Name == "" || t.Name == "__metadata__" || !utf8.ValidString(t.Name) {
		return "", 0, errors.New("a name must be UTF-8, not empty and not __metadata__")
	}
	if len(t.Shape) > maxAxes {
		return "", 0, fmt.Errorf("%d axes, the limit is %d", len(t.Shape), maxAxes)
	}
	dtype, have := t.stored()
	if dtype == "" {
		return "", 0, fmt.Errorf("data of type %T cannot be stored, only float32, float64, "+
			"Float16, BFloat16, int32 and int64", t.Data)
	}
	count := 1
	for _, n := range t.Shape {
		// count·n > MaxInt without computing the product
		if n < 0 || (n > 0 && count > math.MaxInt/n) {
			return "", 0, fmt.Errorf("shape %v is negative or too large", t.Shape)
		}
		count *= n
	}
	if count != have {
		return "", 0, fmt.Errorf("shape %v has %d elements, data has %d", t.Shape, count, have)
	}
	return dtype, count, nil
}

// stored returns the element type and the length of the data. The type is empty if such data cannot
// be stored.
func (t Tensor) stored() (DType, int) {
	switch d := t.Data.(type) {
	case []float32:
		return F32, len(d)
	case []float64:
		return F64, len(d)
	case []Float16:
		return F16, len(d)
	case []BFloat16:
		return BF16, len(d)
	case []int32:
		return I32, len(d)
	case []int64:
		return I64, len(d)
	}
	return "", 0
}

// elementSize returns the bytes of one element, 0 for data that cannot be stored. Those are refused
// later.
func elementSize(t Tensor) int {
	dtype, _ := t.stored()
	return dtypeSizes[dtype]
}

// writeData writes the elements, little-endian. The format is little-endian on every machine.
func (t Tensor) writeData(w *bufio.Writer) error {
	switch d := t.Data.(type) {
	case []float32:
		return writeEach(w, d, func(b []byte, v float32) []byte {
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		})
	case []float64:
		return writeEach(w, d, func(b []byte, v float64) []byte {
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		})
	case []Float16:
		return writeEach(w, d, append16[Float16])
	case []BFloat16:
		return writeEach(w, d, append16[BFloat16])
	case []int32:
		return writeEach(w, d, func(b []byte, v int32) []byte {
			return binary.LittleEndian.AppendUint32(b, uint32(v))
		})
	case []int64:
		return writeEach(w, d, func(b []byte, v int64) []byte {
			return binary.LittleEndian.AppendUint64(b, uint64(v))
		})
	}
	// check has refused other types before anything was written.
	panic(fmt.Sprintf("checkpoint: data of type %T was not checked", t.Data))
}

// append16 appends the bits of a half-precision number.
func append16[V ~uint16](b []byte, v V) []byte {
	return binary.LittleEndian.AppendUint16(b, uint16(v))
}

// writeEach writes each element into the free part of the buffer, so that no copy of the data is
// made.
func writeEach[V any](w *bufio.Writer, data []V, encode func([]byte, V) []byte) error {
	for _, v := range data {
		if _, err := w.Write(encode(w.AvailableBuffer(), v)); err != nil {
			return err
		}
	}
	return nil
}
