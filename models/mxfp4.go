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
type packedFile struct {
	*checkpoint.File
	shapes map[string][]int // of the tensors that are packed
}

func packed(f *checkpoint.File) packedFile {
	p := packedFile{f, map[string][]int{}}
	isBytes := func(name string) bool {
		dtype, _ := f.DType(name)
		return dtype == checkpoint.U8
	}
	for _, name := range f.Names() {
		stem, is := strings.CutSuffix(name, "_blocks")
		blocks, _ := f.Shape(name)
		shape, _ := f.Shape(stem + "_scales")
		is = is && len(shape) > 1 && shape[len(shape)-1] > 0 &&
			slices.Equal(blocks, append(slices.Clone(shape), spec.BlockSize/2))
		if is && isBytes(name) && isBytes(stem+"_scales") {
			shape[len(shape)-1] *= spec.BlockSize
			p.shapes[name] = shape
		}
	}
	return p
}

// Names returns the names of the tensors, sorted.
func (p packedFile) Names() []string {
	return slices.DeleteFunc(p.File.Names(), func(name string) bool {
		stem, is := strings.CutSuffix(name, "_scales")
		return is && p.shapes[stem+"_blocks"] != nil
	})
}

// Shape returns the shape of a tensor.
func (p packedFile) Shape(name string) ([]int, error) {
	if shape := p.shapes[name]; shape != nil {
		return slices.Clone(shape), nil
	}
	return p.File.Shape(name)
}

// Stored returns how many numbers the tensors have, and how many bytes they take.
func (p packedFile) Stored() (numbers, bytes int64) {
	numbers, bytes = p.File.Stored()
	for _, shape := range p.shapes { // 32 numbers are 17 bytes
		numbers += int64(spec.Param{Shape: shape}.Size()) / spec.BlockSize * (spec.BlockSize - 17)
	}
	return numbers, bytes
}

// Coding implements [family.QuantizedTensors], for numbers of 16 bits as well.
func (p packedFile) Coding(name string) spec.Coding {
	dtype, _ := p.DType(name)
	switch {
	case p.shapes[name] != nil:
		return gguf.CodingOf(gguf.MXFP4)
	case dtype == checkpoint.F16:
		return gguf.CodingOf(gguf.F16)
	case dtype == checkpoint.BF16:
		return gguf.CodingOf(gguf.BF16)
	}
	return spec.Coding{}
}

// ReadBlocks implements [family.QuantizedTensors]. A scale is half of what its exponent says,
// because the levels of the codes are twice the numbers.
func (p packedFile) ReadBlocks(b spec.Blocks, name string, first int) error {
	in := p.shapes[name][len(p.shapes[name])-1]
	codes, exponents := make([]byte, len(b.Codes)/2), make([]byte, len(b.Scale))
	if err := p.BytesAt(codes, name, first*in/2); err != nil {
		return err
	}
	scales := strings.TrimSuffix(name, "_blocks") + "_scales"
	if err := p.BytesAt(exponents, scales, first*in/spec.BlockSize); err != nil {
		return err
	}
	for i, x := range codes {
		b.Codes[2*i], b.Codes[2*i+1] = x&15, x>>4
	}
	for i, x := range exponents {
		b.Scale[i] = float32(math.Ldexp(1, int(x)-128))
	}
	return nil
}

// Float32At implements [family.Tensors]. It reads whole rows.
func (p packedFile) Float32At(dst []float32, name string, first int) error {
	shape := p.shapes[name]
	if shape == nil {
		return p.File.Float32At(dst, name, first)
	}
	in := shape[len(shape)-1]
	row := first / in
	numbers := make([]float32, (first+len(dst)+in-1)/in*in-row*in)
	coding := p.Coding(name)
	b := coding.Make(len(numbers))
	if err := p.ReadBlocks(b, name, row); err != nil {
		return err
	}
	coding.Numbers(numbers, b)
	copy(dst, numbers[first-row*in:])
	return nil
}

// Float64At implements [tensorFile].
func (p packedFile) Float64At(dst []float64, name string, first int) error {
	if p.shapes[name] == nil {
		return p.File.Float64At(dst, name, first)
	}
	numbers := make([]float32, len(dst))
	err := p.Float32At(numbers, name, first)
	for i, x := range numbers {
		dst[i] = float64(x)
	}
	return err
}
