package codes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
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

// quantizedResults is what graphs make of a matrix in codes: its numbers, its rows for ids, and the
// matrix times x.
type quantizedResults struct{ Numbers, Rows, Times []float32 }

// quantizedMatrix loads the matrix [out,in] of q as a table over the vocabulary.
func quantizedMatrix(
	backend compute.Backend, load spec.Loader, q spec.Quantized, out, in int, x []float32,
	ids []int32,
) (*quantizedResults, error) {
	param := spec.Param{Name: "embedding", Shape: []int{out, in}}
	table := array{name: param.Name, parts: []spec.Param{param}}
	f := formsOf(table, q)
	if f == nil {
		return nil, fmt.Errorf("a matrix %dx%d has no codes", out, in)
	}
	m := &Held{Backend: backend}
	all, err := m.loadQuantized(table, f, load, q)
	if err != nil {
		return nil, err
	}
	exec, err := NewExec(backend, func(in []*Node) []*Node {
		at := map[string]*Node{}
		for i, w := range all {
			at[w.Name] = in[2+i]
		}
		table := WithQuantized(at, Named)("embedding")
		column := Reshape(in[0], -1, 1)
		return []*Node{table, Gathered(table, in[1]), Product{}.Columns(column, 0, table)}
	})
	if err != nil {
		return nil, err
	}
	args := []any{tensors.FromValue(x), tensors.FromValue(ids)}
	for _, w := range all {
		args = append(args, w.Tensor)
	}
	results, err := exec.Call(args...)
	if err != nil {
		return nil, err
	}
	var got quantizedResults
	for i, to := range []*[]float32{&got.Numbers, &got.Rows, &got.Times} {
		if *to, err = host.Floats(results[i]); err != nil {
			return nil, err
		}
	}
	return &got, nil
}

// quantizedFromLeft loads the matrix [out,in] of q as an output projection, which load gives as
// [in,out], and returns x [out] times it, from its codes by columns or its numbers of 16 bits.
func quantizedFromLeft(
	backend compute.Backend, load spec.Loader, q spec.Quantized, out, in int, x []float32,
) ([]float32, error) {
	param := spec.Param{Name: "blocks.0.output.weight", Shape: []int{in, out}}
	matrix := array{name: param.Name, parts: []spec.Param{param}, outFirst: true}
	f := formsOf(matrix, q)
	if f == nil || f[0].columns == nil && f[0].Bits != 16 {
		return nil, fmt.Errorf("a matrix %dx%d has no codes by columns", out, in)
	}
	m := &Held{Backend: backend}
	all, err := m.loadQuantized(matrix, f, load, q)
	if err != nil {
		return nil, err
	}
	exec, err := NewExec(backend, func(in []*Node) *Node {
		at := map[string]*Node{}
		for i, w := range all {
			at[w.Name] = in[1+i]
		}
		w := WithQuantized(at, Named)
		if q := ColumnsOf(w, param.Name); q != nil {
			return q.Times(in[0])
		}
		return QuantizedOf(w(param.Name)).LeftTimes(Reshape(in[0], 1, 1, -1))
	})
	if err != nil {
		return nil, err
	}
	args := []any{tensors.FromValue(x)}
	for _, w := range all {
		args = append(args, w.Tensor)
	}
	results, err := exec.Call(args...)
	if err != nil {
		return nil, err
	}
	return host.Floats(results[0])
}

// onHostResults is what the host makes of a matrix [out,in] in codes: its numbers, and x [rows,in]
// times it.
type onHostResults struct{ Numbers, Times []float32 }

// quantizedOnHost loads the matrix of q, with or without vector registers.
func quantizedOnHost(backend compute.Backend, load spec.Loader, q spec.Quantized, out, in int,
	x []float32, plain bool,
) (*onHostResults, error) {
	if plain {
		u, m := unpack, multiplyTile
		defer func() { unpack, multiplyTile = u, m }()
		unpack, multiplyTile = unpackPlain, multiplyTilePlain
	}
	param := spec.Param{Name: "embedding", Shape: []int{out, in}}
	table := array{name: param.Name, parts: []spec.Param{param}}
	q = onHost{Quantized: q}
	m := &Held{Backend: backend, Hosted: map[string][]*hostForm{}}
	if _, err := m.loadQuantized(table, formsOf(table, q), load, q); err != nil {
		return nil, err
	}
	forms := m.Hosted[param.Name]
	w, err := HostNumbers(backend, forms)
	if err != nil {
		return nil, err
	}
	times, err := Multiplied(backend, tensors.FromFlatDataAndDimensions(x, len(x)/in, in), forms)
	if err != nil {
		return nil, err
	}
	var got onHostResults
	for t, to := range map[*tensors.Tensor]*[]float32{w: &got.Numbers, times: &got.Times} {
		if *to, err = host.Floats(t); err != nil {
			return nil, err
		}
	}
	return &got, nil
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
				got, err := quantizedMatrix(goBackend(t), c.load, c, out, in, x, []int32{69, 0, 5})
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
					got, err := quantizedOnHost(goBackend(t), c.load, c, out, in, x,
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
				got, err := quantizedFromLeft(goBackend(t), c.transposed, c, out, in, x)
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
		if got := tilesOf(c.n, c.most); got != c.want {
			t.Errorf("%d chunks become %v, want %v", c.n, got, c.want)
		}
	}
}

func goBackend(t testing.TB) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go:ops_sequential")
	must(t, err)
	return b
}
