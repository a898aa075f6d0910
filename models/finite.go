package models

import (
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/checkpoint"
)

// WeightError says that a tensor of a checkpoint holds a number that no model can compute with:
// NaN, infinity, or one that is too large for the type that weights are held in.
type WeightError struct {
	// File has the tensor, and Tensor is its name there.
	File, Tensor string
	// Index is the place of the first such number, outermost axis first, 0-based.
	Index []int
	// Value is the number as the file has it, and DType what it was to be held in.
	Value float64
	DType string
}

// Error implements error.
func (e *WeightError) Error() string {
	what := fmt.Sprint(e.Value)
	if !math.IsNaN(e.Value) && !math.IsInf(e.Value, 0) {
		what = fmt.Sprintf("%v, which is infinite in %s", e.Value, e.DType)
	}
	return fmt.Sprintf("models: %s: tensor %q: element %s is %s; every result would rest on it: "+
		"get the file again, or repair the tensor",
		e.File, e.Tensor, place(e.Index), what)
}

// ResultError says that a model with weights that are all finite computed NaN or infinity: some
// number grew too large for float32.
type ResultError struct {
	// Model is its name, and Tap what has the number first, in the order of the layers.
	Model string
	Tap   trace.Tap
	// Index is the place of the number in the tap, outermost axis first, 0-based.
	Index []int
	Value float32
	// Axes names the axes of Index by their letters, as package trace does.
	Axes string
}

// Error implements error.
func (e *ResultError) Error() string {
	layer := ""
	if strings.HasPrefix(e.Axes, "L") && len(e.Index) > 0 {
		layer = fmt.Sprintf(" in layer %d", e.Index[0])
	}
	return fmt.Sprintf("models: %s: tap %s%s: element %s of [%s] is %v; the numbers of the pass "+
		"grow too large for float32",
		e.Model, e.Tap, layer, place(e.Index),
		strings.Join(strings.Split(e.Axes, ""), ","), e.Value)
}

// place writes an index: [2,0,5].
func place(index []int) string {
	return strings.ReplaceAll(fmt.Sprint(index), " ", ",")
}

// placeOf returns the index of number i of a row-major tensor.
func placeOf(i int, shape []int) []int {
	index := make([]int, len(shape))
	for axis := len(shape) - 1; axis >= 0; axis-- {
		index[axis] = i % shape[axis]
		i /= shape[axis]
	}
	return index
}

// The bits of the least float32, without its sign, that is no finite number in a type: infinity
// itself, and half of the last bit of a bfloat16 below it, from where on rounding goes up.
const (
	infiniteFloat32  = 0x7f80_0000
	infiniteBFloat16 = 0x7f7f_8000
)

// notFinite returns the first of x whose bits without the sign are limit or more, -1 if there is
// none. Infinity and NaN are.
func notFinite(x []float32, limit uint32) int {
	const step = 4096
	for begin := 0; begin < len(x); begin += step {
		part := x[begin:min(begin+step, len(x))]
		largest := uint32(0) // without a branch for each, which would double the time
		for _, v := range part {
			largest = max(largest, math.Float32bits(v)&^(1<<31))
		}
		if largest < limit {
			continue
		}
		for i, v := range part {
			if math.Float32bits(v)&^(1<<31) >= limit {
				return begin + i
			}
		}
	}
	return -1
}

// finiteWeights are the weights of a checkpoint that are looked at while they are read: what nobody
// reads is not.
type finiteWeights struct {
	*checkpoint.File
	dtype dtypes.DType
	// allow is whether a number that is not finite is only remembered, in found: the first of each
	// tensor.
	allow bool
	found []*WeightError
}

// Float32At is [checkpoint.File.Float32At], with a [WeightError] for a number that is not finite in
// the type of the weights.
func (w *finiteWeights) Float32At(dst []float32, name string, first int) error {
	if err := w.File.Float32At(dst, name, first); err != nil {
		return err
	}
	shape, err := w.Shape(name)
	if err != nil {
		return err
	}
	limit, dtype := uint32(infiniteFloat32), dtypes.Float32
	if w.dtype == dtypes.BFloat16 && len(shape) > 1 { // the others are float32 always
		limit, dtype = infiniteBFloat16, dtypes.BFloat16
	}
	i := notFinite(dst, limit)
	if i < 0 || w.knows(name) {
		return nil
	}
	value := make([]float64, 1)
	if err := w.Float64At(value, name, first+i); err != nil {
		return err
	}
	broken := &WeightError{
		File: w.FileOf(name), Tensor: name, Index: placeOf(first+i, shape),
		Value: value[0], DType: strings.ToLower(dtype.String()),
	}
	if !w.allow {
		return broken
	}
	w.found = append(w.found, broken)
	return nil
}

// knows is whether a number of that tensor was found before.
func (w *finiteWeights) knows(name string) bool {
	for _, e := range w.found {
		if e.Tensor == name {
			return true
		}
	}
	return false
}

// NonFinite returns the weights that are not finite, the first of each tensor in the order in which
// tensors are read. There are none unless [Options.AllowNaN] let the model be opened.
func (m *Model) NonFinite() []*WeightError { return m.nonFinite }

// checkResults returns a [ResultError] for the first number of tensors that is not finite, where it
// is not allowed. The tap that has one in the lowest layer comes first.
func (m *Model) checkResults(tensors []trace.Tensor) error {
	if m.allowNaN {
		return nil
	}
	if e := FirstNonFinite(tensors); e != nil {
		e.Model = m.info.Name
		return e
	}
	return nil
}

// FirstNonFinite returns where a number of tensors is NaN or infinite: the lowest layer comes
// first, then the order of the tensors; those without layers come last. It returns nil if all are
// finite.
func FirstNonFinite(tensors []trace.Tensor) *ResultError {
	var first *ResultError
	lowest := math.MaxInt
	for _, t := range tensors {
		i := notFinite(t.Data, infiniteFloat32)
		if i < 0 {
			continue
		}
		index := placeOf(i, t.Shape)
		layer := math.MaxInt - 1
		if strings.HasPrefix(t.Axes, "L") {
			layer = index[0]
		}
		if layer < lowest {
			lowest = layer
			first = &ResultError{
				Tap: trace.Tap(t.Name), Index: index, Value: t.Data[i],
				Axes: t.Axes,
			}
		}
	}
	return first
}
