package trace

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

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
	// sources. Taps without heads have no such axis. For [SetMean] one more axis comes first, over
	// which the mean is taken. Where text is generated, axes of positions and sources that the edit
	// does not name have the size 1.
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

// String names the place of the edit: "head-output at layers [3], heads [1]".
func (e Edit) String() string {
	var places []string
	for _, axis := range []struct {
		name string
		at   []int
	}{{"layers", e.Layers}, {"heads", e.Heads}, {"positions", e.Positions},
		{"sources", e.Sources}} {
		if len(axis.at) > 0 {
			places = append(places, fmt.Sprintf("%s %.60s", axis.name, fmt.Sprint(axis.at)))
		}
	}
	if places == nil {
		places = []string{"all places"}
	}
	return fmt.Sprintf("%.60s at %s", e.Tap, strings.Join(places, ", "))
}

// Check returns an error if no model could make the edit: the tap or the change is unknown, a
// number is NaN or infinite, the value does not have its shape, or something is given that the
// change does not use.
func (e Edit) Check() error {
	if !slices.Contains(EditableTaps(), e.Tap) {
		return pkg.Errorf("tap %.60q cannot be edited; %s", e.Tap, knownAre(e.Tap, EditableTaps()))
	}
	if !slices.Contains(Changes(), e.Change) {
		return pkg.Errorf("edit of %s: change %.60q is unknown; %s", e, e.Change,
			knownAre(e.Change, Changes()))
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

// knownAre lists names beside one that is unknown.
func knownAre[T ~string](name T, known []T) string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	return message.KnownAre(string(name), names)
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
	// Run is [Tracer.Trace] under edits.
	Run(ctx context.Context, ids []int, taps []Tap, edits []Edit) ([]Tensor, error)
}
