package transformer

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// weight is an array on the backend, by the name that graphs know it by.
type weight struct {
	name   string
	tensor *tensors.Tensor
}

// array is what one weight is loaded from: parameters that stand side by side along the last axis.
type array struct {
	name  string
	parts []Param
}

// fused returns the arrays that params are held in. Query, key and value of a layer share one, because one wide product is faster than
// three narrow ones: blocks.l.qkv.{weight [D,HE+2GE],bias [HE+2GE]}.
func fused(params []Param) []array {
	var all []array
	at := map[string]int{}
	for _, p := range params {
		name := p.Name
		for _, part := range []string{".query.", ".key.", ".value."} {
			name = strings.Replace(name, part, ".qkv.", 1)
		}
		i, ok := at[name]
		if !ok {
			i = len(all)
			at[name], all = i, append(all, array{name: name})
		}
		all[i].parts = append(all[i].parts, p)
	}
	return all
}

// shape is that of all parts together.
func (a array) shape() []int {
	shape := append([]int(nil), a.parts[0].Shape...)
	last := len(shape) - 1
	for _, p := range a.parts[1:] {
		shape[last] += p.Shape[last]
	}
	return shape
}

// load makes the tensor of an array.
func (m *Model) load(a array, load Loader) (*tensors.Tensor, error) {
	shape := a.shape()
	dtype := dtypes.Float32
	if len(shape) > 1 {
		dtype = m.DType
	}
	t, err := tensors.FromShapeForBackend(m.backend, 0, shapes.Make(dtype, shape...))
	if err != nil {
		return nil, fmt.Errorf("transformer: %s: %w", a.name, err)
	}
	var loaded error
	err = t.MutableFlatData(func(flat any) {
		row, column := shape[len(shape)-1], 0
		for _, p := range a.parts {
			loaded = errors.Join(loaded, fill(flat, p, row, column, load))
			column += p.Shape[len(p.Shape)-1]
		}
	})
	if err = errors.Join(loaded, err); err != nil {
		return nil, err
	}
	if err := t.ToDevice(m.backend, 0); err != nil {
		return nil, fmt.Errorf("transformer: %s: %w", a.name, err)
	}
	return t, nil
}

// fill loads p into rows of flat, which have row numbers each, from a column on.
func fill(flat any, p Param, row, column int, load Loader) error {
	filled, width := 0, p.Shape[len(p.Shape)-1]
	err := load(p, func(first int, values []float32) {
		filled += len(values)
		if row == width { // nothing beside it
			put(flat, first, values)
			return
		}
		for len(values) > 0 {
			n := min(len(values), width-first%width)
			put(flat, first/width*row+column+first%width, values[:n])
			first, values = first+n, values[n:]
		}
	})
	if err == nil && filled != p.Size() {
		err = fmt.Errorf("transformer: %s has %d numbers, its shape %v needs %d", p.Name, filled, p.Shape, p.Size())
	}
	return err
}

// put writes values into flat from at on, in the precision of flat.
func put(flat any, at int, values []float32) {
	switch dst := flat.(type) {
	case []float32:
		copy(dst[at:at+len(values)], values)
	case []bfloat16.BFloat16:
		for i, v := range values {
			dst[at+i] = bfloat16.FromBits(uint16(math.Float32bits(roundBFloat16(v)) >> 16))
		}
	}
}
