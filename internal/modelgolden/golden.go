// Package modelgolden opens the goldens of models/testdata for tests: tiny random checkpoints with
// what the reference implementation computes on them, alone, under edits and in batches.
package modelgolden

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/golden"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

var must = testhelp.Must // ends a test at an error

// How much a golden may differ from the reference implementation. On these checkpoints the
// reference differs from its own result in float64 by up to 5e-6 (logits) and 1.3e-6 (attentions).
const (
	LogitsTol = 2e-5 // logits; worst seen 8e-6, of magnitude 10
	// attentions and hidden states; worst seen 7e-6, of magnitude 10, where both are 5e-6 from
	// float64
	TapTol = 1e-5
)

// Golden is a tiny random checkpoint and what the reference implementation computes on a batch of
// two texts.
type Golden struct {
	Family *family.Family
	Model  *transformer.Model
	// Params has the weights, by parameter name.
	Params map[string][]float32
	// IDs is the first text of the batch.
	IDs       []int
	recording *golden.Golden
}

// Open opens the folder of a golden on the pure-Go backend. If it cannot, the test fails.
func Open(t testing.TB, dir string) *Golden {
	t.Helper()
	d, err := checkpoint.OpenDir(dir)
	must(t, err)
	defer d.Close()
	f, arch, err := family.Read(family.NewConfig(dir+"/config.json", d.Config))
	must(t, err)
	load, err := f.Loader(dir, d.Weights, arch)
	must(t, err)
	return OpenWith(t, dir, f, arch, load)
}

// OpenWith opens the recording in the folder of a golden with a model that was read from
// elsewhere, such as from the same checkpoint in another format.
func OpenWith(t testing.TB, dir string, f *family.Family, arch *spec.Spec,
	load spec.Loader,
) *Golden {
	t.Helper()
	g := &Golden{Family: f, Params: map[string][]float32{}}
	backend, err := backends.Open("go")
	must(t, err)
	g.Model, err = transformer.New(backend, arch, dtypes.Float32,
		func(p spec.Param, put func(int, []float32)) error {
			g.Params[p.Name] = make([]float32, p.Size())
			return load(p, func(first int, values []float32) {
				copy(g.Params[p.Name][first:], values)
				put(first, values)
			})
		})
	must(t, err)
	g.recording, err = golden.Open(dir + "/golden.safetensors")
	must(t, err)
	t.Cleanup(func() { g.recording.Close() })
	texts, err := g.recording.Texts()
	must(t, err)
	g.IDs = texts[0]
	return g
}

// Recorded returns what was recorded for the tokens of IDs under a name, [T,...].
func (g *Golden) Recorded(t testing.TB, name string) []float32 {
	t.Helper()
	data, err := g.recording.Part(name, 0, 0, len(g.IDs), 0)
	must(t, err)
	return data
}

// Parity compares every recorded pass with the model: attention, hidden states, the output of the
// final norm, and logits, for the batch as it is, padded, and with token types.
func (g *Golden) Parity(t *testing.T) {
	t.Helper()
	passes := g.recording.Passes()
	for _, pass := range passes {
		name := map[string]string{"": "plain", "pad.": "padded", "types.": "types"}[pass]
		t.Run(name, func(t *testing.T) { g.compare(t, pass) })
	}
	if len(passes) < 2 {
		t.Errorf("the golden has the passes %q, want a plain and a padded one", passes)
	}
}

// compare runs one recorded pass: "" is the batch as it is, "pad." padded, "types." with token
// types.
func (g *Golden) compare(t *testing.T, pass string) {
	batch, begins, err := g.recording.Batch(pass, !g.Model.Spec.Causal())
	must(t, err)
	wanted := []trace.Tap{trace.Attention, trace.Hidden, trace.Final}
	if g.recording.Has("logits") {
		wanted = append(wanted, trace.Logits)
	}
	texts, err := g.Model.Forward(context.Background(), batch, wanted)
	must(t, err)
	layers := g.Model.Spec.Layers
	for i, taps := range texts {
		part := func(name string, axes ...int) []float32 {
			want, err := g.recording.Part(pass+name, i, begins[i], len(batch.IDs[i]), axes...)
			must(t, err)
			return want
		}
		for l := range layers {
			CheckNear(t, fmt.Sprintf("text %d: attention of layer %d", i, l),
				slice(taps[0].Data, l, layers), part(fmt.Sprintf("attn.%d", l), 1, 2), TapTol)
			CheckNear(t, fmt.Sprintf("text %d: hidden state %d", i, l),
				slice(taps[1].Data, l, layers+1), part(fmt.Sprintf("hidden.%d", l), 0), TapTol)
		}
		// The last hidden state of the reference implementation is after the final norm.
		CheckNear(t, fmt.Sprintf("text %d: final", i), taps[2].Data,
			part(fmt.Sprintf("hidden.%d", layers), 0), TapTol)
		if len(taps) < 4 {
			continue
		}
		axes := []int{0}
		if g.Model.Spec.Head == spec.ClassifierHead {
			axes = nil
		}
		CheckNear(t, fmt.Sprintf("text %d: logits", i), taps[3].Data, part("logits", axes...),
			LogitsTol)
	}
}

// Greedy generates the recorded greedy tokens with the cache. Each must be the most probable one.
// In the recording the end-of-text id, 2, was forbidden.
func (g *Golden) Greedy(t *testing.T) {
	t.Helper()
	recorded, err := g.recording.Rows("greedy")
	must(t, err)
	s, err := g.Model.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	out, err := s.Prompt(context.Background(), g.IDs, nil)
	must(t, err)
	for i, want := range recorded[0][len(g.IDs):] {
		best := -1
		for id, x := range out.Logits {
			if id != 2 && (best < 0 || x > out.Logits[best]) {
				best = id
			}
		}
		if best != want {
			t.Fatalf("token %d = %d, want %d", i, best, want)
		}
		out, err = s.Step(context.Background(), want)
		must(t, err)
	}
}

// slice returns part i of n equal parts.
func slice(data []float32, i, n int) []float32 {
	size := len(data) / n
	return data[i*size : (i+1)*size]
}

// CheckNear fails the test if a number differs from the expected one by more than tol, or is not a
// number.
func CheckNear(t testing.TB, what string, got, want []float32, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tol) {
			t.Errorf("%s: element %d of %d = %v, want %v: %g apart, at most %g", what, i, len(got),
				got[i], want[i], d, tol)
			return
		}
	}
}
