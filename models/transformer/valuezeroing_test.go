package transformer_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Value Zeroing in float32 against a forward of the block in float64 with the value vector zeroed.
const (
	distanceTol   = 1e-6 // worst seen 1e-7
	normalisedTol = 2e-6 // rows divided by their sum; worst seen 1e-6
	termTol       = 1e-5 // scores of magnitude 10
)

// layers returns every block of a golden computed naively from the graph's own hidden states, so that errors do not add up.
func (g *golden) layers(t testing.TB) []*layer {
	t.Helper()
	ts, err := g.model.Trace(context.Background(), g.ids, []trace.Tap{trace.Hidden})
	must(t, err)
	n, d := len(g.ids), g.model.Spec.Width
	var out []*layer
	for l := range g.model.Spec.Layers {
		x := make([][]float64, n)
		for i := range x {
			x[i] = wide(ts[0].Data[(l*n+i)*d : (l*n+i+1)*d])
		}
		out = append(out, newLayer(g.model.Spec, func(name string) []float32 { return g.params[fmt.Sprintf("blocks.%d.%s", l, name)] }, x))
	}
	return out
}

func TestValueZeroingBruteForce(t *testing.T) {
	for _, name := range goldens {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			rows := prompt(t, g.model, []trace.MixingAsk{{Name: "value-zeroing", AllRows: true}}, g.ids).Rows[0]
			for l, b := range g.layers(t) {
				for target := range g.ids {
					whole := b.output(target, -1)
					want := make([]float32, len(g.ids))
					for s := 0; s <= target; s++ {
						want[s] = float32(cosineDistance(b.output(target, s), whole))
					}
					where := fmt.Sprintf("layer %d target %d", l, target)
					got := rows.Row(l, 0, target)
					check(t, where, got, want, distanceTol)
					check(t, where+" normalised", normalised(got), normalised(want), normalisedTol)
				}
			}
		})
	}
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

// TestTerms compares the three terms with the naive block, and their sum with the scores.
func TestTerms(t *testing.T) {
	for _, name := range goldens {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			ts, err := g.model.Trace(context.Background(), g.ids, []trace.Tap{trace.Terms, trace.Scores, trace.Attention})
			must(t, err)
			n, heads := len(g.ids), g.model.Spec.Heads
			for l, b := range g.layers(t) {
				for h := range heads {
					for target := range n {
						for s := 0; s <= target; s++ {
							at := func(term int) float64 {
								return float64(ts[0].Data[(((l*heads+h)*3+term)*n+target)*n+s])
							}
							score := float64(ts[1].Data[((l*heads+h)*n+target)*n+s])
							for term, want := range []float64{b.content[h][target][s], b.queryBias[h][target][s], b.alibi[h][target][s]} {
								if d := math.Abs(at(term) - want); d > alibiTol(g, term) {
									t.Fatalf("layer %d head %d target %d source %d: term %d = %v, want %v", l, h, target, s, term, at(term), want)
								}
							}
							if d := math.Abs(at(0) + at(1) + at(2) - score); d > termTol {
								t.Fatalf("layer %d head %d target %d source %d: the terms sum to %v, the score is %v", l, h, target, s, at(0)+at(1)+at(2), score)
							}
						}
					}
				}
			}
		})
	}
}

// alibiTol widens the bound where the reference rounds ALiBi to bfloat16, 8 bits.
func alibiTol(g *golden, term int) float64 {
	if term == 2 && g.model.Spec.AlibiRounded {
		return float64(len(g.ids)) / 256
	}
	return termTol
}

// TestHeadOutputSums checks Σ_h head output + b_O = attention output through the residual stream it leads to.
func TestHeadOutputSums(t *testing.T) {
	g := openGolden(t, "gpt2")
	ts, err := g.model.Trace(context.Background(), g.ids, []trace.Tap{trace.HeadOutput, trace.Context})
	must(t, err)
	spec := g.model.Spec
	n, d, e := len(g.ids), spec.Width, spec.HeadWidth
	for l := range spec.Layers {
		w := g.params[fmt.Sprintf("blocks.%d.output.weight", l)]
		for h := range spec.Heads {
			for target := range n {
				context := wide(ts[1].Data[((l*spec.Heads+h)*n+target)*e:][:e])
				want := make([]float32, d)
				for j := range d {
					sum := 0.0
					for i, c := range context {
						sum += c * float64(w[(h*e+i)*d+j])
					}
					want[j] = float32(sum)
				}
				check(t, fmt.Sprintf("layer %d head %d target %d", l, h, target), ts[0].Data[((l*spec.Heads+h)*n+target)*d:][:d], want, tapTol)
			}
		}
	}
}
