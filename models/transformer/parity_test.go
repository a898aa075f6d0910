package transformer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// The reference itself is within 5e-6 (logits) and 1.3e-6 (attentions) of its own float64 result on these checkpoints.
const (
	logitsTol = 2e-5 // worst seen 4e-6
	tapTol    = 1e-5 // attentions and hidden states; worst seen 2e-6
)

func TestParity(t *testing.T) {
	for _, name := range goldens {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			ts, err := g.model.Trace(context.Background(), g.ids, []trace.Tap{trace.Logits, trace.Attention, trace.Hidden, trace.Final})
			must(t, err)
			layers := g.model.Spec.Layers
			check(t, "logits", ts[0].Data, g.first(t, "logits"), logitsTol)
			for l := range layers {
				n := len(ts[1].Data) / layers
				check(t, fmt.Sprintf("attention of layer %d", l), ts[1].Data[l*n:(l+1)*n], g.first(t, fmt.Sprintf("attn.%d", l)), tapTol)
				n = len(ts[3].Data)
				check(t, fmt.Sprintf("hidden state %d", l), ts[2].Data[l*n:(l+1)*n], g.first(t, fmt.Sprintf("hidden.%d", l)), tapTol)
			}
			// The reference's last hidden state is after the final norm.
			check(t, "final", ts[3].Data, g.first(t, fmt.Sprintf("hidden.%d", layers)), tapTol)
		})
	}
}

// TestGreedy follows the recorded greedy tokens on the cache: each must be the most probable one. The reference forbade the
// end-of-text id, which it reached in none of them.
func TestGreedy(t *testing.T) {
	for _, name := range goldens {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			recorded, err := g.file.Int32("greedy")
			must(t, err)
			s, err := g.model.NewSession(nil)
			must(t, err)
			defer s.Close()
			out, err := s.Prompt(context.Background(), g.ids, nil)
			must(t, err)
			for i, want := range recorded[len(g.ids):] {
				out.Logits[2] = -1e30 // end-of-text, as in the recording
				if got := argmax(out.Logits); got != int(want) {
					t.Fatalf("token %d = %d, want %d", i, got, want)
				}
				out, err = s.Step(context.Background(), int(want))
				must(t, err)
			}
		})
	}
}

func argmax(x []float32) int {
	best := 0
	for i := range x {
		if x[i] > x[best] {
			best = i
		}
	}
	return best
}

// TestCacheEqualsFull feeds a text in every split of prompt and single steps: logits, attention and Value Zeroing rows must be
// those of one full pass. The longest text outgrows its first cache slots.
func TestCacheEqualsFull(t *testing.T) {
	for _, name := range goldens {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			ids := append(append(append([]int{}, g.ids...), g.ids...), g.ids...) // 36 tokens, more than 32 slots
			asks := []trace.MixingAsk{
				{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}, AllRows: true},
				{Name: "attention", Heads: trace.Heads{Fusion: trace.MaxHeads}, AllRows: true},
				{Name: "value-zeroing", AllRows: true},
				{Name: "value-zeroing", Heads: trace.Heads{Fusion: trace.OneHead, Head: 1}, AllRows: true},
			}
			full := prompt(t, g.model, asks, ids)
			logits, err := g.model.Trace(context.Background(), ids, []trace.Tap{trace.Logits})
			must(t, err)
			for _, m := range []int{1, 11, 31, 32, 35} {
				compareSteps(t, g.model, asks, ids, m, full, logits[0].Data)
			}
		})
	}
}

func compareSteps(t *testing.T, m *transformer.Model, asks []trace.MixingAsk, ids []int, prompted int, full *transformer.Output, logits []float32) {
	t.Helper()
	s, err := m.NewSession(asks)
	must(t, err)
	defer s.Close()
	out, err := s.Prompt(context.Background(), ids[:prompted], nil)
	must(t, err)
	v := m.Spec.Vocab
	for at := prompted; ; at++ {
		where := fmt.Sprintf("%d prompt tokens, position %d", prompted, at-1)
		check(t, where+": logits", out.Logits, logits[(at-1)*v:at*v], logitsTol)
		for i, rows := range out.Rows {
			for l := range rows.L {
				for h := range rows.H {
					want := full.Rows[i].Row(l, h, at-1)[:at]
					check(t, fmt.Sprintf("%s: %s of layer %d head %d", where, asks[i].Name, l, h), rows.Row(l, h, rows.N-1), want, rowTol)
				}
			}
		}
		if at == len(ids) {
			return
		}
		out, err = s.Step(context.Background(), ids[at])
		must(t, err)
	}
}

// rowTol bounds rows computed on the cache against those of a full pass; worst seen 2e-7.
const rowTol = 1e-6

func prompt(t testing.TB, m *transformer.Model, asks []trace.MixingAsk, ids []int) *transformer.Output {
	t.Helper()
	s, err := m.NewSession(asks)
	must(t, err)
	defer s.Close()
	out, err := s.Prompt(context.Background(), ids, nil)
	must(t, err)
	return out
}

// TestLastRowOnly asks for the prompt's last row alone: it must be the last of all rows.
func TestLastRowOnly(t *testing.T) {
	g := openGolden(t, "bloom")
	for _, name := range []string{"attention", "value-zeroing"} {
		all := prompt(t, g.model, []trace.MixingAsk{{Name: name, AllRows: true}}, g.ids).Rows[0]
		last := prompt(t, g.model, []trace.MixingAsk{{Name: name}}, g.ids).Rows[0]
		if last.First != len(g.ids)-1 || last.N != 1 || last.S != len(g.ids) {
			t.Fatalf("%s: rows %d..+%d over %d sources, want the last one of %d", name, last.First, last.N, last.S, len(g.ids))
		}
		for l := range last.L {
			check(t, name, last.Row(l, 0, 0), all.Row(l, 0, len(g.ids)-1), rowTol)
		}
	}
}

// TestTapsChangeNothing compares logits with and without every tap.
func TestTapsChangeNothing(t *testing.T) {
	g := openGolden(t, "falcon_rw")
	plain, err := g.model.Trace(context.Background(), g.ids, []trace.Tap{trace.Logits})
	must(t, err)
	all, err := g.model.Trace(context.Background(), g.ids, trace.Taps())
	must(t, err)
	for _, x := range all {
		if x.Name == string(trace.Logits) {
			check(t, "logits", x.Data, plain[0].Data, tapTol)
		}
	}
}
