package transformer_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// The taps of a block against a block in float64.
const (
	termTol    = 1e-5 // scores of magnitude 10; worst seen 3e-6
	softmaxTol = 2e-6 // worst seen 2e-7
	headTol    = 1e-5 // worst seen 2e-6
)

// taken is the taps of one run of a golden, by name.
type taken map[trace.Tap]trace.Tensor

func (g *golden) take(t testing.TB, taps ...trace.Tap) taken {
	t.Helper()
	ts, err := g.model.Trace(context.Background(), g.ids, taps)
	must(t, err)
	all := taken{}
	for i, tap := range taps {
		all[tap] = ts[i]
	}
	return all
}

// at returns what a tensor has at the first of its axes: a slice that shares its memory.
func at(x trace.Tensor, index ...int) []float32 {
	data := x.Data
	for i, k := range index {
		size := len(data) / x.Shape[i]
		data = data[k*size : (k+1)*size]
	}
	return data
}

// TestTerms compares the three terms with the naive block, and their sum, capped where the model
// caps, with the scores.
func TestTerms(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		taps := g.take(t, trace.Terms, trace.Scores)
		for l, b := range g.layers(t) {
			for h := range g.model.Spec.Heads {
				for target := range g.ids {
					where := fmt.Sprintf("layer %d head %d target %d", l, h, target)
					for term, want := range [][]float64{
						b.content[h][target],
						b.queryBias[h][target], b.alibi[h][target],
					} {
						check(t, fmt.Sprintf("%s term %d", where, term),
							at(taps[trace.Terms], l, h, term, target), narrow(want), termTol)
					}
					scores := at(taps[trace.Scores], l, h, target)
					check(t, where+" scores", scores, narrow(b.scores[h][target]), termTol)
					sum := make([]float32, len(g.ids))
					for s := range sum {
						for term := range 3 {
							sum[s] += at(taps[trace.Terms], l, h, term, target)[s]
						}
						sum[s] = float32(cap64(float64(sum[s]), g.model.Spec.ScoreCap))
					}
					check(t, where+" sum of the terms", sum, scores, termTol)
				}
			}
		}
	})
}

// TestAttentionIsSoftmax: attention is the softmax of the tap of scores over what a target may
// see, and its rows sum to 1, or to less with sinks.
func TestAttentionIsSoftmax(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		taps := g.take(t, trace.Scores, trace.Attention)
		for l, b := range g.layers(t) {
			for h := range g.model.Spec.Heads {
				for target := range g.ids {
					where := fmt.Sprintf("layer %d head %d target %d", l, h, target)
					row := at(taps[trace.Attention], l, h, target)
					check(t, where, row, narrow(b.softmax(h, target,
						wide(at(taps[trace.Scores], l, h, target)))), softmaxTol)
					check(t, where+" from the block's input", row, narrow(b.attention[h][target]),
						tapTol)
					sum := 0.0
					for s, a := range row {
						sum += float64(a)
						if !b.sees(target, s) && a != 0 {
							t.Errorf("%s: attention %v to source %d, which it cannot see", where, a,
								s)
						}
					}
					if math.Abs(sum-1) > softmaxTol && !(b.spec.Sinks && sum < 1) {
						t.Errorf("%s: attention sums to %v", where, sum)
					}
				}
			}
		}
	})
}

// TestHeads: values, contexts and both through the output projection are those of the naive block,
// in every head also where heads share a value.
func TestHeads(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		taps := g.take(t, trace.Value, trace.Context, trace.HeadOutput, trace.ValueOutput)
		for l, b := range g.layers(t) {
			for h := range g.model.Spec.Heads {
				for target := range g.ids {
					where := fmt.Sprintf("layer %d head %d target %d", l, h, target)
					c := b.context(h, target, -1)
					check(t, where+" value", at(taps[trace.Value], l, h, target),
						narrow(b.value[h][target]), headTol)
					check(t, where+" context", at(taps[trace.Context], l, h, target), narrow(c),
						headTol)
					check(t, where+" output", at(taps[trace.HeadOutput], l, h, target),
						narrow(b.headOutput(h, c)), headTol)
					check(t, where+" value output", at(taps[trace.ValueOutput], l, h, target),
						narrow(b.headOutput(h, b.value[h][target])), headTol)
				}
			}
		}
	})
}

// TestHeadOutputsMakeTheBlock: Σ_h head output + b_O, the residual added and the feed-forward part
// after it, is the next hidden state.
func TestHeadOutputsMakeTheBlock(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		taps := g.take(t, trace.HeadOutput, trace.Hidden)
		for l, b := range g.layers(t) {
			for target := range g.ids {
				a := make([]float64, g.model.Spec.Width)
				for h := range g.model.Spec.Heads {
					a = plus(a, wide(at(taps[trace.HeadOutput], l, h, target)))
				}
				if g.model.Spec.OutputBias {
					a = plus(a, wide(b.weight("output.bias")))
				}
				where := fmt.Sprintf("hidden state %d of target %d", l+1, target)
				next := at(taps[trace.Hidden], l+1, target)
				check(t, where+" from head outputs", next, narrow(b.after(b.x[target], a)), tapTol)
				check(t, where, next, narrow(b.output(target, -1, -1)), tapTol)
			}
		}
	})
}

// TestHeadsAdded: the tap head-added is each head's output, through the norm after the attention
// where a block has one, divided by the spread of the whole. With the biases it adds up to what the
// block adds to the residual.
func TestHeadsAdded(t *testing.T) {
	normed := 0
	eachGolden(t, func(t *testing.T, g *golden) {
		s := g.model.Spec
		taps := g.take(t, trace.HeadAdded)
		for l, b := range g.layers(t) {
			for target := range g.ids {
				where := fmt.Sprintf("layer %d target %d", l, target)
				whole := make([]float64, s.Width)
				if s.OutputBias {
					whole = wide(b.weight("output.bias"))
				}
				var parts [][]float64
				for h := range s.Heads {
					parts = append(parts, b.headOutput(h, b.context(h, target, -1)))
					whole = plus(whole, parts[h])
				}
				sum := make([]float64, s.Width)
				for h, part := range parts {
					if s.Order == spec.PreNorm && s.NormAfter {
						normed++
						part = b.normedPart("attention-after-norm", part, whole)
					}
					got := at(taps[trace.HeadAdded], l, h, target)
					check(t, fmt.Sprintf("%s head %d", where, h), got, narrow(part), tapTol)
					sum = plus(sum, wide(got))
				}
				// Gemma has no biases here. In every other block nothing is after the attention.
				want := whole
				if s.Order == spec.PreNorm && s.NormAfter {
					want = b.norm("attention-after-norm", whole)
				} else if s.OutputBias {
					sum = plus(sum, wide(b.weight("output.bias")))
				}
				check(t, where+" sum", narrow(sum), narrow(want), tapTol)
			}
		}
	})
	if normed == 0 {
		t.Error("no golden has a norm after the attention")
	}
}

// TestLogits: the tap final is the last hidden state after the final norm, and the logits follow
// from it.
func TestLogits(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		s := g.model.Spec
		taps := g.take(t, trace.Hidden, trace.Final)
		var logits trace.Tensor
		if s.Head != spec.NoHead {
			logits = g.take(t, trace.Logits)[trace.Logits]
		}
		for target := range g.ids {
			x := wide(at(taps[trace.Hidden], s.Layers, target))
			if !s.NoFinalNorm {
				x = norm(s, x, g.params["final-norm.gain"], g.params["final-norm.bias"])
			}
			if w := g.params["head-projection.weight"]; w != nil {
				x = times(x, w)
			}
			where := fmt.Sprintf("target %d", target)
			check(t, where+" final", at(taps[trace.Final], target), narrow(x), tapTol)
			switch {
			case s.Head == spec.ClassifierHead && target == readsAt(s, g.ids):
				check(t, "logits", logits.Data, narrow(g.classes(x)), logitsTol)
			case s.Head == spec.TokenHead, s.Head == spec.SpanHead:
				check(t, where+" logits", at(logits, target), narrow(g.classes(x)), logitsTol)
			case s.Head == spec.LanguageHead:
				check(t, where+" logits", at(logits, target), narrow(g.scores(x)), logitsTol)
			}
		}
	})
}

// classes are the scores of a classifier for one vector.
func (g *golden) classes(x []float64) []float64 {
	if w := g.params["classifier-dense.weight"]; w != nil {
		x = activated(g.model.Spec.HeadActivation,
			plus(times(x, w), wide(g.params["classifier-dense.bias"])))
	}
	scores := times(x, g.params["classifier.weight"])
	if bias := g.params["classifier.bias"]; bias != nil {
		scores = plus(scores, wide(bias))
	}
	return scores
}

// scores are those of the vocabulary for one vector.
func (g *golden) scores(x []float64) []float64 {
	s := g.model.Spec
	if w := g.params["head-transform.weight"]; w != nil {
		x = activated(s.HeadActivation, plus(times(x, w), wide(g.params["head-transform.bias"])))
		x = norm(s, x, g.params["head-norm.gain"], g.params["head-norm.bias"])
	}
	table := g.params["embedding"]
	if !s.TiedHead {
		table = g.params["head"]
	}
	y := make([]float64, s.Vocab)
	for id := range y {
		y[id] = dot(x, wide(table[id*len(x):(id+1)*len(x)]))
		if s.HeadBias {
			y[id] += float64(g.params["head-bias"][id])
		}
		y[id] = cap64(y[id], s.LogitCap)
	}
	return y
}
