package transformer_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestSoleSource: the first token has one source, itself, and without its value nothing is left of
// its attention. A norm after attention (Gemma) makes a thousand times more of what rounding
// leaves, so nothing may be left.
func TestSoleSource(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		m := g.changed(t, func(name string, data []float32) {
			if strings.HasSuffix(name, ".value.weight") {
				for i := range data {
					data[i] *= 100 // so that rounding leaves more
				}
			}
		})
		taps := func() [2]trace.Tensor {
			ts, err := m.Trace(context.Background(), g.ids,
				[]trace.Tap{trace.Hidden, trace.ValueZeroing})
			must(t, err)
			return [2]trace.Tensor(ts)
		}
		ts := taps()
		m.ProjectAlways()
		projected := taps()[1]
		n, d := len(g.ids), m.Spec.Width
		for l := range m.Spec.Layers {
			x := ts[0].Data[l*n*d : (l*n+1)*d] // of the first token alone
			clean, err := m.WithoutValue(context.Background(), l, x, -1)
			must(t, err)
			without, err := m.WithoutValue(context.Background(), l, x, 0)
			must(t, err)
			want := cosine(clean, without)
			for _, rows := range []trace.Tensor{ts[1], projected} {
				if got := float64(rows.Data[l*n*n]); math.Abs(got-want) > 1e-6 {
					t.Errorf("layer %d: distance %g, with the value zeroed %g", l, got, want)
				}
			}
		}
	})
}

// cosine is 1 - cos(a,b), computed as half the squared distance of the directions.
func cosine(a, b []float32) float64 {
	length := func(x []float32) float64 {
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		return math.Sqrt(sum)
	}
	p, q, sum := length(a), length(b), 0.0
	for i := range a {
		sum += math.Pow(float64(a[i])/p-float64(b[i])/q, 2)
	}
	return sum / 2
}
