package transformer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestProjectedGraphs: a text for which it pays is computed from its projected sources, and a short
// one is not. The sources of a layer are projected once for all of its tiles.
func TestProjectedGraphs(t *testing.T) {
	m := openGolden(t, "gpt2").changed(t, func(string, []float32) {})
	ask := []trace.MixingAsk{{Name: "value-zeroing", AllRows: true}}
	for _, c := range []struct {
		tokens int
		want   bool
	}{{2, false}, {64, true}} {
		r, err := m.Read(context.Background(), make([]int, c.tokens), nil, ask, nil, nil)
		must(t, err)
		r.Close()
		if got := slices.Contains(m.Graphs(), "projected sources"); got != c.want {
			t.Errorf("%d tokens: projected %v, want %v; graphs %q", c.tokens, got, c.want,
				m.Graphs())
		}
	}
}

// TestProjectedSteps: rows of steps from the projected sources of the cache are those of a forward
// of the block in float64 with the value vector zeroed, and the logits are those of a full pass,
// beside other mixings, after a cut, and when several tokens came at once.
func TestProjectedSteps(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		s := g.model.Spec
		if r := s.Rotary; r != nil && (r.LongFrequencies != nil || r.Stretch > 0) {
			t.Skip("cached keys stay as they were turned, as in the reference")
		}
		m := g.changed(t, func(string, []float32) {})
		m.ProjectAlways()
		asks := []trace.MixingAsk{
			{Name: "attention"},
			{Name: "value-zeroing", Heads: trace.Heads{Fusion: trace.OneHead, Head: 1}},
		}
		for _, kind := range zeroings {
			asks = append(asks, trace.MixingAsk{Name: kind.name})
		}
		session, err := m.NewSession(asks, len(g.ids))
		must(t, err)
		defer session.Close()
		layers := g.layers(t)
		steps := func(what string) {
			for session.Length() < len(g.ids) {
				target := session.Length()
				out, err := session.Step(context.Background(), g.ids[target])
				must(t, err)
				where := fmt.Sprintf("%s: step %d", what, target)
				check(t, where+" logits", out.Logits,
					prompt(t, g.model, nil, g.ids[:target+1]).Logits, logitsTol)
				for k, kind := range zeroings {
					for l, b := range layers {
						want, scale := g.zeroedRow(kind, l, b, target, -1, target+1)
						check(t, fmt.Sprintf("%s, %s, layer %d", where, kind.name, l),
							out.Rows[2+k].Row(l, 0, 0), want, scale*distanceTol)
					}
				}
			}
		}
		_, err = session.Prompt(context.Background(), g.ids[:2], nil)
		must(t, err)
		if got, want := session.CachesSources(), m.CanProject(asks[2]); got != want {
			t.Fatalf("projected %v, want %v", got, want)
		}
		steps("from the prompt")
		must(t, session.Cut(3))
		steps("after a cut")
		must(t, session.Cut(3))
		_, err = session.Extend(context.Background(), g.ids[3:5], nil)
		must(t, err)
		if session.CachesSources() {
			t.Error("two tokens at once: still projected")
		}
		steps("after two tokens at once")
	})
}

// TestProjectedCacheEnds: a session whose cache grows ends what it kept, and the model keeps what
// all texts share until a pass needs the memory.
func TestProjectedCacheEnds(t *testing.T) {
	g := openGolden(t, "gpt2")
	m := g.changed(t, func(string, []float32) {})
	m.ProjectAlways()
	asks := []trace.MixingAsk{{Name: "value-zeroing"}}
	s, err := m.NewSession(asks, 20)
	must(t, err)
	defer s.Close()
	_, err = s.Prompt(context.Background(), g.ids, nil)
	must(t, err)
	slots := transformer.Slots(s)
	for transformer.Slots(s) == slots {
		if !s.CachesSources() {
			t.Fatalf("%d tokens in %d slots: no longer projected", s.Length(), transformer.Slots(s))
		}
		_, err := s.Step(context.Background(), g.ids[s.Length()%len(g.ids)])
		must(t, err)
	}
	if s.CachesSources() {
		t.Error("after the cache grew: still projected")
	}
	if m.ThroughHeld() == 0 {
		t.Error("the model keeps nothing for other texts")
	}
	other, err := m.NewSession(asks, 20)
	must(t, err)
	_, err = other.Prompt(context.Background(), g.ids, nil)
	must(t, err)
	need := transformer.Need{Tokens: len(g.ids)}
	tight := m.WithMaxBytes(m.Estimate(need))
	_, err = tight.Trace(context.Background(), g.ids, nil)
	must(t, err)
	if m.ThroughHeld() == 0 {
		t.Error("a pass needed the memory: freed what a session uses")
	}
	want := prompt(t, g.model, nil, append(slices.Clone(g.ids), g.ids[0])).Logits
	out, err := other.Step(context.Background(), g.ids[0])
	must(t, err)
	check(t, "a step of a session that uses them", out.Logits, want, logitsTol)
	other.Close()
	if held := m.ThroughHeld(); held != 0 {
		t.Errorf("the last session that uses them has ended: the model still keeps %d bytes", held)
	}
}

// TestProjectedStepsOnDevice: where the host cannot write into the cache, nothing is projected.
func TestProjectedStepsOnDevice(t *testing.T) {
	g := openGolden(t, "gpt2")
	m := g.changed(t, func(string, []float32) {})
	m.ProjectAlways()
	m.OnDevice()
	s, err := m.NewSession([]trace.MixingAsk{{Name: "value-zeroing"}}, 20)
	must(t, err)
	defer s.Close()
	_, err = s.Prompt(context.Background(), g.ids, nil)
	must(t, err)
	if s.CachesSources() {
		t.Error("projected")
	}
}
