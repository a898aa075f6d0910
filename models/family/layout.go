package family

import "github.com/headwater-ml/headwater/models/transformer"

// Layout says how a tensor of a checkpoint holds a parameter.
type Layout int

// The layouts. Projections are [in,out] in the graph and, but for GPT-2's, [out,in] in checkpoints; a bias has one axis, out. Fused
// tensors hold several parameters along out.
const (
	// AsIs takes the tensor as it is.
	AsIs Layout = iota
	// Transposed takes an [out,in] matrix.
	Transposed
	// Query, Key and Value, Side by side: the part of an [in,3·HE] matrix or [3·HE] bias whose thirds lie one behind the other
	// (GPT-2).
	QuerySide
	KeySide
	ValueSide
	// Query, Key and Value of a Group: [G,(H/G+2)·E,in], each group with its queries, its key and its value (Falcon; with G = H also
	// BLOOM and GPT-NeoX, [H,3E,in]; with G = 1 multi-query attention).
	QueryOfGroup
	KeyOfGroup
	ValueOfGroup
	// Query, Key and Value Rows: [HE+2·GE,in], all queries, all keys, all values (Phi-3).
	QueryRows
	KeyRows
	ValueRows
	// Gate and Up Rows: [2F,in] (Phi-3).
	GateRows
	UpRows
)

// span is n places from from on.
type span struct{ from, n int }

// spans returns where along the out axis of its tensor a parameter with so many outputs lies, in the parameter's order, and how long
// that axis is.
func (y Layout) spans(out int, s *transformer.Spec) (at []span, all int) {
	heads, groups, e := s.Heads, s.Groups(), s.HeadWidth
	switch y {
	case QuerySide, KeySide, ValueSide:
		return []span{{int(y-QuerySide) * out, out}}, 3 * out
	case QueryOfGroup, KeyOfGroup, ValueOfGroup:
		queries := heads / groups
		for g := range groups {
			begin := g * (queries + 2) * e
			switch y {
			case QueryOfGroup:
				at = append(at, span{begin, queries * e})
			case KeyOfGroup:
				at = append(at, span{begin + queries*e, e})
			default:
				at = append(at, span{begin + (queries+1)*e, e})
			}
		}
		return at, (heads + 2*groups) * e
	case QueryRows:
		return []span{{0, heads * e}}, (heads + 2*groups) * e
	case KeyRows:
		return []span{{heads * e, groups * e}}, (heads + 2*groups) * e
	case ValueRows:
		return []span{{(heads + groups) * e, groups * e}}, (heads + 2*groups) * e
	case GateRows:
		return []span{{0, out}}, 2 * out
	case UpRows:
		return []span{{out, out}}, 2 * out
	}
	return []span{{0, out}}, out
}

// shape returns the shape that a tensor must have to hold a parameter of shape p.
func (y Layout) shape(p []int, s *transformer.Spec) []int {
	_, all := y.spans(p[len(p)-1], s)
	switch {
	case y == AsIs:
		return p
	case len(p) == 1:
		return []int{all}
	case y.inFirst():
		return []int{p[0], all}
	}
	return []int{all, p[0]}
}

// inFirst is whether matrices are [in,out], as in the graph.
func (y Layout) inFirst() bool { return y == AsIs || y >= QuerySide && y <= ValueSide }

// scratch is what pieces pass through, kept from one parameter to the next so that loading leaves nothing to be collected.
type scratch struct{ piece, column []float32 }

// sized returns n values of *s, which grows if it must.
func sized(s *[]float32, n int) []float32 {
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	return (*s)[:n]
}

// reader fills dst with the values of a tensor from element first on.
type reader func(dst []float32, first int) error

// pieceSize is how many values are read at a time.
const pieceSize = 1 << 16

// read reads the parameter of shape p out of its tensor and puts it, piece by piece, where it belongs.
func (y Layout) read(p []int, s *transformer.Spec, tmp *scratch, source reader, put func(first int, values []float32)) error {
	if y == AsIs {
		n := 1
		for _, d := range p {
			n *= d
		}
		return tmp.copyRow(source, put, 0, 0, n)
	}
	out, in := p[len(p)-1], 1
	if len(p) == 2 {
		in = p[0]
	}
	spans, all := y.spans(out, s)
	if y.inFirst() {
		for i := range in {
			if err := tmp.copyRow(source, put, i*all+spans[0].from, i*out, out); err != nil {
				return err
			}
		}
		return nil
	}
	to := 0
	for _, sp := range spans {
		if err := tmp.copyColumns(source, put, sp, to, in, out); err != nil {
			return err
		}
		to += sp.n
	}
	return nil
}

// copyRow moves n values that lie one behind the other in both.
func (t *scratch) copyRow(source reader, put func(int, []float32), from, to, n int) error {
	piece := sized(&t.piece, min(n, pieceSize))
	for done := 0; done < n; {
		piece = piece[:min(len(piece), n-done)]
		if err := source(piece, from+done); err != nil {
			return err
		}
		put(to+done, piece)
		done += len(piece)
	}
	return nil
}

// copyColumns moves rows of a matrix [...,in] to columns from to on of the matrix [in,out], several at a time so that what is written
// lies together.
func (t *scratch) copyColumns(source reader, put func(int, []float32), rows span, to, in, out int) error {
	const together = 64
	block := sized(&t.piece, min(together, rows.n)*in)
	column := sized(&t.column, min(together, rows.n))
	for done := 0; done < rows.n; {
		n := min(together, rows.n-done)
		if err := source(block[:n*in], (rows.from+done)*in); err != nil {
			return err
		}
		for i := range in {
			for r := range n {
				column[r] = block[r*in+i]
			}
			put(i*out+to+done, column[:n])
		}
		done += n
	}
	return nil
}
