package graph

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// alibiBias returns what ALiBi adds to the score of source j in head h, m_h·j, [H,S]. The spec may
// ask for the rounding and the scaling of its reference implementation.
func alibiBias(s *spec.Spec, sources int) []float32 {
	bias := make([]float32, s.Heads*sources)
	scale := float32(1 / math.Sqrt(float64(s.HeadWidth)))
	for h, m := range s.AlibiSlopes {
		for j := range sources {
			b := m * float32(j)
			if s.AlibiRounded {
				b = codes.RoundBFloat16(codes.RoundBFloat16(m) * float32(j))
			}
			if s.AlibiScaled {
				b *= scale
			}
			bias[h*sources+j] = b
		}
	}
	return bias
}

// bucketOf returns the row of the table of biases for distances from a target back to a source, of
// any shape: with n buckets for each side, n/2 of one distance each, rounded down, and the others
// for distances that grow. Without both sides all buckets are for sources before the target.
// Operations have the order of the reference, whose rounding decides at a few distances.
func bucketOf(s *spec.Spec, back *Node, both bool) *Node {
	side := s.RelativeBuckets
	if both {
		side /= 2
	} else {
		back = MaxScalar(back, 0)
	}
	exact, far := float64(side/2), float64(s.RelativeDistance)
	away := ConvertDType(Abs(back), dtypes.Float32)
	steps := MulScalar(DivScalar(Log(DivScalar(MaxScalar(away, 1), exact)), math.Log(far/exact)),
		float64(side)-exact)
	large := MinScalar(AddScalar(Floor(MaxScalar(steps, 0)), exact), side-1)
	bucket := ConvertDType(Where(LessThan(away, MulScalar(OnesLike(away), exact)), away, large),
		dtypes.Int32)
	after := ConvertDType(LessThan(back, ZerosLike(back)), dtypes.Int32)
	return Add(bucket, MulScalar(after, side))
}

// turning is the cosine and sine of the angle of every position, [B or 1,1,N,R/2] each. R is the
// number of components of a head that are turned, and each angle serves two of them.
type turning struct {
	cos, sin *Node
	// growth is what queries are multiplied by, [B or 1,1,N,1]; nil means 1.
	growth     *Node
	neighbours bool
}

// newTurning returns the cosines and sines for targets at positions [B or 1,N] in a text of length
// tokens (an int32 scalar).
func newTurning(r *spec.Rotary, positions, length *Node) turning {
	g := positions.Graph()
	half := len(r.Frequencies)
	// The length decides when the graph runs, so both sets of frequencies are in it.
	f := Const(g, r.Frequencies) // [R/2]
	if r.LongFrequencies != nil {
		long := GreaterThan(length, Scalar(g, dtypes.Int32, r.Original))
		f = Where(BroadcastToDims(long, half), Const(g, r.LongFrequencies), f)
	}
	if r.Stretch > 0 {
		f = Mul(f, stretched(r, length))
	}
	at := InsertAxes(ConvertDType(positions, dtypes.Float32), 1, -1) // [B,1,N,1]
	angle := Mul(at, Reshape(f, 1, 1, 1, half))                      // [B,1,N,R/2]
	t := turning{cos: Cos(angle), sin: Sin(angle), neighbours: r.Neighbours}
	if r.QueryGrowth > 0 {
		steps := Floor(MulScalar(at, 1/float64(r.Original)))
		t.growth = OnePlus(MulScalar(Log(OnePlus(steps)), r.QueryGrowth))
	}
	if r.Scale != 0 && r.Scale != 1 {
		t.cos, t.sin = MulScalar(t.cos, r.Scale), MulScalar(t.sin, r.Scale)
	}
	return t
}

// stretched returns the factors of the frequencies under [spec.Rotary.Stretch], [R/2]. Factor i is
// r^(-2i/(R-2)) with r = max(1, Stretch·n/Original - (Stretch-1)), computed as exp of the exponent
// times log r, because n is known only when the graph runs.
func stretched(r *spec.Rotary, length *Node) *Node {
	exponents := make([]float32, len(r.Frequencies))
	for i := range exponents {
		exponents[i] = -2 * float32(i) / float32(r.Width()-2)
	}
	n := ConvertDType(length, dtypes.Float32)
	ratio := MaxScalar(AddScalar(MulScalar(n, r.Stretch/float64(r.Original)), 1-r.Stretch), 1)
	return Exp(Mul(Const(length.Graph(), exponents), Log(ratio)))
}

// turn turns x [B,H,N,E]: of each pair (a,b), a cos - b sin and b cos + a sin. Pair i is components
// i and i+R/2, or neighbours. Components from R on stay as they are. A turn keeps lengths, and q·k
// then depends only on the difference of the two positions.
func (t turning) turn(x *Node) *Node {
	half, dims := t.cos.Shape().Dimensions[3], x.Shape().Dimensions
	width := dims[3]
	turned := SliceAxis(x, -1, AxisRange(0, 2*half))
	if t.neighbours { // into halves and back; not by strides, which are slow
		turned = Reshape(turned, dims[0], dims[1], dims[2], half, 2)
		turned = TransposeAllAxes(turned, 0, 1, 2, 4, 3)
		turned = Reshape(turned, dims[0], dims[1], dims[2], 2*half)
	}
	a := SliceAxis(turned, -1, AxisRange(0, half))
	b := SliceAxis(turned, -1, AxisRange(half, 2*half))
	parts := []*Node{
		Sub(Mul(a, t.cos), Mul(b, t.sin)),
		Add(Mul(b, t.cos), Mul(a, t.sin)),
	}
	if t.neighbours {
		parts = []*Node{Reshape(Stack(parts, -1), dims[0], dims[1], dims[2], 2*half)}
	}
	if 2*half < width {
		parts = append(parts, SliceAxis(x, -1, AxisRange(2*half, width)))
	}
	return Concatenate(parts, -1)
}

// alibi is what ALiBi adds to the score of every source, [B or 1,H,1,S].
func (d *Builder) alibi(sources int) *Node {
	table := Const(d.IDs.Graph(), alibiBias(d.Spec, sources)) // [H·S]
	if d.Positions == nil {
		return Reshape(table, 1, d.Spec.Heads, 1, sources)
	}
	rows := Transpose(Reshape(table, d.Spec.Heads, sources), 0, 1)                     // [S,H]
	return InsertAxes(TransposeAllAxes(codes.Gathered(rows, d.Positions), 0, 2, 1), 2) // [B,H,1,S]
}

// turning returns how layer l turns queries and keys, nil if it does not.
func (d *Builder) turning(l int) *turning {
	r := d.Spec.RotaryOf(l)
	if r == nil {
		return nil
	}
	if d.turnings[r] == nil {
		t := newTurning(r, d.at(), d.Length)
		d.turnings[r] = &t
	}
	return d.turnings[r]
}
