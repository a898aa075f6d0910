package evaluate

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// bisect returns where a rising function is 0.
func bisect(f func(float64) float64) float64 {
	low, high := -100.0, 100.0
	for range 200 {
		if mid := (low + high) / 2; f(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// Two classes at x = -1 and x = 1, n/2 examples each. By symmetry the offsets are 0 and the weights
// ∓u/2, so F(u) = n ln(1+e^-u) + L2/2 · u²/2, whose minimum solves L2 u/2 = n/(1+e^u).
func TestProbeOfTwoPoints(t *testing.T) {
	for _, l2 := range []float64{1e-3, 1, 50} {
		for _, n := range []int{2, 20, 1000} {
			var x []float32
			var y []int
			for i := range n {
				x, y = append(x, float32(2*(i%2)-1)*7+3), append(y, i%2) // standardised to ±1
			}
			p, err := trainProbe(context.Background(), x, y, 2, l2)
			if err != nil {
				t.Fatal(err)
			}
			u := bisect(func(u float64) float64 { return l2*u/2 - float64(n)/(1+math.Exp(u)) })
			got := p.weights[2] - p.weights[0]
			if math.Abs(got-u) > 1e-5/l2 || math.Abs(p.weights[1]) > 1e-6/l2 {
				t.Errorf("L2 %v, n %d: weights %v differ by %v, want %v", l2, n, p.weights, got, u)
			}
			nats, right := p.code([]float32{10, -4}, []int{1, 0})
			if want := 2 * math.Log1p(math.Exp(-u)); math.Abs(nats-want) > 1e-5 || right != 2 {
				t.Errorf("L2 %v, n %d: %v nats, %d right; want %v, 2", l2, n, nats, right, want)
			}
		}
	}
}

// Features that say nothing leave the offsets ∓d/2: with m of n examples in class 1,
// n σ(d) - m + L2 d/2 = 0.
func TestProbeOfNothing(t *testing.T) {
	x, y := make([]float32, 30), make([]int, 10)
	for i := range x {
		x[i] = 5 // constant, so it is ignored
	}
	for i := range 7 {
		y[i] = 1
	}
	p, err := trainProbe(context.Background(), x, y, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := bisect(func(d float64) float64 { return 10/(1+math.Exp(-d)) - 7 + d/2 })
	if got := p.weights[7] - p.weights[3]; math.Abs(got-d) > 1e-6 {
		t.Errorf("offsets differ by %v, want %v", got, d)
	}
	// A feature that was constant in training says nothing later either.
	nats, _ := p.code([]float32{1e6, 0, -3}, []int{1})
	if want := math.Log1p(math.Exp(-d)); math.Abs(nats-want) > 1e-6 {
		t.Errorf("%v nats, want %v", nats, want)
	}
}

// The gradient and the curve are the differences of the loss and of the gradient, and training ends
// where the gradient is 0, for several classes.
func TestProbeDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	const n, D, K = 40, 3, 4
	x, y := make([]float32, n*D), make([]int, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * 3)
	}
	for i := range y {
		y[i] = rng.IntN(K)
	}
	p, err := trainProbe(context.Background(), x, y, K, .5)
	if err != nil {
		t.Fatal(err)
	}
	tr := &training{
		p: p, labels: y, l2: .5, z: make([]float64, n*(D+1)), probability: make([]float64, n*K),
	}
	for i := range n {
		p.features(tr.z[i*(D+1):][:D+1], x[i*D:][:D])
	}
	best := tr.loss(p.weights)
	const h = 1e-5
	for j := range p.weights {
		p.weights[j] += h
		if after := tr.loss(p.weights); after < best {
			t.Errorf("weight %d: the loss falls from %v to %v", j, best, after)
		}
		p.weights[j] -= h
	}
	for j := range p.weights {
		p.weights[j] = rng.NormFloat64()
	}
	v := make([]float64, len(p.weights))
	for j := range v {
		v[j] = rng.NormFloat64()
	}
	at := func(s float64) (float64, []float64) {
		w := p.weights
		p.weights = append([]float64(nil), w...)
		floats.AddScaled(p.weights, s, v)
		loss := tr.loss(p.weights)
		g := tr.gradient()
		p.weights = w
		return loss, g
	}
	tr.loss(p.weights)
	g, c := tr.gradient(), tr.curve(v)
	before, gBefore := at(-h)
	after, gAfter := at(h)
	if got, want := rowmath.Dot(g, v), (after-before)/(2*h); math.Abs(got-want) > 1e-5 {
		t.Errorf("slope %v, want %v", got, want)
	}
	for j := range c {
		if want := (gAfter[j] - gBefore[j]) / (2 * h); math.Abs(c[j]-want) > 1e-4 {
			t.Errorf("curve %d is %v, want %v", j, c[j], want)
		}
	}
}
