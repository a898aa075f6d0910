package transformer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// coded is a [spec.Quantized] of one matrix [out,in].
type coded struct {
	bits, in int
	blocks   spec.Blocks
}

func (c coded) Bits(spec.Param) int { return c.bits }

func (c coded) ReadBlocks(_ spec.Param, first int, b spec.Blocks) error {
	copy(b.Codes, c.blocks.Codes[first*c.in:])
	copy(b.Scale, c.blocks.Scale[first*c.in/spec.BlockSize:])
	copy(b.Min, c.blocks.Min[first*c.in/spec.BlockSize:])
	return nil
}

// number is entry i of the matrix.
func (c coded) number(i int) float32 {
	block := i / spec.BlockSize
	return float32(c.blocks.Scale[block]*float32(c.blocks.Codes[i])) + c.blocks.Min[block]
}

func newCoded(bits, out, in int) coded {
	random := rand.New(rand.NewPCG(uint64(bits), uint64(in)))
	c := coded{bits: bits, in: in}
	for range out * in {
		c.blocks.Codes = append(c.blocks.Codes, uint8(random.IntN(1<<bits)))
	}
	for range out * in / spec.BlockSize {
		c.blocks.Scale = append(c.blocks.Scale, float32(random.NormFloat64()))
		c.blocks.Min = append(c.blocks.Min, float32(random.NormFloat64()*8))
	}
	return c
}

// TestQuantizedMatrix: a matrix in codes has the numbers of its blocks, so do its rows, and times a
// vector it is their product.
func TestQuantizedMatrix(t *testing.T) {
	const out = 70 // read in pieces of 64 rows
	for _, bits := range []int{4, 5, 8} {
		for _, in := range []int{32, 64, 576, 1536, 4096} {
			t.Run(fmt.Sprintf("%d bits, %d inputs", bits, in), func(t *testing.T) {
				c := newCoded(bits, out, in)
				x := make([]float32, in)
				for i := range x {
					x[i] = float32(math.Sin(float64(i)))
				}
				got, err := transformer.Quantized(goBackend(t), c, out, in, x, []int32{69, 0, 5})
				must(t, err)
				for i, y := range got.Numbers {
					if y != c.number(i) {
						t.Fatalf("number %d is %v, want %v", i, y, c.number(i))
					}
				}
				for k, row := range []int{69, 0, 5} {
					for i := range in {
						if y := got.Rows[k*in+i]; y != c.number(row*in+i) {
							t.Fatalf("row %d: number %d is %v", row, i, y)
						}
					}
				}
				for o := range out {
					sum, size := 0.0, 0.0
					for i, y := range x {
						term := float64(c.number(o*in+i)) * float64(y)
						sum, size = sum+term, size+math.Abs(term)
					}
					if d := math.Abs(sum - float64(got.Times[o])); d > 1e-6*size {
						t.Fatalf("product %d is %v, want %v", o, got.Times[o], sum)
					}
				}
			})
		}
	}
}

// TestQuantizedFromLeft: a vector times an output projection in codes is their product.
func TestQuantizedFromLeft(t *testing.T) {
	for _, bits := range []int{4, 5, 8} {
		for _, size := range [][2]int{{32, 64}, {64, 32}, {96, 128}, {576, 192}, {128, 576}} {
			out, in := size[0], size[1]
			t.Run(fmt.Sprintf("%d bits, %dx%d", bits, out, in), func(t *testing.T) {
				c := newCoded(bits, out, in)
				x := make([]float32, out)
				for i := range x {
					x[i] = float32(math.Sin(float64(i)))
				}
				got, err := transformer.QuantizedFromLeft(goBackend(t), c, out, in, x)
				must(t, err)
				if len(got) != in {
					t.Fatalf("%d numbers, want %d", len(got), in)
				}
				for i := range in {
					sum, size := 0.0, 0.0
					for o, y := range x {
						term := float64(c.number(o*in+i)) * float64(y)
						sum, size = sum+term, size+math.Abs(term)
					}
					if d := math.Abs(sum - float64(got[i])); d > 1e-6*size {
						t.Fatalf("product %d is %v, want %v", i, got[i], sum)
					}
				}
			})
		}
	}
}

// TestTiles: the axes of a matrix in codes multiply to its blocks, and none is longer than XLA sums
// in one operation.
func TestTiles(t *testing.T) {
	for _, c := range []struct {
		n    int
		want [3]int
	}{
		{1, [3]int{1, 1, 1}},
		{9, [3]int{1, 3, 3}},
		{18, [3]int{1, 3, 6}},
		{24, [3]int{1, 4, 6}},
		{172, [3]int{}},
		{6 * 32 * 32, [3]int{32, 32, 6}},
	} {
		got, ok := transformer.TilesOf(c.n)
		if ok != (c.want != [3]int{}) || got != c.want {
			t.Errorf("%d blocks become %v, %v, want %v", c.n, got, ok, c.want)
		}
	}
}

// TestBytes: a table and the matrix of a layer are in codes alone, an output projection in codes by
// rows and by columns, and what has no blocks in float32.
func TestBytes(t *testing.T) {
	g := openGolden(t, "llama") // width 32, 96 tokens
	whole := transformer.Bytes(g.model.Spec, g.model.DType, nil)
	if want := g.model.WeightBytes(); whole != want {
		t.Errorf("%d bytes in float32, want %d", whole, want)
	}
	const numbers = 96 * 32
	table := transformer.Bytes(g.model.Spec, g.model.DType, only("embedding"))
	if want := whole - 4*numbers + numbers + 2*4*numbers/32; table != int64(want) {
		t.Errorf("%d bytes with the embedding in codes, want %d", table, want)
	}
	const down = 64 * 32
	layer := transformer.Bytes(g.model.Spec, g.model.DType, only("blocks.0.down.weight"))
	if want := whole - 4*down + down/2 + 2*4*down/32; layer != int64(want) {
		t.Errorf("%d bytes with a matrix in codes, want %d", layer, want)
	}
	const output = 32 * 32
	byColumns := transformer.Bytes(g.model.Spec, g.model.DType, only("blocks.0.output.weight"))
	if want := whole - 4*output + 2*(output+2*4*output/32); byColumns != int64(want) {
		t.Errorf("%d bytes with an output projection in codes, want %d", byColumns, want)
	}
	norm := transformer.Bytes(g.model.Spec, g.model.DType, only("final-norm.gain"))
	if norm != whole {
		t.Errorf("%d bytes with a norm in codes, want %d", norm, whole)
	}
}

// only is a [spec.Quantized] of one parameter, in codes of 4 bits.
type only string

func (o only) Bits(p spec.Param) int {
	if p.Name == string(o) {
		return 4
	}
	return 0
}

func (only) ReadBlocks(spec.Param, int, spec.Blocks) error { return spec.ErrNoBlocks }
