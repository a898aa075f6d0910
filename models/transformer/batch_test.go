package transformer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// batchTol bounds what a text's neighbours and padding may change: sums run in another order.
// Worst seen 6e-6.
const batchTol = 1e-5

// allTaps are those that a model has.
func allTaps(s *spec.Spec) []trace.Tap {
	return slices.DeleteFunc(slices.Clone(trace.Taps()), func(tap trace.Tap) bool {
		return tap == trace.Logits && s.Head == spec.NoHead ||
			s.Mixture == nil && (tap == trace.Router || tap == trace.Experts) ||
			s.Encoder == 0 && tap == trace.EncoderOutput ||
			s.Order == spec.Parallel && tap == trace.HiddenAfterAttention
	})
}

// threeTexts are parts of a golden's ids, of different lengths that its rotation treats alike.
func (g *golden) threeTexts() [][]int {
	most := len(g.ids)
	if r := g.model.Spec.Rotary; r != nil && r.Original > 0 && (r.Stretch > 0 ||
		r.LongFrequencies != nil) {
		most = min(most, r.Original)
	}
	return [][]int{g.ids[2:most], g.ids[:most], g.ids[most-3 : most]}
}

// TestBatch: each of three texts gets what it gets alone, whichever side is padded.
func TestBatch(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		wanted := allTaps(g.model.Spec)
		texts := g.threeTexts()
		for _, left := range []bool{false, true} {
			if left && g.model.Spec.Bidirectional {
				continue
			}
			out, err := g.model.Forward(context.Background(),
				transformer.Batch{IDs: texts, PadLeft: left}, wanted)
			must(t, err)
			for i, ids := range texts {
				alone, err := g.model.Trace(context.Background(), ids, wanted)
				must(t, err)
				for k, want := range alone {
					where := fmt.Sprintf("left=%v text %d %s", left, i, want.Name)
					got := out[i][k]
					if got.Name != want.Name || got.Axes != want.Axes || !slices.Equal(got.Shape,
						want.Shape) {
						t.Fatalf("%s: %s %s %v, want %s %s %v", where, got.Name, got.Axes,
							got.Shape, want.Name, want.Axes, want.Shape)
					}
					check(t, where, got.Data, want.Data, batchTol)
				}
			}
		}
	})
}

// TestBatchOfTypes: token types belong to their text, and change what it computes.
func TestBatchOfTypes(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		if g.model.Spec.TokenTypes < 2 {
			t.Skip("there is one type of token at most")
		}
		texts, ctx, wanted := g.threeTexts(), context.Background(), []trace.Tap{trace.Hidden}
		var types [][]int
		for _, ids := range texts {
			kinds := make([]int, len(ids))
			for k := range kinds {
				kinds[k] = k % 2
			}
			types = append(types, kinds)
		}
		out, err := g.model.Forward(ctx, transformer.Batch{IDs: texts, Types: types}, wanted)
		must(t, err)
		for i, ids := range texts {
			alone, err := g.model.Forward(ctx,
				transformer.Batch{IDs: [][]int{ids}, Types: types[i : i+1]}, wanted)
			must(t, err)
			check(t, fmt.Sprintf("text %d", i), out[i][0].Data, alone[0][0].Data, batchTol)
			plain, err := g.model.Trace(ctx, ids, wanted)
			must(t, err)
			if d, _ := worst(alone[0][0].Data, plain[0].Data); d < 0.01 {
				t.Errorf("text %d: types move hidden states by %g only, so the test proves nothing",
					i, d)
			}
		}
	})
}

// TestTypes: with every token of type 1, rows, logits, predictions and gradients are those of a
// model whose two types have changed places.
func TestTypes(t *testing.T) {
	ctx := context.Background()
	g := openGolden(t, "bert_qa")
	other := g.changed(t, func(name string, data []float32) {
		if name == "token-types" {
			half := len(data) / 2
			first := slices.Clone(data[:half])
			copy(data, data[half:])
			copy(data[half:], first)
		}
	})
	ones := slices.Repeat([]int{1}, len(g.ids))
	taps := []trace.Tap{trace.ValueZeroing, trace.Logits}
	got, err := g.model.Forward(ctx, transformer.Batch{
		IDs: [][]int{g.ids}, Types: [][]int{ones},
	}, taps)
	must(t, err)
	want, err := other.Trace(ctx, g.ids, taps)
	must(t, err)
	plain, err := g.model.Trace(ctx, g.ids, taps)
	must(t, err)
	for k := range taps {
		check(t, string(taps[k]), got[0][k].Data, want[k].Data, tapTol)
		if d, _ := worst(got[0][k].Data, plain[k].Data); d < 1e-3 {
			t.Errorf("%s: the types change nothing", taps[k])
		}
	}
	q := g.logitQuery(4, 1)
	other64, err := other.Gradients(ctx, []trace.Query{q}, trace.TrueGradient)
	must(t, err)
	q.Types = ones
	typed, err := g.model.Gradients(ctx, []trace.Query{q, g.logitQuery(4, 1)}, trace.TrueGradient)
	must(t, err)
	check(t, "gradient", typed[0].Data, other64[0].Data, tapTol)
	if d := typed[0].Value - other64[0].Value; d > valueTol || d < -valueTol {
		t.Errorf("the value is %v, want %v", typed[0].Value, other64[0].Value)
	}
	if d, _ := worst(typed[1].Data, typed[0].Data); d < 1e-4 {
		t.Error("a text without types has those of its neighbour in the batch")
	}
}

func TestBatchRefusals(t *testing.T) {
	forward := func(name string, b transformer.Batch, taps ...trace.Tap) error {
		_, err := openGolden(t, name).model.Forward(context.Background(), b, taps)
		return err
	}
	two := [][]int{{5, 6}, {7}}
	many := make([][]int, 64)
	for i := range many {
		many[i] = make([]int, 4096)
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"empty", forward("gpt2", transformer.Batch{}, trace.Logits), "transformer: the batch has no texts"},
		{"empty text", forward("gpt2", transformer.Batch{IDs: [][]int{{5}, {}}}, trace.Logits), "text 1: transformer: there are no tokens"},
		{"id of a text", forward("gpt2", transformer.Batch{IDs: [][]int{{5}, {5, 96}}},
			trace.Logits), "text 1: transformer: id 96 of token 1 is outside"},
		{"padding", forward("bert", transformer.Batch{IDs: two, PadLeft: true}, trace.Hidden), "bert has an encoder: pad its texts on the right"},
		{"types of texts", forward("bert", transformer.Batch{IDs: two, Types: [][]int{{0, 0}}}, trace.Hidden), "token types of 1 texts for 2"},
		{"types of tokens", forward("bert", transformer.Batch{
			IDs:   two,
			Types: [][]int{{0, 0}, {0, 0}},
		}, trace.Hidden), "text 1: 2 token types for 1 tokens"},
		{"type", forward("bert", transformer.Batch{IDs: two, Types: [][]int{{0, 2}, {0}}}, trace.Hidden), "text 0: type 2 of token 1 is not in 0..1"},
		{"no types", forward("gpt2", transformer.Batch{IDs: two, Types: [][]int{{0, 0}, {0}}}, trace.Hidden), "type 0 of token 0 is not in 0..-1"},
		{
			"no head", forward("bert_bare", transformer.Batch{IDs: two}, trace.Logits),
			"the bert model has no head, so there are no logits; take final",
		},
		{"memory", forward("bloom", transformer.Batch{IDs: many}, trace.Attention), "GB, the limit is 8.6 GB"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, c.err, c.want)
		}
	}
}
