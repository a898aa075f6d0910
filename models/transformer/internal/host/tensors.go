package host

import (
	"errors"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// Read calls use with the numbers of a float32 tensor; they are valid only during the call.
func Read(t *tensors.Tensor, use func(data []float32)) error {
	if t.DType() != dtypes.Float32 {
		return pkg.Errorf("a graph returned %s, not float32", t.DType())
	}
	return t.ConstFlatData(func(flat any) { use(flat.([]float32)) })
}

// Floats copies a float32 tensor to the host.
func Floats(t *tensors.Tensor) ([]float32, error) {
	var out []float32
	err := Read(t, func(data []float32) { out = append(out, data...) })
	return out, err
}

// Free returns the memory of tensors at once; nil is allowed.
func Free(all ...*tensors.Tensor) {
	for _, t := range all {
		if t != nil {
			t.MustFinalizeAll()
		}
	}
}

// Only is the result of a graph that has one.
func Only(out []*tensors.Tensor, err error) (*tensors.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// IDTensor returns ids as [1,n], filled up with 0.
func IDTensor(ids []int, n int) *tensors.Tensor {
	return Int32Tensor(append(slices.Clone(ids), make([]int, n-len(ids))...), 1, n)
}

// Int32Tensor returns numbers of those dimensions, by default [len(numbers)].
func Int32Tensor(numbers []int, dims ...int) *tensors.Tensor {
	flat := make([]int32, len(numbers))
	for i, n := range numbers {
		flat[i] = int32(n)
	}
	if dims == nil {
		dims = []int{len(flat)}
	}
	return tensors.FromFlatDataAndDimensions(flat, dims...)
}

// Zeros makes a float32 tensor that the host may write into.
func Zeros(b compute.Backend, dims ...int) (*tensors.Tensor, error) {
	return tensors.FromShapeForBackend(b, 0, shapes.Make(dtypes.Float32, dims...))
}

// Filled makes a tensor that the host fills.
func Filled(b compute.Backend, dims []int, fill func(data []float32)) (*tensors.Tensor, error) {
	t, err := Zeros(b, dims...)
	if err != nil {
		return nil, err
	}
	return t, t.MutableFlatData(func(flat any) { fill(flat.([]float32)) })
}

// FilledFrom makes a tensor that the host fills from another one. It may return the tensor beside
// an error.
func FilledFrom(b compute.Backend,
	source *tensors.Tensor, dims []int, fill func(to, from []float32),
) (t *tensors.Tensor, err error) {
	var failed error
	err = Read(source, func(from []float32) {
		t, failed = Filled(b, dims, func(to []float32) { fill(to, from) })
	})
	return t, errors.Join(err, failed)
}

// WriteFrom calls fill with the numbers of a tensor that the host may write into, and of source.
func WriteFrom(source, target *tensors.Tensor, fill func(to, from []float32)) error {
	var failed error
	err := Read(source, func(from []float32) {
		failed = target.MutableFlatData(func(flat any) { fill(flat.([]float32), from) })
	})
	return errors.Join(err, failed)
}

// CopySlots copies the first n numbers of each row of src into the row of dst; the rows of the two
// may differ in length.
func CopySlots(dst, src []float32, rows, n int) {
	to, from := len(dst)/rows, len(src)/rows
	for r := range rows {
		copy(dst[r*to:r*to+n], src[r*from:])
	}
}
