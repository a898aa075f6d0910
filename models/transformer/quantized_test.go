package transformer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// coded is a [spec.Quantized] of one matrix [out,in].
type coded struct {
	coding  spec.Coding
	in      int
	blocks  spec.Blocks
	numbers []float32
}

func (c coded) Coding(spec.Param) spec.Coding { return c.coding }

func (c coded) ReadBlocks(_ spec.Param, first int, b spec.Blocks) error {
	from := c.coding.Of(c.blocks, first*c.in, len(b.Codes))
	copy(b.Codes, from.Codes)
	copy(b.Scale, from.Scale)
	copy(b.Min, from.Min)
	copy(b.Parts, from.Parts)
	copy(b.MinPart, from.MinPart)
	return nil
}

// codings are those that GGUF files have.
var codings = []spec.Coding{
	{Bits: 4, Block: 32},
	{Bits: 4, Block: 32, Min: true},
	{Bits: 5, Block: 32},
	{Bits: 5, Block: 32, Min: true},
	{Bits: 8, Block: 32},
	{Bits: 2, Block: 256, Part: 16, Min: true},
	{Bits: 3, Block: 256, Part: 16},
	{Bits: 4, Block: 256, Part: 32, Min: true},
	{Bits: 5, Block: 256, Part: 32, Min: true},
	{Bits: 6, Block: 256, Part: 16},
	{Bits: 4, Block: 32,
		Levels: "\x01\x18\x2d\x3f\x4f\x5d\x6a\x76\x81\x8d\x99\xa6\xb5\xc5\xd9\xf1"},
	{Bits: 4, Block: 32, Powers: true,
		Levels: "\x80\x81\x82\x83\x84\x86\x88\x8c\x80\x7f\x7e\x7d\x7c\x7a\x78\x74"},
}

// halves are numbers of 16 bits, which have no blocks.
var halves = []spec.Coding{{Bits: 16, Block: 32}, {Bits: 16, Block: 32, Powers: true}}

// load gives the numbers of the matrix.
func (c coded) load(_ spec.Param, put func(first int, values []float32)) error {
	put(0, c.numbers)
	return nil
}

func newCoded(c spec.Coding, out, in int) coded {
	random := rand.New(rand.NewPCG(uint64(c.Bits), uint64(in)))
	if c.Bits == 16 {
		m := coded{coding: c, in: in, numbers: make([]float32, out*in)}
		for i := range m.numbers {
			x := math.Ldexp(1+float64(random.IntN(1<<7))/(1<<7), random.IntN(20)-17)
			m.numbers[i] = float32(x) * float32(1-2*random.IntN(2))
		}
		m.numbers[0], m.numbers[1] = 0, -1.0/(1<<24) // the smallest float16
		return m
	}
	m := coded{coding: c, in: in, blocks: c.Make(out * in), numbers: make([]float32, out*in)}
	scale := func() float32 {
		x := 1.0
		if !c.Powers { // as many bits as float16 has
			x += float64(random.IntN(1<<10)) / (1 << 10)
		}
		if !c.Powers && random.IntN(4) == 0 { // below 2^-14, where float16 has fewer bits
			return float32(random.IntN(1<<10)) / (1 << 24)
		}
		return float32(math.Ldexp(x, random.IntN(4)))
	}
	for i := range m.blocks.Codes {
		m.blocks.Codes[i] = uint8(random.IntN(1 << c.Bits))
	}
	for i := range m.blocks.Scale {
		m.blocks.Scale[i] = scale()
		if c.Min {
			m.blocks.Min[i] = -scale()
		}
	}
	for i := range m.blocks.Parts {
		m.blocks.Parts[i] = int8(random.IntN(64) - 20)
		if c.Min {
			m.blocks.MinPart[i] = int8(random.IntN(64))
		}
	}
	for i := range m.numbers {
		m.numbers[i] = m.number(i)
	}
	return m
}

// number is entry i of the matrix, by the definition of a coding.
func (c coded) number(i int) float32 {
	of, b := c.coding, c.blocks
	scale, zero, code := b.Scale[i/of.Block], 1<<(of.Bits-1), int(b.Codes[i])
	if of.Part > 0 {
		scale *= float32(b.Parts[i/of.Part])
	}
	if of.Levels != "" {
		zero, code = 128, int(of.Levels[code])
	}
	if !of.Min {
		return scale * float32(code-zero)
	}
	low := b.Min[i/of.Block]
	if of.Part > 0 {
		low *= float32(b.MinPart[i/of.Part])
	}
	return float32(scale*float32(code)) + low
}

// vector has numbers of both signs.
func vector(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	return x
}

// isProduct checks a number that is the sum of so many products, up to rounding.
func isProduct(t *testing.T, name string, got float32, n int, factors func(i int) (x, y float32)) {
	t.Helper()
	sum, size := 0.0, 0.0
	for i := range n {
		x, y := factors(i)
		term := float64(x) * float64(y)
		sum, size = sum+term, size+math.Abs(term)
	}
	if d := math.Abs(sum - float64(got)); !(d <= 1e-6*size) {
		t.Fatalf("%s is %v, want %v", name, got, sum)
	}
}

// TestQuantizedMatrix: a matrix in codes has the numbers of its blocks to the bit, so do its rows,
// and times a vector it is their product.
func TestQuantizedMatrix(t *testing.T) {
	const out = 70 // read in pieces of 64 rows
	for _, coding := range slices.Concat(codings, halves) {
		for _, in := range []int{32, 64, 576, 1536, 4096, 11008} {
			if in%coding.Block != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%+v, %d inputs", coding, in), func(t *testing.T) {
				c, x := newCoded(coding, out, in), vector(in)
				got, err := transformer.Quantized(goBackend(t), c.load, c, out, in, x, []int32{69, 0, 5})
				must(t, err)
				if !slices.Equal(got.Numbers, c.numbers) {
					t.Fatalf("numbers are %v…, want %v…", got.Numbers[:9], c.numbers[:9])
				}
				for k, row := range []int{69, 0, 5} {
					if !slices.Equal(got.Rows[k*in:][:in], c.numbers[row*in:][:in]) {
						t.Fatalf("row %d has other numbers", row)
					}
				}
				for o := range out {
					isProduct(t, fmt.Sprint("product ", o), got.Times[o], in,
						func(i int) (float32, float32) { return c.numbers[o*in+i], x[i] })
				}
			})
		}
	}
}

// TestHostMatrix: the host computes the numbers of a matrix in codes to the bit, and its products
// with one row and with several.
func TestHostMatrix(t *testing.T) {
	const out = 70
	for _, coding := range slices.Concat(codings, halves) {
		for i, in := range []int{32, 96, 512, 1280} {
			if in%coding.Block != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%+v, %d inputs", coding, in), func(t *testing.T) {
				rows := []int{1, 70, 44, 521}[i] // also in tiles, with a few more, and too many
				c, x := newCoded(coding, out, in), vector(rows*in)
				for _, plain := range []bool{false, true} {
					got, err := transformer.QuantizedOnHost(goBackend(t), c.load, c, out, in, x,
						plain)
					must(t, err)
					if !slices.Equal(got.Numbers, c.numbers) {
						t.Fatalf("numbers are %v…, want %v…", got.Numbers[:9], c.numbers[:9])
					}
					for r := range rows {
						x := x[r*in:]
						for o, v := range got.Times[r*out:][:out] {
							isProduct(t, fmt.Sprint("product ", r, o), v, in,
								func(i int) (float32, float32) { return c.numbers[o*in+i], x[i] })
						}
					}
				}
			})
		}
	}
}

// transposed gives the numbers of the matrix as one [in,out].
func (c coded) transposed(_ spec.Param, put func(first int, values []float32)) error {
	out := len(c.numbers) / c.in
	numbers := make([]float32, len(c.numbers))
	for i, x := range c.numbers {
		numbers[i%c.in*out+i/c.in] = x
	}
	put(0, numbers)
	return nil
}

// TestQuantizedFromLeft: a vector times an output projection in codes is their product.
func TestQuantizedFromLeft(t *testing.T) {
	for _, coding := range slices.Concat(codings, halves) {
		for _, size := range [][2]int{{32, 256}, {64, 32}, {96, 128}, {576, 512}, {128, 576}} {
			out, in := size[0], size[1]
			if in%coding.Block != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%+v, %dx%d", coding, out, in), func(t *testing.T) {
				c, x := newCoded(coding, out, in), vector(out)
				got, err := transformer.QuantizedFromLeft(goBackend(t), c.transposed, c, out, in, x)
				must(t, err)
				if len(got) != in {
					t.Fatalf("%d numbers, want %d", len(got), in)
				}
				for i := range in {
					isProduct(t, fmt.Sprint("product ", i), got[i], out,
						func(o int) (float32, float32) { return c.numbers[o*in+i], x[o] })
				}
			})
		}
	}
}

// TestTiles: the axes of a matrix in codes multiply to its blocks, and none is longer than XLA sums
// in one operation.
func TestTiles(t *testing.T) {
	for _, c := range []struct {
		n, most int
		want    [3]int
	}{
		{1, 6, [3]int{1, 1, 1}},
		{9, 6, [3]int{1, 3, 3}},
		{18, 6, [3]int{1, 3, 6}},
		{18, 1, [3]int{1, 18, 1}},
		{24, 6, [3]int{1, 4, 6}},
		{172, 6, [3]int{43, 4, 1}}, // 43 are added in two sums
		{43, 1, [3]int{43, 1, 1}},
		{6 * 32 * 32, 6, [3]int{32, 32, 6}},
	} {
		if got := transformer.TilesOf(c.n, c.most); got != c.want {
			t.Errorf("%d chunks become %v, want %v", c.n, got, c.want)
		}
	}
}

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
