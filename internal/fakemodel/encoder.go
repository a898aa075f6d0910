package fakemodel

import (
	"context"
	"iter"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Encoder is a [Model] that reads: every target sees every source, and at position t it predicts
// word t+1, modulo the number of words. Without positions it explains each "?", or the first token
// for heads other than masked-token.
type Encoder struct {
	*Model
	// Spoil may change step i.
	Spoil func(i int, s *trace.Step)
}

// NewEncoder returns an encoder whose texts are put between <bos> and <end>, both special.
func NewEncoder(layers int, attention func(t, s int) float64) *Encoder {
	f := New(layers, attention)
	f.Words = append(f.Words, "<end>", "?")
	f.About.Bidirectional, f.About.Head, f.About.Name = true, trace.MaskedToken, "reader"
	return &Encoder{Model: f}
}

// Encode returns the words of text, between <bos> and <end> unless specials are off.
func (f *Encoder) Encode(text string, specials trace.Specials) ([]trace.Token, error) {
	tokens, err := f.Model.Encode(text, trace.SpecialsOff)
	if err != nil || specials >= trace.SpecialsOff {
		return tokens, err
	}
	end := len(f.Words) - 2
	tokens = append([]trace.Token{{Text: "<bos>", Special: true}}, tokens...)
	return append(tokens, trace.Token{ID: end, Text: "<end>", Special: true}), nil
}

// Steps predicts at each position.
func (f *Encoder) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	*f.Asked = ask
	return func(yield func(trace.Step, error) bool) {
		positions := ask.Positions
		for i, id := range ids {
			if len(ask.Positions) == 0 && f.About.Head == trace.MaskedToken && f.Words[id] == "?" {
				positions = append(positions, i)
			}
		}
		if len(positions) == 0 && f.About.Head == trace.MaskedToken {
			yield(trace.Step{}, pkg.Errorf("reader fills in missing tokens, and the text has no ?"))
			return
		}
		if len(positions) == 0 {
			positions = []int{0}
		}
		for i, at := range positions {
			if err := ctx.Err(); err != nil {
				yield(trace.Step{}, err)
				return
			}
			id := (at + 1) % len(f.Words)
			token := trace.Token{ID: id, Text: f.Words[id]}
			step := trace.Step{First: len(ids), Next: &trace.Prediction{
				Token: token, Position: at, Probability: 0.5, Class: f.About.Head == trace.Classes,
				Unscored:     f.About.Head == trace.NoHead,
				Alternatives: []trace.Alternative{{Token: token, Probability: 0.5}},
			}}
			if i == 0 {
				step.First, step.Count = 0, len(ids)
				for _, a := range ask.Mixings {
					step.Rows = append(step.Rows, f.all(a, len(ids)))
				}
			}
			if f.Spoil != nil {
				f.Spoil(i, &step)
			}
			if !yield(step, nil) {
				return
			}
		}
	}
}

// all returns the rows of T targets over T sources.
func (f *Encoder) all(ask trace.MixingAsk, T int) trace.Rows {
	r := trace.Rows{L: f.About.Layers, H: 1, N: T, S: T}
	for l := range r.L {
		for i := range T * T {
			r.Data = append(r.Data, float32(f.Row(ask, l, i/T, i%T)))
		}
	}
	return r
}

// Tensor returns the rows for T tokens, [L,T,T].
func (f *Encoder) Tensor(name string, heads trace.Heads, T int) trace.Tensor {
	return trace.Tensor{
		Name: name, Shape: []int{f.About.Layers, T, T},
		Data: f.all(trace.MixingAsk{Name: name, Heads: heads}, T).Data,
	}
}
