package transformer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// The reference itself is within 5e-6 (logits) and 1.3e-6 (attentions) of its own float64 result on these checkpoints.
const (
	logitsTol = 2e-5 // worst seen 8e-6, of magnitude 10
	tapTol    = 1e-5 // attentions and hidden states; worst seen 7e-6, of magnitude 10, where both are 5e-6 from float64
)

// TestParity compares the batch of two texts that the reference recorded, as it is, padded, and with token types.
func TestParity(t *testing.T) {
	for _, name := range goldens {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			for _, pass := range []string{"", "pad.", "types."} {
				if g.file.Has(pass + "hidden.0") {
					t.Run(pass, func(t *testing.T) { g.compare(t, pass) })
				}
			}
		})
	}
}

// compare runs one recorded pass.
func (g *golden) compare(t *testing.T, pass string) {
	batch, begins := g.batch(t, pass)
	wanted := []trace.Tap{trace.Attention, trace.Hidden, trace.Final}
	if g.file.Has("logits") {
		wanted = append(wanted, trace.Logits)
	}
	texts, err := g.model.Forward(context.Background(), batch, wanted)
	must(t, err)
	layers := g.model.Spec.Layers
	for i, ts := range texts {
		begin, n := begins[i], len(batch.IDs[i])
		for l := range layers {
			size := len(ts[0].Data) / layers
			want := g.part(t, fmt.Sprintf("%sattn.%d", pass, l), i, begin, n, 2, 3)
			check(t, fmt.Sprintf("text %d: attention of layer %d", i, l), ts[0].Data[l*size:(l+1)*size], want, tapTol)
			size = len(ts[1].Data) / (layers + 1)
			want = g.part(t, fmt.Sprintf("%shidden.%d", pass, l), i, begin, n, 1)
			check(t, fmt.Sprintf("text %d: hidden state %d", i, l), ts[1].Data[l*size:(l+1)*size], want, tapTol)
		}
		// The reference's last hidden state is after the final norm.
		check(t, "final", ts[2].Data, g.part(t, fmt.Sprintf("%shidden.%d", pass, layers), i, begin, n, 1), tapTol)
		if len(ts) == 4 {
			axes := []int{1}
			if g.model.Spec.Head == transformer.ClassifierHead {
				axes = nil
			}
			check(t, "logits", ts[3].Data, g.part(t, pass+"logits", i, begin, n, axes...), logitsTol)
		}
	}
}

// batch returns the texts of a recorded pass without their padding, and the slot where each begins.
func (g *golden) batch(t *testing.T, pass string) (b transformer.Batch, begins []int) {
	ids, err := g.file.Int32("input_ids")
	must(t, err)
	mask := make([]int32, len(ids))
	for i := range mask {
		mask[i] = 1
	}
	if pass == "pad." {
		mask, err = g.file.Int32("padmask")
		must(t, err)
		b.PadLeft = !g.model.Spec.Bidirectional
	}
	var types []int32
	if pass == "types." {
		types, err = g.file.Int32("token_type_ids")
		must(t, err)
	}
	shape, err := g.file.Shape("input_ids")
	must(t, err)
	n := shape[1]
	for i := range shape[0] {
		var text, kinds []int
		begin := -1
		for k := i * n; k < (i+1)*n; k++ {
			if mask[k] == 0 {
				continue
			}
			if begin < 0 {
				begin = k - i*n
			}
			text = append(text, int(ids[k]))
			if types != nil {
				kinds = append(kinds, int(types[k]))
			}
		}
		b.IDs, begins = append(b.IDs, text), append(begins, begin)
		if types != nil {
			b.Types = append(b.Types, kinds)
		}
	}
	return b, begins
}

// part returns text i of a recorded tensor, cut to n places from begin on along some axes.
func (g *golden) part(t *testing.T, name string, i, begin, n int, axes ...int) []float32 {
	data, err := g.file.Float32(name)
	must(t, err)
	shape, err := g.file.Shape(name)
	must(t, err)
	size := len(data) / shape[0]
	return cutAxes(data[i*size:(i+1)*size], shape[1:], axes, begin, n)
}

// cutAxes keeps n places from begin on along those axes, counted with the batch axis that data has no more.
func cutAxes(data []float32, shape, axes []int, begin, n int) []float32 {
	if len(shape) == 0 {
		return data
	}
	inner := len(data) / shape[0]
	var rest []int
	from, to := 0, shape[0]
	for _, a := range axes {
		if a == 1 {
			from, to = begin, begin+n
		} else {
			rest = append(rest, a-1)
		}
	}
	var out []float32
	for k := from; k < to; k++ {
		out = append(out, cutAxes(data[k*inner:(k+1)*inner], shape[1:], rest, begin, n)...)
	}
	return out
}

// TestGreedy follows the recorded greedy tokens on the cache: each must be the most probable one. The reference forbade the
// end-of-text id, which it reached in none of them.
func TestGreedy(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		recorded, err := g.file.Int32("greedy")
		must(t, err)
		s, err := g.model.NewSession(nil, 0)
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

func argmax(x []float32) int {
	best := 0
	for i := range x {
		if x[i] > x[best] {
			best = i
		}
	}
	return best
}

// TestCacheEqualsFull feeds a text in several splits of prompt and single steps: logits, attention and Value Zeroing rows must be
// those of one full pass over the text so far. The longest text outgrows its first cache slots.
func TestCacheEqualsFull(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
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

// fullPasses returns the full pass over the first n of ids, for every n: parts of a single one, since no token sees a later one. Where
// the length of a text changes its rotation, a pass for each.
func fullPasses(t *testing.T, m *transformer.Model, asks []trace.MixingAsk, ids []int) []fullPass {
	all := make([]fullPass, len(ids)+1)
	if r := m.Spec.Rotary; r != nil && r.LongFrequencies != nil {
		for n := 1; n <= len(ids); n++ {
			out := prompt(t, m, asks, ids[:n])
			all[n] = fullPass{out.Logits, func(i, l, h int) []float32 { return out.Rows[i].Row(l, h, n-1) }}
		}
		return all
	}
	whole := prompt(t, m, asks, ids)
	logits, err := m.Trace(context.Background(), ids, []trace.Tap{trace.Logits})
	must(t, err)
	for n := 1; n <= len(ids); n++ {
		all[n] = fullPass{at(logits[0], n-1), func(i, l, h int) []float32 { return whole.Rows[i].Row(l, h, n-1)[:n] }}
	}
	return all
}

// compareSteps feeds so many tokens as a prompt and the others one by one.
func compareSteps(t *testing.T, m *transformer.Model, asks []trace.MixingAsk, ids []int, prompted int, full []fullPass) {
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

// rowTol bounds rows computed on the cache against those of a full pass: scores of magnitude 10 have units of 1e-6 in the last place.
const rowTol = 3e-6 // worst seen 1.4e-6

func prompt(t testing.TB, m *transformer.Model, asks []trace.MixingAsk, ids []int) *transformer.Output {
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
