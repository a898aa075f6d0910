package attribution

import (
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// renormalizedTol is how far the sum of a row may be from 1 without a warning: float32 rounding over long rows.
const renormalizedTol = 1e-5

// input is the tensors that the methods need, checked.
type input struct {
	layers, tokens int
	// heads is H of the mixings that have heads.
	heads         int
	bidirectional bool
	tensors       map[string]rowTensor // by mixing
	warnings      []string
}

// rowTensor is [L,H,T,T].
type rowTensor struct {
	mixing  MixingInfo
	name    string
	l, h, t int
	data    []float32
}

// row returns row t of head h in layer l, [T].
func (r rowTensor) row(l, h, t int) []float32 {
	i := ((l*r.h+h)*r.t + t) * r.t
	return r.data[i : i+r.t]
}

// newInput finds and checks the tensors that the methods of opts need.
func newInput(tensors []trace.Tensor, opts Options) (*input, error) {
	methods, err := opts.methods()
	if err != nil {
		return nil, err
	}
	in := &input{heads: 1, tensors: map[string]rowTensor{}}
	if opts.MeasuredResidual {
		methods = append(methods, Method{Name: "with a measured residual", Mixing: mixingRatio})
	}
	for _, m := range methods {
		if m.Scorer != "" {
			return nil, usagef("%s asks the model again, and there are only rows here; explain a prompt with it", m.Name)
		}
		if _, done := in.tensors[m.Mixing]; done {
			continue
		}
		if mi, _ := LookupMixing(m.Mixing); mi.OneHead && (opts.PerHead != nil || mi.takes(opts.Heads)) {
			return nil, usagef("one head of %s, whose rows here are of all heads together; explain a prompt with it", m.Name)
		}
		i := slices.IndexFunc(tensors, func(t trace.Tensor) bool { return t.Name == m.Mixing })
		if i < 0 { // the mean over its heads serves as well
			i = slices.IndexFunc(tensors, func(t trace.Tensor) bool { return t.Name == m.Mixing+"-mean" })
		}
		if i < 0 {
			return nil, fmt.Errorf("attribution: method %s needs tensor %q, [L,T,S]; the input has %s",
				m.Name, m.Mixing, tensorNames(tensors))
		}
		t := tensors[i]
		t.Name = m.Mixing
		if err := in.add(t); err != nil {
			return nil, fmt.Errorf("attribution: tensor %q: %w", tensors[i].Name, err)
		}
	}
	return in, nil
}

// tensorNames returns the names of tensors for a message, sorted.
func tensorNames(tensors []trace.Tensor) string {
	if len(tensors) == 0 {
		return "none"
	}
	var names []string
	for _, t := range tensors {
		names = append(names, quote(t.Name))
	}
	slices.Sort(names)
	return list(names)
}

// add checks one tensor.
func (in *input) add(t trace.Tensor) error {
	r := rowTensor{name: t.Name, data: t.Data, h: 1}
	r.mixing, _ = LookupMixing(t.Name)
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
		return fmt.Errorf("shape %v; another tensor has %d layers and %d tokens", t.Shape, in.layers, in.tokens)
	}
	in.layers, in.tokens = r.l, r.t
	if r.mixing.Heads {
		in.heads = r.h
	}
	if err := in.checkRows(r); err != nil {
		return err
	}
	in.tensors[t.Name] = r
	return nil
}

// checkShape checks that rows are square, that there are any and that the data are as many as the shape says.
func (r rowTensor) checkShape(shape []int) error {
	rest := len(r.data)
	for _, n := range shape {
		if n < 1 || rest%n != 0 {
			return fmt.Errorf("shape %v does not fit %d numbers; want positive sizes whose product that is",
				shape, len(r.data))
		}
		rest /= n
	}
	if rest != 1 {
		return fmt.Errorf("shape %v does not fit %d numbers", shape, len(r.data))
	}
	if s := shape[len(shape)-1]; s != r.t {
		return fmt.Errorf("shape %v; %d targets and %d sources must be as many", shape, r.t, s)
	}
	return nil
}

// checkRows checks every number and the sums of rows that must have one, and looks above the diagonal.
func (in *input) checkRows(r rowTensor) error {
	worst, where := 0.0, ""
	for l := range r.l {
		for h := range r.h {
			for t := range r.t {
				row := r.row(l, h, t)
				if s := badRow(row); s >= 0 {
					return fmt.Errorf("layer %d head %d row %d column %d is %v; want a number of 0 or more", l, h, t, s, row[s])
				}
				in.bidirectional = in.bidirectional || slices.ContainsFunc(row[t+1:], func(x float32) bool { return x != 0 })
				if !r.mixing.Sums {
					continue
				}
				sum := sumOf(row)
				if math.Abs(sum-1) > sumTol {
					return fmt.Errorf("layer %d head %d row %d sums to %.6g; want 1 within %g", l, h, t, sum, sumTol)
				}
				if off := math.Abs(sum - 1); off > worst {
					worst, where = off, fmt.Sprintf("layer %d head %d row %d sums to %.6f", l, h, t, sum)
				}
			}
		}
	}
	if worst > renormalizedTol {
		in.warnings = append(in.warnings, fmt.Sprintf("%s: rows were divided by their sums, off from 1 by up to %.2g (%s).",
			r.name, worst, where))
	}
	return nil
}

// sumOf returns the sum of a row.
func sumOf(row []float32) float64 {
	sum := 0.0
	for _, x := range row {
		sum += float64(x)
	}
	return sum
}

// fuse returns one matrix a layer of the plan's range, [L,T,T], of the heads asked for.
func (in *input) fuse(ask trace.MixingAsk, p *plan) []float64 {
	r := in.tensors[ask.Name]
	threshold := p.threshold(ask.Name)
	out := make([]float64, (p.last-p.first+1)*r.t*r.t)
	head := make([]float64, r.t)
	for l := p.first; l <= p.last; l++ {
		for t := range r.t {
			dst := row(out, (l-p.first)*r.t+t, r.t)
			for h := range r.h {
				if ask.Heads.Fusion == trace.OneHead && h != ask.Heads.Head {
					continue
				}
				clear(head)
				copyRow(head, r.row(l, h, t), threshold)
				if r.mixing.Sums {
					divideBySum(head)
				}
				fuseHead(dst, head, ask.Heads.Fusion, h, r.h)
			}
		}
	}
	return out
}

// fuseHead adds head h of H to dst, the fusion of those before it.
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
