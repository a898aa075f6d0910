package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// converter converts the little-endian elements of b to dst, which has one place for each. dtype is one that the reader has
// checked.
type converter[V any] func(dst []V, b []byte, dtype DType) error

var floatTypes = []DType{F16, BF16, F32, F64}

// described names types for an error.
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

func toFloat32(dst []float32, b []byte, dtype DType) error {
	le := binary.LittleEndian
	switch dtype {
	case F16:
		for i := range dst {
			dst[i] = Float16(le.Uint16(b[2*i:])).Float32()
		}
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
	return nil
}

func toFloat64(dst []float64, b []byte, dtype DType) error {
	if dtype == F64 {
		for i := range dst {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return nil
	}
	return throughFloat32(b, dtype, func(i int, x float32) error {
		dst[i] = float64(x)
		return nil
	})
}

func toFloat16(dst []Float16, b []byte, dtype DType) error {
	if dtype == F16 {
		for i := range dst {
			dst[i] = Float16(binary.LittleEndian.Uint16(b[2*i:]))
		}
		return nil
	}
	return throughFloat32(b, dtype, func(i int, x float32) error {
		dst[i] = NewFloat16(x)
		if dst[i]&0x7fff == 0x7c00 && !math.IsInf(float64(x), 0) {
			return fmt.Errorf("%g is too large for F16, whose largest is 65504: take BF16 or F32", x)
		}
		return nil
	})
}

func toBFloat16(dst []BFloat16, b []byte, dtype DType) error {
	if dtype == BF16 {
		for i := range dst {
			dst[i] = BFloat16(binary.LittleEndian.Uint16(b[2*i:]))
		}
		return nil
	}
	return throughFloat32(b, dtype, func(i int, x float32) error {
		dst[i] = NewBFloat16(x)
		if dst[i]&0x7fff == 0x7f80 && !math.IsInf(float64(x), 0) {
			return fmt.Errorf("%g is too large for BF16, whose largest is 3.3895e38: take F32", x)
		}
		return nil
	})
}

// throughFloat32 calls use with every element as a float32, converted a few at a time.
func throughFloat32(b []byte, dtype DType, use func(i int, x float32) error) error {
	var scratch [1024]float32
	size := dtypeSizes[dtype]
	for i := 0; len(b) > 0; {
		n := min(len(scratch), len(b)/size)
		if err := toFloat32(scratch[:n], b, dtype); err != nil {
			return err
		}
		for _, x := range scratch[:n] {
			if err := use(i, x); err != nil {
				return err
			}
			i++
		}
		b = b[n*size:]
	}
	return nil
}

func toInt32(dst []int32, b []byte, _ DType) error {
	for i := range dst {
		dst[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

func toInt64(dst []int64, b []byte, dtype DType) error {
	if dtype == I64 {
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return nil
	}
	for i := range dst {
		dst[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return nil
}
