package local_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/local"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/models"
)

// TestEditsThroughTheEngine: an explanation and a recording under edits that come from an engine
// are those of the model under the same edits.
func TestEditsThroughTheEngine(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	socket := filepath.Join(t.TempDir(), "engine.sock")
	ended := make(chan error)
	go func() { ended <- local.Serve(ctx, local.Config{Socket: socket, Backend: "go"}) }()
	client := engine.Client{Socket: socket}
	for _, err := client.Info(ctx); err != nil; _, err = client.Info(ctx) {
		time.Sleep(time.Millisecond) // it does not listen yet
	}
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	check(err)
	edits := []trace.Edit{
		{Tap: trace.HeadOutput, Layers: []int{4}, Heads: []int{4}, Change: trace.SetZero},
		{Tap: trace.Hidden, Layers: []int{1}, Positions: []int{-1}, Change: trace.AddValue,
			Factor: 0.1, Shape: []int{1}, Value: []float32{1.0 / 3}},
	}
	const prompt = "the keys to the cabinet"
	o := attribution.Options{
		Edits: edits, MaxTokens: 2,
		Studies: attribution.Studies{"prove": "all", "lens": "1"},
	}
	want, err := attribution.Explain(ctx, m, prompt, o)
	check(err)
	got, err := client.Explain(ctx, engine.Model{}, prompt, o)
	check(err)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(attribution.Explanation{}, "Origin"),
		cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("explanation: -want, +got:\n%s", diff)
	}
	taps := []trace.Tap{trace.Attention, trace.Logits}
	recorded, _, err := client.Trace(ctx, engine.Model{},
		engine.Input{Text: prompt, Edits: edits}, taps...)
	check(err)
	by, err := m.Run(ctx, want.Prompt.IDs, taps, edits)
	check(err)
	if diff := cmp.Diff(by, recorded); diff != "" {
		t.Errorf("recording: -want, +got:\n%.2000s", diff)
	}
	// What a picture records beside an explanation is recorded under its edits.
	tracer, err := got.Traced(m)
	check(err)
	beside, err := tracer.Trace(ctx, want.Prompt.IDs, taps)
	check(err)
	if diff := cmp.Diff(by, beside); diff != "" {
		t.Errorf("recording of a picture: -want, +got:\n%.2000s", diff)
	}
	cancel()
	check(<-ended)
}
