package transformer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// gpt2Medium has 24 layers of 16 heads; only its sizes matter.
var gpt2Medium = spec.Spec{
	Layers: 24, Heads: 16, Width: 1024, HeadWidth: 64,
	FeedForward: 4096, Vocab: 50257,
}

// Attention of 4,096 tokens is 4·L·H·T² bytes, 25.8 GB, on the host; a layer at a time, 1/L of
// that, is on the device with four more.
func TestEstimate(t *testing.T) {
	m := transformer.ForSizes(&gpt2Medium)
	const layer = 4 * 16 * 4096 * 4096
	for _, c := range []struct {
		name     string
		need     transformer.Need
		min, max int64
	}{
		{"attention", transformer.Need{Tokens: 4096, Taps: []trace.Tap{trace.Attention}}, (24 + 5) * layer, (24 + 6) * layer},
		{"head mean", transformer.Need{
			Tokens: 4096,
			Asks: []trace.MixingAsk{{
				Name:    "attention",
				AllRows: true,
			}},
		}, (1 + 4) * layer, (3 + 4) * layer},
		{"last row", transformer.Need{Tokens: 4096, Asks: []trace.MixingAsk{{Name: "attention"}}}, 4 * layer, 5 * layer},
		{
			"each head",
			transformer.Need{
				Tokens: 4096,
				Asks: []trace.MixingAsk{{
					Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead},
					AllRows: true,
				}},
			},
			(24 + 5) * layer, (24 + 6) * layer,
		},
		{"terms", transformer.Need{Tokens: 4096, Taps: []trace.Tap{trace.Terms}}, (3*24 + 7) * layer, (3*24 + 8) * layer},
		{
			"what heads add", // an array [T,D] for each of 16 heads is a quarter of a layer
			transformer.Need{Tokens: 4096, Taps: []trace.Tap{trace.HeadAdded}},
			(24/4 + 4) * layer, (24/4 + 5) * layer,
		},
		{"tiles", transformer.Need{
			Tokens: 16,
			Asks: []trace.MixingAsk{{
				Name:    "value-zeroing",
				AllRows: true,
			}},
		}, 4 * 16 * 32 * (2*4096 + 2*1024), 24 << 20},
		{"a cache", transformer.Need{Tokens: 1, Slots: 1000}, 2 * 4 * 24 * 1000 * 1024, 2*4*24*1000*1024 + 1<<20},
		{
			"rows that are combined",
			transformer.Need{
				Tokens: 4096, Slots: 1,
				Asks: []trace.MixingAsk{{Name: "attention", AllRows: true}},
			},
			8 * 24 * layer / 16, 8*24*layer/16 + layer,
		},
		{"two texts", transformer.Need{Tokens: 4096, Texts: 2, Taps: []trace.Tap{trace.Attention}}, 2 * (24 + 5) * layer, 2 * (24 + 6) * layer},
		{"logits", transformer.Need{Tokens: 16, Taps: []trace.Tap{trace.Logits}}, 2 * 4 * 16 * 50257, 2*4*16*50257 + 8<<20},
		{"a text of more tokens than there are", transformer.Need{Tokens: 1 << 60, Taps: []trace.Tap{trace.Attention}}, 1 << 62, 1 << 62},
	} {
		if got := m.Estimate(c.need); got < c.min || got > c.max {
			t.Errorf("%s: Estimate = %d, want %d to %d", c.name, got, c.min, c.max)
		}
	}
}

// TestEstimateOfWideHeads: keys that are together wider than the stream count by their own width.
func TestEstimateOfWideHeads(t *testing.T) {
	s := gpt2Medium
	s.HeadWidth *= 4
	m := transformer.ForSizes(&s)
	plain := m.Estimate(transformer.Need{Tokens: 4096})
	const keys = 4 * 16 * 4096 * 256 // of a layer
	got := m.Estimate(transformer.Need{Tokens: 4096, Taps: []trace.Tap{trace.KeyVector}}) - plain
	if got != (24+1)*keys {
		t.Errorf("keys take %d bytes, want those of 24 layers and of one on the device, %d", got,
			(24+1)*keys)
	}
	edits := func(tap trace.Tap, numbers int) [][]trace.Edit {
		return [][]trace.Edit{{{Tap: tap, Value: make([]float32, numbers)}}}
	}
	edited := transformer.Need{Tokens: 4096, Edits: edits(trace.KeyVector, 0)}
	if got := m.Estimate(edited) - plain; got != 2*keys {
		t.Errorf("an edit of keys takes %d bytes, want %d", got, 2*keys)
	}
	edited.Edits = edits(trace.KeyVector, 1000)
	if got := m.Estimate(edited) - plain; got != 2*keys+4000 {
		t.Errorf("an edit of keys with 1,000 numbers takes %d bytes, want %d", got, 2*keys+4000)
	}
	shared := slices.Clone(edited.Edits[0])
	shared[0].Value = shared[0].Value[300:]
	edited.Edits = append([][]trace.Edit{shared}, edited.Edits...)
	if got := m.Estimate(edited) - plain; got != 2*keys+4000 {
		t.Errorf("700 shared numbers are counted twice: %d bytes", got)
	}
	// The step after a short prompt has a row of attention over all slots, to keep and to add, on
	// the host and on the device.
	short := transformer.Need{Tokens: 1, Slots: 4096}
	plain = m.Estimate(short)
	short.Edits = edits(trace.Attention, 0)
	if got := m.Estimate(short) - plain; got != 4*4*16*4096 {
		t.Errorf("an edit of attention takes %d bytes in a step, want %d", got, 4*4*16*4096)
	}
}

// A refusal says how much, of what limit, and what would do.
func TestMemoryError(t *testing.T) {
	g := openGolden(t, "bloom")
	g.model.MaxBytes = 1 << 20
	ids := make([]int, 200)
	_, err := g.model.Trace(context.Background(), ids, []trace.Tap{trace.Attention})
	var refused *trace.MemoryError
	if !errors.As(err, &refused) {
		t.Fatalf("Trace with 1 MiB: error %v, want a MemoryError", err)
	}
	if refused.What != "a pass with attention taps for 200 tokens" || refused.Left != 1<<20 ||
		refused.Need <= refused.Left || !strings.HasPrefix(refused.Instead, "the mean over heads") {
		t.Errorf("MemoryError is %+v", *refused)
	}
	g.model.MaxBytes = refused.Need // what it says is enough is enough
	if _, err := g.model.Trace(context.Background(), ids,
		[]trace.Tap{trace.Attention}); err != nil {
		t.Errorf("Trace with what it needs: %v", err)
	}
	_, err = g.model.Read(context.Background(), make([]int, 5000), nil,
		[]trace.MixingAsk{{Name: "attention"}}, nil, nil)
	if err == nil || !strings.Contains(err.Error(),
		"attention rows for 5,000 tokens") || strings.Contains(err.Error(), "attention-mean") {
		t.Errorf("Read of 5,000 tokens: error %v, "+
			"want one that does not advise what is done already", err)
	}
}

// TestEditsCount: the values of edits count in the memory of every pass.
func TestEditsCount(t *testing.T) {
	g := openGolden(t, "bert")
	g.model.MaxBytes = 2 << 20
	const numbers = 1 << 20
	edits := []trace.Edit{{
		Tap: trace.Hidden, Change: trace.SetMean, Value: make([]float32, numbers),
		Shape: []int{numbers / g.model.Spec.Width, g.model.Spec.Width},
	}}
	q := trace.Query{IDs: []int{1, 2, 3}, Objective: trace.Objective{Quantity: trace.Logit}}
	ctx := t.Context()
	for name, run := range map[string]func(edits []trace.Edit) error{
		"predictions": func(edits []trace.Edit) error {
			q.Edits = edits
			_, err := g.model.Predict(ctx, []trace.Query{q})
			return err
		},
		"gradients": func(edits []trace.Edit) error {
			q.Edits = edits
			_, err := g.model.Gradients(ctx, []trace.Query{q}, trace.TrueGradient)
			return err
		},
		"rows": func(edits []trace.Edit) error {
			r, err := g.model.Read(ctx, q.IDs, nil, nil, edits, nil)
			if err == nil {
				r.Close()
			}
			return err
		},
		"lens": func(edits []trace.Edit) error {
			return g.model.Lens(ctx, trace.LensQuery{
				IDs: q.IDs, Positions: []int{0}, Edits: edits,
			}, func(int, []float32) error { return nil })
		},
	} {
		must(t, run(nil))
		refused := (*trace.MemoryError)(nil)
		if err := run(edits); !errors.As(err, &refused) {
			t.Errorf("%s: error %v, want that 4 MiB do not fit", name, err)
		}
	}
}

// TestStats: layers that are alike share a graph, and a text of a length that was met compiles
// nothing.
func TestStats(t *testing.T) {
	g := openGolden(t, "gpt2")
	run := func(ids []int) int {
		_, err := g.model.Trace(context.Background(), ids, []trace.Tap{trace.Attention})
		must(t, err)
		return compiledGraphs(g.model)
	}
	if first := run(g.ids); first != 2 { // the embedding, and a block for all layers
		t.Errorf("%d graphs for the first text, want 2", first)
	}
	if again := run(g.ids); again != 2 {
		t.Errorf("%d graphs after the same text again, want 2", again)
	}
	if longer := run(append(g.ids, g.ids...)); longer != 4 {
		t.Errorf("%d graphs after a longer text, want 4", longer)
	}
	if _, took := g.model.Compiled(); took <= 0 {
		t.Error("compiling took no time")
	}
}

// TestTilesShareAGraph: where shapes are compiled, the last tile of a text's rows is as large as
// the others, also if one row is left.
func TestTilesShareAGraph(t *testing.T) {
	m := openGolden(t, "bert").changed(t, func(string, []float32) {})
	m.RoundUp()
	for _, n := range []int{33, 34, 64} {
		_, err := m.Read(context.Background(), make([]int, n), nil,
			[]trace.MixingAsk{{Name: "value-zeroing"}}, nil, nil)
		must(t, err)
		// The embedding, a block, its heads through the matrices, its sources through those, and a
		// tile.
		if got := compiledGraphs(m); got != 5 {
			t.Errorf("%d graphs after a text of %d tokens, want 5", got, n)
		}
	}
}

// compiledGraphs is how many graphs were compiled for a model so far.
func compiledGraphs(m *transformer.Model) int {
	graphs, _ := m.Compiled()
	return graphs
}

// TestExpertBytes: a pass has a copy of the codes of a layer's experts beside two matrices, or all
// of the experts in float32.
func TestExpertBytes(t *testing.T) {
	s := *openGolden(t, "mixtral").model.Spec // 4 heads, 2 of them with keys; 5 experts
	m := *s.Mixture
	s.Width, s.HeadWidth, m.Width, s.Mixture = 64, 16, 128, &m
	const codes, numbers = 3 * 5 * 64 * 128 * (16 + 2) / 32, 3 * 5 * 64 * 128
	const matrices = 2 * 4 * 64 * (64 + 2*32) // query, key and value
	plain := transformer.PassBytes(&s, nil, 64, true)
	if got := transformer.PassBytes(&s, all{}, 64, true) - plain; got != matrices+codes {
		t.Errorf("in turn %d bytes, want %d", got, matrices+codes)
	}
	if got := transformer.PassBytes(&s, all{}, 64, false) - plain; got != 4*numbers {
		t.Errorf("together %d bytes, want %d", got, 4*numbers)
	}
}

// all is a [spec.Quantized] with every matrix in codes of 4 bits.
type all struct{ only }

func (all) Coding(p spec.Param) spec.Coding {
	if len(p.Shape) < 2 {
		return spec.Coding{}
	}
	return spec.Coding{Bits: 4, Block: 32}
}
