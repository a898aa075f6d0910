package transformer_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// recordedActivations are what the reference computes for each name of an activation.
func recordedActivations(t *testing.T) (points []float64,
	all map[string]struct{ Values, Derivatives []float64 },
) {
	t.Helper()
	data, err := os.ReadFile("../testdata/goldens/activations.json")
	must(t, err)
	var file map[string]json.RawMessage
	must(t, json.Unmarshal(data, &file))
	must(t, json.Unmarshal(file["points"], &points))
	delete(file, "points")
	data, err = json.Marshal(file)
	must(t, err)
	must(t, json.Unmarshal(data, &all))
	return points, all
}

// TestActivations: values and derivatives of every activation that a file may name are those of the
// reference, f(x)/x is right, with f'(0) at 0, and f(0) is 0. Of those that are refused it
// is not 0.
func TestActivations(t *testing.T) {
	const tol = 4e-7 // of the larger of 1 and the value: four units in the last place
	points, all := recordedActivations(t)
	xs := []float32{0}
	for _, x := range points {
		xs = append(xs, float32(x))
	}
	d, err := checkpoint.OpenDir("../testdata/goldens/gpt2")
	must(t, err)
	defer d.Close()
	tried := map[spec.Activation]bool{}
	for name, want := range all {
		d.Config["activation_function"] = name
		_, arch, err := family.Read(family.NewConfig("config.json", d.Config))
		if err != nil {
			if name != "laplace" && name != "sigmoid" && name != "sqrtsoftplus" {
				t.Error(err)
			}
			continue
		}
		f := arch.Activation
		tried[f] = true
		out := runOnGo(t, func(g *graph.Graph) []*graph.Node {
			x := graph.Const(g, xs)
			y := transformer.Activate(f, x)
			slope := transformer.ActivationSlope(f, x)
			return []*graph.Node{y, slope, graph.Gradient(graph.ReduceAllSum(y), x)[0]}
		})
		if out[0][0] != 0 {
			t.Errorf("%s of 0 is %v", name, out[0][0])
		}
		atZero := float64(out[1][0]) // at a bend the slope on one side
		left, right := formulas[f](-1e-9)/-1e-9, formulas[f](1e-9)/1e-9
		if math.Abs(atZero-left) > tol && math.Abs(atZero-right) > tol {
			t.Errorf("%s at 0 by x is %v, want %v or %v", name, atZero, left, right)
		}
		for i, x := range points {
			// The reference has other digits of a constant, and of 0.79788 only ten.
			within := tol * max(1, math.Abs(want.Values[i]))
			close64(t, name, float64(out[0][i+1]), want.Values[i], within)
			close64(t, name+" by formula", formulas[f](float64(xs[i+1])), want.Values[i], within)
			close64(t, name+" by x", float64(out[1][i+1]), want.Values[i]/x, tol*
				max(1, math.Abs(want.Values[i]/x)))
			close64(t, name+" derivative", float64(out[2][i+1]), want.Derivatives[i], 3*tol*
				max(1, math.Abs(want.Derivatives[i])))
		}
	}
	if len(tried) != len(formulas) {
		t.Errorf("%d activations of %d were tried", len(tried), len(formulas))
	}
}

// runOnGo computes a graph on the pure-Go backend.
func runOnGo(t *testing.T, build func(g *graph.Graph) []*graph.Node) [][]float32 {
	t.Helper()
	out, err := graph.ExecOnceN(goBackend(t), build)
	must(t, err)
	var all [][]float32
	for _, tensor := range out {
		all = append(all, tensor.Value().([]float32))
	}
	return all
}

func close64(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
