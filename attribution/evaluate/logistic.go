package evaluate

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// linearProbe is a multinomial logistic regression on standardised features:
//
//	p(k|x) = softmax_k(w_k·z + b_k),  z = (x - mean) / deviation
type linearProbe struct {
	classes, width int
	// mean and scale are [D]; scale is 1 over the standard deviation of the training data, 0 for a
	// feature that is constant there.
	mean, scale []float64
	// weights are [K,D+1], the offset last.
	weights []float64
}

// The end of training.
const (
	// gradientTol is the length of the gradient at which training ends. The loss F is strongly
	// convex: its second derivatives are at least L2 in each direction. So
	//
	//	F - min F ≤ ‖∇F‖² / (2 L2) ≤ 5e-10 nats
	//
	// for the smallest L2, and the weights are within ‖∇F‖/L2 of the best ones.
	gradientTol = 1e-6
	// Newton's method with steps that are halved until the loss falls enough converges from
	// anywhere on such a loss; it takes 5 to 15 steps here. More than maxNewton would be a fault
	// in the program, or numbers beyond those of features, and are an error.
	maxNewton = 200
	// maxConjugate bounds the solution of one Newton step. A step that ends there is shorter, and
	// still goes down.
	maxConjugate = 250
)

// trainProbe returns the probe with the smallest loss on features [n,D]:
//
//	F(w) = -Σ_i ln p(y_i|x_i) + L2/2 ‖w‖²   (nats)
//
// by Newton's method from w = 0, each step solved by conjugate gradients. There is no randomness,
// and sums run in index order. It returns an error that wraps ctx.Err(), or one if it does not end.
func trainProbe(
	ctx context.Context, features []float32, labels []int, classes int, l2 float64,
) (*linearProbe, error) {
	n := len(labels)
	p := &linearProbe{classes: classes, width: len(features) / n}
	p.standardize(features, n)
	p.weights = make([]float64, classes*(p.width+1))
	t := &training{
		p: p, labels: labels, l2: l2, z: make([]float64, n*(p.width+1)),
		probability: make([]float64, n*classes),
	}
	for i := range n {
		p.features(t.z[i*(p.width+1):][:p.width+1], features[i*p.width:][:p.width])
	}
	loss := t.loss(p.weights)
	for range maxNewton {
		if err := ctx.Err(); err != nil {
			return nil, pkg.Errorf("stopped while a probe was trained: %w", err)
		}
		g := t.gradient()
		if math.Sqrt(rowmath.Dot(g, g)) <= gradientTol {
			return p, nil
		}
		step := t.newton(g)
		loss = t.move(loss, step, -rowmath.Dot(g, step))
	}
	return nil, pkg.Errorf("a probe on %d examples of %d features did not converge in "+
		"%d steps; give a larger L2", n, p.width, maxNewton)
}

// standardize sets mean and scale from features, [n,D].
func (p *linearProbe) standardize(features []float32, n int) {
	p.mean, p.scale = make([]float64, p.width), make([]float64, p.width)
	for d := range p.width {
		for i := range n {
			p.mean[d] += float64(features[i*p.width+d]) / float64(n)
		}
		variance, size := 0.0, 0.0
		for i := range n {
			x := float64(features[i*p.width+d])
			variance += (x - p.mean[d]) * (x - p.mean[d]) / float64(n)
			size = max(size, math.Abs(x))
		}
		// Below the rounding of float32 a feature is constant.
		if deviation := math.Sqrt(variance); deviation > size*1e-7 {
			p.scale[d] = 1 / deviation
		}
	}
}

// features fills z, [D+1], with the standardised features of an example and 1 for the offset.
func (p *linearProbe) features(z []float64, x []float32) {
	for d, v := range x {
		z[d] = (float64(v) - p.mean[d]) * p.scale[d]
	}
	z[p.width] = 1
}

// logProbabilities fills dst, [K], with ln p(k|z).
func (p *linearProbe) logProbabilities(dst, weights, z []float64) {
	top := math.Inf(-1)
	for k := range dst {
		dst[k] = rowmath.Dot(weights[k*len(z):][:len(z)], z)
		top = max(top, dst[k])
	}
	sum := 0.0
	for _, s := range dst {
		sum += math.Exp(s - top)
	}
	all := top + math.Log(sum)
	for k := range dst {
		dst[k] -= all
	}
}

// code returns the length of the code of labels in nats, and how many of them are the most
// probable class, the first among equals.
func (p *linearProbe) code(features []float32, labels []int) (nats float64, right int) {
	z, logs := make([]float64, p.width+1), make([]float64, p.classes)
	for i, y := range labels {
		p.features(z, features[i*p.width:][:p.width])
		p.logProbabilities(logs, p.weights, z)
		nats -= logs[y]
		if rowmath.Largest(logs) == y {
			right++
		}
	}
	return nats, right
}

// training has the data of a probe while it is trained.
type training struct {
	p           *linearProbe
	labels      []int
	l2          float64
	z           []float64 // [n,D+1]
	probability []float64 // [n,K], at the weights of the last loss
}

// loss returns F at some weights and keeps the probabilities there.
func (t *training) loss(weights []float64) float64 {
	loss, width := t.l2/2*rowmath.Dot(weights, weights), t.p.width+1
	for i, y := range t.labels {
		row := t.probability[i*t.p.classes:][:t.p.classes]
		t.p.logProbabilities(row, weights, t.z[i*width:][:width])
		loss -= row[y]
		for k, x := range row {
			row[k] = math.Exp(x)
		}
	}
	return loss
}

// gradient returns ∇F at the weights, [K,D+1].
func (t *training) gradient() []float64 {
	width := t.p.width + 1
	g := make([]float64, len(t.p.weights))
	for j, w := range t.p.weights {
		g[j] = t.l2 * w
	}
	for i, y := range t.labels {
		z := t.z[i*width:][:width]
		for k := range t.p.classes {
			r := t.probability[i*t.p.classes+k]
			if k == y {
				r--
			}
			floats.AddScaled(g[k*width:][:width], r, z)
		}
	}
	return g
}

// curve returns the second derivatives of F times v, [K,D+1].
func (t *training) curve(v []float64) []float64 {
	width, K := t.p.width+1, t.p.classes
	h := make([]float64, len(v))
	for j, x := range v {
		h[j] = t.l2 * x
	}
	along := make([]float64, K)
	for i := range t.labels {
		z, p := t.z[i*width:][:width], t.probability[i*K:][:K]
		mean := 0.0
		for k := range K {
			along[k] = rowmath.Dot(v[k*width:][:width], z)
			mean += p[k] * along[k]
		}
		for k := range K {
			floats.AddScaled(h[k*width:][:width], p[k]*(along[k]-mean), z)
		}
	}
	return h
}

// newton returns a step that goes down: the solution x of (second derivatives) x = -g by conjugate
// gradients, exact enough that the steps converge faster than linearly.
func (t *training) newton(g []float64) []float64 {
	x, r := make([]float64, len(g)), make([]float64, len(g))
	for j := range g {
		r[j] = -g[j]
	}
	d := append([]float64(nil), r...)
	rr := rowmath.Dot(r, r)
	size := math.Sqrt(rr)
	enough := size * min(.1, math.Sqrt(size/float64(len(t.labels))))
	for k := 0; k < maxConjugate && math.Sqrt(rr) > enough; k++ {
		h := t.curve(d)
		a := rr / rowmath.Dot(d, h) // the second derivatives are positive in each direction
		floats.AddScaled(x, a, d)
		floats.AddScaled(r, -a, h)
		before := rr
		rr = rowmath.Dot(r, r)
		for j := range d {
			d[j] = r[j] + rr/before*d[j]
		}
	}
	return x
}

// move adds a step to the weights, halved until the loss falls by at least a tenth of what its
// slope, fall, promises. It returns the loss there. Very small steps are not halved: they lie where
// a whole step is right, and rounding would hide how far the loss falls.
func (t *training) move(loss float64, step []float64, fall float64) float64 {
	small := 1e-6 * min(1, t.l2)
	moved := make([]float64, len(step))
	for part := 1.0; ; part /= 2 {
		copy(moved, t.p.weights)
		floats.AddScaled(moved, part, step)
		after := t.loss(moved)
		if fall <= small || after <= loss-.1*part*fall || part < 1e-9 {
			copy(t.p.weights, moved)
			return after
		}
	}
}
