package transformer_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestBytes: a table and the matrix of a layer are in codes alone, an output projection in codes by
// rows and by columns, and what has no blocks in float32.
func TestBytes(t *testing.T) {
	g := openGolden(t, "llama") // width 32, 96 tokens
	whole := bytesOf(g.model.Spec, g.model.DType, nil)
	if want := g.model.WeightBytes(); whole != want {
		t.Errorf("%d bytes in float32, want %d", whole, want)
	}
	const numbers = 96 * 32
	table := bytesOf(g.model.Spec, g.model.DType, only("embedding"))
	if want := whole - 4*numbers + numbers + 2*numbers/32; table != int64(want) {
		t.Errorf("%d bytes with the embedding in codes, want %d", table, want)
	}
	const down = 64 * 32
	layer := bytesOf(g.model.Spec, g.model.DType, only("blocks.0.down.weight"))
	if want := whole - 4*down + down/2 + 2*down/32; layer != int64(want) {
		t.Errorf("%d bytes with a matrix in codes, want %d", layer, want)
	}
	const output = 32 * 32
	byColumns := bytesOf(g.model.Spec, g.model.DType, only("blocks.0.output.weight"))
	if want := whole - 4*output + 2*(output+2*output/32); byColumns != int64(want) {
		t.Errorf("%d bytes with an output projection in codes, want %d", byColumns, want)
	}
	norm := bytesOf(g.model.Spec, g.model.DType, only("final-norm.gain"))
	if norm != whole {
		t.Errorf("%d bytes with a norm in codes, want %d", norm, whole)
	}
}

// bytesOf is what all weights take.
func bytesOf(s *spec.Spec, dtype dtypes.DType, q spec.Quantized) int64 {
	layers, others := transformer.Bytes(s, dtype, q)
	return layers + others
}

// only is a [spec.Quantized] of one parameter, in codes of 4 bits.
type only string

func (o only) Coding(p spec.Param) spec.Coding {
	if p.Name == string(o) {
		return spec.Coding{Bits: 4, Block: 32}
	}
	return spec.Coding{}
}

func (only) ReadBlocks(spec.Param, int, spec.Blocks) error { return spec.ErrNoBlocks }
