package scorer_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// The integral of a logistic function along a straight line from a to b is (σ(b)-σ(a))/(b-a), for
// every component alike.
func TestIntegratedGradients(t *testing.T) {
	m, q := fakemodel.NewLinear(), ids(1, 0, 3)
	parts := []float64{0.5 - 2, 4, -3 + 0.25} // w_j·e_j
	b := parts[0] + parts[1] + parts[2] + 3
	got := score(t, "integrated-gradients", m, q, scorer.Options{Replacement: "zero"})
	mean := (fakemodel.Sigmoid(b) - fakemodel.Sigmoid(3)) / (b - 3)
	want := []float64{parts[0] * mean, parts[1] * mean, parts[2] * mean}
	// Trapezoids are off by h²/12 of the second derivative, here by less than 1e-5.
	near(t, "from zeros", got.Values, want, 1e-5)
	near(t, "value", []float64{got.Value}, []float64{fakemodel.Sigmoid(b)}, 0)
	near(t, "residue", []float64{*got.Residue}, []float64{0}, 1e-5)

	// One point is the middle, which counts as much as both ends, and the residue is what they
	// miss.
	got = score(t, "integrated-gradients", m, q, scorer.Options{Replacement: "zero", Steps: 1})
	middle := slopeOf((b+3)/2)/2 + slopeOf(b)/4 + slopeOf(3)/4
	near(t, "one point", got.Values, []float64{
		parts[0] * middle, parts[1] * middle,
		parts[2] * middle,
	}, 1e-7)
	near(t, "its residue", []float64{*got.Residue},
		[]float64{fakemodel.Sigmoid(b) - fakemodel.Sigmoid(3) - middle*(b-3)}, 1e-7)

	// From masks, id 9, or another token of the model, w4 with id 5: e - e' is (id - id', 0).
	for name, id := range map[string]float64{"mask": 9, "w4": 5} {
		a := 0.5*id - 2 + 3*id + 4 - id + 0.25 + 3
		mean = (fakemodel.Sigmoid(b) - fakemodel.Sigmoid(a)) / (b - a)
		want = []float64{0.5 * (1 - id) * mean, 3 * (0 - id) * mean, -1 * (3 - id) * mean}
		got = score(t, "integrated-gradients", m, q,
			scorer.Options{Replacement: name, Steps: 64})
		near(t, "from "+name, got.Values, want, 2e-3*(1+math.Abs(want[0]))) // an error of h²
	}
}

// slopeOf is the derivative of sigmoid.
func slopeOf(x float64) float64 { return fakemodel.Sigmoid(x) * (1 - fakemodel.Sigmoid(x)) }

// The first points are equally spaced between both ends.
func TestIntegratedGradientsPoints(t *testing.T) {
	m := fakemodel.NewLinear()
	score(t, "integrated-gradients", m, ids(8, 0, 0),
		scorer.Options{Replacement: "zero", Steps: 3})
	var at []float64
	for _, q := range (*m.Queries)[0] {
		at = append(at, float64(q.Embeddings[0])/8)
		if fmt.Sprint(q.IDs) != "[8 0 0]" {
			t.Errorf("ids %v; want those of the text", q.IDs)
		}
	}
	near(t, "points", at, []float64{0, .25, .5, .75, 1}, 1e-7)
}

// Where the prediction changes in a hundredth of the path, points go there: of the logistic
// function of 1000(α - 0.7) the integral is 1. Of 32 equal steps one alone meets the change, and
// makes between 0 and 1000/4/32 = 7.8 of it, depending on where it falls.
func TestIntegratedGradientsJump(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.Gradient = func(q trace.Query, _ trace.Backward) trace.Gradient {
		logit := 1000 * (float64(q.Embeddings[0]) - .7)
		return trace.Gradient{
			Value: fakemodel.Sigmoid(logit),
			Data:  []float32{float32(1000 * slopeOf(logit)), 0},
		}
	}
	got := score(t, "integrated-gradients", m, ids(1), scorer.Options{Replacement: "zero"})
	near(t, "a jump", got.Values, []float64{1}, .01)
	near(t, "its residue", []float64{*got.Residue}, []float64{1 - got.Values[0]}, 1e-9)
	if n := total(*m.Queries); n != 34 {
		t.Errorf("%d points were asked for, want 32 and both ends", n)
	}
}

// total is how many queries there are in all calls.
func total(calls [][]trace.Query) int {
	n := 0
	for _, c := range calls {
		n += len(c)
	}
	return n
}

// normWeights are w, [D], of newNormed.
var normWeights = []float64{3, -2}

// normed is w·x/√(mean x² + ε), the output for one token of newNormed.
func normed(x []float64, epsilon float64) float64 {
	square := (x[0]*x[0] + x[1]*x[1]) / 2
	return (normWeights[0]*x[0] + normWeights[1]*x[1]) / math.Sqrt(square+epsilon)
}

// newNormed returns a model whose first operation is RMSNorm: its logit is Σ_j w·x_j/√(mean x_j² +
// ε), of embeddings (id, 1), or (0, 0) for id 30.
func newNormed(epsilon float64) fakemodel.Scored {
	a := fakemodel.NewScored(1)
	a.Embedding = func(id int) []float32 {
		if id == 30 {
			return []float32{0, 0}
		}
		return []float32{float32(id), 1}
	}
	a.Gradient = func(q trace.Query, _ trace.Backward) trace.Gradient {
		var g trace.Gradient
		for j, id := range q.IDs {
			row := a.Embedding(id)
			if q.Embeddings != nil {
				row = q.Embeddings[2*j : 2*j+2]
			}
			x := []float64{float64(row[0]), float64(row[1])}
			root := math.Sqrt((x[0]*x[0]+x[1]*x[1])/2 + epsilon)
			f := normed(x, epsilon)
			g.Value += f
			for d := range x {
				g.Data = append(g.Data, float32(normWeights[d]/root-f*x[d]/(2*root*root)))
			}
		}
		return g
	}
	return a
}

// The logit of newNormed is a sum over tokens, so by the fundamental theorem the value of each
// token is its own change, g(e_j) - g(e'). From a token the sum over points converges to it.
func TestIntegratedGradientsThroughNorm(t *testing.T) {
	const epsilon = 1e-5
	m, q := newNormed(epsilon), ids(2, 0, 7)
	m.Kinds = map[string]int{"end": 9}
	var want []float64
	for _, id := range q.IDs {
		want = append(want, normed([]float64{float64(id), 1}, epsilon)-normed([]float64{9, 1},
			epsilon))
	}
	furthest := func(got []float64) float64 {
		most := 0.0
		for j := range want {
			most = max(most, math.Abs(got[j]-want[j]))
		}
		return most
	}
	// The error of equal trapezoids falls to 1/16 with 4 times as many. These are not equal, so a
	// quarter is asked for.
	last := math.Inf(1)
	for _, steps := range []int{8, 32, 128, 512} {
		got := score(t, "integrated-gradients", m, q, scorer.Options{
			Quantity: trace.Logit,
			Steps:    steps,
		})
		far := furthest(got.Values)
		if !(far <= last/4) {
			t.Errorf("%d steps are %g from the closed form, want at most a quarter of %g", steps,
				far, last)
		}
		last = far
	}
	if last > 1e-4 {
		t.Errorf("512 steps are %g from the closed form", last)
	}
	// From zeros nearly all of the change lies below α = √ε, where the points must go.
	for j, id := range q.IDs {
		want[j] = normed([]float64{float64(id), 1}, epsilon)
	}
	got := score(t, "integrated-gradients", m, q,
		scorer.Options{Quantity: trace.Logit, Replacement: "zero", Steps: 128})
	if far := furthest(got.Values); far > .01 {
		t.Errorf("128 steps from zeros are %g from the closed form %v", far, want)
	}
}

// The baseline is the first of the model's stand-ins that is not nearly zero, and the scores say
// which.
func TestIntegratedGradientsBaseline(t *testing.T) {
	// embedding of id 30 is (0,0); of id i it is (i,1)
	for _, c := range []struct {
		name  string
		kinds map[string]int
		asked string
		want  string
		id    int
	}{
		{"mask first", map[string]int{"mask": 9, "unknown": 8, "end": 7, "pad": 6}, "", "mask", 9},
		{"unknown next", map[string]int{"unknown": 8, "end": 7, "pad": 6}, "", "unknown", 8},
		{"end next", map[string]int{"end": 7, "pad": 6}, "", "end", 7},
		{"pad at last", map[string]int{"pad": 6}, "", "pad", 6},
		{"one of zeros is passed over", map[string]int{"unknown": 30, "end": 7}, "", "end", 7},
		{"unless there is no other", map[string]int{"unknown": 30}, "", "unknown", 30},
		{"zeros without any", nil, "", "zero", 30},
		{"asked for", map[string]int{"mask": 9, "pad": 6}, "pad", "pad", 6},
		{"one of zeros that is asked for", map[string]int{"mask": 9, "unknown": 30}, "unknown", "unknown", 30},
		{"a word", map[string]int{"mask": 9}, "w4", "w4", 5},
	} {
		m := newNormed(1)
		m.Kinds = c.kinds
		q := ids(2, 4)
		got := score(t, "integrated-gradients", m, q,
			scorer.Options{Quantity: trace.Logit, Replacement: c.asked, Steps: 256})
		var want []float64
		for _, id := range append(q.IDs, c.id) {
			row := m.Embedding(id)
			want = append(want, normed([]float64{float64(row[0]), float64(row[1])}, 1))
		}
		near(t, c.name, got.Values, []float64{want[0] - want[2], want[1] - want[2]}, 1e-3)
		if got.Replacement != c.want {
			t.Errorf("%s: from %q, want %q", c.name, got.Replacement, c.want)
		}
	}
}

// A model whose first norm is RMSNorm has no gradient at zeros, so they are refused, as a choice
// and as what is left where the model has no token without a meaning.
func TestIntegratedGradientsRefusesZeros(t *testing.T) {
	m := newNormed(1e-6)
	m.About.NoGradientAtZero = true
	for _, c := range []struct {
		asked string
		kinds map[string]int
		want  string
	}{
		{"zero", map[string]int{"end": 9, "pad": 8}, "replacement: pad, end, any token of the model"},
		{"", nil, "replacement: any token of the model"},
	} {
		m.Kinds = c.kinds
		err := refused("integrated-gradients", m, ids(2, 4), scorer.Options{Replacement: c.asked})
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "zero,") {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// A gradient at the baseline itself is not needed, and may be undefined. One on the way is, and the
// error names the baseline that failed and those there are.
func TestIntegratedGradientsUndefined(t *testing.T) {
	undefined := func(until float32) fakemodel.Scored {
		m := fakemodel.NewLinear()
		defined := m.Gradient
		m.Gradient = func(q trace.Query, rule trace.Backward) trace.Gradient {
			g := defined(q, rule)
			if q.Embeddings[0] <= until {
				g.Data[0] = float32(math.NaN())
			}
			return g
		}
		return m
	}
	q, zero := ids(2, 4, 6), scorer.Options{Quantity: trace.Logit, Replacement: "zero"}
	got := score(t, "integrated-gradients", undefined(0), q, zero)
	near(t, "undefined at the baseline alone", got.Values, []float64{-1, 16, -5.75}, 1e-12)

	err := refused("integrated-gradients", undefined(.5), q, zero)
	want := `attribution: integrated-gradients: the model returned a gradient of NaN at token 0 ` +
		`(id 2), 0.11 of the way from the baseline "zero" to the text, where the model may be ` +
		`undefined; take another baseline: mask, or any token of "fake"`
	if err == nil || errors.Is(err, trace.ErrUsage) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	err = refused("integrated-gradients", fakemodel.NewLinear(), q,
		scorer.Options{Replacement: "delete"})
	want = `none can be deleted; take mask, zero, or any token of "fake"`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want the baselines that there are", err)
	}
}
