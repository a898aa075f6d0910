package family

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

// stackEnd is the end of a name in [Family.Weights] of a tensor that is one part of another one,
// whose first axis counts the experts: experts.down_proj[3].
const stackEnd = "[%d]"

// unstacked returns tensors in which those that the family names with [stackEnd] are split along
// their first axis. Their parts have names that end in a number, as in experts.down_proj[3].
func (f *Family) unstacked(tensors Tensors) Tensors {
	u := unstacked{Tensors: tensors, parts: map[string]stackPart{}}
	var ends []string // of names
	for _, w := range f.Weights {
		if name, is := strings.CutSuffix(w.Tensor, stackEnd); is {
			ends = append(ends, name[strings.LastIndex(name, "%d")+2:])
		}
	}
	if ends == nil {
		return tensors
	}
	for _, name := range tensors.Names() {
		shape, err := tensors.Shape(name)
		whole := err != nil || len(shape) < 2 || shape[0] > spec.MaxSize("Experts") ||
			!slices.ContainsFunc(ends, func(s string) bool { return strings.HasSuffix(name, s) })
		if whole {
			u.names = append(u.names, name)
			continue
		}
		for i := range shape[0] {
			part := name + fmt.Sprintf(stackEnd, i)
			u.names, u.parts[part] = append(u.names, part), stackPart{name, shape[1:], i}
		}
	}
	if q, ok := tensors.(QuantizedTensors); ok {
		return unstackedBlocks{u, q}
	}
	return u
}

// stackPart is part i of a tensor, and its shape.
type stackPart struct {
	tensor string
	shape  []int
	i      int
}

// unstacked is tensors of which some are split.
type unstacked struct {
	Tensors
	names []string
	parts map[string]stackPart
}

// Names implements [Tensors].
func (u unstacked) Names() []string { return slices.Clone(u.names) }

// Shape implements [Tensors].
func (u unstacked) Shape(name string) ([]int, error) {
	if part, is := u.parts[name]; is {
		return slices.Clone(part.shape), nil
	}
	return u.Tensors.Shape(name)
}

// Float32At implements [Tensors].
func (u unstacked) Float32At(dst []float32, name string, first int) error {
	if part, is := u.parts[name]; is {
		size := spec.Param{Shape: part.shape}.Size()
		return u.Tensors.Float32At(dst, part.tensor, part.i*size+first)
	}
	return u.Tensors.Float32At(dst, name, first)
}

// unstackedBlocks is unstacked for quantised tensors.
type unstackedBlocks struct {
	unstacked
	blocks QuantizedTensors
}

// Coding implements [QuantizedTensors].
func (u unstackedBlocks) Coding(name string) spec.Coding {
	if part, is := u.parts[name]; is {
		name = part.tensor
	}
	return u.blocks.Coding(name)
}

// ReadBlocks implements [QuantizedTensors].
func (u unstackedBlocks) ReadBlocks(b spec.Blocks, name string, first int) error {
	if part, is := u.parts[name]; is {
		name, first = part.tensor, part.i*part.shape[0]+first
	}
	return u.blocks.ReadBlocks(b, name, first)
}
