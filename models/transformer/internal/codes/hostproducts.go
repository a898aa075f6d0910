package codes

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// HostNumbers is a matrix in float32, [out,in].
func HostNumbers(b compute.Backend, forms []*hostForm) (*tensors.Tensor, error) {
	out := 0
	for _, f := range forms {
		out += f.out
	}
	return host.Filled(b, []int{out, forms[0].in}, func(data []float32) {
		for _, f := range forms {
			n := f.out * f.in
			f.numbers(data[:n], 0)
			data = data[n:]
		}
	})
}

// Multiplied is x [m,K] times a matrix [out,K], [m,out].
func Multiplied(b compute.Backend, x *tensors.Tensor, forms []*hostForm) (*tensors.Tensor, error) {
	rows, in, out := x.Shape().Dimensions[0], forms[0].in, 0
	for _, f := range forms {
		out += f.out
	}
	return host.FilledFrom(b, x, []int{rows, out}, func(to, from []float32) {
		for at := 0; at < rows; at += hostRows {
			first, x := at*out, from[at*in:min(rows, at+hostRows)*in]
			tiles := tiled(x, in)
			for _, f := range forms {
				f.times(to[first:], x, tiles, out)
				first += f.out
			}
		}
	})
}

// hostRows is how many rows of activations are multiplied by a row of a matrix when its numbers are
// known: so many that computing them takes little beside, and few enough for the memory.
const hostRows = 512
