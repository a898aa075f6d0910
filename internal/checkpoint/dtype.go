package checkpoint

import (
	"maps"
	"slices"
)

// DType is the element type of a tensor, spelt as in the file.
type DType string

// The element types whose values this package can read. A file may also hold tensors of other types
// (I16, F8_E4M3 and so on). They are checked like the others, but reading their values is an
// error.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
	U8   DType = "U8"
)

// dtypeSizes are the sizes of one element in bytes.
var dtypeSizes = map[DType]int{
	F64: 8, I64: 8, "U64": 8, "C64": 8,
	F32: 4, I32: 4, "U32": 4,
	F16: 2, BF16: 2, "I16": 2, "U16": 2,
	"I8": 1, U8: 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
}

func knownDTypes() []string {
	var names []string
	for _, d := range slices.Sorted(maps.Keys(dtypeSizes)) {
		names = append(names, string(d))
	}
	return names
}
