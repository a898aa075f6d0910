package models

import (
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/models/spec"
)

// packedFile is a checkpoint some of whose matrices may be in MXFP4, as GPT-OSS is published. A
// block of 32 numbers has 16 bytes of NAME_blocks [...,out,in/32,16], two codes in each with the
// lower one first, and an exponent in NAME_scales [...,out,in/32]. Here NAME_blocks is a tensor
// [...,out,in], and NAME_scales does not exist.
type packedFile struct{ *checkpoint.File }

const (
	blocksEnd = "_blocks"
	scalesEnd = "_scales"
)

// scales returns the name of the scales of a tensor that is packed, and their shape.
func (p packedFile) scales(name string) (scales string, shape []int, ok bool) {
	stem, ok := strings.CutSuffix(name, blocksEnd)
	if scales = stem + scalesEnd; !ok || !p.Has(scales) {
		return "", nil, false
	}
	blocks, err := p.File.Shape(name)
	if shape, _ = p.File.Shape(scales); err != nil || len(shape) < 2 {
		return "", nil, false
	}
	for _, tensor := range []string{name, scales} {
		if dtype, _ := p.DType(tensor); dtype != checkpoint.U8 {
			return "", nil, false
		}
	}
	return scales, shape, slices.Equal(blocks, append(slices.Clone(shape), spec.BlockSize/2))
}

// Names returns the names of the tensors, sorted, without scales.
func (p packedFile) Names() []string {
	return slices.DeleteFunc(p.File.Names(), func(name string) bool {
		stem, is := strings.CutSuffix(name, scalesEnd)
		if is {
			_, _, is = p.scales(stem + blocksEnd)
		}
		return is
	})
}

// Shape returns the shape of a tensor.
func (p packedFile) Shape(name string) ([]int, error) {
	_, shape, ok := p.scales(name)
	if !ok {
		return p.File.Shape(name)
	}
	shape = slices.Clone(shape)
	shape[len(shape)-1] *= spec.BlockSize
	return shape, nil
}

// Stored returns how many numbers the tensors have, and how many bytes they take.
func (p packedFile) Stored() (numbers, bytes int64) {
	numbers, bytes = p.File.Stored()
	for _, name := range p.Names() {
		if _, shape, ok := p.scales(name); ok { // 32 numbers are 17 bytes
			numbers += int64(spec.Param{Shape: shape}.Size()) * (spec.BlockSize - 17)
		}
	}
	return numbers, bytes
}

// Coding implements [family.QuantizedTensors], for numbers of 16 bits as well.
func (p packedFile) Coding(name string) spec.Coding {
	if _, _, ok := p.scales(name); ok {
		return gguf.CodingOf(gguf.MXFP4)
	}
	switch dtype, _ := p.DType(name); dtype {
	case checkpoint.F16:
		return gguf.CodingOf(gguf.F16)
	case checkpoint.BF16:
		return gguf.CodingOf(gguf.BF16)
	}
	return spec.Coding{}
}

// ReadBlocks implements [family.QuantizedTensors].
func (p packedFile) ReadBlocks(b spec.Blocks, name string, first int) error {
	_, shape, _ := p.scales(name)
	return p.readBlocks(b, name, first*shape[len(shape)-1])
}

// readBlocks fills b with the blocks of a packed tensor from block first on. A scale is half of
// what its exponent says, because the levels of the codes are twice the numbers.
func (p packedFile) readBlocks(b spec.Blocks, name string, first int) error {
	const half = spec.BlockSize / 2
	scales, _, _ := p.scales(name)
	packed, exponents := make([]byte, len(b.Codes)/2), make([]byte, len(b.Scale))
	if err := p.BytesAt(packed, name, first*half); err != nil {
		return err
	}
	if err := p.BytesAt(exponents, scales, first); err != nil {
		return err
	}
	for i, x := range packed {
		b.Codes[2*i], b.Codes[2*i+1] = x&15, x>>4
	}
	for i, x := range exponents {
		b.Scale[i] = float32(math.Ldexp(1, int(x)-128))
	}
	return nil
}

// Float32At implements [family.Tensors].
func (p packedFile) Float32At(dst []float32, name string, first int) error {
	if _, _, ok := p.scales(name); !ok {
		return p.File.Float32At(dst, name, first)
	}
	from := first / spec.BlockSize
	blocks := (first+len(dst)+spec.BlockSize-1)/spec.BlockSize - from
	coding := p.Coding(name)
	b := coding.Make(blocks * spec.BlockSize)
	if err := p.readBlocks(b, name, from); err != nil {
		return err
	}
	numbers := make([]float32, len(b.Codes))
	coding.Numbers(numbers, b)
	copy(dst, numbers[first-from*spec.BlockSize:])
	return nil
}

// Float64At implements [tensorFile].
func (p packedFile) Float64At(dst []float64, name string, first int) error {
	if _, _, ok := p.scales(name); !ok {
		return p.File.Float64At(dst, name, first)
	}
	numbers := make([]float32, len(dst))
	err := p.Float32At(numbers, name, first)
	for i, x := range numbers {
		dst[i] = float64(x)
	}
	return err
}
