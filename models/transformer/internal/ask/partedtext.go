package ask

import (
	"context"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// keptPartsMost is how many bytes of parts of values a model keeps: 1 GiB, which are 192 tokens of
// SmolLM2-135M. Every token of a longer text is a pass of its own.
const keptPartsMost = 1 << 30

// PartedText is a text that a decoder goes on with, and what the parts of further tokens need.
type PartedText struct {
	// Session has the tokens, and their keys and values; nil if nothing is kept.
	Session *run.Session
	// values are the parts of the values of each layer, [G,slots,slots,E]: sources by owners.
	values []*tensors.Tensor
}

// keptParts is what a pass over the text up to the query's target needs that keeps the parts of the
// values. KeptParts is 0 if they are not kept: the model is for no text or has two stacks, the text
// does not grow token by token, or they are more than [keptPartsMost] or than the pass may take.
func keptParts(m *run.Model, t *PartedText, q trace.Query) run.Need {
	n := run.Need{Tokens: q.Position + 1, Parts: true, KeptParts: q.Position + 1}
	if t == nil || m.Spec.Encoder > 0 || run.CheckGenerates(m.Spec) != nil || q.Types != nil ||
		q.Embeddings != nil ||
		run.TurnedByLength(m.Spec, len(q.IDs)) != nil || m.Estimate(n) > m.Limit() ||
		run.KeptPartsBytes(m.Spec, n.Tokens) > keptPartsMost {
		n.KeptParts = 0
	}
	return n
}

// cut shortens the text to what it has in common with the query's tokens before the target, and
// reports whether that is at least half of them.
func (t *PartedText) cut(q trace.Query) bool {
	if t.Session == nil {
		return false
	}
	n, have := 0, run.TokensOf(t.Session)
	for n < min(len(have), q.Position) && have[n] == q.IDs[n] {
		n++
	}
	return 2*n >= q.Position && t.Session.Cut(n) == nil
}

// begin makes t a text of which a pass adds the layers.
func (t *PartedText) begin(m *run.Model, ids []int) {
	t.Free()
	t.Session = run.StartText(m, ids)
}

// Free ends the text. A nil t has none.
func (t *PartedText) Free() {
	if t != nil && t.Session != nil {
		t.Session.Close()
		host.Free(t.values...)
		t.Session, t.values = nil, nil
	}
}

// valuesOf returns the parts of the values of layer l with room for so many tokens.
func (t *PartedText) valuesOf(m *run.Model, l, slots int) (*tensors.Tensor, error) {
	if l == len(t.values) {
		empty, err := m.Machine.Zeros(m.Spec.Groups(), slots, slots, m.Spec.ValueWidth())
		if err == nil {
			t.values = append(t.values, empty)
		}
		return empty, err
	}
	old := t.values[l]
	if old.Shape().Dimensions[1] < slots {
		grown, err := resizedParts(m, old, slots)
		if err != nil {
			return nil, err
		}
		host.Free(old)
		t.values[l] = grown
	}
	return t.values[l], nil
}

// resizedParts returns parts of values, [G,slots,slots,E], with so many slots: with zeros, or
// without the last ones.
func resizedParts(m *run.Model, old *tensors.Tensor, slots int) (*tensors.Tensor, error) {
	dims := old.Shape().Dimensions
	groups, had, width := dims[0], dims[1], dims[3]
	n := min(had, slots)
	return m.Machine.FilledFrom(old, []int{groups, slots, slots, width}, func(to, from []float32) {
		for g := range groups {
			host.CopySlots(to[g*slots*slots*width:][:n*slots*width],
				from[g*had*had*width:][:n*had*width], n, n*width)
		}
	})
}

// goOn carries the parts of the tokens that the kept text does not have yet, each in a step on the
// cache.
func (p *partedPass) goOn(ctx context.Context) (parts []float64, rest float64, err error) {
	s := p.text.Session
	defer run.EachLayer(s, nil)
	for at := s.Length(); ; at++ {
		next := &partedPass{m: p.m, q: p.q, text: p.text, length: at + 1, first: at, owners: at + 1}
		next.q.IDs, next.q.Position = p.q.IDs[:at+1], at
		var final *tensors.Tensor
		run.EachLayer(s, func(step *run.LayerStep, past []*tensors.Tensor) (err error) {
			if step.Layer == 0 {
				if err := host.Read(step.In, next.embedded); err != nil {
					return err
				}
			}
			if step.Layer == p.m.Spec.Layers-1 {
				final, err = p.m.Machine.FilledFrom(step.Out, step.Out.Shape().Dimensions,
					func(to, from []float32) { copy(to, from) })
				if err != nil {
					return err
				}
			}
			return next.layer(ctx, step, past)
		})
		_, err := s.Step(ctx, p.q.IDs[at])
		if err == nil && at == p.q.Position {
			parts, rest, err = next.head(p.m.TextInputs(next.q.IDs[at:]), final, 0)
		}
		host.Free(final)
		if err != nil || at == p.q.Position {
			return parts, rest, err
		}
	}
}
