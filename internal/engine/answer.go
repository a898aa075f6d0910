package engine

import (
	"encoding/binary"
	"math"

	"github.com/headwater-ml/headwater/attribution"
	_ "github.com/headwater-ml/headwater/attribution/study" // what they find is read
	"github.com/headwater-ml/headwater/attribution/trace"
)

// explaining is an explanation that grows with the events of an engine.
type explaining struct {
	options attribution.Options
	name    string // of the model, as the caller wrote it
	path    string // of the model, as the engine got it
	e       *attribution.Explanation
}

// add adds one event.
func (x *explaining) add(ev *Event) error {
	if ev.Progress != nil && x.options.OnProgress != nil {
		x.options.OnProgress(*ev.Progress)
	}
	if ev.Explanation != nil {
		if err := ev.Explanation.ReadStudies(); err != nil {
			return pkg.Errorf("the engine sent %w", err)
		}
		if err := x.grow(ev.Explanation); err != nil {
			return err
		}
	}
	for t, found := range ev.Findings {
		if x.e == nil || t < 0 || t >= len(x.e.Steps) {
			return pkg.Errorf("the engine sent what was found of token %d, which it did not send",
				t)
		}
		x.e.Steps[t].Studies = found
	}
	if len(ev.Findings) > 0 {
		if err := x.e.ReadStudies(); err != nil {
			return pkg.Errorf("the engine sent %w", err)
		}
	}
	if x.e == nil && (ev.Step || ev.Done) {
		return pkg.Errorf("the engine sent no explanation before the first token or the end")
	}
	if ev.Step && x.options.OnStep != nil {
		x.options.OnStep(x.e)
	}
	return nil
}

// grow appends the tokens, rows and maps of part, and takes what studies found of the text.
func (x *explaining) grow(part *attribution.Explanation) error {
	if x.e == nil {
		x.e = x.begin(part)
	}
	for _, t := range part.Steps {
		if t.Alternatives == nil { // gob does not tell an empty slice from nil
			t.Alternatives = []attribution.Alternative{}
		}
		if t.Position == nil && x.e.Model.Reads() && !x.e.Model.MeanPooled { // nor a pointer to 0
			t.Position = new(int)
		}
		x.e.Steps = append(x.e.Steps, t)
	}
	for name, rows := range part.Methods {
		r := x.e.Methods[name]
		if r == nil {
			return pkg.Errorf("the engine sent rows of %q, which it did not begin", name)
		}
		r.Shape[0] += rows.Shape[0]
		r.Rows = append(r.Rows, rows.Rows...)
		if err := r.Check(len(x.e.Prompt.Texts)); err != nil {
			return pkg.Errorf("the engine sent rows of %q: %w", name, err)
		}
		r.Shown = append(r.Shown, rows.Shown...)
		r.Explained = append(r.Explained, rows.Explained...)
		r.Residue = append(r.Residue, rows.Residue...)
		r.OtherMass = append(r.OtherMass, rows.OtherMass...)
	}
	for name, m := range part.Maps {
		if want := m.Shape[0] * m.Shape[1] * m.Shape[2]; len(m.Data) != want {
			return pkg.Errorf("the engine sent a map of %q with %d values, want %d",
				name, len(m.Data), want)
		}
		if x.e.Maps == nil {
			x.e.Maps = map[string]*attribution.Map{}
		}
		x.e.Maps[name] = m
	}
	for name, found := range part.Studies {
		x.e.Studies.Set(name, found)
	}
	x.e.Warnings = append([]string{}, part.Warnings...)
	return nil
}

// begin returns an explanation without tokens that has everything else of the first part. If the
// model's name is a path, it stays as the caller wrote it, so that no picture has an absolute path.
func (x *explaining) begin(first *attribution.Explanation) *attribution.Explanation {
	e := &attribution.Explanation{
		Version: attribution.Version, Model: first.Model, Prompt: first.Prompt, Order: first.Order,
		Steps: []attribution.GeneratedToken{}, Methods: map[string]*attribution.Result{},
		Origin: first.Origin, Edited: first.Edited, Edits: first.Edits,
	}
	for name, r := range first.Methods {
		e.Methods[name] = &attribution.Result{
			Options: r.Options, Facts: r.Facts, Layers: r.Layers, Unit: r.Unit,
			Shape: [3]int{0, r.Shape[1], r.Shape[2]}, Rows: [][]float64{},
			OtherMass: []float64{}, Shown: []int{},
		}
	}
	if x.path != x.name {
		e.Model.Name = x.name
	}
	return e
}

// tracing is the tensors that have arrived from an engine.
type tracing struct {
	onProgress func(trace.Progress)
	tokens     []trace.Token
	tensors    []trace.Tensor
}

// add adds one event.
func (x *tracing) add(ev *Event) error {
	if ev.Progress != nil && x.onProgress != nil {
		x.onProgress(*ev.Progress)
	}
	if ev.Input != nil {
		x.tokens = ev.Input
	}
	if ev.Tensor != nil {
		x.tensors = append(x.tensors, *ev.Tensor)
	}
	if len(ev.Piece) == 0 {
		return nil
	}
	if len(x.tensors) == 0 || len(ev.Piece)%4 != 0 {
		return pkg.Errorf("the engine sent %d bytes that belong to no tensor", len(ev.Piece))
	}
	last := &x.tensors[len(x.tensors)-1]
	for b := ev.Piece; len(b) > 0; b = b[4:] {
		last.Data = append(last.Data, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return nil
}

// check returns an error unless n tensors have arrived completely.
func (x *tracing) check(n int) error {
	if len(x.tensors) != n {
		return pkg.Errorf("the engine sent %d tensors, want %d", len(x.tensors), n)
	}
	for _, t := range x.tensors {
		size := 1
		for _, s := range t.Shape {
			size *= s
		}
		if size != len(t.Data) {
			return pkg.Errorf("tensor %q has %d values, its shape %v says %d",
				t.Name, len(t.Data), t.Shape, size)
		}
	}
	return nil
}
