package attribution_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// rows describes the rows of an explanation: their texts and tokens, and the tokens that the target
// does not name in brackets.
func rows(e *attribution.Explanation) string {
	var all []string
	for _, s := range e.Steps {
		row := fmt.Sprint(s.Text, s.IDs)
		if s.Rest {
			row = "(" + row + ")"
		}
		all = append(all, row)
	}
	return strings.Join(all, " ")
}

// A target is known when the text has ended: then, once, the caller sees its rows. Several texts
// together give the same.
func TestExplainTarget(t *testing.T) {
	m := fakemodel.New(2, fakemodel.Evenly)
	opts := attribution.Options{
		Methods: []string{"raw", "rollout"}, Continuation: "w5 w6 w7 w8", Target: "1:3",
	}
	var seen []*attribution.Explanation
	var progress []string
	watched := opts
	watched.OnStep = func(e *attribution.Explanation) { seen = append(seen, e) }
	watched.OnProgress = func(p trace.Progress) { progress = append(progress, p.String()) }
	e, err := attribution.Explain(context.Background(), m, "w1 w2 w3", watched)
	must(t, err)
	if len(seen) != 1 || seen[0] != e {
		t.Errorf("the caller saw %d explanations", len(seen))
	}
	if !slices.Contains(progress, "explaining the target, token 3 of 4") {
		t.Errorf("progress %q", progress)
	}
	if got, want := rows(e), "(w5[6]) w6w7[7 8] (w8[9])"; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
	// Attention is even: of 4 tokens for the first of the two, of 5 for the second, which alone has
	// something of their own.
	raw := e.Methods["raw"]
	near(t, "row", raw.Row(1, 0), []float64{.45, .45, .45, .45, .2}, 1e-15)
	near(t, "other mass", e.Methods["raw"].OtherMass[2:4], []float64{.65, .65}, 1e-15)
	texts := slices.Values([]attribution.Text{{Prompt: "w1 w2 w3"}, {Prompt: "w2"}})
	for all := range attribution.ExplainAll(
		context.Background(), m, texts, opts, attribution.Batching{},
	) {
		if all.Err != nil || all.Index == 0 && cmp.Diff(all.Explanation, e) != "" {
			t.Errorf("text %d: %v", all.Index, all.Err)
		}
	}
}

// What the target names and the text does not have is an error.
func TestExplainTargetEnds(t *testing.T) {
	m := fakemodel.New(1, fakemodel.Evenly)
	explain := func(target string) (*attribution.Explanation, error) {
		return attribution.Explain(context.Background(), m, "w1 w2", attribution.Options{
			Methods: []string{"raw"}, MaxTokens: 3, Target: target,
		})
	}
	for target, want := range map[string]string{
		"0:4":        "target 0:4; there are 3 generated tokens, from 0",
		"sentence:2": "target sentence:2; the generated text has 1 sentence",
	} {
		e, err := explain(target)
		if e != nil || !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", target, e, err, want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	opts := attribution.Options{Methods: []string{"raw"}, MaxTokens: 3, Target: "answer"}
	opts.OnProgress = func(p trace.Progress) {
		if p.Stage == "explaining the target" && p.Done == 2 {
			stop()
		}
	}
	e, err := attribution.Explain(ctx, m, "w1 w2", opts)
	if !errors.Is(err, context.Canceled) || e == nil || len(e.Steps) != 1 ||
		len(e.Steps[0].IDs) != 2 {
		t.Errorf("interrupted: %v, %v; want what there is so far", e, err)
	}
}

// TestTargetQuantity: the highest of lifts is a lift, and a sum of shares is no share of a row.
func TestTargetQuantity(t *testing.T) {
	for _, c := range []struct {
		lift bool
		want attribution.Quantity
	}{{true, attribution.Lift}, {false, attribution.Amount}} {
		e, err := attribution.Explain(t.Context(), fakemodel.New(2, fakemodel.Evenly), "w1 w2",
			attribution.Options{
				Methods: []string{"rollout"}, MaxTokens: 3, Target: "answer", Lift: c.lift,
			})
		must(t, err)
		if r := e.Methods["rollout"]; r.Quantity != c.want || r.Target != "answer" {
			t.Errorf("lift %t: facts %+v, want quantity %s", c.lift, r.Facts, c.want)
		}
	}
}
