package focus

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// The names of the tensors that [New] reads. All but the output weight are taps of a model.
const (
	termsTensor       = string(trace.Terms)
	scoresTensor      = string(trace.Scores)
	attentionTensor   = string(trace.Attention)
	valueTensor       = string(trace.Value)
	contextTensor     = string(trace.Context)
	headOutputTensor  = string(trace.HeadOutput)
	headAddedTensor   = string(trace.HeadAdded)
	valueOutputTensor = string(trace.ValueOutput)
	hiddenTensor      = string(trace.Hidden)

	outputWeightTensor = "output-weight"
)

// layout is the axes of a tensor. A tensor may leave out the axes L and H if it has one head of one
// layer.
type layout struct{ name, axes string }

// layouts are the tensors in the order in which their shapes are compared.
var layouts = []layout{
	{termsTensor, "LH3TS"},
	{scoresTensor, "LHTS"},
	{attentionTensor, "LHTS"},
	{valueTensor, "LHSE"},
	{contextTensor, "LHTE"},
	{headOutputTensor, "LHTD"},
	{headAddedTensor, "LHTD"},
	{valueOutputTensor, "LHSD"},
	{outputWeightTensor, "LHED"},
	{hiddenTensor, "LTD"},
}

// Tensors returns the names and axes, such as "LHTS", of the tensors that [New] reads.
func Tensors() []trace.Tensor {
	all := make([]trace.Tensor, len(layouts))
	for i, l := range layouts {
		all[i] = trace.Tensor{Name: l.name, Axes: l.axes}
	}
	return all
}

// sumTolerance is how far the sum of a row of attention may be from 1, as in package attribution. A
// bfloat16 has 8 significant bits, so rounding changes each number by at most 2^-8 of itself, and a
// sum of 1 by at most 2^-8 = 0.0039. Random rows of 3 to 16 sources were off by up to 0.0033, of
// 1,024 sources by 0.0021, and rows of equal numbers by up to 0.0039.
const sumTolerance = 5e-3

// New returns the text of some tensors, which have these names and shapes:
//
//	terms          [L,H,3,T,S]     content, query-bias, alibi: parts of the scores
//	scores         [L,H,T,S]       before the softmax; needed only if they are not the terms' sum.
//	                               -Inf says that a target does not see a source
//	attention      [L,H,T,S]       after the softmax; rows sum to 1 and are divided by their sums,
//	                               or to less where a sink has the rest, and are kept
//	value          [L,H,S,E]       the value of each source, repeated for heads that share it
//	context        [L,H,T,E]       attention times value
//	head-output    [L,H,T,D]       context times the head's part of W_O, without the bias
//	head-added     [L,H,T,D]       head-output after the norm that follows attention, if any
//	value-output   [L,H,S,D]       value times the head's part of W_O
//	output-weight  [L,H,E,D]       the head's part of W_O: head-output = context · W_O
//	hidden         [L,T,D]         the input of each block; the L+1 states of a model also do
//
// A tensor of one head in one layer may leave out the axes L and H: terms [3,T,S], hidden [T,D].
// Attention and scores [L,T,S] have one head in each layer. Tensors with other names are ignored.
// One of terms, scores and attention is needed; what else is needed depends on the quantity, and
// what can be computed from others may be missing.
//
// A layer may see only the last tokens (a sliding window). Attention is 0 outside the window. A
// model of package models records 0 there in terms and scores as well, which looks like a score of
// 0, so give its attention too.
//
// New keeps the tensors and copies none. It reads every number once. The error names the tensor,
// its shape and what is needed: a shape that does not fit its data or another tensor, a row of
// attention that sums to 0 or, by more than 0.005, the rounding of bfloat16, to more than 1, a row
// of scores that are all -Inf, a number that is NaN or otherwise infinite. Entries of later
// sources, which a target does not see, are ignored in terms and scores, and must be 0 in attention
// unless the text is bidirectional.
func New(tensors []trace.Tensor, opts Options) (*Text, error) {
	b := builder{text: &Text{
		Bidirectional: opts.Bidirectional, Sinks: opts.Sinks, tensors: map[string]floats{},
	}}
	for _, l := range layouts {
		i := slices.IndexFunc(tensors, func(x trace.Tensor) bool { return x.Name == l.name })
		if i < 0 {
			continue
		}
		if err := b.add(l, tensors[i], opts.Float64[l.name]); err != nil {
			return nil, pkg.Errorf("tensor %q has shape %v; %w", l.name, tensors[i].Shape, err)
		}
	}
	t := b.text
	if !t.has(termsTensor) && !t.has(scoresTensor) && !t.has(attentionTensor) {
		return nil, pkg.Errorf("the input needs one of the tensors terms [L,H,3,T,S], "+
			"scores [L,H,T,S] and attention [L,H,T,S]; it has %s", tensorNames(tensors))
	}
	if t.Sinks && !t.has(attentionTensor) {
		return nil, pkg.Errorf("the model has sinks, whose part of the softmax terms and scores " +
			"lack; record the tensor attention too")
	}
	if t.Targets > t.Sources || t.Bidirectional && t.Targets != t.Sources {
		return nil, pkg.Errorf("%d targets and %d sources; want as many, or fewer targets "+
			"in a decoder's text", t.Targets, t.Sources)
	}
	return t, t.checkNumbers()
}

// tensorNames lists the names of tensors for a message.
func tensorNames(tensors []trace.Tensor) string {
	if len(tensors) == 0 {
		return "none"
	}
	var names []string
	for _, t := range tensors {
		names = append(names, message.Quote(t.Name))
	}
	return message.Some(names, 20)
}

// builder compares the shapes of tensors with each other.
type builder struct {
	text *Text
	// from names the tensor that first had an axis.
	from [128]string
}

// size is the field with the size of an axis; nil for the axis 3.
func (b *builder) size(axis byte) *int {
	t := b.text
	switch axis {
	case 'L':
		return &t.Layers
	case 'H':
		return &t.Heads
	case 'T':
		return &t.Targets
	case 'S':
		return &t.Sources
	case 'E':
		return &t.headWidth
	case 'D':
		return &t.width
	}
	return nil
}

// add checks the shape of a tensor and keeps its numbers.
func (b *builder) add(l layout, x trace.Tensor, wide []float64) error {
	data := floats{wide: wide}
	if wide == nil {
		data.narrow = x.Data
	}
	shape, err := full(l, x.Shape)
	if err != nil {
		return err
	}
	if n := data.len(); !rowmath.Fits(x.Shape, n) {
		return fmt.Errorf("it has %d numbers; want positive sizes whose product that is", n)
	}
	for i := range len(l.axes) {
		axis := l.axes[i]
		known := b.size(axis)
		switch {
		case known == nil:
			if shape[i] != int(NumTerms) {
				return fmt.Errorf("want %d terms, content, query-bias and alibi, on axis %d of "+
					"%s", NumTerms, i-len(shape)+len(x.Shape), form(l.axes))
			}
		case *known == 0:
			*known, b.from[axis] = shape[i], l.name
		case *known == shape[i]:
		case l.name == hiddenTensor && axis == 'L' && shape[i] == *known+1:
		default:
			return fmt.Errorf("want %s with %c = %d, as in %s", form(l.axes), axis, *known,
				b.from[axis])
		}
	}
	b.text.tensors[l.name] = data
	return nil
}

// full returns a shape with all axes of a layout: those that may be left out have size 1.
func full(l layout, shape []int) ([]int, error) {
	missing := len(l.axes) - len(shape)
	heads := strings.Count(l.axes, "L") + strings.Count(l.axes, "H")
	switch {
	case missing == 0:
		return shape, nil
	case missing == 1 && l.axes == "LHTS": // one head in each layer
		return []int{shape[0], 1, shape[1], shape[2]}, nil
	case missing == heads:
		return slices.Concat(slices.Repeat([]int{1}, heads), shape), nil
	}
	short := form(l.axes[heads:]) + " for one head"
	if l.axes == "LHTS" {
		short = "[L,T,S], " + short
	}
	return nil, fmt.Errorf("want %s or %s", form(l.axes), short)
}

// form writes axes as a shape: "[L,H,T,S]".
func form(axes string) string { return "[" + strings.Join(strings.Split(axes, ""), ",") + "]" }

// checkNumbers checks every number and the sums of attention. It finds out whether the text is
// bidirectional.
func (t *Text) checkNumbers() error {
	if err := t.checkAttention(); err != nil {
		return pkg.Errorf("tensor %q: %w", attentionTensor, err)
	}
	for _, l := range layouts {
		data := t.tensors[l.name]
		switch l.name {
		case attentionTensor:
			continue
		case termsTensor, scoresTensor:
			data = floats{} // only what a target sees counts
		}
		if k, v := data.find(rowmath.NotFinite[float64]); k >= 0 {
			return pkg.Errorf("tensor %q: number %d is %v; want finite numbers", l.name, k, v)
		}
	}
	for _, name := range []string{termsTensor, scoresTensor} {
		if err := t.checkSeen(name); err != nil {
			return pkg.Errorf("tensor %q: %w", name, err)
		}
	}
	return nil
}

// hidden reports whether a score says that the target does not see the source.
func hidden(score float64) bool { return math.IsInf(score, -1) }

// checkSeen checks the numbers of terms or scores that a target sees. A score may be -Inf, but not
// all of a row.
func (t *Text) checkSeen(name string) error {
	data := t.tensors[name]
	wrong, want := rowmath.NotFinite[float64], "finite numbers where the target sees the source"
	if name == scoresTensor {
		wrong = func(x float64) bool { return rowmath.NotFinite(x) && !hidden(x) }
		want = "finite numbers, or -Inf where the target does not see the source"
	}
	for r := range data.len() / t.Sources {
		row := data.part(r*t.Sources, r*t.Sources+t.visible(r%t.Targets))
		if j, x := row.find(wrong); j >= 0 {
			return fmt.Errorf("row %d column %d is %v; want %s", r, j, x, want)
		}
		if j, _ := row.find(func(x float64) bool { return !hidden(x) }); j < 0 {
			return fmt.Errorf("row %d is -Inf at every source that the target may see; want a "+
				"finite number at one of them", r)
		}
	}
	return nil
}

// checkAttention checks that rows of attention have no negative number and sum to 1, or to less
// with sinks.
func (t *Text) checkAttention() error {
	data := t.tensors[attentionTensor]
	later, lacking := false, false
	for r := range data.len() / max(1, t.Sources) {
		row, i := data.part(r*t.Sources, (r+1)*t.Sources), r%t.Targets
		where := func() string {
			return fmt.Sprintf("layer %d head %d row %d", r/t.Targets/t.Heads,
				r/t.Targets%t.Heads, i)
		}
		sum := 0.0
		for j, p := range row.all() {
			if !(p >= 0) || math.IsInf(p, 0) {
				return fmt.Errorf("%s column %d is %v; want a number of 0 or more", where(), j, p)
			}
			sum += p
			later = later || p != 0 && j > t.firstTarget()+i
		}
		if sum > 1+sumTolerance || sum == 0 && !t.Sinks {
			return fmt.Errorf("%s sums to %.6g; want 1 within %g, or less where a sink has the "+
				"rest", where(), sum, sumTolerance)
		}
		lacking = lacking || sum < 1-sumTolerance
	}
	if later && t.Targets != t.Sources {
		return errors.New("some targets look at later sources, and there are fewer targets than " +
			"sources; a bidirectional text needs all rows")
	}
	t.Bidirectional, t.Sinks = t.Bidirectional || later, t.Sinks || lacking
	return nil
}

// need returns an error if none of the sets of tensors is complete. what is the quantity that needs
// one.
func (t *Text) need(what string, sets ...[]string) error {
	var wanted []string
	for _, set := range sets {
		if t.has(set...) {
			return nil
		}
		var names []string
		for _, l := range layouts {
			if slices.Contains(set, l.name) {
				names = append(names, l.name+" "+form(l.axes))
			}
		}
		wanted = append(wanted, strings.Join(names, " and "))
	}
	var known []string
	for _, l := range layouts {
		if t.has(l.name) {
			known = append(known, l.name)
		}
	}
	return pkg.Errorf("%s needs %s; the input has %s", what,
		strings.Join(wanted, ", or "), message.List(known))
}

// has reports whether all of some tensors are known.
func (t *Text) has(names ...string) bool {
	for _, name := range names {
		if t.tensors[name].len() == 0 {
			return false
		}
	}
	return true
}
