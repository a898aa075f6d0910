package certificate

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Record returns what m computes on texts of one length, as the tensors of a [golden.Golden]: of a
// model that is trusted, to hold later versions, other backends and other programs to. steps is how
// many tokens a decoder adds to the first text; it stops at end-of-text. It returns an error for
// texts of several lengths and for those that m cannot take.
func Record(ctx context.Context, m *models.Model, texts [][]int, steps int) (
	[]checkpoint.Tensor, error,
) {
	if len(texts) == 0 || slices.ContainsFunc(texts,
		func(ids []int) bool { return len(ids) != len(texts[0]) }) {
		return nil, pkg.Errorf("a golden is made of texts of one length")
	}
	info := m.Info()
	taps := []trace.Tap{trace.Attention, trace.Hidden, trace.Final, trace.Logits}
	if info.Head == trace.NoHead {
		taps = taps[:3]
	}
	recorded, err := m.Forward(ctx, transformer.Batch{IDs: texts}, taps)
	if err != nil {
		return nil, err
	}
	var ids []int32
	for _, text := range texts {
		ids = append(ids, narrow(text)...)
	}
	b := len(texts)
	out := []checkpoint.Tensor{{Name: "input_ids", Shape: []int{b, len(texts[0])}, Data: ids}}
	for l := range info.Layers {
		out = append(out, gathered(fmt.Sprintf("attn.%d", l), recorded, 0, l),
			gathered(fmt.Sprintf("hidden.%d", l), recorded, 1, l))
	}
	out = append(out, gathered(fmt.Sprintf("hidden.%d", info.Layers), recorded, 2, -1))
	if len(taps) == 4 {
		out = append(out, gathered("logits", recorded, 3, -1))
	}
	if info.Head == trace.NextToken && steps > 0 {
		greedy := slices.Clone(texts[0])
		for step, err := range m.Steps(ctx, texts[0], trace.Ask{MaxTokens: steps}) {
			if err != nil {
				return nil, err
			}
			if step.Next.Stop {
				break
			}
			greedy = append(greedy, step.Next.Token.ID)
		}
		out = append(out, checkpoint.Tensor{
			Name: "greedy", Shape: []int{1, len(greedy)},
			Data: narrow(greedy),
		})
	}
	return out, nil
}

// gathered puts tensor k of every text, or layer l of it, into one array with the texts first.
func gathered(name string, texts [][]trace.Tensor, k, l int) checkpoint.Tensor {
	shape := texts[0][k].Shape
	if l >= 0 {
		shape = shape[1:]
	}
	var data []float32
	for _, ts := range texts {
		part := ts[k].Data
		if l >= 0 {
			part = layer(ts[k], l)
		}
		data = append(data, part...)
	}
	return checkpoint.Tensor{Name: name, Shape: append([]int{len(texts)}, shape...), Data: data}
}

// narrow returns ids as they are stored.
func narrow(ids []int) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id) //nolint:gosec // below the size of the vocabulary
	}
	return out
}
