package codes

import (
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
)

// Float returns x in float32.
func Float(x *Node) *Node {
	if x.DType() == dtypes.Float32 {
		return x
	}
	return ConvertDType(x, dtypes.Float32)
}

// FusedOnGo builds the fused operation in pure Go, where it reads the memory once, and the plain
// one elsewhere, where the compiler fuses by itself. Autodiff differentiates the plain one.
func FusedOnGo(x *Node, fused, plain func() *Node) *Node {
	if BackendName(x.Graph().Backend()) != "go" || x.DType() != dtypes.Float32 {
		return plain()
	}
	result, _ := InternalFusedOpCaller(fused, plain, true)
	return result
}

// AlignLast reshapes v [D] to broadcast against the last axis of x.
func AlignLast(v, x *Node) *Node { return ExpandLeftToRank(Float(v), x.Rank()) }

// joined is Concatenate, or the only one of all.
func joined(all []*Node, axis int) *Node {
	if len(all) == 1 {
		return all[0]
	}
	return Concatenate(all, axis)
}

// plus is the sum of both, x alone if sum is nil.
func plus(sum, x *Node) *Node {
	if sum == nil {
		return x
	}
	return Add(sum, x)
}

// Settled is x, the result of a product, in pure Go copied in blocks of 65 to 250 numbers. The
// kernels of products there leave the upper halves of the vector registers in use. Until these are
// cleared, every instruction on single numbers takes up to a hundred times as long on some
// processors: 1.7 µs for an exponential instead of 17 ns. Go's runtime clears them when it copies
// 257 to about 1,000 bytes, and neither below nor above. Rows whose order is reversed are copied
// one by one.
func Settled(x *Node) *Node {
	n := x.Shape().Size()
	if BackendName(x.Graph().Backend()) != "go" {
		return x
	}
	for block := 250; block > 64; block-- {
		if n%block == 0 {
			copied := func() *Node {
				rows := Reverse(Reverse(Reshape(x, n/block, block), 0), 0)
				return Reshape(rows, x.Shape().Dimensions...)
			}
			return FusedOnGo(x, copied, func() *Node { return x }) // x is what is differentiated
		}
	}
	return x
}

// transposed is x with its two axes in the other order.
func transposed(x *Node) *Node {
	if dims := x.Shape().Dimensions; dims[0] == 1 || dims[1] == 1 {
		return Reshape(x, dims[1], dims[0])
	}
	return Transpose(x, 0, 1)
}

// BackendName returns the name of what computes: go or xla.
func BackendName(b compute.Backend) string {
	if strings.EqualFold(b.Name(), "Go Backend") { // what package gobackend calls itself
		return "go"
	}
	return b.Name()
}

// OnCPU is whether XLA computes in the memory of the host.
func OnCPU(b compute.Backend) bool { return BackendName(b) != "go" && b.HasSharedBuffers() }
