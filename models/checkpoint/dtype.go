package checkpoint

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// DType is the element type of a tensor, spelt as in the file.
type DType string

// The element types whose values this package reads. A file may hold others (U8, I16, F8_E4M3 and so on): they count as
// part of the file, and reading their values is an error.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
)

// dtypeSizes are the bytes of one element.
var dtypeSizes = map[DType]int{
	F64: 8, I64: 8, "U64": 8, "C64": 8,
	F32: 4, I32: 4, "U32": 4,
	F16: 2, BF16: 2, "I16": 2, "U16": 2,
	"I8": 1, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
}

func knownDTypes() []string {
	var names []string
	for _, d := range slices.Sorted(maps.Keys(dtypeSizes)) {
		names = append(names, string(d))
	}
	return names
}

// Float32 returns the values of a tensor, row-major. F16 and BF16 are exact, F64 is rounded to the nearest float32; NaN and
// infinity stay what they are. It returns an error if there is no tensor of that name, if it holds no floating-point
// numbers, or if the file cannot be read.
func (f *File) Float32(name string) ([]float32, error) {
	return readTensor(f, name, "a floating-point type (F16, BF16, F32, F64)", map[DType]func([]byte) float32{
		F16:  func(b []byte) float32 { return Float16(binary.LittleEndian.Uint16(b)).Float32() },
		BF16: func(b []byte) float32 { return BFloat16(binary.LittleEndian.Uint16(b)).Float32() },
		F32:  float32At,
		F64:  func(b []byte) float32 { return float32(float64At(b)) },
	})
}

// Float64 returns the values of a tensor, row-major, exact from every floating-point type. Errors are those of
// [File.Float32].
func (f *File) Float64(name string) ([]float64, error) {
	return readTensor(f, name, "a floating-point type (F16, BF16, F32, F64)", map[DType]func([]byte) float64{
		F16:  func(b []byte) float64 { return float64(Float16(binary.LittleEndian.Uint16(b)).Float32()) },
		BF16: func(b []byte) float64 { return float64(BFloat16(binary.LittleEndian.Uint16(b)).Float32()) },
		F32:  func(b []byte) float64 { return float64(float32At(b)) },
		F64:  float64At,
	})
}

// Int32 returns the values of an I32 tensor, row-major. It returns an error for any other type.
func (f *File) Int32(name string) ([]int32, error) {
	return readTensor(f, name, "I32", map[DType]func([]byte) int32{I32: int32At})
}

// Int64 returns the values of an I32 or I64 tensor, row-major. It returns an error for any other type.
func (f *File) Int64(name string) ([]int64, error) {
	return readTensor(f, name, "I32 or I64", map[DType]func([]byte) int64{
		I32: func(b []byte) int64 { return int64(int32At(b)) },
		I64: func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) },
	})
}

func float32At(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
func float64At(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
func int32At(b []byte) int32     { return int32(binary.LittleEndian.Uint32(b)) }

// chunk is how many bytes of a tensor are read at once; it is a multiple of every element size.
const chunk = 1 << 16

// readTensor decodes a tensor piece by piece, so that the result is the only large allocation. decode has one function for
// every element type that it takes, which want names.
func readTensor[V any](f *File, name, want string, decode map[DType]func([]byte) V) ([]V, error) {
	e, err := f.lookup(name)
	if err != nil {
		return nil, err
	}
	value, ok := decode[e.dtype]
	if !ok {
		return nil, fmt.Errorf("checkpoint: %s: tensor %q is %s, not %s", f.name, name, e.dtype, want)
	}
	size := dtypeSizes[e.dtype]
	buf := make([]byte, min(chunk, e.end-e.begin))
	dst := make([]V, 0, e.count)
	for off := e.begin; off < e.end; off += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), e.end-off)]
		if err := readFull(f.r, buf, f.start+off); err != nil {
			return nil, fmt.Errorf("checkpoint: %s: tensor %q: %w", f.name, name, err)
		}
		for i := 0; i < len(buf); i += size {
			dst = append(dst, value(buf[i:i+size]))
		}
	}
	return dst, nil
}
