package transformer_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"

	"github.com/headwater-ml/headwater/models/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/transformer"
)

// goldens are the checkpoints recorded from the reference implementation; see models/testdata/goldens.
var goldens = []string{"gpt2", "bloom", "bloom_h6", "falcon_rw"}

// golden is a tiny random checkpoint and what the reference computes on its first row of ids, T tokens.
type golden struct {
	model *transformer.Model
	// params has the weights by parameter name.
	params map[string][]float32
	file   *checkpoint.File
	ids    []int
}

func openGolden(t testing.TB, name string) *golden {
	t.Helper()
	dir, err := checkpoint.OpenDir("../testdata/goldens/" + name)
	must(t, err)
	defer dir.Close()
	f, spec, err := family.Read(family.NewConfig(name, dir.Config))
	must(t, err)
	load, err := f.Loader(name, dir.Weights, spec)
	must(t, err)
	g := &golden{params: map[string][]float32{}}
	g.model, err = transformer.New(goBackend(t), spec, func(p transformer.Param) ([]float32, error) {
		data, err := load(p)
		g.params[p.Name] = data
		return data, err
	})
	must(t, err)
	g.file, err = checkpoint.Open("../testdata/goldens/" + name + "/golden.safetensors")
	must(t, err)
	t.Cleanup(func() { g.file.Close() })
	shape, err := g.file.Shape("input_ids")
	must(t, err)
	ids, err := g.file.Int32("input_ids")
	must(t, err)
	for _, id := range ids[:shape[1]] {
		g.ids = append(g.ids, int(id))
	}
	return g
}

// first returns the part of a recorded tensor that belongs to row 0 of the batch of two.
func (g *golden) first(t testing.TB, name string) []float32 {
	t.Helper()
	data, err := g.file.Float32(name)
	must(t, err)
	return data[:len(data)/2]
}

func goBackend(t testing.TB) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go")
	must(t, err)
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// worst returns the largest difference and where it is; infinite if the lengths differ or one is NaN.
func worst(a, b []float32) (float64, int) {
	if len(a) != len(b) {
		return math.Inf(1), -1
	}
	at, most := 0, 0.0
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if d > most || math.IsNaN(d) {
			at, most = i, d
			if math.IsNaN(d) {
				return math.Inf(1), i
			}
		}
	}
	return most, at
}

func check(t testing.TB, what string, got, want []float32, tol float64) {
	t.Helper()
	if d, at := worst(got, want); d > tol {
		t.Errorf("%s: %g from the expected at element %d of %d (expected %d), want at most %g", what, d, at, len(got), len(want), tol)
	}
}
