package transformer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// Value Zeroing in float32 against a forward of the block in float64 with the value vector zeroed.
const (
	// Distances up to 1. Worst seen 1.2e-6, ten times the rounding of float32, with the kernels for
	// AVX-512 on an AMD EPYC, which sum in another order; 7e-7 with others.
	distanceTol   = 2e-6
	normalisedTol = 3e-6 // rows divided by their sum, which magnifies small ones; worst seen 1.9e-6
)

// rows returns the rows of every target. A session computes those for a decoder with its prompt,
// and Read those for an encoder.
func (g *golden) rows(t testing.TB, asks ...trace.MixingAsk) []trace.Rows {
	t.Helper()
	if s := g.model.Spec; s.Bidirectional || s.Classifies() {
		return readAt(t, g.model, g.ids, 0, asks).Rows
	}
	for i := range asks {
		asks[i].AllRows = true
	}
	return prompt(t, g.model, asks, g.ids).Rows
}

// zeroing is a kind of Value Zeroing.
type zeroing struct {
	name string
	// euclidean is the distance; finalNorm is whether the last layer is compared after the final
	// norm.
	euclidean, finalNorm bool
}

var zeroings = []zeroing{
	{"value-zeroing", false, false},
	{"value-zeroing-euclidean", true, false},
	{"value-zeroing-final-norm", false, true},
	{"value-zeroing-euclidean-final-norm", true, true},
}

// distance is that of a changed output from the whole one, and of what size numbers are that it is
// computed from.
func (z zeroing) distance(changed, whole []float64) (distance, scale float64) {
	if z.euclidean {
		return length2(minus(changed, whole)), max(1, length2(whole))
	}
	return cosineDistance(changed, whole), 1
}

// zeroed is what a target's output is compared as: in the last layer after the final norm, if
// asked and there is one.
func (g *golden) zeroed(l int, x []float64, finalNorm bool) []float64 {
	spec := g.model.Spec
	if !finalNorm || spec.NoFinalNorm || l < spec.Layers-1 {
		return x
	}
	return norm(spec, x, g.params["final-norm.gain"], g.params["final-norm.bias"])
}

// zeroedRow is the row of a target over the first n sources in layer l, with the values of one head
// zeroed, or with -1 those of all heads, and of what size numbers are that it is computed from.
func (g *golden) zeroedRow(kind zeroing, l int, b *layer, target, head, n int) (
	row []float32, scale float64,
) {
	whole := g.zeroed(l, b.output(target, -1, -1), kind.finalNorm)
	row, scale = make([]float32, n), 1
	for s := range row {
		if b.sees(target, s) {
			var d float64
			d, scale = kind.distance(g.zeroed(l, b.output(target, s, head), kind.finalNorm), whole)
			row[s] = float32(d)
		}
	}
	return row, scale
}

func TestValueZeroingBruteForce(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		const one = 1 // the head whose values alone are zeroed
		projected := *g
		projected.model = g.changed(t, func(string, []float32) {})
		projected.model.ProjectAlways()
		for _, kind := range zeroings {
			rows := g.rows(t, trace.MixingAsk{Name: kind.name},
				trace.MixingAsk{
					Name:  kind.name,
					Heads: trace.Heads{Fusion: trace.OneHead, Head: one},
				},
				trace.MixingAsk{Name: kind.name, Heads: trace.Heads{Fusion: trace.EachHead}})
			shared := projected.rows(t, trace.MixingAsk{Name: kind.name})[0]
			for l, b := range g.layers(t) {
				for target := range g.ids {
					compare := func(got []float32, head int) {
						want, scale := g.zeroedRow(kind, l, b, target, head, len(g.ids))
						where := fmt.Sprintf("%s: layer %d target %d head %d", kind.name, l, target,
							head)
						check(t, where, got, want, scale*distanceTol)
						if head < 0 {
							check(t, where+" normalised", normalised(got), normalised(want),
								normalisedTol)
						}
					}
					compare(rows[0].Row(l, 0, target), -1)
					compare(shared.Row(l, 0, target), -1)
					compare(rows[1].Row(l, 0, target), one)
					for h := range g.model.Spec.Heads {
						compare(rows[2].Row(l, h, target), h)
					}
				}
			}
		}
	})
}

// TestReadEqualsPrompt: a decoder may be read as an encoder is, and gives the rows of its prompt
// and the logits of the position.
func TestReadEqualsPrompt(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		asks := []trace.MixingAsk{
			{Name: "value-zeroing", AllRows: true},
			{Name: "attention", AllRows: true},
		}
		want := prompt(t, g.model, asks, g.ids)
		got := readAt(t, g.model, g.ids, len(g.ids)-1, asks)
		check(t, "logits", got.Logits, want.Logits, tapTol)
		for i := range asks {
			check(t, asks[i].Name, got.Rows[i].Data, want.Rows[i].Data, rowTol)
		}
	})
}

func normalised(row []float32) []float32 {
	sum := 0.0
	for _, x := range row {
		sum += float64(x)
	}
	out := make([]float32, len(row))
	for i, x := range row {
		out[i] = float32(float64(x) / sum)
	}
	return out
}

// layers returns every block of a golden computed naively from the graph's own hidden states, so
// that errors do not add up.
func (g *golden) layers(t testing.TB) []*layer {
	t.Helper()
	ts, err := g.model.Trace(context.Background(), g.ids, []trace.Tap{trace.Hidden})
	must(t, err)
	return naive(g.model.Spec, g.params, ts[0].Data, len(g.ids), false)
}

// naive computes every block from hidden states [L+1,T,D].
func naive(spec *spec.Spec, params map[string][]float32, hidden []float32, n int,
	half bool,
) (out []*layer) {
	d := spec.Width
	for l := range spec.Layers {
		x := make([][]float64, n)
		for i := range x {
			x[i] = wide(hidden[(l*n+i)*d : (l*n+i+1)*d])
		}
		out = append(out,
			newLayer(spec, l, func(name string) []float32 {
				return params[fmt.Sprintf("blocks.%d.%s", l, name)]
			}, x, half))
	}
	return out
}
