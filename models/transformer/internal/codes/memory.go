package codes

import (
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/models/spec"
)

// decoded is how many bytes a pass takes for the matrices that are kept in codes, in float32. A
// graph has one at a time; see [Quantized.after]. The next graph begins before the memory of the
// last one is free. Where experts are computed in turn, the loop has a copy of their codes; where
// they are not, a graph may have all of a layer in float32.
type decoded struct{ matrices, codes, experts float64 }

// Of is the sum, of a pass with all experts in float32 or with experts in turn.
func (d decoded) Of(whole bool) float64 {
	if whole {
		return max(d.matrices, d.experts)
	}
	return d.matrices + d.codes
}

// DecodedBytes counts for the matrices that q has in codes; q may be nil.
func DecodedBytes(s *spec.Spec, q spec.Quantized) (d decoded) {
	if q == nil {
		return d
	}
	layers := 0.0 // with experts
	for _, a := range fused(s.Params(), true) {
		forms := formsOf(a, q)
		if forms == nil || !strings.HasPrefix(a.name, "blocks.") {
			continue
		}
		numbers := 0
		for _, p := range a.parts {
			numbers += p.Size()
		}
		if !a.stacked {
			d.matrices = max(d.matrices, 2*4*float64(numbers))
			continue
		}
		if strings.HasSuffix(a.name, ".down.weight") {
			layers++
		}
		d.codes += float64(bytesOf(forms))
		d.experts += 4 * float64(numbers)
	}
	d.codes, d.experts = d.codes/max(1, layers), d.experts/max(1, layers)
	return d
}

// Bytes returns how many bytes the weights of the layers of a model take, and all others, with the
// matrices of q in codes; q may be nil.
func Bytes(s *spec.Spec, dtype dtypes.DType, q spec.Quantized) (layers, others int64) {
	for _, a := range fused(s.Params(), true) {
		var forms []form
		if q != nil && dtype == dtypes.Float32 {
			forms = formsOf(a, q)
		}
		bytes := bytesOf(forms)
		for _, p := range a.parts {
			switch {
			case forms != nil:
			case len(p.Shape) > 1:
				bytes += int64(p.Size()) * int64(dtype.Size())
			default:
				bytes += int64(p.Size()) * int64(dtypes.Float32.Size())
			}
		}
		if strings.HasPrefix(a.name, "blocks.") {
			layers += bytes
		} else {
			others += bytes
		}
	}
	return layers, others
}

// bytesOf is what all arrays of forms take.
func bytesOf(forms []form) (bytes int64) {
	for _, f := range forms {
		all := f.arrays()
		if f.columns != nil {
			all = append(all, f.columnArrays()...)
		}
		for _, kept := range all {
			bytes += int64(kept.shape.Size()) * int64(kept.shape.DType.Size())
		}
	}
	return bytes
}
