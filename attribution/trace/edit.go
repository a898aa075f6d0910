package trace

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/message"
)

// Change is what an [Edit] does to the numbers at a place.
type Change string

// The changes.
const (
	// SetZero sets them to 0.
	SetZero Change = "zero"
	// SetValue sets them to [Edit.Value].
	SetValue Change = "value"
	// SetMean sets them to the mean of [Edit.Value] over its first axis.
	SetMean Change = "mean"
	// Scale multiplies them by [Edit.Factor].
	Scale Change = "scale"
	// AddValue adds [Edit.Factor] times [Edit.Value], as steering does.
	AddValue Change = "add"
)

// Changes returns all changes, in the order in which they are documented.
func Changes() []Change { return []Change{SetZero, SetValue, SetMean, Scale, AddValue} }

// Edit changes what a tap has at some places while a model runs, so that everything after it is
// computed from the changed numbers. Several edits act in their order, each on what the one before
// it left.
type Edit struct {
	// Tap is one of [EditableTaps].
	Tap Tap `json:"tap"`
	// Layers are the layers, 0-based; empty for all. Those of [Hidden] are 0..L: layer L is the
	// stream after the last block.
	Layers []int `json:"layers,omitempty"`
	// Heads are the heads, 0-based; empty for all. Only taps with heads have them. Heads that share
	// a key or a value are edited together.
	Heads []int `json:"heads,omitempty"`
	// Positions are those of the tokens, 0-based: targets, or for [KeyVector] and [Value] sources.
	// -1 is the last one, of the prompt where text is generated; generated tokens come after the
	// prompt. Empty means all, generated ones too.
	Positions []int `json:"positions,omitempty"`
	// Sources are, for [Attention] alone, the sources whose attention is changed, counted as
	// Positions are. What a target cannot see stays 0.
	Sources []int `json:"sources,omitempty"`
	// Change is what is done.
	Change Change `json:"change"`
	// Factor is the factor of [Scale] and [AddValue].
	Factor float64 `json:"factor,omitempty"`
	// Value are the numbers of [SetValue], [SetMean] and [AddValue], and Shape is their shape,
	// row-major: [layers,heads,positions,width], as many of each as the edit names, or as there are
	// if it names none. Axes on the left may be missing, and an axis of size 1 stands for all.
	// width is D, E or X of the tap's shape in [Tap]; for [Attention] it is the number of
	// sources. Taps without heads have no such axis, or one of size 1. For [SetMean] one more axis
	// comes first, over which the mean is taken. Where text is generated, axes of positions and
	// sources that the edit does not name have the size 1.
	Shape []int     `json:"shape,omitempty"`
	Value []float32 `json:"value,omitempty"`
}

// EditableTaps returns the taps that an [Edit] can change, in the order of [Taps].
func EditableTaps() []Tap {
	return []Tap{
		Attention, QueryVector, KeyVector, Value, Context, HeadOutput, AttentionOutput,
		HiddenAfterAttention, FeedForwardOutput, Hidden, Router,
	}
}

// ParseEdits reads a list of edits in JSON. It returns a [UsageError] for a text that is not one,
// and for what [Edit.Check] finds.
func ParseEdits(text []byte) ([]Edit, error) {
	var edits []Edit
	if err := jsonread.Into(text, &edits); err != nil {
		return nil, Usagef("want a list of edits in JSON: %s", message.NotJSON(err))
	}
	for _, e := range edits {
		if err := e.Check(); err != nil {
			return nil, Usagef("%s", message.Words(err, nil))
		}
	}
	return edits, nil
}

// String names the place of the edit: "head-output of head 3.1, position 4".
func (e Edit) String() string {
	var places []string
	list := func(axis string, at []int) {
		switch len(at) {
		case 0:
		case 1:
			places = append(places, fmt.Sprint(axis, " ", at[0]))
		default:
			all := strings.ReplaceAll(strings.Trim(fmt.Sprint(at), "[]"), " ", ", ")
			places = append(places, fmt.Sprintf("%ss %.60s", axis, all))
		}
	}
	if len(e.Layers) == 1 && len(e.Heads) == 1 {
		places = append(places, fmt.Sprintf("head %d.%d", e.Layers[0], e.Heads[0]))
	} else {
		list("layer", e.Layers)
		list("head", e.Heads)
	}
	list("position", e.Positions)
	list("source", e.Sources)
	if places == nil {
		return fmt.Sprintf("%.60s everywhere", e.Tap)
	}
	return fmt.Sprintf("%.60s of %s", e.Tap, strings.Join(places, ", "))
}

// Words returns what the edit does: "head-output of head 3.1 set to zero".
func (e Edit) Words() string {
	does := "set to given numbers"
	switch e.Change {
	case SetZero:
		does = "set to zero"
	case SetMean:
		does = "set to a mean"
	case Scale:
		does = fmt.Sprintf("times %g", e.Factor)
	case AddValue:
		does = fmt.Sprintf("plus %g times given numbers", e.Factor)
	}
	return e.String() + " " + does
}

// EditsInWords returns what edits do, the first three by their places, "" without any: "under 1
// edit: head-output of head 3.1 set to zero".
func EditsInWords(edits []Edit) string {
	const most = 3
	if len(edits) == 0 {
		return ""
	}
	var all []string
	for _, e := range edits[:min(most, len(edits))] {
		all = append(all, e.Words())
	}
	if more := len(edits) - most; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return "under " + message.Count(len(edits), "edit") + ": " + strings.Join(all, "; ")
}

// MoveEdits returns edits for another text, in which the token at position p of theirs is at
// to(p), or not at all if that is below 0. What names only such tokens is left out, with their
// numbers. Positions from the end are passed to to as they are.
func MoveEdits(edits []Edit, to func(p int) int) []Edit {
	var moved []Edit
	for _, e := range edits {
		positions, sources := e.Positions, e.Sources
		e.Positions = e.moved(positions, 2, to)
		e.Sources = e.moved(sources, 1, to)
		if len(e.Positions) > 0 == (len(positions) > 0) &&
			len(e.Sources) > 0 == (len(sources) > 0) {
			moved = append(moved, e)
		}
	}
	return moved
}

// EditsWithin returns edits as far as they are of the first n tokens of a text.
func EditsWithin(edits []Edit, n int) []Edit {
	return MoveEdits(edits, func(p int) int {
		if p >= n {
			return -1
		}
		return p
	})
}

// moved returns the places where to puts those of an axis, which is so many from the right in the
// shape of the value, and takes the numbers of others out of it.
func (e *Edit) moved(places []int, fromRight int, to func(p int) int) (all []int) {
	var kept []int
	for i, p := range places {
		if at := to(p); at >= 0 {
			all, kept = append(all, at), append(kept, i)
		}
	}
	axis, first := len(e.Shape)-fromRight, 0
	if e.Change == SetMean { // whose first axis has no places
		first = 1
	}
	if len(all) == len(places) || axis < first || e.Shape[axis] != len(places) ||
		sizeOf(e.Shape, len(e.Value)) != len(e.Value) {
		return all
	}
	inner := sizeOf(e.Shape[axis+1:], len(e.Value))
	value := e.Value
	e.Shape, e.Value = slices.Clone(e.Shape), nil
	e.Shape[axis] = len(all)
	for block := range slices.Chunk(value, inner*len(places)) {
		for _, i := range kept {
			e.Value = append(e.Value, block[i*inner:(i+1)*inner]...)
		}
	}
	return all
}

// Check returns an error if no model could make the edit: the tap or the change is unknown, a
// number is NaN or infinite, the value does not have its shape, or something is given that the
// change does not use.
func (e Edit) Check() error {
	if !slices.Contains(EditableTaps(), e.Tap) {
		return pkg.Errorf("tap %.60q cannot be edited; %s", e.Tap,
			message.KnownAre(e.Tap, EditableTaps()))
	}
	if !slices.Contains(Changes(), e.Change) {
		return pkg.Errorf("edit of %s: change %.60q is unknown; %s", e, e.Change,
			message.KnownAre(e.Change, Changes()))
	}
	if len(e.Sources) > 0 && e.Tap != Attention {
		return pkg.Errorf("edit of %s: only %s has sources; take positions", e, Attention)
	}
	takesValue := e.Change != SetZero && e.Change != Scale
	if takesValue != (len(e.Value) > 0) || !takesValue && len(e.Shape) > 0 {
		return pkg.Errorf("edit of %s: the change %s and %d numbers of shape %v do not go "+
			"together; %s, %s and %s need a value, the others take none", e, e.Change,
			len(e.Value), e.Shape, SetValue, SetMean, AddValue)
	}
	takesFactor := e.Change == Scale || e.Change == AddValue
	if math.IsNaN(e.Factor) || math.IsInf(e.Factor, 0) || e.Factor != 0 && !takesFactor {
		return pkg.Errorf("edit of %s: the factor %v; want a finite number, and only for %s and %s",
			e, e.Factor, Scale, AddValue)
	}
	if e.Factor == 0 && e.Change == AddValue {
		return pkg.Errorf("edit of %s: 0 times the value is added, which changes nothing; "+
			"give a factor, such as 1", e)
	}
	if e.Factor == 0 && e.Change == Scale {
		return pkg.Errorf("edit of %s: the change %s has no factor; give one, or take %s for 0", e,
			Scale, SetZero)
	}
	return e.checkValue()
}

// checkValue checks the shape and the numbers of the value.
func (e Edit) checkValue() error {
	size := sizeOf(e.Shape, len(e.Value))
	if len(e.Value) > 0 && size != len(e.Value) || e.Change == SetMean && len(e.Shape) == 0 {
		return pkg.Errorf("edit of %s: %d numbers do not have the shape %v", e, len(e.Value),
			e.Shape)
	}
	for i, x := range e.Value {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return pkg.Errorf("edit of %s: number %d of the value is %v", e, i, x)
		}
	}
	return nil
}

// sizeOf returns how many numbers a shape has; -1 if there are more than most, or an axis is below
// 1.
func sizeOf(shape []int, most int) int {
	size := 1
	for _, n := range shape {
		if n < 1 || n > most/size {
			return -1
		}
		size *= n
	}
	return size
}

// From returns the edit with the value that another run had at its places: t is what that run
// recorded of the tap, [L,H,T,...] or [L,T,...]. It returns an error if t does not have them.
func (e Edit) From(t Tensor) (Edit, error) {
	places := [][]int{e.Layers, e.Heads, e.Positions, e.Sources}
	if len(t.Shape) == 3 {
		places = slices.Delete(places, 1, 2)
	}
	if len(t.Shape) != len(places) {
		return e, pkg.Errorf("edit of %s: what a run recorded has 3 or 4 axes, not %v", e, t.Shape)
	}
	if len(t.Data) == 0 || sizeOf(t.Shape, len(t.Data)) != len(t.Data) {
		return e, pkg.Errorf("edit of %s: the other run has %d numbers of shape %v; it needs "+
			"some, and as many as its shape says", e, len(t.Data), t.Shape)
	}
	e.Shape, e.Value = nil, []float32{}
	from := []int{0}
	for axis, all := range places {
		n := t.Shape[axis]
		if len(all) == 0 {
			for at := range n {
				all = append(all, at)
			}
		}
		var next []int
		for _, start := range from {
			for _, at := range all {
				if at < 0 {
					at += n
				}
				if at < 0 || at >= n || len(all) > n {
					return e, pkg.Errorf("edit of %s: the other run has the shape %v, and no "+
						"place %d on axis %d", e, t.Shape, at, axis)
				}
				next = append(next, start*n+at)
			}
		}
		e.Shape, from = append(e.Shape, len(all)), next
	}
	for _, at := range from {
		e.Value = append(e.Value, t.Data[at])
	}
	return e, nil
}

// EditError is an error in one of the edits that a model is to run under: it does not fit the model
// or the text.
type EditError struct {
	// Number is its place in the list, from 0.
	Number int
	// Err tells which edit it is and what is wrong.
	Err error
}

// Error implements error.
func (e *EditError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *EditError) Unwrap() error { return e.Err }

// CheckEdits returns an [EditError] with a [UsageError] for an edit that would change nothing in a
// text, of which ids are the tokens so far, nil if there is none: its layers leave its positions as
// they are, they have no such part, or no position sees a source. A layer or position that there is
// not is refused by the run.
func (i Info) CheckEdits(edits []Edit, ids []int) *EditError {
	for number, e := range edits {
		if e.Tap == Hidden || i.changes(e, ids) {
			continue
		}
		why := "no position that it names sees a source that it names"
		if i.EncoderLayers > 0 {
			why = "layers of the encoder work on the source alone, others on the target, and " +
				"those that attend to the target have no feed-forward part"
		}
		return &EditError{number, Usagef("edit of %s: it would change nothing: %s", e, why)}
	}
	return nil
}

// changes reports whether a layer of the edit has its tap at one of its positions, and, where it
// names sources, one that this position sees.
func (i Info) changes(e Edit, ids []int) bool {
	begin := i.TargetBegin(ids)
	if begin < 0 {
		begin = len(ids)
	}
	in := func(places []int, from, to int) (some []int) {
		if len(places) == 0 {
			return []int{from, to - 1}
		}
		for _, at := range places {
			if at < 0 {
				at += len(ids)
			}
			if at >= from && at < to {
				some = append(some, at)
			}
		}
		return some
	}
	layers := e.Layers
	if len(layers) == 0 {
		layers = []int{i.EncoderLayers - 1, i.EncoderLayers, i.EncoderLayers + 1}
	}
	for _, l := range layers {
		// What the layer works on, what it reads, and whether it reads what comes later, too.
		targets, sources := [2]int{0, math.MaxInt}, [2]int{0, math.MaxInt}
		both := i.Bidirectional
		if at := l - i.EncoderLayers; i.EncoderLayers > 0 {
			own := at >= 0 && at%2 == 0
			if own && e.Tap == FeedForwardOutput {
				continue
			}
			if at < 0 {
				targets[1] = begin
			} else {
				targets[0] = begin
			}
			if both = !own; own {
				sources[0] = begin
			} else {
				sources[1] = begin
			}
		}
		if e.Tap == KeyVector || e.Tap == Value {
			targets = sources
		}
		seen := in(e.Sources, sources[0], sources[1])
		for _, t := range in(e.Positions, targets[0], targets[1]) {
			if slices.ContainsFunc(seen, func(s int) bool {
				return both || s <= t || len(e.Sources) == 0
			}) {
				return true
			}
		}
	}
	return false
}

// Edited is what went wrong in a run under edits, with the first of them in the message.
func Edited(edits []Edit, err error) error {
	switch len(edits) {
	case 0:
		return err
	case 1:
		return fmt.Errorf("under the edit of %s: %w", edits[0], err)
	}
	return fmt.Errorf("under %d edits, the first of %s: %w", len(edits), edits[0], err)
}

// Editable is a model that runs under edits: [Ask.Edits] of its steps and [Query.Edits] of its
// predictions too.
type Editable interface {
	Model
	EditTracer
}

// EditTracer records tensors under edits: Run is [Tracer.Trace] with them.
type EditTracer interface {
	Run(ctx context.Context, ids []int, taps []Tap, edits []Edit) ([]Tensor, error)
}
