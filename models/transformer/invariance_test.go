package transformer_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// changed is the golden's model with some of its weights replaced.
func (g *golden) changed(t testing.TB,
	change func(name string, data []float32),
) *transformer.Model {
	t.Helper()
	m, err := transformer.New(goBackend(t), g.model.Spec, dtypes.Float32,
		func(p spec.Param, put func(int, []float32)) error {
			data := append([]float32(nil), g.params[p.Name]...)
			change(p.Name, data)
			put(0, data)
			return nil
		})
	must(t, err)
	return m
}

// Without content the attention is that of ALiBi alone, in closed form:
//
//	A[i,j] = exp(-m(i-j)) (1-exp(-m)) / (1-exp(-m(i+1)))
func TestAlibiAlone(t *testing.T) {
	g := openGolden(t, "bloom_h6")
	m := g.changed(t, func(name string, data []float32) {
		if strings.Contains(name, ".query.") {
			clear(data)
		}
	})
	ts, err := m.Trace(context.Background(), g.ids, []trace.Tap{trace.Attention})
	must(t, err)
	n := len(g.ids)
	for h, slope := range m.Spec.AlibiSlopes {
		for i := range n {
			for j := 0; j <= i; j++ {
				s := float64(slope)
				want := math.Exp(-s*float64(i-j)) * (1 - math.Exp(-s)) /
					(1 - math.Exp(-s*float64(i+1)))
				if got := float64(ts[0].Data[(h*n+i)*n+j]); math.Abs(got-want) > 1e-6 {
					t.Fatalf("head %d: A[%d,%d] = %v, want %v", h, i, j, got, want)
				}
			}
		}
	}
}

// The key's bias adds q·b_k, a constant along each row where no rotation comes between: scores
// move, attention does not.
func TestKeyBiasIsInvisible(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		if s := g.model.Spec; !s.ProjectionBias || s.Positions == spec.RotaryPositions ||
			s.QueryKeyNorm || s.ScoreCap != 0 || s.Relative != nil {
			t.Skip("the key has no bias, or what it adds depends on the source")
		}
		m := g.changed(t, func(name string, data []float32) {
			if strings.HasSuffix(name, ".key.bias") {
				for i := range data {
					data[i] += 0.5
				}
			}
		})
		taps := []trace.Tap{trace.Attention, trace.Scores}
		before, err := g.model.Trace(context.Background(), g.ids, taps)
		must(t, err)
		after, err := m.Trace(context.Background(), g.ids, taps)
		must(t, err)
		check(t, "attention", after[0].Data, before[0].Data, tapTol)
		if d, _ := worst(after[1].Data, before[1].Data); d < 0.01 {
			t.Errorf("the scores moved by %v only, so the test proves nothing", d)
		}
	})
}

func TestRefusals(t *testing.T) {
	g := openGolden(t, "gpt2")
	ctx := context.Background()
	ask := func(asks ...trace.MixingAsk) error {
		_, err := g.model.NewSession(asks, 0)
		return err
	}
	trace1 := func(ids []int, taps ...trace.Tap) error {
		_, err := g.model.Trace(ctx, ids, taps)
		return err
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"unknown mixing", ask(trace.MixingAsk{Name: "norm"}), `mixing "norm" is unknown; did you mean norms? known are alti, attention, globenc`},
		{"head out of range", ask(trace.MixingAsk{Name: "attention", Heads: trace.Heads{Fusion: trace.OneHead, Head: 4}}), "head 4 is not in 0..3"},
		{"fusion", ask(trace.MixingAsk{Name: "value-zeroing", Heads: trace.Heads{Fusion: trace.MinHeads}}), "heads min do not apply"},
		{"unknown tap", trace1(g.ids, "atention"), `tap "atention" is unknown; did you mean attention? ` + "known are scores, terms, attention"},
		{"no tokens", trace1(nil, trace.Logits), "no tokens"},
		{"id too large", trace1([]int{5, 96}, trace.Logits), "id 96 of token 1 is outside the vocabulary of 96"},
		{"negative id", trace1([]int{-1}, trace.Logits), "id -1 of token 0 is outside the vocabulary of 96"},
		{"too long", trace1(make([]int, 65), trace.Logits), "65 tokens are more than the context of 64"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, c.err, c.want)
		}
	}
}

// A text too long for the machine is refused before anything is allocated: BLOOM sets no limit of
// its own. A prompt is read in tiles, but the rows of all its targets have to fit.
func TestTooLongForMemory(t *testing.T) {
	g := openGolden(t, "bloom")
	ids := make([]int, 100_000)
	s, err := g.model.NewSession([]trace.MixingAsk{{Name: "attention", AllRows: true}}, 0)
	must(t, err)
	_, prompted := s.Prompt(context.Background(), ids, nil)
	_, traced := g.model.Trace(context.Background(), ids[:20_000], []trace.Tap{trace.Attention})
	for name, err := range map[string]error{
		"prompt of 100000 tokens": prompted,
		"trace of 20000 tokens":   traced,
	} {
		if err == nil || !strings.Contains(err.Error(), "GB, the limit is 8.6 GB") {
			t.Errorf("%s: error %v, want one that names the limit", name, err)
		}
	}
}

// A context that is done ends a prompt between tiles and a step before it begins.
func TestCancelled(t *testing.T) {
	g := openGolden(t, "bloom")
	ctx, cancel := context.WithCancel(context.Background())
	s, err := g.model.NewSession([]trace.MixingAsk{{Name: "value-zeroing", AllRows: true}}, 0)
	must(t, err)
	_, err = s.Prompt(ctx, g.ids, func(p trace.Progress) { cancel() })
	if err == nil || ctx.Err() == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("Prompt after cancel = %v, want an error that wraps %v", err, context.Canceled)
	}
	if _, err := s.Step(ctx, 5); err == nil {
		t.Error("Step after cancel returns no error")
	}
}
