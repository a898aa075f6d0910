package models

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

// WeightError says that a tensor of a checkpoint has a number that a model cannot compute with:
// NaN, infinity, or a number that is too large for the type of the weights in memory.
type WeightError struct {
	// File is the file with the tensor, and Tensor is the name of the tensor.
	File, Tensor string
	// Index is the place of the first such number, outermost axis first, 0-based.
	Index []int
	// Value is the number in the file, and DType is the type of the weights in memory.
	Value float64
	DType string
}

// Error implements error.
func (e *WeightError) Error() string {
	what := fmt.Sprint(e.Value)
	if !math.IsNaN(e.Value) && !math.IsInf(e.Value, 0) {
		what = fmt.Sprintf("%v, which is infinite in %s", e.Value, e.DType)
	}
	return fmt.Sprintf("models: %s: tensor %q: element %s is %s; every result would depend on "+
		"it: get the file again, or repair the tensor",
		e.File, e.Tensor, place(e.Index), what)
}

// ResultError says that a model computed NaN or infinity although all its weights are finite: some
// number became too large for float32, or 0 was divided by 0.
type ResultError struct {
	// Model is the name of the model, and Tap is the tap with the number in the lowest layer.
	Model string
	Tap   trace.Tap
	// Index is the place of the number in the tap, outermost axis first, 0-based, and Value is the
	// number.
	Index []int
	Value float32
	// Axes has one letter for each axis of Index, as in package trace.
	Axes string
	// Largest is the largest weight of the model, which may be the cause; nil if none is larger
	// than any that a model learns.
	Largest *WeightError
}

// Error implements error.
func (e *ResultError) Error() string {
	layer := ""
	if strings.HasPrefix(e.Axes, "L") && len(e.Index) > 0 {
		layer = fmt.Sprintf(" in layer %d", e.Index[0])
	}
	cause := ""
	if w := e.Largest; w != nil {
		cause = fmt.Sprintf("; the largest weight is %v, element %s of tensor %q in %s: get the "+
			"file again, or repair the tensor", float32(w.Value), place(w.Index), w.Tensor,
			w.File)
	}
	why := "the numbers of the pass grow too large for float32"
	if math.IsNaN(float64(e.Value)) {
		why = "the pass divides 0 by 0, as where all weights of the experts are 0, or its " +
			"numbers grow too large for float32"
	}
	return fmt.Sprintf("models: %s: tap %s%s: element %s of [%s] is %v; %s%s",
		e.Model, e.Tap, layer, place(e.Index),
		strings.Join(strings.Split(e.Axes, ""), ","), e.Value, why, cause)
}

// hugeWeight is larger than any weight that a model learns. The largest one above it is named if
// results overflow.
const hugeWeight = 1e6

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

// These are the bits, without the sign, of the smallest float32 that becomes infinite in a type:
// for float32, infinity itself; for bfloat16, the number half a unit in the last place below
// infinity, from which numbers are rounded up.
const (
	infiniteFloat32  = 0x7f80_0000
	infiniteBFloat16 = 0x7f7f_8000
)

// notFinite returns the index of the first number of x whose bits without the sign are at least
// limit, as those of infinity and NaN are. It returns -1 if there is none.
func notFinite(x []float32, limit uint32) int {
	const step = 4096
	for begin := 0; begin < len(x); begin += step {
		part := x[begin:min(begin+step, len(x))]
		largest := uint32(0) // a branch for every number would double the time
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

// finiteWeights reads the weights of a source and checks that what it reads is finite.
type finiteWeights struct {
	tensorFile
	dtype dtypes.DType
	// allow makes Float32At add an error to found, one for each tensor, instead of returning it.
	allow bool
	// halves is whether matrices of 16 bits are kept so.
	halves  bool
	mu      sync.Mutex // guards found and largest
	found   []*WeightError
	largest *WeightError // of those above hugeWeight; nil if there is none
}

// Float32At reads as the file does. It returns a [WeightError] for a number that
// is not finite in the type of the weights.
func (w *finiteWeights) Float32At(dst []float32, name string, first int) error {
	if err := w.tensorFile.Float32At(dst, name, first); err != nil {
		return err
	}
	shape, err := w.Shape(name)
	if err != nil {
		return err
	}
	limit, dtype := uint32(infiniteFloat32), dtypes.Float32
	if w.dtype == dtypes.BFloat16 && len(shape) > 1 { // vectors are always float32
		limit, dtype = infiniteBFloat16, dtypes.BFloat16
	}
	w.note(dst, name, first, shape)
	i := notFinite(dst, limit)
	if i < 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.knows(name) {
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

// note keeps the largest of some numbers of a tensor if it is huge, and larger than those before.
func (w *finiteWeights) note(x []float32, name string, first int, shape []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit := float32(hugeWeight)
	if w.largest != nil {
		limit = float32(math.Abs(w.largest.Value))
	}
	for i := notFinite(x, math.Float32bits(limit)+1); i >= 0; {
		w.largest = &WeightError{
			File: w.FileOf(name), Tensor: name, Index: placeOf(first+i, shape),
			Value: float64(x[i]),
		}
		more := notFinite(x[i+1:], math.Float32bits(x[i])&^(1<<31)+1)
		if more < 0 {
			return
		}
		i += 1 + more
	}
}

// Coding implements [family.QuantizedTensors] for files that do.
func (w *finiteWeights) Coding(name string) (c spec.Coding) {
	if f, ok := w.tensorFile.(family.QuantizedTensors); ok {
		c = f.Coding(name)
	}
	if c.Bits == 16 && !w.halves {
		return spec.Coding{}
	}
	return c
}

// ReadBlocks reads as the file does. It returns [spec.ErrNoBlocks] if a number may be huge or not
// finite; Float32At then finds which.
func (w *finiteWeights) ReadBlocks(b spec.Blocks, name string, first int) error {
	if err := w.tensorFile.(family.QuantizedTensors).ReadBlocks(b, name, first); err != nil {
		return err
	}
	most := 255.0 // the largest code times the largest factor
	if b.Parts != nil {
		most *= 128
	}
	for _, scale := range slices.Concat(b.Scale, b.Min) {
		if !(most*math.Abs(float64(scale)) < hugeWeight) { // also NaN
			return pkg.Errorf("%s: tensor %q: %w", w.FileOf(name), name, spec.ErrNoBlocks)
		}
	}
	return nil
}

// knows returns whether found has an error for a tensor. The caller holds mu.
func (w *finiteWeights) knows(name string) bool {
	for _, e := range w.found {
		if e.Tensor == name {
			return true
		}
	}
	return false
}

// NonFinite returns the first weight of each tensor that is not finite, by the names of the
// tensors. Only a model that was opened with [Options.AllowNaN] can have any.
func (m *Model) NonFinite() []*WeightError { return m.nonFinite }

// checkResults returns what [FirstNonFinite] finds, unless the model may return such numbers.
func (m *Model) checkResults(tensors []trace.Tensor) error {
	if m.allowNaN {
		return nil
	}
	if e := FirstNonFinite(tensors); e != nil {
		e.Model, e.Largest = m.info.Name, m.largest
		return e
	}
	return nil
}

// checkLogits is checkResults for the logits of one position, [V].
func (m *Model) checkLogits(logits []float32) error {
	return m.checkResults([]trace.Tensor{{
		Name: string(trace.Logits), Axes: "V", Shape: []int{len(logits)}, Data: logits,
	}})
}

// FirstNonFinite returns where the first number is that is NaN or infinite, or nil if all are
// finite. The lowest layer comes first, and in a layer the order of tensors; tensors without layers
// come last.
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
