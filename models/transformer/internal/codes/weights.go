package codes

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// weight is an array on the backend, with its name in graphs.
type weight struct {
	Name   string
	Tensor *tensors.Tensor
}

// array is what one weight is loaded from: parameters side by side along the last axis, or, where
// it is stacked, one below the other along the first.
type array struct {
	name  string
	parts []spec.Param
	// OutFirst is whether it is held [out,in].
	outFirst, stacked bool
}

// fused returns the arrays that hold params. Query, key and value of a layer share one array,
// blocks.l.qkv.{weight [D,HE+2GE],bias [HE+2GE]}: one wide product is faster than three narrow
// ones. With outFirst the matrices of layers are held [out,in]; see [Held.OutFirst]. Parameters
// come in the order of [spec.Spec.Params], so the columns of the array are query, key, value.
//
// The gains of the heads of a layer share the arrays blocks.l.{query,key}-norm.gain, [HE] and [GE].
// The experts of a layer share the arrays blocks.l.experts.{gate,up,down}.weight, [XF,D], in which
// gate and up always have the outputs first: one feed-forward part with all of their inner numbers.
func fused(params []spec.Param, outFirst bool) []array {
	var all []array
	at := map[string]int{}
	for _, p := range params {
		name := p.Name
		for _, part := range []string{".query.", ".key.", ".value."} {
			name = strings.Replace(name, part, ".qkv.", 1)
		}
		name = headNumber.ReplaceAllString(name, "-norm.")
		experts := expertNumber.MatchString(name)
		if experts {
			name = expertNumber.ReplaceAllString(name, ".experts.")
		}
		i, ok := at[name]
		if !ok {
			i = len(all)
			at[name], all = i, append(all, array{
				name: name,
				// Biases for each distance are no factors of products.
				outFirst: (outFirst || experts) && strings.HasPrefix(name, "blocks.") &&
					strings.HasSuffix(name, ".weight") && len(p.Shape) == 2 &&
					!(experts && strings.HasSuffix(name, ".down.weight")),
				stacked: experts,
			})
		}
		all[i].parts = append(all[i].parts, p)
	}
	return all
}

// headNumber is the part of the name of a gain with the number of its head.
var headNumber = regexp.MustCompile(`-norm\.\d+\.`)

// expertNumber is the part of the name of a parameter with the number of its expert.
var expertNumber = regexp.MustCompile(`\.experts\.\d+\.`)

// shape is the shape of all parts together. Only the last axis grows: [D,HE] and twice [D,GE] make
// [D,HE+2GE]. With outFirst the axes change places after that. A stack grows along the first axis.
func (a array) shape() []int {
	shape := append([]int(nil), a.parts[0].Shape...)
	last := len(shape) - 1
	if !a.stacked {
		for _, p := range a.parts[1:] {
			shape[last] += p.Shape[last]
		}
	}
	if a.outFirst {
		slices.Reverse(shape)
	}
	if a.stacked {
		shape[0] *= len(a.parts)
	}
	return shape
}

// Held are the weights of a model on a backend.
type Held struct {
	Backend compute.Backend
	// dtype is the type of the matrices: float32 or bfloat16.
	dtype dtypes.DType
	// inCodes is whether matrices are kept as their checkpoint has quantised them, where it has.
	inCodes bool
	Arrays  []weight
	// Hosted are the matrices that the host multiplies, in codes, by name; nil elsewhere.
	Hosted map[string][]*hostForm
	// Decoded is what passes take for matrices in codes.
	Decoded decoded
	mu      sync.Mutex // guards hosted while arrays are loaded
}

// LoadWeights puts the arrays of a model on a backend, by so many goroutines. Matrices that q has
// are kept in codes where that is in float32. q may be nil. Every array goes from load straight to
// its place, without a copy. It returns the errors of load and of the backend.
func LoadWeights(backend compute.Backend, s *spec.Spec, dtype dtypes.DType, load spec.Loader,
	q spec.Quantized, loaders int,
) (*Held, error) {
	h := &Held{Backend: backend, dtype: dtype}
	inGo := BackendName(backend) == "go"
	if inGo {
		q = OnHost(s, q)
	}
	if h.inCodes = q != nil && dtype == dtypes.Float32; !h.inCodes {
		q = nil
	} else if inGo {
		h.Hosted = map[string][]*hostForm{}
	}
	h.Decoded = DecodedBytes(s, q)
	var err error
	h.Arrays, err = h.loadArrays(fused(s.Params(), h.OutFirst()), load, q, loaders)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Bytes returns how many bytes the weights take.
func (h *Held) Bytes() int64 {
	bytes := int64(0)
	for _, w := range h.Arrays {
		bytes += int64(w.Tensor.Shape().Size()) * int64(w.Tensor.DType().Size())
	}
	return bytes
}

// RoundedBytes returns how many bytes the buffers of the weights have if sizes are rounded up as
// the pure-Go backend does: to 2ⁿ or 3·2ⁿ.
func (h *Held) RoundedBytes() int64 {
	sum := int64(0)
	for _, w := range h.Arrays {
		sum += int64(host.SourceSlots(w.Tensor.Shape().Size()*w.Tensor.DType().Size(), 1))
	}
	return sum
}

// LoadersMost is how many arrays are loaded at a time, each on a processor of its own. Each needs
// memory for the pieces that it reads.
const LoadersMost = 4

// loadArrays makes the tensors of all arrays, by so many goroutines: most of the time goes into
// memory that the system has to clear, and into numbers that are converted. The error is that of
// the first array that has one, whichever was loaded first. Arrays after it may not have been
// loaded.
func (h *Held) loadArrays(arrays []array, load spec.Loader, q spec.Quantized, loaders int) (
	[]weight, error,
) {
	made, failed := make([][]weight, len(arrays)), make([]error, len(arrays))
	var begun atomic.Int64 // so many arrays, or all after an error
	next := func() int { return int(begun.Add(1)) - 1 }
	var all sync.WaitGroup
	for range loaders {
		all.Go(func() {
			for i := next(); i < len(arrays); i = next() {
				if made[i], failed[i] = h.loadArray(arrays[i], load, q); failed[i] != nil {
					begun.Store(int64(len(arrays)))
				}
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			for _, weights := range made {
				for _, w := range weights {
					host.Free(w.Tensor)
				}
			}
			return nil, err
		}
	}
	return slices.Concat(made...), nil
}

// load makes the tensor of an array.
func (h *Held) load(a array, load spec.Loader) (*tensors.Tensor, error) {
	// A matrix has the type of the model.
	shape := a.shape()
	// Norms and biases have one axis. They are a small part of all numbers, and stay in float32.
	dtype := dtypes.Float32
	if len(shape) > 1 {
		dtype = h.dtype
	}
	// Where the backend computes in the memory of the host, this is the memory that it reads.
	t, err := tensors.FromShapeForBackend(h.Backend, 0, shapes.Make(dtype, shape...))
	if err != nil {
		return nil, pkg.Errorf("%s: %w", a.name, err)
	}
	var loaded error
	err = t.MutableFlatData(func(flat any) {
		to := place{flat: flat, row: shape[len(shape)-1], outFirst: a.outFirst}
		for _, p := range a.parts {
			loaded = errors.Join(loaded, to.fill(p, load))
			if a.stacked {
				to.begin += p.Size()
			} else {
				to.column += p.Shape[len(p.Shape)-1]
			}
		}
	})
	if err = errors.Join(loaded, err); err != nil {
		return nil, err
	}
	if err := t.ToDevice(h.Backend, 0); err != nil {
		return nil, pkg.Errorf("%s: %w", a.name, err)
	}
	return t, nil
}

// place is where a parameter goes: into flat, whose rows have so many numbers, from a column on,
// after the numbers of a stack that come before it. With outFirst the columns of the parameter
// become rows of flat.
type place struct {
	flat               any
	begin, row, column int
	outFirst           bool
}

// fill loads p. It returns an error if load gives too few or too many numbers. A piece that load
// gives may begin and end within a row, so it is cut at the ends of rows.
func (to place) fill(p spec.Param, load spec.Loader) error {
	filled, width := 0, p.Shape[len(p.Shape)-1]
	err := load(p, func(first int, values []float32) {
		filled += len(values)
		for len(values) > 0 {
			n := min(len(values), width-first%width)
			to.put(first/width, first%width, values[:n])
			first, values = first+n, values[n:]
		}
	})
	if err == nil && filled != p.Size() {
		err = pkg.Errorf("%s has %d numbers, its shape %v needs %d", p.Name, filled,
			p.Shape, p.Size())
	}
	return err
}

// put writes values of one row of the parameter from a column on, in the type of flat.
func (to place) put(row, column int, values []float32) {
	// Entry (r,c) of the parameter is flat[r,column+c], or transposed flat[column+c,r].
	at, step := to.begin+row*to.row+to.column+column, 1
	if to.outFirst {
		at, step = to.begin+(to.column+column)*to.row+row, to.row
	}
	switch dst := to.flat.(type) {
	case []float32:
		if step == 1 {
			copy(dst[at:at+len(values)], values)
			return
		}
		for i, v := range values {
			dst[at+i*step] = v
		}
	case []float16.Float16:
		for i, v := range values {
			dst[at+i*step] = float16Of(v)
		}
	case []bfloat16.BFloat16:
		for i, v := range values {
			dst[at+i*step] = bfloat16.FromBits(uint16(math.Float32bits(RoundBFloat16(v)) >> 16))
		}
	}
}

// Which weights a graph gets: all whose names have one of the prefixes, which are separated by
// spaces. [OfLayer] is the prefix of a layer, and [EndsWeights] stands for many.
const (
	NoWeights   = "none"
	EndsWeights = "ends" // all but those of the layers
)

// OfLayer is the prefix of the weights of layer l.
func OfLayer(l int) string { return fmt.Sprintf("blocks.%d.", l) }

// HasWeight reports whether a graph with those weights gets the array with that name. A graph gets
// only what it reads: every other argument would be passed with each call for nothing.
func HasWeight(which, name string) bool {
	for prefix := range strings.SplitSeq(which, " ") {
		if strings.HasPrefix(name, prefix) || prefix == EndsWeights &&
			!strings.HasPrefix(strings.TrimPrefix(name, ByColumns), "blocks.") {
			return true
		}
	}
	return false
}

// Weights returns the node of the array of weights with that name; see [spec.Spec.Params].
type Weights func(name string) *Node

// In returns the weights whose names have a prefix, by the rest of their names.
func (w Weights) In(prefix string) Weights {
	return func(name string) *Node { return w(prefix + name) }
}

// RoundBFloat16 returns the bfloat16 number nearest to a finite x, ties to even. A bfloat16 is the
// upper half of a float32. Adding half a unit of the last kept bit, less one, and then that bit
// itself, carries into the upper half exactly if the lower half is more than one half, or is one
// half and the kept bit is odd.
func RoundBFloat16(x float32) float32 {
	b := math.Float32bits(x)
	b += 0x7fff + b>>16&1
	return math.Float32frombits(b &^ 0xffff)
}

// OutFirst is whether the matrices of layers are held [out,in]: where they are in codes, whose
// blocks are along the rows, and where XLA computes on a CPU. Its library multiplies such a matrix
// fastest with few columns of activations, because it reads the rows in order.
func (h *Held) OutFirst() bool { return h.inCodes || OnCPU(h.Backend) }

// GraphFunc builds a graph from its inputs and the weights.
type GraphFunc func(w Weights, inputs []*Node) []*Node
