package gguf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Type is how the numbers of a tensor are stored, as the file numbers it.
type Type uint32

// The types that can be converted to float32. The names are those of llama.cpp: the digit is the
// number of bits, _0 has a scale for each block of 32 numbers, _1 also a minimum, and _K has blocks
// of 256 numbers with scales for their parts.
const (
	F32   Type = 0
	F16   Type = 1
	Q4_0  Type = 2
	Q4_1  Type = 3
	Q5_0  Type = 6
	Q5_1  Type = 7
	Q8_0  Type = 8
	Q2K   Type = 10
	Q3K   Type = 11
	Q4K   Type = 12
	Q5K   Type = 13
	Q6K   Type = 14
	IQ4NL Type = 20
	BF16  Type = 30
	MXFP4 Type = 39
)

// format is how a type stores its numbers.
type format struct {
	name string
	// block is how many numbers a block has, and bytes its size in the file.
	block, bytes int
	// convert converts whole blocks, len(dst) numbers. It is nil for types that are only known by
	// their size.
	convert func(dst []float32, b []byte)
}

// formats are all types of version 0.19.0 of the Python package gguf.
var formats = map[Type]format{
	F32:   {"F32", 1, 4, fromF32},
	F16:   {"F16", 1, 2, fromF16},
	Q4_0:  {"Q4_0", 32, 2 + 16, codings[Q4_0].convert},
	Q4_1:  {"Q4_1", 32, 2 + 2 + 16, codings[Q4_1].convert},
	Q5_0:  {"Q5_0", 32, 2 + 4 + 16, codings[Q5_0].convert},
	Q5_1:  {"Q5_1", 32, 2 + 2 + 4 + 16, codings[Q5_1].convert},
	Q8_0:  {"Q8_0", 32, 2 + 32, codings[Q8_0].convert},
	9:     {"Q8_1", 32, 4 + 4 + 32, nil},
	Q2K:   {"Q2_K", 256, 16 + 64 + 2 + 2, codings[Q2K].convert},
	Q3K:   {"Q3_K", 256, 32 + 64 + 12 + 2, codings[Q3K].convert},
	Q4K:   {"Q4_K", 256, 2 + 2 + 12 + 128, codings[Q4K].convert},
	Q5K:   {"Q5_K", 256, 2 + 2 + 12 + 32 + 128, codings[Q5K].convert},
	Q6K:   {"Q6_K", 256, 128 + 64 + 16 + 2, codings[Q6K].convert},
	15:    {"Q8_K", 256, 4 + 256 + 32, nil},
	16:    {"IQ2_XXS", 256, 2 + 64, nil},
	17:    {"IQ2_XS", 256, 2 + 64 + 8, nil},
	18:    {"IQ3_XXS", 256, 2 + 64 + 32, nil},
	19:    {"IQ1_S", 256, 2 + 32 + 16, nil},
	IQ4NL: {"IQ4_NL", 32, 2 + 16, codings[IQ4NL].convert},
	21:    {"IQ3_S", 256, 2 + 64 + 32 + 8 + 4, nil},
	22:    {"IQ2_S", 256, 2 + 64 + 16, nil},
	23:    {"IQ4_XS", 256, 2 + 2 + 128 + 4, nil},
	24:    {"I8", 1, 1, nil},
	25:    {"I16", 1, 2, nil},
	26:    {"I32", 1, 4, nil},
	27:    {"I64", 1, 8, nil},
	28:    {"F64", 1, 8, nil},
	29:    {"IQ1_M", 256, 32 + 16 + 8, nil},
	BF16:  {"BF16", 1, 2, fromBF16},
	34:    {"TQ1_0", 256, 2 + 4*13, nil},
	35:    {"TQ2_0", 256, 2 + 64, nil},
	MXFP4: {"MXFP4", 32, 1 + 16, codings[MXFP4].convert},
	40:    {"NVFP4", 64, 4 + 32, nil},
	41:    {"Q1_0", 128, 2 + 16, nil},
}

// String returns the name of a type, or its number if it is unknown.
func (t Type) String() string {
	if f, ok := formats[t]; ok {
		return f.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// knownTypes lists the types for a message, with their numbers.
func knownTypes() string {
	var names []string
	for _, t := range slices.Sorted(maps.Keys(formats)) {
		names = append(names, fmt.Sprintf("%d (%v)", uint32(t), t))
	}
	return strings.Join(names, ", ")
}

// convertible lists the types that can be converted.
func convertible() string {
	var names []string
	for _, t := range slices.Sorted(maps.Keys(formats)) {
		if formats[t].convert != nil {
			names = append(names, t.String())
		}
	}
	return strings.Join(names, ", ")
}
