package attribution_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
	"github.com/headwater-ml/headwater/internal/study/lens"
	"github.com/headwater-ml/headwater/internal/study/patch"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/models"
)

// editedTol bounds what the cache and batches may change, as sums run in another order.
const editedTol = 2e-5

// editedPrompt is explained under editedOptions.
const editedPrompt = "the keys to the cabinet"

// editedOptions have edits everywhere, at a token of the prompt, at its last one and at one that is
// generated.
func editedOptions(methods ...string) attribution.Options {
	return attribution.Options{
		Methods: methods, MaxTokens: 3,
		Studies: attribution.Studies{"prove": verdict.All, "lens": "2"},
		Edits: []trace.Edit{
			{Tap: trace.HeadOutput, Layers: []int{1}, Heads: []int{1}, Change: trace.SetZero},
			{Tap: trace.Hidden, Layers: []int{1}, Change: trace.Scale, Factor: -1},
			{Tap: trace.Hidden, Layers: []int{1}, Positions: []int{1, -1}, Change: trace.AddValue,
				Factor: 1, Shape: []int{2, 1}, Value: []float32{0.5, -0.5}},
			{Tap: trace.FeedForwardOutput, Layers: []int{0}, Positions: []int{6},
				Change: trace.SetZero},
		},
	}
}

// byHand are the edits of editedOptions for a text that begins with a prompt of n tokens, has only
// its first T and lacks token gone, -1 for none.
func byHand(n, T, gone int) []trace.Edit {
	edits := editedOptions().Edits
	move := func(p int) []int {
		switch {
		case p == gone || p >= T:
			return nil
		case gone >= 0 && p > gone:
			return []int{p - 1}
		}
		return []int{p}
	}
	first, last := move(1), move(n-1)
	edits[2].Positions = slices.Concat(first, last)
	switch {
	case first == nil:
		edits[2].Value = edits[2].Value[1:]
	case last == nil:
		edits[2].Value = edits[2].Value[:1]
	}
	edits[2].Shape = []int{len(edits[2].Value), 1}
	if edits[3].Positions = move(6); edits[3].Positions == nil {
		edits = edits[:3]
	}
	return edits
}

// TestExplainUnderEdits: the answer, rows of attention, every kind of scorer, the verdict and the
// lens are what the model says under the same edits, asked by hand.
func TestExplainUnderEdits(t *testing.T) {
	ctx := context.Background()
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	o := editedOptions("raw", "occlusion", "gradient-x-input", "direct")
	o.AllLayers = true
	e, err := attribution.Explain(ctx, m, editedPrompt, o)
	must(t, err)
	if !strings.HasPrefix(e.Edited, "under 4 edits: head-output of head 1.1 set to zero; ") {
		t.Errorf("the explanation says %q", e.Edited)
	}
	n, L := len(e.Prompt.IDs), e.Model.Layers
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= editedTol*max(1, math.Abs(want))) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	verdicts := 0
	ask := trace.Ask{
		MaxTokens: 3, Edits: editedOptions().Edits, Alternatives: 6,
		Terms: &trace.TermsAsk{},
	}
	var terms []*trace.AttentionTerms
	for step, err := range m.Steps(ctx, e.Prompt.IDs, ask) {
		must(t, err)
		terms = append(terms, step.Terms)
	}
	for i, g := range e.Steps {
		ids := e.TokenIDs()[:n+i]
		T := len(ids)
		edits := byHand(n, T, -1)
		out, err := m.Run(ctx, ids, []trace.Tap{trace.Logits, trace.Attention}, edits)
		must(t, err)
		logits := out[0].Data[len(out[0].Data)-out[0].Shape[1]:]
		if best := slices.Index(logits, slices.Max(logits)); best != g.ID {
			t.Errorf("token %d is %d, the pass predicts %d", i, g.ID, best)
		}
		// Attention of every layer, its heads averaged.
		heads := out[1].Shape[1]
		for l := range L {
			row := e.Methods["raw"].Row(i, l)
			for s := range T {
				mean := 0.0
				for h := range heads {
					mean += float64(out[1].Data[((l*heads+h)*T+T-1)*T+s]) / float64(heads)
				}
				near("attention", row[s], mean)
			}
		}
		q := trace.Query{IDs: ids, Edits: edits, Objective: trace.Objective{
			Quantity: trace.Probability, Position: T - 1, Token: g.ID,
		}}
		without := func(j int) trace.Query {
			q := q
			q.IDs = slices.Delete(slices.Clone(ids), j, j+1)
			q.Position = T - 2
			q.Edits = byHand(n, T, j)
			return q
		}
		r := e.Methods["occlusion"]
		if kind := r.Options["replacement"]; kind != "delete" {
			t.Fatalf("the replacement is %s, so this test tests nothing", kind)
		}
		f, err := m.Predict(ctx, []trace.Query{q, without(0), without(1), without(n - 1)})
		must(t, err)
		near("probability", g.Probability, f[0])
		for k, j := range []int{0, 1, n - 1} {
			near("occlusion", r.Row(i, 0)[j], f[0]-f[k+1])
		}
		if v := verdict.Of(g); v != nil && v.Reason == "" && v.Rows[1] == v.Rows[0]+1 &&
			len(v.Trials[0].Sources) == 1 {
			f, err := m.Predict(ctx, []trace.Query{without(v.Trials[0].Sources[0])})
			must(t, err)
			near("verdict", v.Trials[0].P, f[0])
			verdicts++
		}
		q.Quantity = e.Methods["gradient-x-input"].Facts.Explains
		slope, err := m.Gradients(ctx, []trace.Query{q}, trace.TrueGradient)
		must(t, err)
		rows, err := m.Embed(ctx, ids)
		must(t, err)
		for j := range T {
			sum, width := 0.0, len(rows)/T
			for k := j * width; k < (j+1)*width; k++ {
				sum += float64(rows[k]) * float64(slope[0].Data[k])
			}
			near("gradient x input", e.Methods["gradient-x-input"].Row(i, 0)[j], sum)
		}
		direct := e.Methods["direct"]
		for j := range T {
			sum := 0.0
			for l := range L {
				sum += terms[i].Attention[l*T+j]
			}
			near("direct", direct.Row(i, L-1)[j], sum)
		}
		near("direct's number", direct.Explained[i], terms[i].Value)
		near("the lens after the last layer", lens.OfToken(g)[L].Probability, g.Probability)
	}
	if verdicts == 0 {
		t.Error("no verdict was compared")
	}
	all, err := m.Lens(ctx, trace.LensQuery{
		IDs: e.TokenIDs()[:n+2], Positions: []int{1}, Tokens: []int{e.Steps[2].ID}, Likely: 1,
		Edits: byHand(n, n+2, -1),
	})
	must(t, err)
	for l, layer := range all[0] {
		near("the lens at a position", lens.Of(e).Positions[1][l].Probability, layer.Probability)
	}
	if lens.Of(e).Attention != nil {
		t.Error("parts of the logit of a whole text were taken apart under edits")
	}
	plain := o
	plain.Edits = nil
	same, err := attribution.Explain(ctx, m, editedPrompt, plain)
	must(t, err)
	if rowmath.Total(same.Methods["occlusion"].Rows[0]) == rowmath.Total(
		e.Methods["occlusion"].Rows[0]) {
		t.Error("the edits change nothing")
	}
}

// ran is a model that tells whether it computed anything.
type ran struct {
	*models.Model
	steps bool
}

// Steps implements trace.Model.
func (r *ran) Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	r.steps = true
	return r.Model.Steps(ctx, ids, ask)
}

// TestEveryMethodUnderEdits: a method either computes under edits, and other numbers than without,
// or is refused before the model runs, with the names of those that can. Default methods are those
// that can.
func TestEveryMethodUnderEdits(t *testing.T) {
	ctx := context.Background()
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	can := 0
	for _, method := range attribution.Methods() {
		o := editedOptions(method.Name)
		o.Studies, o.MaxTokens = nil, 1
		watched := &ran{Model: m}
		e, err := attribution.Explain(ctx, watched, editedPrompt, o)
		var usage *trace.UsageError
		if err != nil {
			if !errors.As(err, &usage) || usage.Option != "edits" || watched.steps ||
				!strings.Contains(err.Error(), "take one of alti, alti-logit, attn-lrp, chefer, ") {
				t.Errorf("%s: ran %v, error %v", method.Name, watched.steps, err)
			}
			continue
		}
		can++
		o.Edits, o.Continuation, o.MaxTokens = nil, e.Steps[0].Text, 0
		plain, err := attribution.Explain(ctx, m, editedPrompt, o)
		must(t, err)
		if method.Name != "random" && slices.EqualFunc(e.Methods[method.Name].Rows,
			plain.Methods[method.Name].Rows, slices.Equal[[]float64]) {
			t.Errorf("%s: the edits change nothing", method.Name)
		}
	}
	if can < len(attribution.Methods())-1 { // all but decompx
		t.Errorf("%d methods run under edits", can)
	}
	o := editedOptions()
	o.Studies = nil
	e, err := attribution.Explain(ctx, m, editedPrompt, o)
	must(t, err)
	if !slices.Equal(e.Order, []string{"direct", "value-zeroing"}) ||
		strings.Contains(strings.Join(e.Warnings, " "), "Left out") {
		t.Errorf("methods %v, warnings %q", e.Order, e.Warnings)
	}
}

// uneditable is a model that cannot be edited.
type uneditable struct{ trace.Model }

// TestEditsAreRefused: what no model, this model or this text can do is a usage error about the
// edits, and a number that an edit made infinite names it.
func TestEditsAreRefused(t *testing.T) {
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	one := func(e trace.Edit) []trace.Edit { return []trace.Edit{e} }
	zero := trace.Edit{Tap: trace.Hidden, Change: trace.SetZero}
	far, late, huge := zero, zero, zero
	far.Positions, late.Positions = []int{-99}, []int{90}
	huge.Change, huge.Value = trace.SetValue, []float32{3e38}
	for name, c := range map[string]struct {
		m    trace.Model
		o    attribution.Options
		want string
	}{
		"tap": {m, attribution.Options{Edits: one(trace.Edit{Tap: "stream"})}, `"stream" cannot`},
		"no model": {uneditable{m}, attribution.Options{Edits: one(zero)},
			"does not run under edits"},
		"far":  {m, attribution.Options{Edits: one(far)}, "99 from the end of a prompt of"},
		"late": {m, attribution.Options{Edits: one(late)}, "position 90 is not in"},
		"head": {m, attribution.Options{Edits: one(trace.Edit{
			Tap: trace.Context, Heads: []int{99}, Change: trace.SetZero,
		})}, "head 99 is not in"},
		"decompx": {m, attribution.Options{Edits: one(zero), Methods: []string{"decompx"}},
			"decompx is not computed in a model that is edited, because it carries parts"},
		"layers": {m, attribution.Options{
			Edits: one(zero), FirstLayer: 1, Methods: []string{"direct", "rollout"},
		}, "direct is not computed in a model that is edited"},
		"infinite": {m, attribution.Options{Edits: one(huge)}, "under the edit of hidden everywhere"},
	} {
		_, err := attribution.Explain(context.Background(), c.m, editedPrompt, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// TestPatchContrast: a contrast is the foil of a patch, whatever the method.
func TestPatchContrast(t *testing.T) {
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	o := attribution.Options{
		Methods: []string{"raw"}, Contrast: " is", Studies: attribution.Studies{"patch": "heads", "corrupted": "the key to the cabinet"},
	}
	e, err := attribution.Explain(context.Background(), m, "the keys to the cabinet", o)
	must(t, err)
	if got := patch.Of(e).Foil.Text; got != " is" {
		t.Errorf("the foil is %q", got)
	}
}
