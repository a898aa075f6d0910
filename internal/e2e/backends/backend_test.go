// Package backends compares XLA with pure Go and with the recordings of the reference
// implementation, on tiny models. Nearly all of its time is that of compiling: XLA compiles every
// graph of every model, so a comparison stands here once, and graphs are optimised little. Package
// realmodels compares those of users. What pure Go alone must compute is tested in models/family
// and models/transformer.
package backends

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla"
)

const goldens = "../../../models/testdata/goldens/"

// littleOptimised are flags with which XLA takes a sixth of the processor time to compile a graph
// of a tiny model: 2.5 s for 30 graphs with gradients, and 14.9 s without them. They make a real
// model slow.
const littleOptimised = "--xla_backend_optimization_level=0 " +
	"--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"

// TestMain lets XLA optimise little, unless XLA_FLAGS says how or benchmarks run.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("XLA_FLAGS") == "" && flag.Lookup("test.bench").Value.String() == "" {
		os.Setenv("XLA_FLAGS", littleOptimised)
	}
	os.Exit(m.Run())
}

// optimisedInOther runs a test in a process whose graphs are optimised as those of users. It
// reports whether it did; in that process it does not.
func optimisedInOther(t *testing.T) bool {
	t.Helper()
	if !strings.Contains(os.Getenv("XLA_FLAGS"), littleOptimised) {
		return false
	}
	fixture.Open(t, models.Default, "xla") // or skips
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "XLA_FLAGS=--xla_backend_optimization_level=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// families are all goldens.
func families(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(goldens)
	must(t, err)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

const (
	logitsTol  = 2e-5 // against the reference; worst seen 4e-6
	tapTol     = 1e-5 // attentions and hidden states, also between backends; worst seen 2e-6
	backendTol = 1e-5 // pure Go against XLA
)

// has reports whether a golden has a tensor.
func has(t testing.TB, family, name string) bool {
	t.Helper()
	f, err := checkpoint.Open(filepath.Join(goldens, family, "golden.safetensors"))
	must(t, err)
	defer f.Close()
	return f.Has(name)
}

// recorded reads row 0 of a recorded tensor.
func recorded(t testing.TB, family, name string) []float32 {
	t.Helper()
	f, err := checkpoint.Open(filepath.Join(goldens, family, "golden.safetensors"))
	must(t, err)
	defer f.Close()
	data, err := f.Float32(name)
	must(t, err)
	return data[:len(data)/2]
}

// ids reads row 0 of recorded token ids.
func ids(t testing.TB, family, name string, rows int) []int {
	t.Helper()
	f, err := checkpoint.Open(filepath.Join(goldens, family, "golden.safetensors"))
	must(t, err)
	defer f.Close()
	data, err := f.Int32(name)
	must(t, err)
	var out []int
	for _, id := range data[:len(data)/rows] {
		out = append(out, int(id))
	}
	return out
}

// TestReferenceParity compares pure Go, opened as a program opens it, with the recordings.
// TestCertificates makes the same comparison for XLA.
func TestReferenceParity(t *testing.T) {
	for _, family := range families(t) {
		t.Run(family, func(t *testing.T) {
			m := fixture.Open(t, goldens+family, "go")
			layers := m.Info().Layers
			wanted := []trace.Tap{trace.Attention, trace.Hidden, trace.Final}
			if has(t, family, "logits") {
				wanted = append(wanted, trace.Logits)
			}
			ts, err := m.Trace(context.Background(), ids(t, family, "input_ids", 2), wanted)
			must(t, err)
			layer := func(i, n, l int) []float32 {
				size := len(ts[i].Data) / n
				return ts[i].Data[l*size : (l+1)*size]
			}
			for l := range layers {
				attention, hidden := fmt.Sprintf("attn.%d", l), fmt.Sprintf("hidden.%d", l)
				compare(t, attention, layer(0, layers, l), recorded(t, family, attention), tapTol)
				compare(t, hidden, layer(1, layers+1, l), recorded(t, family, hidden), tapTol)
			}
			last := fmt.Sprintf("hidden.%d", layers)
			compare(t, "final", ts[2].Data, recorded(t, family, last), tapTol)
			if len(ts) > 3 {
				compare(t, "logits", ts[3].Data, recorded(t, family, "logits"), logitsTol)
			}
		})
	}
}

// TestGreedyParity continues the recorded prompt in pure Go: the tokens must be those of the
// reference. The reference forbade end-of-text, id 2, which greedy decoding reaches in none of
// the recordings. TestCertificates makes the same comparison for XLA.
func TestGreedyParity(t *testing.T) {
	for _, family := range families(t) {
		t.Run(family, func(t *testing.T) {
			if !has(t, family, "greedy") {
				t.Skip("an encoder does not generate")
			}
			m := fixture.Open(t, goldens+family, "go")
			all := ids(t, family, "greedy", 1)
			at := 12
			for s, err := range m.Steps(context.Background(), all[:12], trace.Ask{MaxTokens: 6}) {
				must(t, err)
				if s.Next.Token.ID != all[at] {
					t.Fatalf("token %d = %d, want %d", at, s.Next.Token.ID, all[at])
				}
				at++
			}
			if at != len(all) {
				t.Errorf("%d tokens, want %d", at, len(all))
			}
		})
	}
}

// TestBackendsAgree compares every tap of pure Go and XLA, and the rows of a generation on the
// cache. TestCertificates does so for the other kinds of blocks.
func TestBackendsAgree(t *testing.T) {
	for _, ref := range []string{goldens + "falcon_rw", goldens + "mixtral", models.Default} {
		t.Run(filepath.Base(ref), func(t *testing.T) {
			xla, plain := fixture.Open(t, ref, "xla"), fixture.Open(t, ref, "go")
			text := []int{5, 17, 33, 8, 40, 41, 6, 27, 23}
			want, err := plain.Trace(context.Background(), text, plain.Info().Taps())
			must(t, err)
			got, err := xla.Trace(context.Background(), text, plain.Info().Taps())
			must(t, err)
			for i := range want {
				compare(t, want[i].Name, got[i].Data, want[i].Data, scaled(want[i].Data))
			}
			ask := trace.Ask{
				Continuation: []int{7, 30, 31}, Mixings: mixings("attention", "value-zeroing"),
				Lens: 2,
			}
			compareSteps(t, collect(t, xla, text, ask), collect(t, plain, text, ask))
		})
	}
}

// scaled returns the tolerance for numbers of the size of data: float32 has 24 bits at every size.
func scaled(data []float32) float64 {
	most := 1.0
	for _, x := range data {
		most = max(most, math.Abs(float64(x)))
	}
	return backendTol * most
}

func collect(t *testing.T, m *models.Model, text []int, ask trace.Ask) []trace.Step {
	t.Helper()
	var steps []trace.Step
	for s, err := range m.Steps(context.Background(), text, ask) {
		must(t, err)
		steps = append(steps, s)
	}
	return steps
}

func compareSteps(t *testing.T, got, want []trace.Step) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d steps, want %d", len(got), len(want))
	}
	for i := range want {
		for k := range want[i].Rows {
			where := fmt.Sprintf("step %d mixing %d", i, k)
			compare(t, where, got[i].Rows[k].Data, want[i].Rows[k].Data, backendTol)
		}
		if d := math.Abs(got[i].Next.Probability - want[i].Next.Probability); d > backendTol {
			t.Errorf("step %d: probability %v, want %v",
				i, got[i].Next.Probability, want[i].Next.Probability)
		}
		for l, layer := range want[i].Lens {
			if d := math.Abs(got[i].Lens[l].Probability - layer.Probability); d > backendTol {
				t.Errorf("step %d: lens of layer %d: %v, want %v", i, l,
					got[i].Lens[l].Probability, layer.Probability)
			}
		}
	}
}

var (
	must    = testhelp.Must // ends a test at an error
	compare = fixture.Near
)
