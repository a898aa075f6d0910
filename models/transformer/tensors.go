package transformer

import (
	"errors"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// read calls use with the numbers of a float32 tensor; they are valid only during the call.
func read(t *tensors.Tensor, use func(data []float32)) error {
	if t.DType() != dtypes.Float32 {
		return pkg.Errorf("a graph returned %s, not float32", t.DType())
	}
	return t.ConstFlatData(func(flat any) { use(flat.([]float32)) })
}

// floats copies a float32 tensor to the host.
func floats(t *tensors.Tensor) ([]float32, error) {
	var out []float32
	err := read(t, func(data []float32) { out = append(out, data...) })
	return out, err
}

// free returns the memory of tensors at once; nil is allowed.
func free(all ...*tensors.Tensor) {
	for _, t := range all {
		if t != nil {
			t.MustFinalizeAll()
		}
	}
}

// only is the result of a graph that has one.
func only(out []*tensors.Tensor, err error) (*tensors.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// idTensor returns ids as [1,n], filled up with 0.
func idTensor(ids []int, n int) *tensors.Tensor {
	return int32Tensor(append(slices.Clone(ids), make([]int, n-len(ids))...), 1, n)
}

// int32Tensor returns numbers of those dimensions, by default [len(numbers)].
func int32Tensor(numbers []int, dims ...int) *tensors.Tensor {
	flat := make([]int32, len(numbers))
	for i, n := range numbers {
		flat[i] = int32(n)
	}
	if dims == nil {
		dims = []int{len(flat)}
	}
	return tensors.FromFlatDataAndDimensions(flat, dims...)
}

// zeros makes a float32 tensor that the host may write into.
func zeros(b compute.Backend, dims ...int) (*tensors.Tensor, error) {
	return tensors.FromShapeForBackend(b, 0, shapes.Make(dtypes.Float32, dims...))
}

// filled makes a tensor that the host fills.
func filled(b compute.Backend, dims []int, fill func(data []float32)) (*tensors.Tensor, error) {
	t, err := zeros(b, dims...)
	if err != nil {
		return nil, err
	}
	return t, t.MutableFlatData(func(flat any) { fill(flat.([]float32)) })
}

// filledFrom makes a tensor that the host fills from another one. It may return the tensor beside
// an error.
func filledFrom(b compute.Backend,
	source *tensors.Tensor, dims []int, fill func(to, from []float32),
) (t *tensors.Tensor, err error) {
	var failed error
	err = read(source, func(from []float32) {
		t, failed = filled(b, dims, func(to []float32) { fill(to, from) })
	})
	return t, errors.Join(err, failed)
}

// writeFrom calls fill with the numbers of a tensor that the host may write into, and of source.
func writeFrom(source, target *tensors.Tensor, fill func(to, from []float32)) error {
	var failed error
	err := read(source, func(from []float32) {
		failed = target.MutableFlatData(func(flat any) { fill(flat.([]float32), from) })
	})
	return errors.Join(err, failed)
}

// copySlots copies the first n numbers of each row of src into the row of dst; the rows of the two
// may differ in length.
func copySlots(dst, src []float32, rows, n int) {
	to, from := len(dst)/rows, len(src)/rows
	for r := range rows {
		copy(dst[r*to:r*to+n], src[r*from:])
	}
}

// backendName returns the name of what computes: go or xla.
func backendName(b compute.Backend) string {
	if strings.EqualFold(b.Name(), "Go Backend") { // what package gobackend calls itself
		return "go"
	}
	return b.Name()
}

// onCPU is whether XLA computes in the memory of the host.
func onCPU(b compute.Backend) bool { return backendName(b) != "go" && b.HasSharedBuffers() }
