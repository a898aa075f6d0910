package transformer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/modelgolden"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// variant is the golden with a changed spec that has the same parameters.
func (g *golden) variant(t testing.TB, change func(s *spec.Spec)) *golden {
	t.Helper()
	arch := *g.model.Spec
	change(&arch)
	m, err := transformer.New(goBackend(t), &arch, dtypes.Float32,
		func(p spec.Param, put func(int, []float32)) error {
			put(0, g.params[p.Name])
			return nil
		})
	must(t, err)
	return &golden{Golden: &modelgolden.Golden{}, model: m, params: g.params, ids: g.ids}
}

// TestVariants: values of spec fields that no golden has, against the naive block.
func TestVariants(t *testing.T) {
	rotary := func(change func(r *spec.Rotary)) func(s *spec.Spec) {
		return func(s *spec.Spec) {
			r := *s.Rotary
			change(&r)
			s.Rotary = &r
		}
	}
	for _, c := range []struct {
		name, golden string
		change       func(s *spec.Spec)
	}{
		{"scores by layer", "gpt2", func(s *spec.Spec) { s.ScoreByLayer = true }},
		{"unscaled scores", "gpt2", func(s *spec.Spec) { s.ScoreScale = 1 }},
		{"caps elsewhere", "gpt2", func(s *spec.Spec) { s.ScoreCap, s.LogitCap = 2, 3 }},
		{"caps in an encoder", "bert", func(s *spec.Spec) { s.ScoreCap = 2 }},
		{"windows with ALiBi", "bloom", func(s *spec.Spec) {
			s.Windows = make([]int, s.Layers)
			s.Windows[1] = 3
		}},
		{"window of one", "llama", func(s *spec.Spec) {
			s.Windows = make([]int, s.Layers)
			s.Windows[0] = 1
		}},
		{"scaled rotation", "llama", rotary(func(r *spec.Rotary) { r.Scale = 1.3 })},
		{"part of a head", "llama", rotary(func(r *spec.Rotary) { r.Frequencies = r.Frequencies[:1] })},
		{"two rotations", "mistral", func(s *spec.Spec) {
			s.Windows = make([]int, s.Layers)
			s.Windows[1] = 5
			s.LocalRotary = &spec.Rotary{Frequencies: []float32{0.5, 0.01}}
		}},
		{"normed residual", "gpt2", func(s *spec.Spec) { s.NormedResidual = true }},
		{"parallel with two norms", "gpt2", func(s *spec.Spec) { s.Order = spec.Parallel }},
		{"offset of gains", "llama", func(s *spec.Spec) { s.NormOffset = 0.2 }},
		{"GELU of a gate", "llama", func(s *spec.Spec) { s.Activation = spec.GELU }},
		{"tanh", "gpt2", func(s *spec.Spec) { s.Activation = spec.HyperbolicTangent }},
		{"Mish of a gate", "llama", func(s *spec.Spec) { s.Activation = spec.Mish }},
		{"both directions", "llama", func(s *spec.Spec) { s.Bidirectional = true }},
		{"rounded slopes, not divided", "bloom_h6", func(s *spec.Spec) {
			// No powers of two.
			s.AlibiRounded, s.AlibiSlopes = true, []float32{0.3, 0.17, 0.09, 0.7, 0.011, 0.33}
		}},
		{"divided slopes, not rounded", "bloom_h6", func(s *spec.Spec) { s.AlibiScaled = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := openGolden(t, c.golden)
			v := g.variant(t, c.change)
			v.checkBlocks(t)
			v.checkContributions(t)
			before, after := g.take(t, trace.Hidden)[trace.Hidden], v.take(t,
				trace.Hidden)[trace.Hidden]
			if d, _ := worst(after.Data, before.Data); d < 1e-3 {
				t.Errorf("hidden states move by %g only, so the test proves nothing", d)
			}
		})
	}
}

// checkBlocks compares hidden states, scores, attention, terms and Value Zeroing with the naive
// block.
func (g *golden) checkBlocks(t *testing.T) {
	t.Helper()
	taps := g.take(t, trace.Hidden, trace.Scores, trace.Attention, trace.Terms)
	rows := g.rows(t, trace.MixingAsk{Name: "value-zeroing"})[0]
	for l, b := range g.layers(t) {
		for target := range g.ids {
			where := fmt.Sprintf("layer %d target %d", l, target)
			whole := b.output(target, -1, -1)
			check(t, where+" output", at(taps[trace.Hidden], l+1, target), narrow(whole), tapTol)
			for h := range g.model.Spec.Heads {
				check(t, where+" scores", at(taps[trace.Scores], l, h, target),
					narrow(b.scores[h][target]), termTol)
				check(t, where+" attention", at(taps[trace.Attention], l, h, target),
					narrow(b.attention[h][target]), tapTol)
				check(t, where+" content", at(taps[trace.Terms], l, h, 0, target),
					narrow(b.content[h][target]), termTol)
				check(t, where+" alibi", at(taps[trace.Terms], l, h, 2, target),
					narrow(b.alibi[h][target]), termTol)
			}
			want := make([]float32, len(g.ids))
			for s := range g.ids {
				if b.sees(target, s) {
					want[s] = float32(cosineDistance(b.output(target, s, -1), whole))
				}
			}
			check(t, where+" Value Zeroing", rows.Row(l, 0, target), want, distanceTol)
		}
	}
}

// TestConcurrent: several goroutines may use one model, each with its own session and texts.
func TestConcurrent(t *testing.T) {
	g := openGolden(t, "qwen3")
	asks := []trace.MixingAsk{
		{Name: "value-zeroing", AllRows: true},
		{Name: "attention", AllRows: true},
	}
	texts := [][]int{g.ids, g.ids[:7], g.ids[3:], g.ids[5:9]}
	var want []*transformer.Output
	for _, ids := range texts {
		want = append(want, prompt(t, g.model, asks, ids))
	}
	fresh := openGolden(t, "qwen3").model
	var wait sync.WaitGroup
	for i, ids := range texts {
		wait.Add(1)
		go func() {
			defer wait.Done()
			s, err := fresh.NewSession(asks, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			out, err := s.Prompt(context.Background(), ids, nil)
			if err != nil {
				t.Error(err)
				return
			}
			for k := range asks {
				check(t, fmt.Sprintf("text %d %s", i, asks[k].Name), out.Rows[k].Data,
					want[i].Rows[k].Data, rowTol)
			}
			if _, err := fresh.Trace(context.Background(), ids,
				[]trace.Tap{trace.Hidden}); err != nil {
				t.Error(err)
			}
			if _, err := s.Step(context.Background(), ids[0]); err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
}
