package engine

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// assembler builds an explanation from events.
type assembler struct {
	options attribution.Options
	name    string // as the caller wrote it
	e       *attribution.Explanation
	// growing is the map whose data is coming, of the method of that name.
	growing     *attribution.Map
	growingName string
}

// take adds one event.
func (a *assembler) take(ev *Event) error {
	if ev.Progress != nil && a.options.OnProgress != nil {
		a.options.OnProgress(*ev.Progress)
	}
	if ev.Begin != nil {
		a.begin(ev.Begin)
	}
	if a.e == nil && (ev.Method != nil || ev.Row != nil || ev.Map != nil || ev.Tokens != nil || ev.Step || ev.Done) {
		return fmt.Errorf("engine: it sent results before it began")
	}
	if ev.Method != nil {
		a.method(ev.Method)
	}
	if ev.Row != nil {
		if err := a.row(ev.Row); err != nil {
			return err
		}
	}
	if ev.Map != nil {
		a.startMap(ev.Map)
	}
	if len(ev.MapPart) > 0 {
		if err := a.growMap(ev.MapPart); err != nil {
			return err
		}
	}
	if a.e != nil {
		a.tokens(ev.Tokens)
		if ev.Warnings != nil {
			a.e.Warnings = ev.Warnings
		}
	}
	if ev.Step && a.options.OnStep != nil {
		a.options.OnStep(a.e)
	}
	return nil
}

// tokens appends tokens. Gob does not tell an empty slice from nil, nor a pointer to 0.
func (a *assembler) tokens(tokens []attribution.GeneratedToken) {
	for _, t := range tokens {
		if t.Alternatives == nil {
			t.Alternatives = []attribution.Alternative{}
		}
		if t.Position == nil && a.e.Model.Bidirectional {
			t.Position = new(int)
		}
		a.e.Steps = append(a.e.Steps, t)
	}
}

// begin starts the explanation. A name of a model that is a path stays as the caller wrote it: absolute paths are no
// business of a picture.
func (a *assembler) begin(b *Begin) {
	a.e = &attribution.Explanation{
		Version: attribution.Version, Model: b.Model, Prompt: b.Prompt, Order: b.Order,
		Steps: []attribution.GeneratedToken{}, Methods: map[string]*attribution.Result{},
		OtherMass: map[string][]float64{}, Warnings: []string{},
	}
	if absolute(a.name) != a.name {
		a.e.Model.Name = a.name
	}
}

// method starts a result, with no rows.
func (a *assembler) method(m *Method) {
	a.e.Methods[m.Name] = &attribution.Result{
		Options: m.Options, Layers: m.Layers, Unit: m.Unit,
		Shape: [3]int{0, m.Prompt, len(m.Layers)}, Data: []float64{},
	}
	a.e.OtherMass[m.Name] = []float64{}
}

// row appends a row to its result.
func (a *assembler) row(w *Row) error {
	r := a.e.Methods[w.Method]
	if r == nil {
		return fmt.Errorf("engine: it sent a row of %q, which it did not begin", w.Method)
	}
	if want := r.Shape[1] * r.Shape[2]; len(w.Data) != want {
		return fmt.Errorf("engine: it sent a row of %q with %d values, want %d", w.Method, len(w.Data), want)
	}
	r.Data = append(r.Data, w.Data...)
	r.Shape[0]++
	r.Explained, r.Residue = append(r.Explained, w.Explained...), append(r.Residue, w.Residue...)
	if len(w.Other) > 0 {
		a.e.OtherMass[w.Method] = append(a.e.OtherMass[w.Method], w.Other...)
	}
	return nil
}

// startMap starts a map, without data.
func (a *assembler) startMap(m *Map) {
	a.growingName, a.growing = m.Name, &attribution.Map{
		Options: m.Options, Layers: m.Layers, Unit: m.Unit, Shape: [3]int{len(m.Layers), m.Tokens, m.Tokens},
	}
}

// growMap appends to the latest map, which becomes part of the explanation when it is whole.
func (a *assembler) growMap(part []float64) error {
	if a.growing == nil {
		return fmt.Errorf("engine: it sent %d values that belong to no map", len(part))
	}
	a.growing.Data = append(a.growing.Data, part...)
	s := a.growing.Shape
	switch have, want := len(a.growing.Data), s[0]*s[1]*s[2]; {
	case have > want:
		return fmt.Errorf("engine: it sent a map of %q with %d values, want %d", a.growingName, have, want)
	case have < want:
		return nil
	}
	if a.e.Maps == nil {
		a.e.Maps = map[string]*attribution.Map{}
	}
	a.e.Maps[a.growingName], a.growing = a.growing, nil
	return nil
}

// tensors builds tensors from events.
type tensors struct {
	tokens []trace.Token
	list   []trace.Tensor
}

// take adds one event.
func (t *tensors) take(ev *Event) error {
	if ev.Input != nil {
		t.tokens = ev.Input
	}
	if h := ev.Tensor; h != nil {
		t.list = append(t.list, trace.Tensor{Name: h.Name, Axes: h.Axes, Shape: h.Shape})
	}
	if len(ev.Piece) == 0 {
		return nil
	}
	if len(t.list) == 0 || len(ev.Piece)%4 != 0 {
		return fmt.Errorf("engine: it sent %d bytes that belong to no tensor", len(ev.Piece))
	}
	last := &t.list[len(t.list)-1]
	for b := ev.Piece; len(b) > 0; b = b[4:] {
		last.Data = append(last.Data, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return nil
}

// complete checks that every tensor has arrived whole.
func (t *tensors) complete(want int) error {
	if len(t.list) != want {
		return fmt.Errorf("engine: it sent %d tensors, want %d", len(t.list), want)
	}
	for _, x := range t.list {
		n := 1
		for _, size := range x.Shape {
			n *= size
		}
		if n != len(x.Data) {
			return fmt.Errorf("engine: tensor %q has %d values, its shape %v says %d", x.Name, len(x.Data), x.Shape, n)
		}
	}
	return nil
}
