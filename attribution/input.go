package attribution

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// renormalizedTol is how far the sum of a row may be from 1 without a warning: the rounding of
// float32 over long rows.
const renormalizedTol = 1e-5

// TensorReader is a tensor that is read piece by piece, for example from a file.
type TensorReader struct {
	// Name is the name of its mixing.
	Name string
	// Shape is as for [Attribute], outermost axis first.
	Shape []int
	// Read fills dst with the numbers from element first on, in row-major order. dst has at most
	// T·T numbers; of queries and keys it has T·E, of hidden states T·D.
	Read func(dst []float32, first int) error

	wrong error  // an error of its shape that is known before it is read
	note  string // a warning that results of a computed tensor have
}

// First returns the rows of the first n of T tokens over these tokens, [L,H,n,n] or [L,n,n], each
// divided by its sum, as methods do with attention, unless the input has [Input.Sinks]. Rows of
// zeros stay. The shape must be that of [Attribute], which also checks the numbers; n is at most T.
// An error of reading is returned, and ctx.Err() if ctx is done before a head is read.
func (in Input) First(ctx context.Context, t TensorReader, n int) (trace.Tensor, error) {
	axes := len(t.Shape)
	T, heads := t.Shape[axes-1], 1 // of all layers
	for _, size := range t.Shape[:axes-2] {
		heads *= size
	}
	out := trace.Tensor{
		Name: t.Name, Shape: slices.Clone(t.Shape), Data: make([]float32, 0, heads*n*n),
	}
	out.Shape[axes-2], out.Shape[axes-1] = n, n
	head, row := make([]float32, T*T), make([]float64, n)
	for k := range heads {
		if err := ctx.Err(); err != nil {
			return trace.Tensor{}, err
		}
		if err := t.Read(head, k*T*T); err != nil {
			return trace.Tensor{}, err
		}
		for i := range n {
			for j, x := range head[i*T:][:n] {
				row[j] = float64(x)
			}
			if !in.Sinks {
				rowmath.DivideBySum(row)
			}
			for _, x := range row {
				out.Data = append(out.Data, float32(x))
			}
		}
	}
	return out, nil
}

// Input is the input of [Attribute]: tensors and a limit of memory.
type Input struct {
	// Tensors are read when they are needed.
	Tensors []TensorReader
	// Memory is what may be used. Its Left is the largest number of bytes that may be allocated; 0
	// sets no limit. The rest is for messages.
	Memory trace.Memory
	// Prefix is how many tokens at the beginning see each other, and Encoder how many layers belong
	// to the encoder of two stacks; see [aggregation.Config]. With a prefix of 0, a text in which a
	// target sees a later source is an encoder's.
	Prefix, Encoder int
	// Sinks reports whether rows of attention may sum to less than 1; see [trace.Info]. What a row
	// lacks is the sink's, and rows are not divided by their sums before heads are fused.
	Sinks bool
}

// InMemory returns tensors in memory as an input without a limit.
func InMemory(tensors []trace.Tensor) Input {
	var in Input
	for _, t := range tensors {
		in.Tensors = append(in.Tensors, TensorReader{
			Name: t.Name, Shape: t.Shape, wrong: checkSize(t.Shape, len(t.Data)),
			Read: func(dst []float32, first int) error {
				copy(dst, t.Data[first:])
				return nil
			},
		})
	}
	return in
}

// checkSize returns an error unless the sizes of shape are positive and their product is n.
func checkSize(shape []int, n int) error {
	if rowmath.Fits(shape, n) {
		return nil
	}
	return fmt.Errorf("shape %v does not fit %d numbers; want positive sizes whose product that is",
		shape, n)
}

// input has the tensors that the methods need. Their shapes have been checked; checkNumbers checks
// their numbers.
type input struct {
	layers, tokens int
	// heads is H of a mixing that has heads, otherwise 1.
	heads int
	// bidirectional reports whether some target has a nonzero value for a later source. It is known
	// after checkNumbers.
	bidirectional bool
	prefixed      bool                 // [Input.Prefix] tells which tokens see each other
	sinks         bool                 // [Input.Sinks], or some row sums to less than 1
	tensors       map[string]rowTensor // by mixing
	order         []string             // of tensors
	buffer        []float32            // [T,T], one head
	warnings      []string
}

// rowTensor reads the rows of one mixing, [L,H,T,T].
type rowTensor struct {
	mixing  MixingInfo
	name    string
	note    string // see [TensorReader]
	l, h, t int
	read    func(dst []float32, first int) error
}

// head reads the rows of head h in layer l into dst, [T,T].
func (r rowTensor) head(dst []float32, l, h int) error {
	err := r.read(dst, (l*r.h+h)*r.t*r.t)
	if err != nil && r.note != "" { // it names the tensor that this one is computed from
		return pkg.Errorf("%w", err)
	}
	if err != nil {
		return pkg.Errorf("tensor %q: layer %d head %d: %w", r.name, l, h, err)
	}
	return nil
}

// newInput finds the tensors that the methods of opts need and checks their shapes. It reads no
// numbers.
func newInput(tensors []TensorReader, opts Options) (*input, error) {
	methods, err := opts.methods(DefaultMethods(trace.Info{}))
	if err != nil {
		return nil, err
	}
	in := &input{heads: 1, tensors: map[string]rowTensor{}}
	for _, m := range methods {
		if m.Scorer != "" {
			return nil, trace.Usagef(
				"%s asks the model again, and there are only rows here; explain a prompt with it",
				m.Name,
			)
		}
		if _, done := in.tensors[m.Mixing]; done {
			continue
		}
		if mi, _ := LookupMixing(m.Mixing); mi.OneHead &&
			(opts.PerHead != nil || mi.takes(opts.Heads)) {
			return nil, trace.Usagef("one head of %s, whose rows here are of all heads together; "+
				"explain a prompt with it", m.Name)
		}
		i := slices.IndexFunc(tensors, func(t TensorReader) bool { return t.Name == m.Mixing })
		if i < 0 { // a tensor of the mean over heads will do
			i = slices.IndexFunc(tensors, func(t TensorReader) bool {
				return t.Name == m.Mixing+"-mean"
			})
		}
		if i < 0 {
			return nil, pkg.Errorf("method %s needs tensor %q, [L,T,S]; the input has %s", m.Name,
				m.Mixing, tensorNames(tensors))
		}
		if err := in.add(m.Mixing, tensors[i]); err != nil {
			return nil, pkg.Errorf("tensor %q: %w", tensors[i].Name, err)
		}
	}
	return in, nil
}

// tensorNames returns the names of tensors for a message, sorted.
func tensorNames(tensors []TensorReader) string {
	if len(tensors) == 0 {
		return "none"
	}
	var names []string
	for _, t := range tensors {
		names = append(names, message.Quote(t.Name))
	}
	slices.Sort(names)
	return message.List(names)
}

// add checks the shape of the tensor that has the rows of a mixing.
func (in *input) add(mixing string, t TensorReader) error {
	if len(t.Shape) == 3 || len(t.Shape) == 4 { // other numbers of axes get the message below
		if t.wrong != nil {
			return t.wrong
		}
	}
	r := rowTensor{name: t.Name, note: t.note, read: t.Read, h: 1}
	r.mixing, _ = LookupMixing(mixing)
	switch s := t.Shape; {
	case len(s) == 3:
		r.l, r.t = s[0], s[1]
	case len(s) == 4 && (r.mixing.Heads || s[1] == 1):
		r.l, r.h, r.t = s[0], s[1], s[2]
	case len(s) == 4:
		return fmt.Errorf("shape %v; this mixing has no heads apart, want [L,T,S]", s)
	default:
		return fmt.Errorf("shape %v; want [L,H,T,S] or [L,T,S]", s)
	}
	if err := r.checkShape(t.Shape); err != nil {
		return err
	}
	if len(in.tensors) > 0 && (r.l != in.layers || r.t != in.tokens) {
		return fmt.Errorf("shape %v; another tensor has %d layers and %d tokens", t.Shape,
			in.layers, in.tokens)
	}
	in.layers, in.tokens = r.l, r.t
	if r.mixing.Heads {
		in.heads = r.h
	}
	in.tensors[mixing] = r
	in.order = append(in.order, mixing)
	return nil
}

// checkShape returns an error unless all sizes are positive, there are as many sources as targets,
// and the number of elements fits an int64.
func (r rowTensor) checkShape(shape []int) error {
	for _, n := range shape {
		if n < 1 {
			return fmt.Errorf("shape %v; want positive sizes", shape)
		}
	}
	if s := shape[len(shape)-1]; s != r.t {
		return fmt.Errorf("shape %v; %d targets and %d sources must be as many", shape, r.t, s)
	}
	if float64(r.l)*float64(r.h)*float64(r.t)*float64(r.t) > math.MaxInt64/2 {
		return fmt.Errorf("shape %v has too many numbers to be counted", shape)
	}
	return nil
}

// checkNumbers reads every tensor once. It checks every number, the sums of rows that must be 1,
// and whether there are nonzero numbers above the diagonal. It looks at ctx once a head, so that a
// caller can stop it in a file of any size.
func (in *input) checkNumbers(ctx context.Context) error {
	in.buffer = make([]float32, in.tokens*in.tokens)
	for _, mixing := range in.order {
		c := rowCheck{r: in.tensors[mixing], prefixed: in.prefixed, sinks: in.sinks}
		if err := c.all(ctx, in.buffer); err != nil {
			return err
		}
		in.bidirectional = in.bidirectional || c.later > 0
		in.sinks = in.sinks || c.worst > sumTol
		in.warnings = append(in.warnings, c.warnings()...)
	}
	return nil
}

// rowCheck collects what is found in a tensor while its numbers are checked.
type rowCheck struct {
	r rowTensor
	// worst is the largest distance of a row's sum from 1; where is the row.
	worst float64
	where string
	// rows counts the rows that have a source after their target; later counts those of them with a
	// nonzero value there, and first names the first one.
	rows, later int
	first       string
	// See [input].
	prefixed, sinks bool
}

// all checks every head of every layer. buffer, [T,T], is overwritten.
func (c *rowCheck) all(ctx context.Context, buffer []float32) error {
	for l := range c.r.l {
		for h := range c.r.h {
			if err := ctx.Err(); err != nil {
				return pkg.Errorf("tensor %q: stopped at layer %d of %d: %w", c.r.name,
					l, c.r.l, err)
			}
			if err := c.r.head(buffer, l, h); err != nil {
				return err
			}
			for t := range c.r.t {
				if err := c.row(buffer[t*c.r.t:][:c.r.t], l, h, t); err != nil {
					return pkg.Errorf("tensor %q: %w", c.r.name, err)
				}
			}
		}
	}
	return nil
}

// row checks the row of one target.
func (c *rowCheck) row(row []float32, l, h, t int) error {
	if s := rowmath.IndexInvalid(row); s >= 0 {
		return fmt.Errorf("layer %d head %d row %d column %d is %v; want a number of 0 or more", l,
			h, t, s, row[s])
	}
	if t+1 < len(row) {
		c.rows++
		if s := slices.IndexFunc(row[t+1:], func(x float32) bool { return x != 0 }); s >= 0 {
			if c.later++; c.later == 1 {
				c.first = fmt.Sprintf("layer %d head %d row %d column %d is %v", l, h, t, t+1+s,
					row[t+1+s])
			}
		}
	}
	if !c.r.mixing.Sums {
		return nil
	}
	sum := sumOf(row)
	if sum > 1+sumTol || sum == 0 && !c.sinks {
		return fmt.Errorf("layer %d head %d row %d sums to %.6g; want 1 within %g, or less where "+
			"a sink has the rest", l, h, t, sum, sumTol)
	}
	if off := math.Abs(sum - 1); off > c.worst {
		c.worst, c.where = off, fmt.Sprintf("layer %d head %d row %d sums to %.6f", l, h, t, sum)
	}
	return nil
}

// warnings returns remarks on what was found.
func (c *rowCheck) warnings() (all []string) {
	if c.r.note != "" {
		all = append(all, c.r.note)
	}
	switch {
	case c.sinks:
	case c.worst > sumTol: // less than 1: more is an error
		all = append(all, fmt.Sprintf("%s: %s, the least of all rows. %s", c.r.name, c.where,
			trace.SinkRemark))
	case c.worst > renormalizedTol:
		all = append(all, fmt.Sprintf("%s: rows were divided by their sums, off from 1 by up to "+
			"%.2g (%s).",
			c.r.name, c.worst, c.where))
	}
	// In an encoder's text nearly every row has nonzero values there. If few rows do, the tensor is
	// more likely to be wrong.
	if c.later > 0 && c.later < c.rows/2 && !c.prefixed {
		all = append(all, fmt.Sprintf("%s: %d of %d rows take something from a later token, so "+
			"the text is taken for an encoder's; "+
			"the first is %s.", c.r.name, c.later, c.rows, c.first))
	}
	return all
}

// sumOf returns the sum of a row.
func sumOf(row []float32) float64 {
	sum := 0.0
	for _, x := range row {
		sum += float64(x)
	}
	return sum
}

// fuse returns the rows of the plan's layers with heads fused as the ask says, [L,T,T]. It reads
// one head at a time.
func (in *input) fuse(ctx context.Context, ask trace.MixingAsk, p *plan) ([]float64, error) {
	r := in.tensors[ask.Name]
	threshold := p.threshold(ask.Name)
	out := make([]float64, (p.last-p.first+1)*r.t*r.t)
	x := make([]float64, r.t)
	for l := p.first; l <= p.last; l++ {
		if err := ctx.Err(); err != nil {
			return nil, pkg.Errorf("tensor %q: stopped at layer %d: %w", r.name, l, err)
		}
		for h := range r.h {
			if ask.Heads.Fusion == trace.OneHead && h != ask.Heads.Head {
				continue
			}
			if err := r.head(in.buffer, l, h); err != nil {
				return nil, err
			}
			for t := range r.t {
				clear(x)
				rowmath.CopyAbove(x, in.buffer[t*r.t:][:r.t], threshold)
				if r.mixing.Sums && !in.sinks {
					rowmath.DivideBySum(x)
				}
				fuseHead(rowmath.At(out, (l-p.first)*r.t+t, r.t), x, ask.Heads.Fusion, h, r.h)
			}
		}
	}
	return out, nil
}

// fuseHead adds head h of H to dst, which holds the fusion of the heads before it.
func fuseHead(dst, head []float64, fusion trace.Fusion, h, heads int) {
	for s, x := range head {
		switch {
		case fusion == trace.MeanHeads:
			dst[s] += x / float64(heads)
		case fusion == trace.OneHead || h == 0:
			dst[s] = x
		case fusion == trace.MaxHeads:
			dst[s] = max(dst[s], x)
		default:
			dst[s] = min(dst[s], x)
		}
	}
}
