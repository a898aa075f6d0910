package family

import (
	"fmt"

	"github.com/headwater-ml/headwater/models/transformer"
)

// Layout says how a tensor of a checkpoint holds a parameter.
type Layout int

// The layouts. Projections are [in,out] in the graph.
const (
	// AsIs takes the tensor as it is.
	AsIs Layout = iota
	// Transposed takes an [out,in] matrix.
	Transposed
	// Query, Key and Value, Side by side: the part of a fused [in,3·HE] matrix or [3·HE] bias whose thirds lie one behind
	// the other (GPT-2).
	QuerySide
	KeySide
	ValueSide
	// Query, Key and Value of a fused [H·3·E,in] matrix or [H·3·E] bias in which each head's query, key and value lie together
	// (BLOOM, Falcon).
	QueryOfHead
	KeyOfHead
	ValueOfHead
)

// shape returns the shape that a tensor must have to hold a parameter of that shape.
func (y Layout) shape(p []int) []int {
	out := p[len(p)-1]
	switch {
	case y == AsIs:
		return p
	case y == Transposed:
		return []int{p[1], p[0]}
	case len(p) == 1:
		return []int{3 * out}
	case y >= QueryOfHead:
		return []int{3 * out, p[0]}
	}
	return []int{p[0], 3 * out}
}

// take returns the parameter of shape p that data holds.
func (y Layout) take(data []float32, p []int, spec *transformer.Spec) []float32 {
	switch {
	case y == AsIs:
		return data
	case y == Transposed:
		return transpose(data, p[1], p[0])
	case y < QueryOfHead:
		return columns(data, p, int(y-QuerySide))
	}
	return perHead(data, p, int(y-QueryOfHead), spec)
}

// transpose returns the [rows,cols] matrix data as [cols,rows].
func transpose(data []float32, rows, cols int) []float32 {
	out := make([]float32, len(data))
	for r := range rows {
		for c := range cols {
			out[c*rows+r] = data[r*cols+c]
		}
	}
	return out
}

// columns returns third part of the last axis of data, whose parameter has shape p.
func columns(data []float32, p []int, part int) []float32 {
	width := p[len(p)-1]
	out := make([]float32, 0, len(data)/3)
	for at := part * width; at < len(data); at += 3 * width {
		out = append(out, data[at:at+width]...)
	}
	return out
}

// perHead returns part (0 query, 1 key, 2 value) of data [H,3,E,in], as [in,HE]; in is 1 for a bias.
func perHead(data []float32, p []int, part int, spec *transformer.Spec) []float32 {
	in := 1
	if len(p) == 2 {
		in = p[0]
	}
	head := spec.HeadWidth * in
	rows := make([]float32, 0, len(data)/3)
	for h := range spec.Heads {
		at := (3*h + part) * head
		rows = append(rows, data[at:at+head]...)
	}
	return transpose(rows, spec.Heads*spec.HeadWidth, in)
}

// String names the layout for messages.
func (y Layout) String() string {
	if y < AsIs || y > ValueOfHead {
		return fmt.Sprintf("layout %d", int(y))
	}
	return [...]string{
		"as is", "transposed", "query side by side", "key side by side", "value side by side", "query of each head",
		"key of each head", "value of each head",
	}[y]
}
