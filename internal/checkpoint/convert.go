package checkpoint

import (
	"encoding/binary"
	"math"
	"strings"
)

// converter converts the little-endian elements in b to dst, which has one place for each of them.
// dtype is a type that the caller has checked.
type converter[V any] func(dst []V, b []byte, dtype DType)

// floatTypes are those that become float32 or float64.
var floatTypes = []DType{F16, BF16, F32, F64}

// described lists element types for an error message. All floating-point types together also get
// their name, because a list of four says less.
func described(types []DType) string {
	var names []string
	for _, d := range types {
		names = append(names, string(d))
	}
	if len(types) == len(floatTypes) {
		return "a floating-point type (" + strings.Join(names, ", ") + ")"
	}
	return strings.Join(names, " or ")
}

// toFloat32 is exact for F16, BF16 and F32, whose numbers are all float32. F64 is rounded to the
// nearest.
func toFloat32(dst []float32, b []byte, dtype DType) {
	// The format is little-endian, whatever the machine is.
	le := binary.LittleEndian
	switch dtype {
	case F16:
		for i := range dst {
			dst[i] = Float16(le.Uint16(b[2*i:])).Float32()
		}
	// the upper half of a float32
	case BF16:
		for i := range dst {
			dst[i] = BFloat16(le.Uint16(b[2*i:])).Float32()
		}
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(le.Uint32(b[4*i:]))
		}
	case F64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(le.Uint64(b[8*i:])))
		}
	}
}

// toFloat64 is exact for every floating-point type. It goes by way of float32, in which the smaller
// types are exact, a few KiB at a time.
func toFloat64(dst []float64, b []byte, dtype DType) {
	if dtype == F64 {
		for i := range dst {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return
	}
	// 4 KiB on the stack, whatever the tensor's size
	var scratch [1024]float32
	size := dtypeSizes[dtype]
	for len(dst) > 0 {
		n := min(len(scratch), len(dst))
		toFloat32(scratch[:n], b, dtype)
		for i, x := range scratch[:n] {
			dst[i] = float64(x)
		}
		dst, b = dst[n:], b[n*size:]
	}
}

// toInt32 has one type to convert, I32.
func toInt32(dst []int32, b []byte, _ DType) {
	for i := range dst {
		dst[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// toInt64 keeps the sign of an I32.
func toInt64(dst []int64, b []byte, dtype DType) {
	if dtype == I64 {
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return
	}
	for i := range dst {
		dst[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
}
