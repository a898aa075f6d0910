package transformer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// gradientTol bounds a derivative in float32 against one in float64, in units of the largest of
// the text.
const gradientTol = 2e-5 // worst seen 4e-6

// question is a query whose quantity and contrast differ from golden to golden.
func (g *golden) question(t testing.TB, ids []int) trace.Query {
	t.Helper()
	position := len(ids) - 2
	scores := g.reads(t, ids, position)
	o := trace.Objective{
		Quantity: g.quantities()[len(t.Name())%len(g.quantities())], Position: position,
		Token: slices.Index(scores, slices.Max(scores)),
	}
	if len(t.Name())%2 == 0 && len(scores) > 1 {
		contrast := (o.Token + 1) % len(scores)
		o.Contrast = &contrast
	}
	return trace.Query{IDs: ids, Objective: o}
}

// gradient returns the gradient of one query.
func (g *golden) gradient(t testing.TB, q trace.Query, rule trace.Backward) trace.Gradient {
	t.Helper()
	all, err := g.model.Gradients(context.Background(), []trace.Query{q}, rule)
	must(t, err)
	return all[0]
}

// greatest is the largest magnitude of some numbers.
func greatest(data []float32) float64 {
	most := 0.0
	for _, x := range data {
		most = max(most, math.Abs(float64(x)))
	}
	return most
}

// step is that of central differences in float64, whose error is about step² and 1e-16/step.
const step = 1e-5

// TestGradients: the derivative along coordinates of the embedding, and along directions that mix
// all of them, is the central difference of the model in float64.
func TestGradients(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		q := g.question(t, g.ids)
		got := g.gradient(t, q, trace.TrueGradient)
		rows, f := g.rowsOf(g.ids), &forward{g: g, ids: g.ids}
		if d := math.Abs(got.Value - f.value(q, rows)); d > valueTol {
			t.Errorf("value %v, want %v", got.Value, f.value(q, rows))
		}
		width, random := g.model.Spec.Embedded(), rand.New(rand.NewPCG(1, 2))
		along := func(direction [][]float64) float64 {
			moved := func(by float64) [][]float64 {
				y := make([][]float64, len(rows))
				for i := range rows {
					y[i] = slices.Clone(rows[i])
					for k, d := range direction[i] {
						y[i][k] += by * d
					}
				}
				return y
			}
			return (f.value(q, moved(step)) - f.value(q, moved(-step))) / (2 * step)
		}
		most, furthest := greatest(got.Data), 0.0
		for n := range 24 {
			direction, want := make([][]float64, len(rows)), 0.0
			one := random.IntN(len(g.ids) * width)
			for i := range direction {
				direction[i] = make([]float64, width)
				for k := range direction[i] {
					if n < 4 {
						direction[i][k] = random.NormFloat64()
						direction[i][k] /= math.Sqrt(float64(len(g.ids) * width))
					} else if i*width+k == one {
						direction[i][k] = 1
					}
					want += direction[i][k] * float64(got.Data[i*width+k])
				}
			}
			furthest = max(furthest, math.Abs(want-along(direction))/most)
		}
		if !(furthest <= gradientTol) || most < 1e-4 {
			t.Errorf("the derivative is %g of its largest entry %g from the difference quotient",
				furthest, most)
		}
		after := q.Position + 1
		if !g.model.Spec.Bidirectional && greatest(got.Data[after*width:]) != 0 {
			t.Error("tokens after the position have a gradient")
		}
	})
}

// TestAttentionGradients: the derivative with respect to attention is the difference quotient of
// the model in float64 whose attention is moved, and 0 where a target sees no source.
func TestAttentionGradients(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		q := g.question(t, g.ids)
		got := g.gradient(t, q, trace.WithAttention)
		plain := g.gradient(t, q, trace.TrueGradient)
		check(t, "the gradient of the embedding", got.Data, plain.Data, 0)
		if plain.Attention != nil || plain.AttentionData != nil {
			t.Error("attention that was not asked for is returned")
		}
		check(t, "attention", got.Attention, g.take(t, trace.Attention)[trace.Attention].Data,
			tapTol)
		n, heads := len(g.ids), g.model.Spec.Heads
		rows, random := g.rowsOf(g.ids), rand.New(rand.NewPCG(1, 2))
		most, tried := greatest(got.AttentionData), 0
		for tried < 12 {
			l, h, target, source := random.IntN(g.model.Spec.Layers), random.IntN(heads),
				random.IntN(n), random.IntN(n)
			found := float64(got.AttentionData[((l*heads+h)*n+target)*n+source])
			moved := func(by float64) float64 {
				f := &forward{g: g, ids: g.ids, change: func(at int, b *layer) {
					if at == l && b.sees(target, source) {
						b.attention[h][target][source] += by
					}
				}}
				return f.value(q, rows)
			}
			want := (moved(step) - moved(-step)) / (2 * step)
			if want != 0 || !g.model.Spec.Bidirectional {
				tried++
			}
			if d := math.Abs(found-want) / most; !(d <= gradientTol) {
				t.Errorf("layer %d head %d target %d source %d: %v, "+
					"the difference quotient is %v: %g of the largest", l, h, target, source, found,
					want, d)
			}
		}
		if most < 1e-4 {
			t.Errorf("the largest derivative is %g, so the test proves nothing", most)
		}
	})
}

// TestTapGradients: the derivative with respect to each tap, along a random direction, is the
// difference quotient of predictions under edits that add it.
func TestTapGradients(t *testing.T) {
	for _, name := range []string{"gpt2", "llama", "gemma3", "bloom", "bert", "falcon7"} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			q := g.question(t, g.ids)
			got := g.gradient(t, q, trace.WithTaps)
			plain := g.gradient(t, q, trace.TrueGradient)
			check(t, "the gradient of the embedding", got.Data, plain.Data, 1e-6)
			random, layers := rand.New(rand.NewPCG(1, 2)), g.model.Spec.Layers
			for i, tap := range trace.GradientTaps() {
				taps := got.Taps[i]
				size := len(taps.Data) / layers
				own := g.take(t, tap)[tap].Data
				for l := range layers {
					step := 5e-3 * math.Sqrt(squares(own[l*size:][:size])/float64(size))
					e := trace.Edit{
						Tap: tap, Layers: []int{l}, Change: trace.AddValue, Factor: step,
						Shape: append([]int{1}, taps.Shape[1:]...), Value: make([]float32, size),
					}
					want := 0.0
					for k, slope := range taps.Data[l*size:][:size] {
						e.Value[k] = float32(random.NormFloat64())
						want += float64(slope) * float64(e.Value[k])
					}
					if heads := g.model.Spec.Heads; len(e.Shape) == 4 && e.Shape[1] < heads {
						// An edit has a value for each head that shares a key.
						var each []float32
						for row := range slices.Chunk(e.Value, size/e.Shape[1]) {
							each = append(each, slices.Repeat(row, heads/e.Shape[1])...)
						}
						e.Shape[1], e.Value = heads, each
					}
					back := e
					back.Factor = -e.Factor
					ahead, behind := q, q
					ahead.Edits, behind.Edits = []trace.Edit{e}, []trace.Edit{back}
					values, err := g.model.Predict(context.Background(),
						[]trace.Query{ahead, behind})
					must(t, err)
					quotient := (values[0] - values[1]) / (2 * e.Factor)
					scale := math.Sqrt(squares(taps.Data[l*size:][:size]))
					if d := math.Abs(quotient - want); !(d <= 1e-2*scale) || scale < 1e-6 {
						t.Errorf("%s of layer %d: %g, the difference quotient is %g, and the "+
							"derivative has the length %g", tap, l, want, quotient, scale)
					}
				}
			}
		})
	}
}

func squares(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// TestGradientsTogether: texts of different lengths get what they get alone, by every rule, padded
// or not.
func TestGradientsTogether(t *testing.T) {
	for _, name := range []string{
		"gpt2", "bert", "bloom", "gemma2", "llama", "phi3_cross",
		"llama_dynamic", "roberta_cls", "electra_disc", "opt_350",
	} {
		t.Run(name, func(t *testing.T) {
			sampleWithShort(t)
			g := openGolden(t, name)
			var queries []trace.Query
			for _, ids := range g.threeTexts() {
				queries = append(queries, g.question(t, ids))
			}
			for _, rule := range []trace.Backward{
				trace.TrueGradient, trace.RelevanceGradient,
				trace.WithAttention,
			} {
				m := openGolden(t, name).model
				for _, roundUp := range []bool{false, true} {
					if roundUp {
						m.RoundUp()
					}
					together, err := m.Gradients(context.Background(), queries, rule)
					must(t, err)
					for i, q := range queries {
						alone, where := g.gradient(t, q,
							rule), fmt.Sprintf("rule %d roundUp=%v text %d", rule, roundUp, i)
						if d := math.Abs(together[i].Value - alone.Value); d > valueTol {
							t.Errorf("%s: value %v, alone %v", where, together[i].Value,
								alone.Value)
						}
						check(t, where, together[i].Data, alone.Data,
							gradientTol*greatest(alone.Data))
						check(t, where+" attention", together[i].Attention, alone.Attention,
							batchTol)
						check(t, where+" its gradient", together[i].AttentionData,
							alone.AttentionData, gradientTol*greatest(alone.AttentionData))
					}
				}
			}
		})
	}
}

// TestGradientsOfEmbeddings: embeddings that are given are where the derivative is taken.
func TestGradientsOfEmbeddings(t *testing.T) {
	for _, name := range []string{"gpt2", "electra", "opt_350", "gemma2"} {
		g := openGolden(t, name)
		q := g.question(t, g.ids)
		rows, err := g.model.Embed(context.Background(), g.ids)
		must(t, err)
		want := g.gradient(t, q, trace.TrueGradient)
		q.Embeddings = rows
		check(t, name+" of its own rows", g.gradient(t, q, trace.TrueGradient).Data, want.Data, 0)
		q.Embeddings = slices.Clone(rows)
		for i := range q.Embeddings {
			q.Embeddings[i] *= 0.5
		}
		half := g.gradient(t, q, trace.TrueGradient)
		if d, _ := worst(half.Data, want.Data); d < 1e-3*greatest(want.Data) {
			t.Errorf("%s: half of the rows have the gradient of the whole", name)
		}
		f := &forward{g: g, ids: g.ids}
		moved := func(by float64) float64 {
			y := g.rowsOf(g.ids)
			for i := range y {
				for k := range y[i] {
					y[i][k] *= 0.5 + by
				}
			}
			return f.value(q, y)
		}
		along := 0.0
		for i, d := range half.Data {
			along += float64(d) * float64(rows[i])
		}
		if want := (moved(step) - moved(-step)) / (2 * step); math.Abs(along-want) > 1e-4*max(1,
			math.Abs(want)) {
			t.Errorf("%s: along the embedding %v, the difference quotient is %v", name, along, want)
		}
	}
}

// TestGradientsBFloat16: in half precision the gradient is about that of the rounded weights in
// float32, and its numbers are not.
func TestGradientsBFloat16(t *testing.T) {
	const cost = 0.05 // worst seen 0.013, of the root mean square; see TestBFloat16Logits
	for _, name := range []string{"gpt2", "bert", "bloom", "gemma2", "llama", "gpt_neox"} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			q := g.question(t, g.ids)
			for _, rule := range []trace.Backward{trace.TrueGradient, trace.RelevanceGradient} {
				rounded := g.rounded()
				one := func(m *transformer.Model) []float32 {
					all, err := m.Gradients(context.Background(), []trace.Query{q}, rule)
					must(t, err)
					return all[0].Data
				}
				want := one(g.changed(t, func(name string, data []float32) {
					copy(data, rounded[name])
				}))
				got := one(g.inHalf(t, func(string, []float32) {}))
				square, off := 0.0, 0.0
				for i, x := range want {
					square += float64(x) * float64(x)
					off += math.Pow(float64(got[i]-x), 2)
				}
				if share := math.Sqrt(off / square); !(share < cost) || share == 0 {
					t.Errorf("rule %d: %g of its size from float32, want at most %g and not 0",
						rule, share, cost)
				}
			}
		})
	}
}

// TestGradientRefusals: what Predict refuses, a rule that there is not, and more memory than there
// may be.
func TestGradientRefusals(t *testing.T) {
	g := openGolden(t, "gpt2")
	ctx := context.Background()
	q := trace.Query{IDs: g.ids, Objective: trace.Objective{Quantity: trace.Logit, Position: 12}}
	gradients := func(ctx context.Context, rule trace.Backward) error {
		_, err := g.model.Gradients(ctx, []trace.Query{q}, rule)
		return err
	}
	if err := gradients(ctx, trace.TrueGradient); err == nil || !strings.Contains(err.Error(),
		"query 0: transformer: position 12 is not in 0..11") {
		t.Errorf("position 12: error %v", err)
	}
	q.Position = 3
	if err := gradients(ctx, 7); err == nil || !strings.Contains(err.Error(),
		"there is no rule 7") {
		t.Errorf("rule 7: error %v", err)
	}
	q.Quantity = trace.Margin
	if err := gradients(ctx, trace.TrueGradient); err == nil || !strings.Contains(err.Error(),
		"query 0 asks for the gradient of the margin") {
		t.Errorf("margin: error %v", err)
	}
	q.Quantity = trace.Logit
	need := g.model.Estimate(transformer.Need{Tokens: len(g.ids), Head: true, Gradient: true})
	g.model.MaxBytes = need
	var refused *trace.MemoryError
	if err := gradients(ctx, trace.WithAttention); !errors.As(err,
		&refused) || !strings.HasPrefix(refused.What, "a pass with the gradient for ") {
		t.Errorf("attention in the memory of a gradient: error %v, want a MemoryError", err)
	}
	if err := gradients(ctx, trace.TrueGradient); err != nil {
		t.Errorf("a gradient in its memory: %v", err)
	}
	for _, after := range []int{1, 4, 5} { // on the way there, in the middle, and back
		stopping := &stopAfter{Context: ctx, calls: after}
		if err := gradients(stopping, trace.TrueGradient); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped after %d looks: error %v", after, err)
		}
	}
}

// stopAfter is a context that is done after it was looked at so many times.
type stopAfter struct {
	context.Context
	calls int
}

func (s *stopAfter) Err() error {
	s.calls--
	if s.calls < 0 {
		return context.Canceled
	}
	return nil
}
