package family

import (
	"math"

	"github.com/headwater-ml/headwater/models/spec"
)

// Layout is how a tensor of a checkpoint stores a parameter.
type Layout int

// The layouts. A projection is [in,out] in the graph, and [out,in] in checkpoints except those of
// GPT-2. A bias has one axis, out. A fused tensor has several parameters along out.
const (
	// AsIs is a tensor that is stored as the graph needs it.
	AsIs Layout = iota
	// Transposed is a matrix that is stored as [out,in].
	Transposed
	// QuerySide, KeySide and ValueSide are the thirds of an [in,3·HE] matrix or a [3·HE] bias
	// (GPT-2).
	QuerySide
	KeySide
	ValueSide
	// QueryOfGroup, KeyOfGroup and ValueOfGroup are parts of a [G,(H/G+2)·E,in] tensor: each group
	// has its queries, its key and its value (Falcon). BLOOM and GPT-NeoX have G = H, [H,3E,in];
	// multi-query attention has G = 1.
	QueryOfGroup
	KeyOfGroup
	ValueOfGroup
	// QueryRows, KeyRows and ValueRows are parts of a [HE+2·GE,in] tensor: all queries, all keys,
	// all values (Phi-3).
	QueryRows
	KeyRows
	ValueRows
	// QueryOfFour, KeyOfFour and ValueOfFour are parts of a [3·HE,in] tensor that has four times a
	// quarter of the queries, of the values and of the keys (CodeGen).
	QueryOfFour
	KeyOfFour
	ValueOfFour
	// GateRows and UpRows are the halves of a [2F,in] tensor (Phi-3).
	GateRows
	UpRows
	// EvenColumns and OddColumns are every second column of an [in,2F] tensor, or number of a [2F]
	// bias, from the first and from the second one on (GPT-OSS).
	EvenColumns
	OddColumns
	// TurnedFirst is a [HE,in] tensor in which the components of a head that positions turn are the
	// last ones; in the parameter they are the first. A product of queries and keys is the same
	// (DeepSeek).
	TurnedFirst
	// LatentRows and SharedKeyRows are parts of a [K+R,in] tensor: the latent of keys and values,
	// then the part of a key that all heads share. KeyOfHead and ValueOfHead are parts of a
	// [H·(E-R+V),in] tensor: each head has its key, then its value (DeepSeek).
	LatentRows
	SharedKeyRows
	KeyOfHead
	ValueOfHead
	// EvenRows and OddRows are every second row of a [2F,in] tensor, from the first and from the
	// second one on (GPT-OSS in MXFP4).
	EvenRows
	OddRows
	// RowOrZeros is a bias [1,out], or zeros if no checkpoint has it (BART).
	RowOrZeros
	// Sinusoids and Waves are tables of positions that are computed: sines and cosines whose
	// frequencies fall to 1/10000 (XGLM), or to a step before it (Marian).
	Sinusoids
	Waves
	// absent is what a missing [RowOrZeros] becomes: zeros.
	absent
)

// span is n places, beginning with place from.
type span struct{ from, n int }

// spans returns where a parameter with so many outputs is along the out axis of its tensor, in the
// order of the parameter, and the length of that axis.
func (y Layout) spans(out int, s *spec.Spec) (at []span, all int) {
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
	case QueryOfFour, KeyOfFour, ValueOfFour:
		part := map[Layout]int{QueryOfFour: 0, ValueOfFour: 1, KeyOfFour: 2}[y]
		for quarter := range 4 {
			at = append(at, span{(3*quarter + part) * out / 4, out / 4})
		}
		return at, 3 * out
	case TurnedFirst:
		for h := range heads {
			apart := e - s.Latent.Shared
			at = append(at, span{h*e + apart, e - apart}, span{h * e, apart})
		}
		return at, heads * e
	case LatentRows:
		return []span{{0, out}}, out + s.Latent.Shared
	case SharedKeyRows:
		return []span{{s.Latent.KeysAndValues, out}}, out + s.Latent.KeysAndValues
	case KeyOfHead, ValueOfHead:
		key, value := e-s.Latent.Shared, s.Latent.Values
		for h := range heads {
			if begin := h * (key + value); y == KeyOfHead {
				at = append(at, span{begin, key})
			} else {
				at = append(at, span{begin + key, value})
			}
		}
		return at, heads * (key + value)
	case GateRows:
		return []span{{0, out}}, 2 * out
	case UpRows:
		return []span{{out, out}}, 2 * out
	case EvenColumns, OddColumns:
		return nil, 2 * out
	case EvenRows, OddRows:
		for i := range out {
			at = append(at, span{2*i + int(y-EvenRows), 1})
		}
		return at, 2 * out
	}
	return []span{{0, out}}, out
}

// shape returns the shape that a tensor must have to hold a parameter of shape p.
func (y Layout) shape(p []int, s *spec.Spec) []int {
	_, all := y.spans(p[len(p)-1], s)
	switch {
	case y == AsIs, y.computed():
		return p
	case y == RowOrZeros:
		return []int{1, p[0]}
	case len(p) == 1:
		return []int{all}
	case y.inFirst():
		return []int{p[0], all}
	}
	return []int{all, p[0]}
}

// inFirst returns whether matrices are [in,out], as in the graph.
func (y Layout) inFirst() bool {
	return y == AsIs || y >= QuerySide && y <= ValueSide || y.alternates()
}

// alternates returns whether every second column belongs to the parameter.
func (y Layout) alternates() bool { return y == EvenColumns || y == OddColumns }

// scratch is memory for pieces. It is reused for all parameters, so that loading leaves no garbage.
type scratch struct{ piece, column []float32 }

// sized returns n values of *s, which grows if necessary.
func sized(s *[]float32, n int) []float32 {
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	return (*s)[:n]
}

// reader fills dst with the values of a tensor, beginning with element number first.
type reader func(dst []float32, first int) error

// pieceSize is how many values are read at a time.
const pieceSize = 1 << 16

// read reads a parameter of shape p from its tensor and calls put with piece after piece and the
// place of each.
func (y Layout) read(p []int, s *spec.Spec, tmp *scratch, source reader,
	put func(first int, values []float32),
) error {
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
	if y.alternates() {
		for i := range in {
			row, column := sized(&tmp.piece, all), sized(&tmp.column, out)
			if err := source(row, i*all); err != nil {
				return err
			}
			for k := range column {
				column[k] = row[2*k+int(y-EvenColumns)]
			}
			put(i*out, column)
		}
		return nil
	}
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

// computed reports whether a parameter is computed and not read.
func (y Layout) computed() bool { return y == Sinusoids || y == Waves || y == absent }

// compute calls put with the rows of a parameter of shape p that is computed: zeros, or the sines
// of every position by each frequency and then their cosines. The frequencies fall from 1. Row
// none, which is that of no position, is 0.
func (y Layout) compute(p []int, none int, put func(first int, values []float32)) {
	if y == absent {
		put(0, make([]float32, p[0]))
		return
	}
	half := p[1] / 2
	row := make([]float32, p[1])
	for at := range p[0] {
		for i := range half {
			frequency := float32(math.Exp(-math.Log(10000) / float64(half-1) * float64(i)))
			angle := float64(float32(at) * frequency)
			if y == Waves {
				angle = float64(at) / math.Pow(10000, float64(i)/float64(half))
			}
			row[i], row[half+i] = float32(math.Sin(angle)), float32(math.Cos(angle))
		}
		if at == none {
			clear(row)
		}
		put(at*p[1], row)
	}
}

// copyRow copies n values that are consecutive in both.
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

// copyColumns copies rows of a matrix [...,in] to the columns of a matrix [in,out], beginning with
// column to. It copies several rows at a time, so that it writes values that are next to each
// other.
func (t *scratch) copyColumns(source reader, put func(int, []float32), rows span, to, in,
	out int,
) error {
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
