package transformer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/modelgolden"
	"github.com/headwater-ml/headwater/models/transformer"
)

const (
	logitsTol = modelgolden.LogitsTol
	tapTol    = modelgolden.TapTol
)

// TestParity compares the batch of two texts that the reference recorded, as it is, padded, and
// with token types.
func TestParity(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) { g.Parity(t) })
}

// TestGreedy follows the recorded greedy tokens on the cache.
func TestGreedy(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) { g.Greedy(t) })
}

// TestCacheEqualsFull feeds a text in several splits of prompt and single steps: logits, attention
// and Value Zeroing rows must be those of one full pass over the text so far. The longest text
// outgrows its first cache slots.
func TestCacheEqualsFull(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		if g.model.Spec.Rotary != nil && g.model.Spec.Rotary.Stretch > 0 {
			t.Skip("cached keys stay as they were turned, as in the reference")
		}
		ids := slices.Concat(g.ids, g.ids, g.ids) // 36 tokens, more than 32 slots
		asks := []trace.MixingAsk{
			{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}, AllRows: true},
			{Name: "attention", Heads: trace.Heads{Fusion: trace.MaxHeads}, AllRows: true},
			{Name: "value-zeroing", AllRows: true},
			{Name: "value-zeroing", Heads: trace.Heads{Fusion: trace.OneHead, Head: 1}, AllRows: true},
		}
		full := fullPasses(t, g.model, asks, ids)
		for _, m := range []int{1, 11, 31, 32, 35} {
			compareSteps(t, g.model, asks, ids, m, full)
		}
	})
}

// fullPass is the logits and the last row of one pass.
type fullPass struct {
	logits []float32
	row    func(ask, l, h int) []float32
}

// fullPasses returns the full pass over the first n of ids, for every n: parts of a single one,
// since no token sees a later one. Where the length of a text changes its rotation, a pass for
// each.
func fullPasses(t *testing.T, m *transformer.Model, asks []trace.MixingAsk, ids []int) []fullPass {
	all := make([]fullPass, len(ids)+1)
	if r := m.Spec.Rotary; r != nil && r.LongFrequencies != nil {
		for n := 1; n <= len(ids); n++ {
			out := prompt(t, m, asks, ids[:n])
			all[n] = fullPass{out.Logits, func(i, l, h int) []float32 {
				return out.Rows[i].Row(l, h, n-1)
			}}
		}
		return all
	}
	whole := prompt(t, m, asks, ids)
	logits, err := m.Trace(context.Background(), ids, []trace.Tap{trace.Logits})
	must(t, err)
	for n := 1; n <= len(ids); n++ {
		all[n] = fullPass{
			at(logits[0], n-1),
			func(i, l, h int) []float32 { return whole.Rows[i].Row(l, h, n-1)[:n] },
		}
	}
	return all
}

// compareSteps feeds so many tokens as a prompt and the others one by one.
func compareSteps(t *testing.T, m *transformer.Model, asks []trace.MixingAsk, ids []int,
	prompted int, full []fullPass,
) {
	t.Helper()
	s, err := m.NewSession(asks, 0)
	must(t, err)
	defer s.Close()
	out, err := s.Prompt(context.Background(), ids[:prompted], nil)
	must(t, err)
	for n := prompted; ; n++ {
		where := fmt.Sprintf("%d prompt tokens, position %d", prompted, n-1)
		check(t, where+": logits", out.Logits, full[n].logits, logitsTol)
		for i, rows := range out.Rows {
			for l := range rows.L {
				for h := range rows.H {
					what := fmt.Sprintf("%s: %s of layer %d head %d", where, asks[i].Name, l, h)
					check(t, what, rows.Row(l, h, rows.N-1), full[n].row(i, l, h), rowTol)
				}
			}
		}
		if s.Length() != n {
			t.Errorf("%s: the session has %d tokens", where, s.Length())
		}
		if n == len(ids) {
			return
		}
		out, err = s.Step(context.Background(), ids[n])
		must(t, err)
	}
}

// rowTol bounds rows computed on the cache against those of a full pass: scores of magnitude 10
// have units of 1e-6 in the last place.
const rowTol = 3e-6 // worst seen 1.4e-6

func prompt(t testing.TB, m *transformer.Model, asks []trace.MixingAsk,
	ids []int,
) *transformer.Output {
	t.Helper()
	s, err := m.NewSession(asks, 0)
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
			t.Fatalf("%s: rows %d..+%d over %d sources, want the last one of %d", name, last.First,
				last.N, last.S, len(g.ids))
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
	all, err := g.model.Trace(context.Background(), g.ids, allTaps(g.model.Spec))
	must(t, err)
	for _, x := range all {
		if x.Name == string(trace.Logits) {
			check(t, "logits", x.Data, plain[0].Data, tapTol)
		}
	}
}
