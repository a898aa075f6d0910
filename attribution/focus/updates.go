package focus

import (
	"math"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Index is the token at which [Text.Updates] reads the update and the residual stream.
type Index string

// The indices. The words are those of the document.
const (
	// IndexCurrent is the target i itself, as the document describes it.
	IndexCurrent Index = "current"
	// IndexTarget is the source j*(i) that the target looks at most, as in the document's published
	// files: all targets with the same j* have the same values there.
	IndexTarget Index = "target"
)

// ParseIndex reads the name of an index; the empty string is current. The error lists the known
// ones.
func ParseIndex(s string) (Index, error) {
	switch i := Index(s); i {
	case "":
		return IndexCurrent, nil
	case IndexCurrent, IndexTarget:
		return i, nil
	}
	known := []string{string(IndexCurrent), string(IndexTarget)}
	return "", usagef("unknown index %.60q; %s", s, message.KnownAre(s, known))
}

// UpdateOptions are the options of [Text.Updates].
type UpdateOptions struct {
	// Index is the token at which update and residual stream are read; empty means [IndexCurrent].
	Index Index
	// ExcludeFirst leaves out targets that look at the first token most, as in Figures 8 and 9.
	ExcludeFirst bool
}

// Update is what a head adds to the residual stream of a token, compared with what it finds there.
type Update struct {
	Head int // or [Together]
	// Target is the row and Source the source that it looks at most, j*.
	Target, Source int
	// Magnitude is ‖c‖/‖x‖, 0 or more; NaN if x is zero. Figure 7.
	Magnitude float64
	// Alignment is the cosine of c and x, in [-1,1]; NaN if one of them is zero. Figure 8.
	Alignment float64
}

// Updates returns the update of each target by head h in layer l:
//
//	magnitude = ‖c_k‖ / ‖x_k‖,  alignment = c_k·x_k / (‖c_k‖ ‖x_k‖)
//
// x is the input of the block and c what the head adds to it, without biases, so that Σ_h c plus
// the biases is what the attention adds to the residual stream. In most blocks c is the head's
// output, W_O^h context. Where a norm follows the attention (Gemma 2 and 3), c is the part of that
// norm's result that comes from the head: the tensor head-added. Without that tensor c is the
// head's output before the norm, which there has another length than what is added.
//
// k is the target i or its source j*(i); see [Index]. For [Together], c is the sum over the heads
// and j* belongs to the mean of their attention. The context of S3's text is taken after the output
// projection, because a cosine with x needs a vector of the model's width.
//
// It needs hidden, and head-added, or head-output, or context and output-weight, or value and
// output-weight; and as many targets as sources, because x of every source is read. It costs T·D
// multiplications for head-added and head-output, T·E·D more for context, and T·S·E more for value,
// times H for all heads together.
// It returns an error that names what is missing, and a usage error for a layer, head or index that
// does not exist.
func (t *Text) Updates(l, h int, opts UpdateOptions) ([]Update, error) {
	index, err := ParseIndex(string(opts.Index))
	if err != nil {
		return nil, err
	}
	if err := t.checkHead(l, h); err != nil {
		return nil, err
	}
	const what = "the update of a head"
	if err := t.needStream(what); err != nil {
		return nil, err
	}
	err = t.need(what, []string{headAddedTensor}, []string{headOutputTensor},
		[]string{contextTensor, outputWeightTensor}, []string{valueTensor, outputWeightTensor})
	if err != nil {
		return nil, err
	}
	all, c := make([]Update, 0, t.Targets), t.output(l, h)
	p := make([]float64, t.Sources)
	for i := range t.Targets {
		t.probability(p, l, h, i)
		j := rowmath.Largest(p[:t.visible(i)])
		if opts.ExcludeFirst && j == 0 {
			continue
		}
		k := i
		if index == IndexTarget {
			k = j
		}
		u := Update{Head: h, Target: i, Source: j}
		u.Magnitude, u.Alignment = compare(c[k*t.width:][:t.width], t.stream(l, k))
		all = append(all, u)
	}
	return all, nil
}

// needStream returns an error if the input of the blocks is not known for every source.
func (t *Text) needStream(what string) error {
	if err := t.need(what, []string{hiddenTensor}); err != nil {
		return err
	}
	if t.Targets != t.Sources {
		return usagef("%s needs the rows of all tokens; there are %d targets and %d sources", what,
			t.Targets, t.Sources)
	}
	return nil
}

// stream returns the input of block l at position i, [D]. It aliases the tensor.
func (t *Text) stream(l, i int) floats {
	at := (l*t.Targets + i) * t.width
	return t.tensors[hiddenTensor].part(at, at+t.width)
}

// compare returns ‖c‖/‖x‖ and the cosine of c and x.
func compare(c []float64, x floats) (magnitude, alignment float64) {
	cc, cx, xx := 0.0, 0.0, 0.0
	for d, w := range x.all() {
		cc, cx, xx = cc+c[d]*c[d], cx+c[d]*w, xx+w*w
	}
	if xx == 0 {
		return math.NaN(), math.NaN()
	}
	if cc == 0 {
		return 0, math.NaN()
	}
	// Rounding may take the cosine of parallel vectors out of its range.
	return math.Sqrt(cc / xx), min(1, max(-1, cx/math.Sqrt(cc)/math.Sqrt(xx)))
}

// output returns what head h, or all heads together, add in layer l, without biases, [T,D]; see
// [Text.Updates] for what stands for it where head-added is not known.
func (t *Text) output(l, h int) []float64 {
	recorded := headAddedTensor
	if !t.has(recorded) {
		recorded = headOutputTensor
	}
	c := make([]float64, t.Targets*t.width)
	first, n := t.heads(h)
	var ctx []float64
	for k := range n {
		for i := range t.Targets {
			row := c[i*t.width:][:t.width]
			switch {
			case t.has(recorded):
				for d, x := range t.row(recorded, l, first+k, i, t.Targets, t.width).all() {
					row[d] += x
				}
				continue
			case t.has(contextTensor):
				ctx = appended(ctx, t.row(contextTensor, l, first+k, i, t.Targets, t.headWidth))
			default:
				ctx = t.weighted(ctx, l, first+k, i)
			}
			t.project(row, ctx, l, first+k)
		}
	}
	return c
}

// appended returns x as float64 in the memory of dst.
func appended(dst []float64, x floats) []float64 {
	dst = dst[:0]
	for _, v := range x.all() {
		dst = append(dst, v)
	}
	return dst
}

// weighted returns the context of target i, attention times values, [E], in the memory of dst.
func (t *Text) weighted(dst []float64, l, h, i int) []float64 {
	p := make([]float64, t.Sources)
	t.probability(p, l, h, i)
	dst = append(dst[:0], make([]float64, t.headWidth)...)
	for j, a := range p {
		for e, v := range t.row(valueTensor, l, h, j, t.Sources, t.headWidth).all() {
			dst[e] += a * v
		}
	}
	return dst
}

// project adds x W_O^h, of x [E], to dst, [D].
func (t *Text) project(dst, x []float64, l, h int) {
	for e, v := range x {
		for d, w := range t.row(outputWeightTensor, l, h, e, t.headWidth, t.width).all() {
			dst[d] += v * w
		}
	}
}

// Effect is how much the source that a target looks at most can change the residual stream.
type Effect struct {
	Head int // or [Together]
	// Target is the row and Source the source that it looks at most, j*.
	Target, Source int
	// Magnitude is ‖W_O v‖/‖x‖ of the source, 0 or more; NaN if x is zero. It is before the norm
	// after the attention in a block that has one; see [Text.Effects].
	Magnitude float64
}

// Effects returns the effect of the source of each target, by head h in layer l: Figure 10, which
// has those of all heads of a layer in one picture.
//
//	magnitude = ‖W_O^h v_j*‖ / ‖x_j*‖,  j* = argmax_j p_ij
//
// In Gemma 2 and 3, where a norm follows the attention, it is the value before that norm: a source
// alone has no spread that the norm could divide it by. Compare the values of a layer with each
// other there, and not with those of [Text.Updates].
//
// For [Together] it is ‖Σ_h W_O^h v_j*‖, and j* belongs to the mean of the heads' attention. It
// needs hidden, and value-output, or value and output-weight. Cost and errors are as for
// [Text.Updates].
func (t *Text) Effects(l, h int) ([]Effect, error) {
	if err := t.checkHead(l, h); err != nil {
		return nil, err
	}
	const what = "the effect of a token"
	if err := t.needStream(what); err != nil {
		return nil, err
	}
	err := t.need(what, []string{valueOutputTensor}, []string{valueTensor, outputWeightTensor})
	if err != nil {
		return nil, err
	}
	all, p := make([]Effect, t.Targets), make([]float64, t.Sources)
	known := map[int]float64{} // magnitude by source
	for i := range all {
		t.probability(p, l, h, i)
		j := rowmath.Largest(p[:t.visible(i)])
		if _, ok := known[j]; !ok {
			known[j], _ = compare(t.written(l, h, j), t.stream(l, j))
		}
		all[i] = Effect{Head: h, Target: i, Source: j, Magnitude: known[j]}
	}
	return all, nil
}

// written returns the value of source j after the output projection, [D].
func (t *Text) written(l, h, j int) []float64 {
	sum := make([]float64, t.width)
	first, n := t.heads(h)
	var v []float64
	for k := range n {
		if t.has(valueOutputTensor) {
			for d, x := range t.row(valueOutputTensor, l, first+k, j, t.Sources, t.width).all() {
				sum[d] += x
			}
			continue
		}
		v = appended(v, t.row(valueTensor, l, first+k, j, t.Sources, t.headWidth))
		t.project(sum, v, l, first+k)
	}
	return sum
}

// Ellipse is drawn around the effects of the first token in Figure 10. Its centre is the origin.
type Ellipse struct {
	// HalfWidth is on the axis of magnitudes, HalfHeight on that of sources.
	HalfWidth  float64 `json:"half_width"`
	HalfHeight float64 `json:"half_height"`
}

// ZeroEllipse returns the ellipse of effects: 2.4 times the largest magnitude of the first token
// wide, and 10 tokens high, to either side. ok is false if no target looks at the first token most.
func ZeroEllipse(effects []Effect) (e Ellipse, ok bool) {
	const widths, tokens = 2.4, 10
	for _, x := range effects {
		if x.Source == 0 && !math.IsNaN(x.Magnitude) {
			e.HalfWidth, ok = max(e.HalfWidth, widths*x.Magnitude), true
		}
	}
	if ok {
		e.HalfHeight = tokens
	}
	return e, ok
}
