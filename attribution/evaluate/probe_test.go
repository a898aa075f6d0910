package evaluate_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

func code(
	t *testing.T, x []float32, y []int, classes int, opts evaluate.ProbeOptions,
) *evaluate.CodeLength {
	t.Helper()
	c, err := evaluate.OnlineCode(context.Background(), x, y, classes, opts)
	must(t, err)
	return c
}

// drawn returns n examples of so many random features and a label that the features do not know.
func drawn(seed uint64, n, width, classes int) (x []float32, y []int) {
	rng := rand.New(rand.NewPCG(seed, 4))
	for range n {
		for range width {
			x = append(x, float32(rng.NormFloat64()))
		}
		y = append(y, rng.IntN(classes))
	}
	return x, y
}

// A label that never changes costs nothing if it is the only one, and if there could be another,
// the first block and what the probe has yet to learn.
func TestConstantLabel(t *testing.T) {
	x, _ := drawn(1, 1000, 3, 2)
	y := make([]int, 1000)
	c := code(t, x, y, 1, evaluate.ProbeOptions{})
	if c.Nats != 0 || c.Bits != 0 || c.Uniform != 0 || !math.IsNaN(float64(c.Compression)) {
		t.Errorf("one class: %+v; want a code of length 0", c)
	}
	c = code(t, x, y, 2, evaluate.ProbeOptions{})
	near(t, "uniform", c.Uniform, 1000*math.Ln2, 1e-9)
	near(t, "first block", c.Blocks[0].Nats, 8*math.Ln2, 1e-9)
	if c.Nats > 60 || c.Compression < 10 {
		t.Errorf("two classes of which one comes: %v nats, compression %v", c.Nats, c.Compression)
	}
	for _, b := range c.Blocks[1:] {
		if b.Right != b.End-b.Begin {
			t.Errorf("block %+v has mistakes", b)
		}
	}
}

// The blocks end at the fractions of the examples, and their parts are all of the code.
func TestBlocks(t *testing.T) {
	x, y := drawn(2, 1000, 2, 3)
	c := code(t, x, y, 3, evaluate.ProbeOptions{})
	var ends []int
	sum := 0.0
	begin := 0
	for _, b := range c.Blocks {
		if b.Begin != begin {
			t.Errorf("block %+v does not begin at %d", b, begin)
		}
		ends, sum, begin = append(ends, b.End), sum+b.Nats, b.End
	}
	if diff := cmp.Diff([]int{8, 16, 32, 63, 125, 250, 500, 1000}, ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	near(t, "sum of blocks", sum, c.Nats, 1e-9)
	near(t, "bits", c.Bits, c.Nats/math.Ln2, 1e-9)
	near(t, "compression", float64(c.Compression), c.Uniform/c.Nats, 1e-12)
	// Of ten examples the first fractions are less than one: 1, 1, 1, 1, 1, 3 (2.5 rounded), 5, 10.
	c = code(t, x[:20], y[:10], 3, evaluate.ProbeOptions{})
	ends = nil
	for _, b := range c.Blocks {
		ends = append(ends, b.End)
	}
	if diff := cmp.Diff([]int{1, 3, 5, 10}, ends); diff != "" {
		t.Errorf("ends of ten (-want +got):\n%s", diff)
	}
}

// A feature that is the label has a short code; features that know nothing have the length of a
// uniform one, or more.
func TestSeparableAndNoise(t *testing.T) {
	const n = 2000
	noise, y := drawn(3, n, 4, 2)
	known, part := make([]float32, n*4), make([]float32, n*4)
	copy(known, noise)
	copy(part, noise)
	for i := range n {
		known[i*4+2] = float32(2*y[i] - 1)
		part[i*4+2] += float32(2*y[i] - 1)
	}
	perfect := code(t, known, y, 2, evaluate.ProbeOptions{})
	some := code(t, part, y, 2, evaluate.ProbeOptions{})
	none := code(t, noise, y, 2, evaluate.ProbeOptions{})
	// 16 uniform examples are 11 nats. After n examples the probe has a margin u with
	// u/2 = n/(1+e^u), so the n examples of the next block cost about u/2: 2 + 2.5 + 3 + 3.5 + …
	if perfect.Nats > 40 || perfect.Compression < 35 {
		t.Errorf("separable: %v nats, compression %v", perfect.Nats, perfect.Compression)
	}
	if none.Compression < .95 || none.Compression > 1.005 {
		t.Errorf("noise: compression %v, want about 1", none.Compression)
	}
	if !(perfect.Nats < some.Nats && some.Nats < none.Nats) {
		t.Errorf("codes of %v, %v and %v nats", perfect.Nats, some.Nats, none.Nats)
	}
	// Two normal classes at -1 and 1 overlap: at best Φ(1) = .841 are right.
	last := some.Blocks[len(some.Blocks)-1]
	near(t, "accuracy at distance 2", float64(last.Right)/float64(last.End-last.Begin), .841, .025)
	again := code(t, part, y, 2, evaluate.ProbeOptions{})
	if diff := cmp.Diff(some, again); diff != "" {
		t.Errorf("a second run differs:\n%s", diff)
	}
}

// bruteCode is the code length with a probe trained by plain gradient descent.
func bruteCode(x []float32, y []int, classes, width int, ends []int, l2 float64) float64 {
	total := float64(ends[0]) * math.Log(float64(classes))
	for b, begin := range ends[:len(ends)-1] {
		mean, deviation := make([]float64, width), make([]float64, width)
		for d := range width {
			for i := range begin {
				mean[d] += float64(x[i*width+d]) / float64(begin)
			}
			for i := range begin {
				deviation[d] += math.Pow(float64(x[i*width+d])-mean[d], 2) / float64(begin)
			}
			deviation[d] = math.Sqrt(deviation[d])
		}
		z := func(i int) []float64 {
			row := []float64{1}
			for d := range width {
				row = append(row, (float64(x[i*width+d])-mean[d])/deviation[d])
			}
			return row
		}
		w := make([][]float64, classes)
		for k := range w {
			w[k] = make([]float64, width+1)
		}
		probability := func(i int) []float64 {
			p, sum := make([]float64, classes), 0.0
			for k := range p {
				for d, v := range z(i) {
					p[k] += w[k][d] * v
				}
				p[k] = math.Exp(p[k])
				sum += p[k]
			}
			for k := range p {
				p[k] /= sum
			}
			return p
		}
		for range 20000 {
			g := make([][]float64, classes)
			for k := range g {
				g[k] = make([]float64, width+1)
				for d := range g[k] {
					g[k][d] = l2 * w[k][d]
				}
			}
			for i := range begin {
				p := probability(i)
				p[y[i]]--
				for k := range p {
					for d, v := range z(i) {
						g[k][d] += p[k] * v
					}
				}
			}
			for k := range w {
				for d := range w[k] {
					w[k][d] -= .02 * g[k][d]
				}
			}
		}
		for i := begin; i < ends[b+1]; i++ {
			total -= math.Log(probability(i)[y[i]])
		}
	}
	return total
}

func TestCodeBruteForce(t *testing.T) {
	if testing.Short() {
		t.Skip("gradient descent of 20,000 steps")
	}
	x, y := drawn(5, 24, 2, 3)
	for i := range y {
		x[2*i] += float32(y[i])
	}
	got := code(t, x, y, 3, evaluate.ProbeOptions{Fractions: []float64{.25, .5, 1}, L2: 2})
	near(t, "code", got.Nats, bruteCode(x, y, 3, 2, []int{6, 12, 24}, 2), 1e-6)
}

func TestProbeRefusals(t *testing.T) {
	x, y := drawn(1, 4, 2, 2)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	spoilt := append([]float32(nil), x...)
	spoilt[5] = float32(math.Inf(1))
	for _, c := range []struct {
		name    string
		ctx     context.Context
		x       []float32
		y       []int
		classes int
		opts    evaluate.ProbeOptions
		usage   bool
		want    string
	}{
		{"one example", nil, x[:2], y[:1], 2, evaluate.ProbeOptions{}, false, "1 labelled examples"},
		{"sizes", nil, x[:7], y, 2, evaluate.ProbeOptions{}, false, "7 numbers of features for 4 labels"},
		{"no features", nil, nil, y, 2, evaluate.ProbeOptions{}, false, "0 numbers of features"},
		{"label", nil, x, []int{0, 1, 2, 0}, 2, evaluate.ProbeOptions{}, false, "label 2 of example 2; there are 2 classes"},
		{"classes", nil, x, y, 5000, evaluate.ProbeOptions{}, false, "5000 classes; want 1 to 1000"},
		{"infinite", nil, spoilt, y, 2, evaluate.ProbeOptions{}, false, "feature 1 of example 2 is +Inf"},
		{"L2", nil, x, y, 2, evaluate.ProbeOptions{L2: 1e-6}, true, "evaluate: L2 1e-06; want a number from 0.001"},
		{"fractions", nil, x, y, 2, evaluate.ProbeOptions{Fractions: []float64{.5, .25, 1}}, true, "want rising numbers above 0, the last 1"},
		{"last fraction", nil, x, y, 2, evaluate.ProbeOptions{Fractions: []float64{.5}}, true, "the last 1"},
		{"stopped", done, x, y, 2, evaluate.ProbeOptions{}, false, "stopped while a probe was trained"},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		_, err := evaluate.OnlineCode(ctx, c.x, c.y, c.classes, c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			errors.Is(err, trace.ErrUsage) != c.usage {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}
