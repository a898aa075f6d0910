package transformer_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestBucket: sizes never shrink, hold the text, waste at most a quarter and a step, and are few.
func TestBucket(t *testing.T) {
	last, sizes := 0, 0
	for n := 1; n <= 1<<16; n++ {
		b := transformer.Bucket(n)
		if b < last {
			t.Fatalf("bucket(%d) = %d, less than that of %d, %d", n, b, n-1, last)
		}
		if b < n || b-n > n/4+32 {
			t.Fatalf("bucket(%d) = %d, want at least %d and at most %d", n, b, n, n+n/4+32)
		}
		if transformer.Bucket(b) != b {
			t.Fatalf("bucket(%d) = %d is not a size itself", n, b)
		}
		if b != last {
			sizes++
		}
		last = b
		switch {
		case n == 1024 && sizes > 16:
			t.Errorf("%d sizes up to 1024 tokens, want at most 16", sizes)
		case n == 1<<16 && sizes > 16+4*6:
			t.Errorf("%d sizes up to %d tokens, want 4 for each doubling", sizes, n)
		}
	}
	for _, n := range []int{math.MaxInt / 4, math.MaxInt} {
		if b := transformer.Bucket(n); b < 1<<57 { // where sizes overflowed, this did not end
			t.Errorf("bucket(%d) = %d", n, b)
		}
	}
}

// TestSessionRoom: a session that knows its length in the end never grows, one that does not grows
// from size to size.
func TestSessionRoom(t *testing.T) {
	for _, c := range []struct {
		name             string
		room, first, end int // slots after the prompt of 12 tokens, and after 100
		grows            bool
	}{
		{"unknown", 0, 32, 128, true},
		{"exact", 100, 128, 128, false},
		{"too little", 40, 64, 128, true},
		{"less than the prompt", 3, 32, 128, true},
		{"plenty", 300, 320, 320, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := openGolden(t, "bloom")
			s, err := g.model.NewSession(nil, c.room)
			must(t, err)
			defer s.Close()
			_, err = s.Prompt(context.Background(), g.ids, nil)
			must(t, err)
			if transformer.Slots(s) != c.first {
				t.Errorf("%d slots after the prompt, want %d", transformer.Slots(s), c.first)
			}
			for s.Length() < 100 {
				_, err := s.Step(context.Background(), g.ids[s.Length()%len(g.ids)])
				must(t, err)
			}
			if transformer.Slots(s) != c.end {
				t.Errorf("%d slots after %d tokens, want %d", transformer.Slots(s), s.Length(),
					c.end)
			}
			if grew := transformer.Slots(s) != c.first; grew != c.grows {
				t.Errorf("the cache grew: %v, want %v", grew, c.grows)
			}
		})
	}
}

// TestSpareSlot: where Value Zeroing puts the block's own output in place of the last source, no
// token ever stands there. Logits and rows over the end of a cache of 32 slots are those of a full
// pass.
func TestSpareSlot(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		if r := g.model.Spec.Rotary; r != nil && r.LongFrequencies != nil {
			t.Skip("cached keys stay as they were turned, as in the reference")
		}
		asks := []trace.MixingAsk{
			{Name: "value-zeroing"},
			{Name: "value-zeroing", Heads: trace.Heads{Fusion: trace.OneHead, Head: 1}},
		}
		ids := slices.Concat(g.ids, g.ids, g.ids)[:33]
		if c := g.model.Spec.Context; c > 0 && c < len(ids) {
			t.Skipf("its texts have at most %d tokens", c)
		}
		s, err := g.model.NewSession(asks, 31)
		must(t, err)
		defer s.Close()
		_, err = s.Prompt(context.Background(), ids[:29], nil)
		must(t, err)
		for s.Length() < len(ids) {
			out, err := s.Step(context.Background(), ids[s.Length()])
			must(t, err)
			n := s.Length()
			if want := map[bool]int{true: 32, false: 64}[n <= 31]; transformer.Slots(s) != want {
				t.Errorf("%d slots after %d tokens, want %d", transformer.Slots(s), n, want)
			}
			full := prompt(t, g.model, asks, ids[:n])
			check(t, fmt.Sprintf("logits of %d tokens", n), out.Logits, full.Logits, logitsTol)
			for i, rows := range out.Rows {
				for l := range rows.L {
					check(t, fmt.Sprintf("%d: %s of %d tokens", i, asks[i].Name, n),
						rows.Row(l, 0, 0), full.Rows[i].Row(l, 0, 0), rowTol)
				}
			}
		}
	})
}

// TestSessionAcrossSizes: logits after 250 to 330 tokens, over two sizes of cache, are those of a
// full pass.
func TestSessionAcrossSizes(t *testing.T) {
	for _, name := range []string{"bloom", "falcon_rw"} { // whose texts may be that long
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			ids := make([]int, 330)
			for i := range ids {
				ids[i] = (7*i + i*i/5) % g.model.Spec.Vocab
			}
			full, err := g.model.Trace(context.Background(), ids, []trace.Tap{trace.Logits})
			must(t, err)
			s, err := g.model.NewSession(nil, 0)
			must(t, err)
			defer s.Close()
			out, err := s.Prompt(context.Background(), ids[:250], nil)
			must(t, err)
			sizes := map[int]bool{transformer.Slots(s): true}
			for {
				check(t, fmt.Sprintf("logits after %d tokens", s.Length()), out.Logits,
					at(full[0], s.Length()-1), logitsTol)
				if s.Length() == len(ids) {
					break
				}
				out, err = s.Step(context.Background(), ids[s.Length()])
				must(t, err)
				sizes[transformer.Slots(s)] = true
			}
			if len(sizes) < 3 {
				t.Errorf("the cache had %d sizes, want at least 3", len(sizes))
			}
		})
	}
}

// TestCrossing: the step over the length that Phi-3 was trained for computes the text again with
// its long frequencies; it returns the row of its token alone, and both it and the steps after it
// are those of a full pass.
func TestCrossing(t *testing.T) {
	g := openGolden(t, "phi3_cross")
	trained := g.model.Spec.Rotary.Original
	ids := slices.Concat(g.ids, g.ids)
	if len(g.ids) > trained || len(ids) <= trained+2 {
		t.Fatalf("%d and %d tokens do not cross %d", len(g.ids), len(ids), trained)
	}
	asks := []trace.MixingAsk{
		{Name: "attention", AllRows: true},
		{Name: "value-zeroing", AllRows: true},
	}
	s, err := g.model.NewSession(asks, 0)
	must(t, err)
	defer s.Close()
	_, err = s.Prompt(context.Background(), g.ids, nil)
	must(t, err)
	for s.Length() < len(ids) {
		out, err := s.Step(context.Background(), ids[s.Length()])
		must(t, err)
		n := s.Length()
		full := prompt(t, g.model, asks, ids[:n])
		check(t, fmt.Sprintf("logits of %d tokens", n), out.Logits, full.Logits, logitsTol)
		for i, rows := range out.Rows {
			if rows.First != n-1 || rows.N != 1 || rows.S != n {
				t.Fatalf("%d tokens: rows %d..+%d over %d sources, want the last", n, rows.First,
					rows.N, rows.S)
			}
			for l := range rows.L {
				check(t, fmt.Sprintf("%s of %d tokens", asks[i].Name, n), rows.Row(l, 0, 0),
					full.Rows[i].Row(l, 0, n-1), rowTol)
			}
		}
	}
	again := prompt(t, g.model, asks, ids[:trained])
	whole := prompt(t, g.model, asks, ids)
	if d, _ := worst(again.Rows[0].Row(1, 0, trained-1),
		whole.Rows[0].Row(1, 0, trained-1)[:trained]); d < 1e-3 {
		t.Errorf("the long frequencies move attention by %g only, so the test proves nothing", d)
	}
}

// TestStepRefusals: a step that cannot be taken leaves the session as it is.
func TestStepRefusals(t *testing.T) {
	g := openGolden(t, "gpt2")
	s, err := g.model.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	ids := make([]int, g.model.Spec.Context)
	_, err = s.Prompt(context.Background(), ids, nil)
	must(t, err)
	if _, err := s.Step(context.Background(), 5); err == nil || !strings.Contains(err.Error(),
		"65 tokens are more than the context of 64") {
		t.Errorf("step beyond the context: error %v", err)
	}
	_, err = s.Prompt(context.Background(), g.ids, nil)
	must(t, err)
	for _, id := range []int{-1, 96} {
		if _, err := s.Step(context.Background(), id); err == nil || !strings.Contains(err.Error(),
			fmt.Sprintf("id %d of token 12 is outside the vocabulary of 96", id)) {
			t.Errorf("step of id %d: error %v", id, err)
		}
	}
	if s.Length() != len(g.ids) {
		t.Errorf("the session has %d tokens after refused steps, want %d", s.Length(), len(g.ids))
	}
}

// roundedTol bounds what rounding lengths up may change. Worst seen 0.
const roundedTol = 1e-6

// TestRoundedUp: where shapes are compiled, lengths are rounded up and padding masked. It changes
// no tap, no row and no logit.
func TestRoundedUp(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		rounding := g.changed(t, func(string, []float32) {})
		rounding.RoundUp()
		wanted := allTaps(g.model.Spec)
		want, err := g.model.Trace(context.Background(), g.ids, wanted)
		must(t, err)
		got, err := rounding.Trace(context.Background(), g.ids, wanted)
		must(t, err)
		for k := range want {
			if !slices.Equal(got[k].Shape, want[k].Shape) {
				t.Fatalf("%s: shape %v, want %v", want[k].Name, got[k].Shape, want[k].Shape)
			}
			check(t, want[k].Name, got[k].Data, want[k].Data, roundedTol)
		}
		asks := []trace.MixingAsk{
			{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}, AllRows: true},
			{Name: "attention"},
			{Name: "value-zeroing", AllRows: true},
			{Name: "value-zeroing"},
		}
		if g.model.Spec.Bidirectional || g.model.Spec.Classifies() {
			sameOutput(t, "read", readAt(t, rounding, g.ids, 3, asks),
				readAt(t, g.model, g.ids, 3, asks))
			return
		}
		sameSteps(t, g, rounding, asks)
	})
}

// sameSteps compares a prompt and some steps on two models.
func sameSteps(t *testing.T, g *golden, other *transformer.Model, asks []trace.MixingAsk) {
	t.Helper()
	var sessions []*transformer.Session
	var outs []*transformer.Output
	for _, m := range []*transformer.Model{g.model, other} {
		s, err := m.NewSession(asks, 0)
		must(t, err)
		defer s.Close()
		out, err := s.Prompt(context.Background(), g.ids, nil)
		must(t, err)
		sessions, outs = append(sessions, s), append(outs, out)
	}
	for step := 0; ; step++ {
		sameOutput(t, fmt.Sprintf("step %d", step), outs[1], outs[0])
		if step == 4 {
			return
		}
		for i, s := range sessions {
			out, err := s.Step(context.Background(), g.ids[step])
			must(t, err)
			outs[i] = out
		}
	}
}

func sameOutput(t *testing.T, where string, got, want *transformer.Output) {
	t.Helper()
	check(t, where+": logits", got.Logits, want.Logits, tapTol)
	for i, rows := range want.Rows {
		check(t, fmt.Sprintf("%s: rows %d", where, i), got.Rows[i].Data, rows.Data, roundedTol)
	}
}
