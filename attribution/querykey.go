package attribution

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// The names of the tensors that [Input.WithAttention] reads.
const (
	Queries = "q" // [L,H,T,E]
	Keys    = "k" // [L,G,T,E]; G divides H
)

// WithAttention returns the input with a tensor "attention", [L,H,T,T], in the place of queries
// "q", [L,H,T,E], and keys "k", [L,G,T,E], both as they are multiplied, after a position encoding.
// G heads of keys serve H/G heads each:
//
//	attention[l,h,t,:] = softmax over s ≤ t of scale Σ_e q[l,h,t,e] k[l,h·G/H,s,e]
//
// h·G/H is rounded down. A scale of 0 is 1/√E. Sources after the target have 0, as in a decoder
// without a window; a model that adds a bias to scores or caps them has other attention, and a
// warning of the result says so. An input that has attention, or neither q nor k, is returned as it
// is.
//
// The softmax is computed in float64 each time a head is read, which costs T²·E/2 multiplications.
// It keeps one head of q and of k, 8·T·E bytes, which are taken from the budget; they are also why
// a tensor is for one goroutine at a time. WithAttention returns a [trace.MemoryError] if they do
// not fit, and an error that names the tensor, its shape and what is needed if a shape or the scale
// is wrong. A number of q or k that is NaN or infinite is an error when its head is read.
func (in Input) WithAttention(scale float64) (Input, error) {
	q, hasQ := in.named(Queries)
	k, hasK := in.named(Keys)
	_, recorded := in.named(string(trace.Attention))
	switch {
	case recorded, !hasQ && !hasK:
		return in, nil
	case !hasK:
		return in, alone("queries", Queries, Keys)
	case !hasQ:
		return in, alone("keys", Keys, Queries)
	}
	r := &scoreReader{q: q, k: k, scale: scale}
	if err := r.check(); err != nil {
		return in, pkg.Errorf("%w", err)
	}
	need := 8 * float64(r.tokens) * float64(r.width)
	if err := in.checkNeed(need, "one head of queries and keys"); err != nil {
		return in, err
	}
	if in.Memory.Left > 0 {
		in.Memory.Left = max(in.Memory.Left-int64(need), 1)
	}
	in.Tensors = slices.DeleteFunc(slices.Clone(in.Tensors), func(t TensorReader) bool {
		return t.Name == Queries || t.Name == Keys
	})
	in.Tensors = append(in.Tensors, TensorReader{
		Name: string(trace.Attention), Shape: []int{q.Shape[0], r.heads, r.tokens, r.tokens},
		Read: r.read,
		note: fmt.Sprintf("Attention was computed from q and k, as the softmax of %.6g q·k over "+
			"the sources up to each target: without position biases, caps and windows of a model.",
			r.scale),
	})
	return in, nil
}

// named returns the tensor of a name.
func (in Input) named(name string) (TensorReader, bool) {
	i := slices.IndexFunc(in.Tensors, func(t TensorReader) bool { return t.Name == name })
	if i < 0 {
		return TensorReader{}, false
	}
	return in.Tensors[i], true
}

// alone returns the error of one of two tensors that belong together.
func alone(what, name, missing string) error {
	return pkg.Errorf("%s are in tensor %q, and there is no tensor %q; attention is "+
		"computed from both", what, name, missing)
}

// scoreReader computes attention from queries and keys.
type scoreReader struct {
	q, k                         TensorReader
	scale                        float64
	heads, groups, tokens, width int // H, G, T, E

	queries, keys []float32 // [T,E], those of head `head` of all heads of all layers
	row           []float64 // [T]
	head          int
}

// check checks the shapes and the scale, and sets the sizes.
func (r *scoreReader) check() error {
	for _, t := range []struct {
		TensorReader
		want string
	}{{r.q, "[L,H,T,E]"}, {r.k, "[L,G,T,E]"}} {
		if len(t.Shape) != 4 || slices.Min(t.Shape) < 1 {
			return fmt.Errorf("tensor %q has shape %v; want %s: layers, heads, tokens, numbers "+
				"of a head, without an axis of the batch", t.Name, t.Shape, t.want)
		}
		if t.wrong != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, t.wrong)
		}
	}
	q, k := r.q.Shape, r.k.Shape
	r.heads, r.groups, r.tokens, r.width = q[1], k[1], q[2], q[3]
	if k[0] != q[0] || k[2] != q[2] || k[3] != q[3] || r.heads%r.groups != 0 {
		return fmt.Errorf("tensor %q has shape %v, and q has %v; want [%d,G,%d,%d] with a G that "+
			"divides %d: layers, heads, tokens, numbers of a head", r.k.Name, k, q, q[0], q[2],
			q[3], q[1])
	}
	if r.scale == 0 {
		r.scale = 1 / math.Sqrt(float64(r.width))
	}
	// Larger ones could make a score that no float64 has.
	if !(r.scale > 0 && r.scale <= math.MaxFloat32) {
		return fmt.Errorf("scale %v; want a number above 0 and below %.1e, such as 1/√E = %s",
			r.scale, math.MaxFloat32,
			strconv.FormatFloat(1/math.Sqrt(float64(r.width)), 'g', 6, 64))
	}
	return nil
}

// read fills dst with the attention from element first on.
func (r *scoreReader) read(dst []float32, first int) error {
	for len(dst) > 0 {
		row, column := first/r.tokens, first%r.tokens
		if err := r.load(row / r.tokens); err != nil {
			return err
		}
		n := min(len(dst), r.tokens-column)
		r.softmax(row % r.tokens)
		for i := range n {
			dst[i] = float32(r.row[column+i])
		}
		dst, first = dst[n:], first+n
	}
	return nil
}

// load reads the queries and keys of a head, counted over all layers, unless they are there.
func (r *scoreReader) load(head int) error {
	if r.queries != nil && head == r.head {
		return nil
	}
	n := r.tokens * r.width
	if r.queries == nil {
		r.queries, r.keys = make([]float32, n), make([]float32, n)
		r.row = make([]float64, r.tokens)
	}
	r.head = -1
	l, h := head/r.heads, head%r.heads
	for _, part := range []struct {
		from  TensorReader
		to    []float32
		heads int
		head  int
	}{
		{r.q, r.queries, r.heads, h},
		{r.k, r.keys, r.groups, h * r.groups / r.heads},
	} {
		if err := part.from.Read(part.to, (l*part.heads+part.head)*n); err != nil {
			return fmt.Errorf("tensor %q: %w", part.from.Name, err)
		}
		if i := slices.IndexFunc(part.to, rowmath.NotFinite[float32]); i >= 0 {
			return fmt.Errorf("tensor %q: layer %d head %d token %d number %d is %v; want a "+
				"finite number", part.from.Name, l, part.head, i/r.width, i%r.width, part.to[i])
		}
	}
	r.head = head
	return nil
}

// softmax computes the row of target t.
func (r *scoreReader) softmax(t int) {
	q := r.queries[t*r.width:][:r.width]
	seen := r.row[:t+1]
	for s := range seen {
		seen[s] = r.scale * dot(q, r.keys[s*r.width:][:r.width])
	}
	most := slices.Max(seen)
	for s, x := range seen {
		seen[s] = rowmath.Exp(x - most)
	}
	rowmath.DivideBySum(seen)
	clear(r.row[t+1:])
}

// dot returns the product of two vectors of equal length. Two sums let the processor add two
// numbers at a time.
func dot(a, b []float32) float64 {
	b = b[:len(a)]
	even, odd := 0.0, 0.0
	i := 0
	for ; i+1 < len(a); i += 2 {
		even += float64(a[i]) * float64(b[i])
		odd += float64(a[i+1]) * float64(b[i+1])
	}
	if i < len(a) {
		even += float64(a[i]) * float64(b[i])
	}
	return even + odd
}
