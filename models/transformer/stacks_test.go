package transformer_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// eachOfTwoStacks runs do on a golden of each kind with two stacks.
func eachOfTwoStacks(t *testing.T, do func(t *testing.T, g *golden, boundary int)) {
	for _, name := range []string{"t5", "t5_v1_1", "bart", "bart_widths", "mbart", "marian",
		"marian_separate", "marian_separate_tied", "umt5", "plbart", "switch_transformers",
	} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			do(t, g, slices.Index(g.ids, g.model.Spec.Boundary()))
		})
	}
}

// TestStacksStep: a token on the cache gets the scores that a pass over the whole text has.
func TestStacksStep(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		s, err := g.model.NewSession(nil, 0)
		must(t, err)
		defer s.Close()
		out, err := s.Prompt(context.Background(), g.ids[:boundary+1], nil)
		for n := boundary + 1; ; n++ {
			must(t, err)
			check(t, fmt.Sprintf("scores after %d tokens", n), out.Logits,
				narrow(g.reads(t, g.ids[:n], n-1)), valueTol)
			if n == len(g.ids) {
				return
			}
			out, err = s.Step(context.Background(), g.ids[n])
		}
	})
}

// TestStacksTerms: the parts of a logit add up to it, those that a step reads are the same, and no
// layer of the encoder has any.
func TestStacksTerms(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		s, err := g.model.TermsAtOnce(2).NewSession(nil, 0)
		must(t, err)
		defer s.Close()
		must(t, s.KeepTerms())
		_, err = s.Prompt(context.Background(), g.ids[:boundary+1], nil)
		must(t, err)
		for position := boundary; position < len(g.ids); position++ {
			q := against(g.logitQuery(position, 5), 7)
			q.IDs = g.ids[:position+1]
			terms, want := g.terms(t, q), g.logit(t, q)
			step, err := s.Terms(context.Background(), q.Objective)
			must(t, err)
			near64(t, fmt.Sprintf("step %d", position), step.Attention, terms.Attention, partTol)
			if position+1 < len(g.ids) {
				_, err = s.Step(context.Background(), g.ids[position+1])
				must(t, err)
			}
			if d := math.Abs(terms.Value - want); d > sumTol*max(1, math.Abs(want)) {
				t.Errorf("position %d: parts add up to %v, the logit is %v", position, terms.Value,
					want)
			}
			for l := range g.model.Spec.Layers {
				of := terms.Attention[l*terms.S:][:terms.S]
				for j, x := range of {
					sees := map[spec.Stack]bool{
						spec.Decoding: boundary <= j && j <= position, spec.Crossing: j < boundary,
					}[g.model.Spec.Stack(l)]
					if x != 0 && !sees {
						t.Errorf("position %d: layer %d has %v from %d", position, l, x, j)
					}
				}
			}
		}
	})
}

// TestStacksGradients: the gradient says how a score changes when the embeddings of source and
// target move.
func TestStacksGradients(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		const step = 5e-4
		q := g.logitQuery(len(g.ids)-1, 5)
		got := g.gradient(t, q, trace.TrueGradient)
		rows, err := g.model.Embed(context.Background(), g.ids)
		must(t, err)
		random := rand.New(rand.NewPCG(1, 2))
		for n := range 6 {
			q.Embeddings = nil
			var moved [2][]float32
			want := 0.0
			for side := range moved {
				moved[side] = slices.Clone(rows)
			}
			for i := range rows {
				if (i/g.model.Spec.Width < boundary) != (n%2 == 0) {
					continue
				}
				d := float32(random.NormFloat64())
				moved[0][i] += step * d
				moved[1][i] -= step * d
				want += float64(d) * float64(got.Data[i])
			}
			var values [2]float64
			for side := range moved {
				q.Embeddings = moved[side]
				values[side] = g.gradient(t, q, trace.TrueGradient).Value
			}
			change := (values[0] - values[1]) / (2 * step)
			if math.Abs(change-want) > 2e-2*max(1, math.Abs(want)) {
				t.Errorf("direction %d: the score changes by %v, the gradient says %v", n, change,
					want)
			}
		}
	})
}

// TestStacksPredict: predictions of texts with sources of different lengths are those of each
// alone.
func TestStacksPredict(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		var queries []trace.Query
		for j := range boundary {
			ids := slices.Delete(slices.Clone(g.ids), j, j+1)
			if j%2 == 0 {
				ids = slices.Clone(g.ids)
				ids[j] = ids[(j+1)%boundary]
			}
			queries = append(queries, trace.Query{IDs: ids, Objective: trace.Objective{
				Quantity: trace.Logit, Position: len(ids) - 1, Token: 5,
			}})
		}
		together, err := g.model.Predict(context.Background(), queries)
		must(t, err)
		for i, q := range queries {
			if want := g.reads(t, q.IDs, q.Position)[5]; math.Abs(together[i]-want) > valueTol {
				t.Errorf("query %d: %v, alone %v", i, together[i], want)
			}
		}
	})
}

// TestStacksContinuation: the log-probabilities of a continuation are those of passes over the
// whole text.
func TestStacksContinuation(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		prompt, continuation := g.ids[:boundary+2], g.ids[boundary+2:]
		got, err := g.model.PredictContinuation(context.Background(), [][]int{prompt, prompt[1:]},
			continuation, nil)
		must(t, err)
		for i, text := range [][]int{prompt, prompt[1:]} {
			for k, id := range continuation {
				ids := slices.Concat(text, continuation[:k])
				scores := g.reads(t, ids, len(ids)-1)
				sum := 0.0
				for _, x := range scores {
					sum += math.Exp(x)
				}
				want := scores[id] - math.Log(sum)
				if d := math.Abs(got.LogProbabilities[i][k] - want); d > valueTol {
					t.Errorf("prompt %d: token %d has %v, want %v", i, k,
						got.LogProbabilities[i][k], want)
				}
			}
		}
	})
}

// TestStacksReadLogits: the scores after each token of the target, from each of them on, are those
// of passes over the text up to it, and none are given of the source.
func TestStacksReadLogits(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		for first := boundary; first < len(g.ids); first++ {
			next := first
			must(t, g.model.ReadLogits(context.Background(), g.ids, nil, first,
				func(at int, logits []float32) error {
					want := g.reads(t, g.ids[:at+1], at)
					for v := range logits {
						if d := math.Abs(float64(logits[v]) - want[v]); at != next || d > valueTol {
							t.Fatalf("position %d, token %d: %v, want %v", at, v, logits[v],
								want[v])
						}
					}
					next++
					return nil
				}))
			if next != len(g.ids) {
				t.Errorf("from %d on there are scores up to %d of %d", first, next, len(g.ids))
			}
		}
		err := g.model.ReadLogits(context.Background(), g.ids, nil, boundary-1, nil)
		if err == nil {
			t.Error("the source has scores")
		}
	})
}

// TestStacksScores: the graph that a training differentiates finds where each target of a batch
// begins, and gives every token of it the scores of the text alone.
func TestStacksScores(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		texts := [][]int{g.ids, slices.Delete(slices.Clone(g.ids), 1, 2)}
		n, s := len(g.ids), g.model.Spec
		if s.Mixture != nil {
			t.Skip("experts are not trained")
		}
		ids := make([]int32, len(texts)*n) // the second text has padding at its end
		for r, text := range texts {
			for i, id := range text {
				ids[r*n+i] = int32(id)
			}
		}
		at, args := map[string]int{}, []any{tensors.FromFlatDataAndDimensions(ids, len(texts), n)}
		for _, p := range s.Params() {
			at[p.Name] = len(args)
			args = append(args, tensors.FromFlatDataAndDimensions(g.params[p.Name], p.Shape...))
		}
		exec, err := NewExec(goBackend(t), func(in []*Node) *Node {
			scores, _ := transformer.Scores(s, func(name string) *Node { return in[at[name]] },
				in[0], nil)
			return scores
		})
		must(t, err)
		out, err := exec.Call(args...)
		must(t, err)
		must(t, out[0].ConstFlatData(func(flat any) {
			for r, text := range texts {
				for i := boundary - r; i < len(text); i++ {
					row := flat.([]float32)[(r*n+i)*s.Vocab:][:s.Vocab]
					check(t, fmt.Sprintf("text %d, token %d", r, i), row,
						narrow(g.reads(t, text, i)), valueTol)
				}
			}
		}))
	})
}

// TestStacksTaps: a model of two stacks has every tap.
func TestStacksTaps(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, _ int) {
		_, err := g.model.Trace(context.Background(), g.ids, slices.DeleteFunc(trace.Taps(),
			func(tap trace.Tap) bool { return tap == trace.Router || tap == trace.Experts }))
		must(t, err)
	})
}

// TestEncoderOutput: what the decoder reads of the source is the recorded stream after the encoder,
// after the encoder's norm where the file has one.
func TestEncoderOutput(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		s := g.model.Spec
		got := g.take(t, trace.EncoderOutput)[trace.EncoderOutput].Data
		read := g.Recorded(t, fmt.Sprintf("hidden.%d", s.Encoder))
		gain := g.params[fmt.Sprintf("blocks.%d.memory-norm.gain", s.Encoder+1)]
		bias := g.params[fmt.Sprintf("blocks.%d.memory-norm.bias", s.Encoder+1)]
		for i := range g.ids {
			row := read[i*s.Width : (i+1)*s.Width]
			switch {
			case i >= boundary:
				row = make([]float32, s.Width)
			case s.MemoryNorm:
				row = narrow(norm(s, wide(row), gain, bias))
			}
			check(t, fmt.Sprintf("token %d", i), got[i*s.Width:(i+1)*s.Width], row, valueTol)
		}
	})
}

// TestStacksExperts: each token passes experts in the layers of its stack that have some, and the
// weight of the one that it passes is the largest probability.
func TestStacksExperts(t *testing.T) {
	g := openGolden(t, "switch_transformers")
	boundary := slices.Index(g.ids, g.model.Spec.Boundary())
	taps := g.take(t, trace.Router, trace.Experts)
	some := 0
	for l := range g.model.Spec.Layers {
		for i := range g.ids {
			stack, m := g.model.Spec.Stack(l), g.model.Spec.MixtureOf(l)
			passes := m != nil && (stack == spec.Encoding) == (i < boundary)
			of, router := at(taps[trace.Experts], l, i), at(taps[trace.Router], l, i)
			if passes != (of[0] >= 0) || passes != (of[1] > 0) || passes != (router[0] > 0) {
				t.Errorf("layer %d, token %d: %v with %v, want experts: %v", l, i, of, router,
					passes)
			}
			if passes {
				check(t, "weight", of[1:], []float32{slices.Max(router)}, 0)
				some++
			}
		}
	}
	if some != 2*boundary+len(g.ids)-boundary {
		t.Errorf("%d pairs of a layer and a token have experts", some)
	}
}

// TestStacksRefuse: a text without source, without target or with two boundaries is refused.
func TestStacksRefuse(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		for _, ids := range [][]int{
			{5, 6}, {g.model.Spec.Boundary(), 5}, append(slices.Clone(g.ids), g.ids[boundary]),
		} {
			if _, err := g.model.Trace(context.Background(), ids, []trace.Tap{trace.Hidden}); err ==
				nil {
				t.Errorf("ids %v are read", ids)
			}
		}
	})
}

// TestReadLogitsOfTwoStacks: the scores from the boundary on are those that PyTorch recorded, and
// none are of the source.
func TestReadLogitsOfTwoStacks(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		want, V := g.Recorded(t, "logits"), g.model.Spec.Vocab
		for _, first := range []int{boundary, boundary + 1} {
			at := first
			must(t, g.model.ReadLogits(context.Background(), g.ids, nil, first,
				func(position int, got []float32) error {
					check(t, fmt.Sprintf("scores after token %d", position), got,
						want[at*V:(at+1)*V], logitsTol)
					at++
					return nil
				}))
			if at != len(g.ids) {
				t.Errorf("from %d on, read to %d of %d tokens", first, at, len(g.ids))
			}
		}
		err := g.model.ReadLogits(context.Background(), g.ids, nil, boundary-1,
			func(int, []float32) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "is in the source, which predicts") {
			t.Errorf("of the source: error %v", err)
		}
	})
}

// TestStacksRowOfLayer: the row of one layer, which for a layer that reads the source is computed
// over the slots of the source alone, is the row of a step over all layers. In a layer of the
// encoder a token of the target looks at itself.
func TestStacksRowOfLayer(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		asks := []trace.MixingAsk{{Name: "value-zeroing"}, {Name: "alti"},
			{Name: "value-zeroing", Heads: trace.Heads{Fusion: trace.EachHead}}}
		s, err := g.model.NewSession(asks, 0)
		must(t, err)
		defer s.Close()
		must(t, s.KeepTerms())
		out, err := s.Prompt(context.Background(), g.ids[:boundary+1], nil)
		for n := boundary + 1; ; n++ {
			must(t, err)
			for i, ask := range asks {
				want := out.Rows[i]
				for l := range want.L {
					got, err := s.RowsOfLayer(context.Background(), l, ask)
					must(t, err)
					for h := range got.H {
						if row := got.Row(0, h, 0); l < g.model.Spec.Encoder && row[n-1] != 1 {
							t.Errorf("%s, layer %d of the encoder: the row is %v", ask.Name, l, row)
						}
						check(t, fmt.Sprintf("%s after %d tokens, layer %d, head %d", ask.Name, n,
							l, h), got.Row(0, h, 0), want.Row(l, h, want.N-1), oneRowTol)
					}
				}
			}
			if n == len(g.ids) {
				return
			}
			out, err = s.Step(context.Background(), g.ids[n])
		}
	})
}
