package gguf

import (
	"encoding/binary"
	"math"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// The functions here convert len(dst) numbers of a type that is not quantised.

// half returns the float16 number at b.
func half(b []byte) float32 { return checkpoint.Float16(binary.LittleEndian.Uint16(b)).Float32() }

func fromF32(dst []float32, b []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

func fromF16(dst []float32, b []byte) {
	for i := range dst {
		dst[i] = half(b[2*i:])
	}
}

func fromBF16(dst []float32, b []byte) {
	for i := range dst {
		dst[i] = checkpoint.BFloat16(binary.LittleEndian.Uint16(b[2*i:])).Float32()
	}
}
