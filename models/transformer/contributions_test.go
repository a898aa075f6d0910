package transformer_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// Mixings of contributions in float32 against the vectors of every target and source, [T,S,D],
// spelled out in float64.
const (
	lengthTol = 3e-6 // lengths, as parts of the largest one of their row
	// Differences of sums of absolute values, as parts of the sum that they are taken from.
	altiTol = 3e-6
)

// vectors are what every target gets from every source in a block, [T][S][D], of one head, or of
// all where head is -1.
type vectors struct {
	*layer
	head int
	// f is what the attention puts out; stream what the residual stream holds after it; normed
	// the same after the norm that the stream goes through next, if any; block the same around
	// the feed-forward part and through the norm after it, if any.
	f, stream, normed, block [][][]float64
}

func (b *layer) vectors(head int) *vectors {
	if v := b.ofHead[head]; v != nil {
		return v
	}
	v := &vectors{layer: b, head: head}
	if b.ofHead == nil {
		b.ofHead = map[int]*vectors{}
	}
	b.ofHead[head] = v
	for t := range b.x {
		output := b.attentionOutput(t)
		a, residual, meets := output, b.x[t], func(f []float64) []float64 { return f }
		if b.spec.Order == spec.PreNorm && b.spec.NormedResidual {
			residual = b.norm("attention-norm", b.x[t])
		}
		if b.spec.Order == spec.PreNorm && b.spec.NormAfter {
			meets = func(f []float64) []float64 {
				return b.linearised("attention-after-norm", f, output)
			}
			a = b.norm("attention-after-norm", output)
		}
		z := plus(residual, a)
		var end []float64 // what the last norm divides
		if b.spec.Order == spec.PostNorm {
			y := b.norm("attention-norm", z)
			end = plus(y, b.mlp(y))
		}
		var f, stream, normed, block [][]float64
		for s := range b.x {
			c := b.contribution(t, s, head)
			u := meets(c)
			if s == t {
				u = plus(u, residual)
			}
			f, stream = append(f, c), append(stream, u)
			switch {
			case b.spec.Order == spec.PostNorm:
				u = b.linearised("attention-norm", u, z)
			case b.spec.Order == spec.PreNorm && b.spec.NormedResidual:
				u = b.linearised("mlp-norm", u, z)
			}
			normed = append(normed, u)
			if b.spec.Order == spec.PostNorm {
				u = b.linearised("mlp-norm", u, end)
			}
			block = append(block, u)
		}
		v.f, v.stream, v.normed, v.block = append(v.f, f), append(v.stream,
			stream), append(v.normed, normed), append(v.block, block)
	}
	return v
}

// attentionOutput is that of target t, with its bias.
func (b *layer) attentionOutput(t int) []float64 {
	a := make([]float64, b.spec.Width)
	for h := range b.spec.Heads {
		a = plus(a, b.headOutput(h, b.context(h, t, -1)))
	}
	if b.spec.OutputBias {
		a = plus(a, wide(b.weight("output.bias")))
	}
	return a
}

// contribution is what target t reads from source s in one head, or in all where head is -1.
func (b *layer) contribution(t, s, head int) []float64 {
	f := make([]float64, b.spec.Width)
	for h := range b.spec.Heads {
		if head >= 0 && head != h {
			continue
		}
		weighted := make([]float64, b.spec.ValueWidth())
		for e := range weighted {
			weighted[e] = b.attention[h][t][s] * b.value[h][s][e]
		}
		f = plus(f, b.headOutput(h, weighted))
	}
	return f
}

// linearised is (part - mean part)/σ(whole) ⊙ γ, or part/rms(whole) ⊙ γ.
func (b *layer) linearised(name string, part, whole []float64) []float64 {
	return linear(b.spec, part, whole, b.weight(name+".gain"))
}

func length2(x []float64) float64 { return math.Sqrt(dot(x, x)) }

func length1(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Abs(v)
	}
	return sum
}

func minus(a, b []float64) []float64 {
	y := make([]float64, len(a))
	for i := range a {
		y[i] = a[i] - b[i]
	}
	return y
}

// total is the sum of vectors.
func total(all [][]float64) []float64 {
	y := make([]float64, len(all[0]))
	for _, x := range all {
		y = plus(y, x)
	}
	return y
}

// lengths are those of a target's vectors.
func lengths(of [][]float64) (row []float64) {
	for _, x := range of {
		row = append(row, length2(x))
	}
	return row
}

// alti is a row of Ferrando et al. 2022.
func (v *vectors) alti(t int) (row []float64) {
	y := total(v.normed[t])
	for _, part := range v.normed[t] {
		row = append(row, max(0, length1(y)-length1(minus(y, part))))
	}
	return row
}

// ofContributions are the mixings made of contributions: the row of a target by brute force, and
// what it may differ, as a part of scale.
var ofContributions = []struct {
	name  string
	heads bool
	row   func(v *vectors, t int) []float64
	scale func(v *vectors, t int) float64
	tol   float64
}{
	{"norms", true, func(v *vectors, t int) []float64 { return lengths(v.f[t]) }, largest, lengthTol},
	{"norms-residual", true, func(v *vectors, t int) []float64 { return lengths(v.stream[t]) }, largest, lengthTol},
	{"norms-residual-norm", true, func(v *vectors, t int) []float64 { return lengths(v.normed[t]) }, largest, lengthTol},
	{"globenc", true, func(v *vectors, t int) []float64 { return lengths(v.block[t]) }, largest, lengthTol},
	{"alti", false, (*vectors).alti, func(v *vectors, t int) float64 { return length1(total(v.normed[t])) }, altiTol},
}

// largest is the largest length of a target's vectors anywhere in the block.
func largest(v *vectors, t int) float64 {
	most := 0.0
	for _, of := range [][][][]float64{v.f, v.stream, v.normed, v.block} {
		for _, x := range of[t] {
			most = max(most, length2(x))
		}
	}
	return most
}

// checkContributions compares the rows of all mixings of contributions, of all heads, of one, and
// of each.
func (g *golden) checkContributions(t *testing.T) {
	t.Helper()
	layers := g.layers(t)
	for _, c := range ofContributions {
		heads := []trace.Heads{{}}
		if c.heads {
			heads = append(heads, trace.Heads{Fusion: trace.OneHead, Head: 1},
				trace.Heads{Fusion: trace.EachHead})
		}
		var asks []trace.MixingAsk
		for _, h := range heads {
			asks = append(asks, trace.MixingAsk{Name: c.name, Heads: h})
		}
		rows := g.rows(t, asks...)
		most := 0.0
		for l, b := range layers {
			compare := func(got trace.Rows, k, head int) {
				v := b.vectors(head)
				for target := range g.ids {
					scale := c.scale(v, target)
					for s, want := range c.row(v, target) {
						d := math.Abs(float64(got.Row(l, k, target)[s])-want) / scale
						most = max(most, d)
						if !(d <= c.tol) {
							t.Errorf("%s of layer %d head %d target %d source %d = %v, "+
								"want %v: %g of %g", c.name, l, head, target, s, got.Row(l, k,
								target)[s], want, d, scale)
						}
					}
				}
			}
			compare(rows[0], 0, -1)
			if c.heads {
				compare(rows[1], 0, 1)
				for h := range g.model.Spec.Heads {
					compare(rows[2], h, h)
				}
			}
		}
		t.Logf("%s: worst %.2g", c.name, most)
	}
}

func TestContributionsBruteForce(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		g.checkContributions(t)
	})
}

// TestContributionsAddUp: the vectors that the brute force compares with add up to what stands in
// the block, but for biases.
func TestContributionsAddUp(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		for l, b := range g.layers(t) {
			v := b.vectors(-1)
			for target := range g.ids {
				where := fmt.Sprintf("layer %d target %d", l, target)
				bias := make([]float64, b.spec.Width)
				if b.spec.OutputBias {
					bias = wide(b.weight("output.bias"))
				}
				check(t, where+": attention output", narrow(plus(total(v.f[target]), bias)),
					narrow(b.attentionOutput(target)), 1e-9)
				if b.spec.Order != spec.PostNorm {
					continue
				}
				z := plus(b.x[target], b.attentionOutput(target))
				normed := plus(plus(total(v.normed[target]),
					b.linearised("attention-norm", bias, z)), wide(b.weight("attention-norm.bias")))
				check(t, where+": after the norm", narrow(normed),
					narrow(b.norm("attention-norm", z)), 1e-6)
			}
		}
	})
}

// contributionAsks ask for the mixings of contributions, of every target.
func contributionAsks() (asks []trace.MixingAsk) {
	for _, c := range ofContributions {
		asks = append(asks, trace.MixingAsk{Name: c.name, AllRows: true})
		if c.heads {
			asks = append(asks, trace.MixingAsk{
				Name:  c.name,
				Heads: trace.Heads{Fusion: trace.EachHead}, AllRows: true,
			})
		}
	}
	return asks
}

// sameRows compares rows of any scale with the last targets of others.
func sameRows(t *testing.T, where string, asks []trace.MixingAsk, got, want []trace.Rows) {
	t.Helper()
	for i, ask := range asks {
		for l := range got[i].L {
			for h := range got[i].H {
				for n := range got[i].N {
					row := want[i].Row(l, h, got[i].First+n-want[i].First)[:got[i].S]
					tol := scaledRowTol * float64(max(1, slices.Max(row)))
					check(t, fmt.Sprintf("%s: %s/%s layer %d head %d target %d", where, ask.Name,
						ask.Heads, l, h, got[i].First+n), got[i].Row(l, h, n), row, tol)
				}
			}
		}
	}
}

// scaledRowTol bounds rows that are computed in another way, as a part of their largest number
// where that is above 1.
const scaledRowTol = 1e-5 // worst seen 6e-6

// TestContributionsOnCache: the row of a decode step is that of the batch.
func TestContributionsOnCache(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		if r := g.model.Spec.Rotary; r != nil && (r.Stretch > 0 || r.LongFrequencies != nil) {
			t.Skip("the length of the text changes its rotation")
		}
		asks := contributionAsks()
		whole := prompt(t, g.model, asks, g.ids)
		s, err := g.model.NewSession(asks, 0)
		must(t, err)
		defer s.Close()
		out, err := s.Prompt(context.Background(), g.ids[:4], nil)
		must(t, err)
		sameRows(t, "prompt", asks, out.Rows, whole.Rows)
		for _, id := range g.ids[4:] {
			out, err = s.Step(context.Background(), id)
			must(t, err)
			sameRows(t, "step", asks, out.Rows, whole.Rows)
		}
	})
}

// TestContributionsRoundedUp: rounding lengths up changes no row.
func TestContributionsRoundedUp(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		rounding := g.changed(t, func(string, []float32) {})
		rounding.RoundUp()
		asks := contributionAsks()
		want := g.rows(t, asks...)
		r := *g
		r.model = rounding
		sameRows(t, "rounded up", asks, r.rows(t, asks...), want)
	})
}
