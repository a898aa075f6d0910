package modeltest

import (
	"context"
	"fmt"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/transformer"
)

// What a golden may differ from the reference, which on these checkpoints is within 5e-6 (logits) and 1.3e-6 (attentions) of its own
// result in float64.
const (
	LogitsTol = 2e-5 // logits; worst seen 8e-6, of magnitude 10
	TapTol    = 1e-5 // attentions and hidden states; worst seen 7e-6, of magnitude 10, where both are 5e-6 from float64
)

// Golden is a tiny random checkpoint, and what the reference computes on a batch of two texts.
type Golden struct {
	Family *family.Family
	Model  *transformer.Model
	// Params has the weights by parameter name.
	Params map[string][]float32
	// IDs is the first text of the batch.
	IDs []int
	// File is the recording; see models/testdata/goldens/README.md.
	File *checkpoint.File
}

// OpenGolden opens a golden's folder on the pure-Go backend. It fails the test if it cannot.
func OpenGolden(t testing.TB, dir string) *Golden {
	t.Helper()
	d, err := checkpoint.OpenDir(dir)
	must(t, err)
	defer d.Close()
	f, spec, err := family.Read(family.NewConfig(dir+"/config.json", d.Config))
	must(t, err)
	load, err := f.Loader(dir, d.Weights, spec)
	must(t, err)
	g := &Golden{Family: f, Params: map[string][]float32{}}
	g.Model, err = transformer.New(backend(t), spec, dtypes.Float32, func(p transformer.Param, put func(int, []float32)) error {
		g.Params[p.Name] = make([]float32, p.Size())
		return load(p, func(first int, values []float32) {
			copy(g.Params[p.Name][first:], values)
			put(first, values)
		})
	})
	must(t, err)
	g.File, err = checkpoint.Open(dir + "/golden.safetensors")
	must(t, err)
	t.Cleanup(func() { g.File.Close() })
	ids := g.ints(t, "input_ids")
	for _, id := range ids[:len(ids)/2] {
		g.IDs = append(g.IDs, int(id))
	}
	return g
}

// Parity compares every recorded pass with the model: attention, hidden states, what is behind the final norm, and logits, of the batch
// as it is, padded, and with token types.
func (g *Golden) Parity(t *testing.T) {
	t.Helper()
	passes := 0
	for _, pass := range []struct{ name, prefix string }{{"plain", ""}, {"padded", "pad."}, {"types", "types."}} {
		if g.File.Has(pass.prefix + "hidden.0") {
			passes++
			t.Run(pass.name, func(t *testing.T) { g.compare(t, pass.prefix) })
		}
	}
	if passes < 2 {
		t.Errorf("the golden has %d passes, want a plain and a padded one", passes)
	}
}

// compare runs one recorded pass: "" is the batch as it is, "pad." padded, "types." with token types.
func (g *Golden) compare(t *testing.T, pass string) {
	batch, begins := g.batch(t, pass)
	wanted := []trace.Tap{trace.Attention, trace.Hidden, trace.Final}
	if g.File.Has("logits") {
		wanted = append(wanted, trace.Logits)
	}
	texts, err := g.Model.Forward(context.Background(), batch, wanted)
	must(t, err)
	layers := g.Model.Spec.Layers
	for i, taps := range texts {
		part := func(name string, axes ...int) []float32 {
			return g.part(t, pass+name, i, begins[i], len(batch.IDs[i]), axes...)
		}
		for l := range layers {
			near(t, fmt.Sprintf("text %d: attention of layer %d", i, l), slice(taps[0].Data, l, layers), part(fmt.Sprintf("attn.%d", l), 2, 3), TapTol)
			near(t, fmt.Sprintf("text %d: hidden state %d", i, l), slice(taps[1].Data, l, layers+1), part(fmt.Sprintf("hidden.%d", l), 1), TapTol)
		}
		// The reference's last hidden state is behind the final norm.
		near(t, fmt.Sprintf("text %d: final", i), taps[2].Data, part(fmt.Sprintf("hidden.%d", layers), 1), TapTol)
		if len(taps) < 4 {
			continue
		}
		axes := []int{1}
		if g.Model.Spec.Head == transformer.ClassifierHead {
			axes = nil
		}
		near(t, fmt.Sprintf("text %d: logits", i), taps[3].Data, part("logits", axes...), LogitsTol)
	}
}

// Greedy follows the recorded greedy tokens on the cache: each must be the most probable one. The reference forbade the end-of-text
// id, 2.
func (g *Golden) Greedy(t *testing.T) {
	t.Helper()
	recorded := g.ints(t, "greedy")
	s, err := g.Model.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	out, err := s.Prompt(context.Background(), g.IDs, nil)
	must(t, err)
	for i, want := range recorded[len(g.IDs):] {
		best := -1
		for id, x := range out.Logits {
			if id != 2 && (best < 0 || x > out.Logits[best]) {
				best = id
			}
		}
		if best != int(want) {
			t.Fatalf("token %d = %d, want %d", i, best, want)
		}
		out, err = s.Step(context.Background(), int(want))
		must(t, err)
	}
}

// batch returns the texts of a recorded pass without their padding, and the slot where each begins.
func (g *Golden) batch(t *testing.T, pass string) (b transformer.Batch, begins []int) {
	t.Helper()
	ids := g.ints(t, "input_ids")
	mask, types := make([]int32, len(ids)), []int32(nil)
	for i := range mask {
		mask[i] = 1
	}
	switch pass {
	case "pad.":
		mask = g.ints(t, "padmask")
		b.PadLeft = !g.Model.Spec.Bidirectional
	case "types.":
		types = g.ints(t, "token_type_ids")
	}
	n := len(ids) / 2
	for i := range 2 {
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

// ints reads a recorded tensor of ids.
func (g *Golden) ints(t testing.TB, name string) []int32 {
	t.Helper()
	ids, err := g.File.Int32(name)
	must(t, err)
	return ids
}

// part returns text i of a recorded tensor, cut to n places from begin on along some axes.
func (g *Golden) part(t testing.TB, name string, i, begin, n int, axes ...int) []float32 {
	t.Helper()
	data, err := g.File.Float32(name)
	must(t, err)
	shape, err := g.File.Shape(name)
	must(t, err)
	return cut(slice(data, i, shape[0]), shape[1:], axes, begin, n)
}

// slice returns part i of n equal ones.
func slice(data []float32, i, n int) []float32 {
	size := len(data) / n
	return data[i*size : (i+1)*size]
}

// cut keeps n places from begin on along those axes, counted with the batch axis that data has no more.
func cut(data []float32, shape, axes []int, begin, n int) []float32 {
	if len(shape) == 0 {
		return data
	}
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
		out = append(out, cut(slice(data, k, shape[0]), shape[1:], rest, begin, n)...)
	}
	return out
}
