package models_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestStepsUnderEdits: text that is generated under edits is what passes over the whole text under
// the same edits predict, and not what the model writes without.
func TestStepsUnderEdits(t *testing.T) {
	m := open(t, "tiny")
	var editable trace.Editable = m
	tokens, err := m.Encode("the keys to the", trace.SpecialsAuto)
	must(t, err)
	ids := trace.IDs(tokens)
	edits := []trace.Edit{
		{Tap: trace.Hidden, Layers: []int{1}, Change: trace.Scale, Factor: -1},
		{Tap: trace.HeadOutput, Layers: []int{0}, Heads: []int{1}, Change: trace.SetZero},
	}
	generate := func(edits []trace.Edit) (all []int) {
		ask := trace.Ask{MaxTokens: 4, Edits: edits}
		for step, err := range m.Steps(context.Background(), ids, ask) {
			must(t, err)
			all = append(all, step.Next.Token.ID)
		}
		return all
	}
	got := generate(edits)
	if slices.Equal(got, generate(nil)) {
		t.Errorf("the edits change nothing: %v", got)
	}
	for i, id := range got {
		text := append(slices.Clone(ids), got[:i]...)
		out, err := editable.Run(context.Background(), text, []trace.Tap{trace.Logits}, edits)
		must(t, err)
		v := out[0].Shape[1]
		last := out[0].Data[len(out[0].Data)-v:]
		if best := slices.Index(last, slices.Max(last)); best != id {
			t.Errorf("token %d is %d; the pass predicts %d", i, id, best)
		}
	}
}

// TestEditsAreNeverIgnored: what does not compute under edits says so, and what becomes infinite
// names the edit.
func TestEditsAreNeverIgnored(t *testing.T) {
	m := open(t, "tiny")
	tokens, err := m.Encode("the keys to the", trace.SpecialsAuto)
	must(t, err)
	ids := trace.IDs(tokens)
	huge := []trace.Edit{{
		Tap: trace.AttentionOutput, Layers: []int{1}, Change: trace.SetValue,
		Value: []float32{3e38},
	}}
	steps := func(ask trace.Ask) (err error) {
		ask.MaxTokens = 2
		for _, err = range m.Steps(context.Background(), ids, ask) { //nolint:revive // the last
		}
		return err
	}
	_, errRun := m.Run(context.Background(), ids, []trace.Tap{trace.Logits}, huge)
	_, errPredict := m.Predict(context.Background(), []trace.Query{{
		IDs: ids, Edits: huge, Objective: trace.Objective{Quantity: trace.Logit},
	}})
	var errBatch error
	for got, err := range m.Batch(context.Background(), []trace.BatchText{
		{IDs: ids, Ask: trace.Ask{MaxTokens: 1, Edits: huge}},
	}, 1) {
		must(t, err)
		errBatch = got[0].Err
	}
	const named = "under the edit of attention-output of layer 1"
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"pass":       {errRun, named},
		"prediction": {errPredict, named},
		"steps":      {steps(trace.Ask{Edits: huge}), named},
		"products":   {steps(trace.Ask{Edits: huge, Products: true}), "under edits"},
		"far": {steps(trace.Ask{Edits: []trace.Edit{{
			Tap: trace.Hidden, Positions: []int{len(ids) + 2}, Change: trace.SetZero,
		}}}), "is not in"},
		"batch": {errBatch, "one text at a time"},
		"can":   {m.CheckBatch(trace.Ask{Edits: huge}, 9), "one text at a time"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, c.err, c.want)
		}
	}
}

// TestReadingUnderEdits: an encoder predicts under edits what a pass under them does, its rows are
// the attention of that pass, and what becomes infinite names the edit.
func TestReadingUnderEdits(t *testing.T) {
	m := open(t, "testdata/goldens/bert")
	ids := []int{2, 9, 4, 7, 3}
	edits := []trace.Edit{{
		Tap: trace.QueryVector, Layers: []int{0}, Positions: []int{1}, Change: trace.SetZero,
	}, {Tap: trace.FeedForwardOutput, Layers: []int{0}, Change: trace.Scale, Factor: -2}}
	ask := trace.Ask{
		Positions: []int{2}, Edits: edits,
		Mixings: []trace.MixingAsk{{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}}},
	}
	read := func(ask trace.Ask) (step trace.Step, err error) {
		for step, err = range m.Steps(context.Background(), ids, ask) { //nolint:revive // the last
		}
		return step, err
	}
	step, err := read(ask)
	must(t, err)
	out, err := m.Run(context.Background(), ids, []trace.Tap{trace.Logits, trace.Attention}, edits)
	must(t, err)
	v := out[0].Shape[1]
	logits := out[0].Data[2*v : 3*v]
	if best := slices.Index(logits, slices.Max(logits)); best != step.Next.Token.ID {
		t.Errorf("the most probable token is %d, the pass predicts %d", step.Next.Token.ID, best)
	}
	for i, x := range step.Rows[0].Data {
		if d := x - out[1].Data[i]; d > 1e-6 || d < -1e-6 {
			t.Fatalf("attention %d is %g, want %g", i, x, out[1].Data[i])
		}
	}
	ask.Edits = []trace.Edit{{
		Tap: trace.Hidden, Change: trace.SetValue, Value: []float32{3e38},
	}}
	const everywhere = "edit of hidden everywhere"
	if _, err = read(ask); err == nil || !strings.Contains(err.Error(), everywhere) {
		t.Errorf("a huge value: error %v", err)
	}
}
