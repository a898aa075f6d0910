package transformer_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// TestInnerTaps: in a plain pre-norm model, a score is query times key over the root of their
// width, and the stream grows by what each part of a block puts out.
func TestInnerTaps(t *testing.T) {
	for _, name := range []string{"llama", "gpt2"} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			s := g.model.Spec
			taps := g.take(t, trace.QueryVector, trace.KeyVector, trace.Scores, trace.Hidden,
				trace.AttentionOutput, trace.HiddenAfterAttention, trace.FeedForwardOutput)
			query, key := taps[trace.QueryVector].Data, taps[trace.KeyVector].Data
			n, e := len(g.ids), s.HeadWidth
			var scores []float32
			for lh := range s.Layers * s.Heads {
				for i := range n {
					for j := range n {
						sum := 0.0
						for c := range e {
							sum += float64(query[(lh*n+i)*e+c]) * float64(key[(lh*n+j)*e+c])
						}
						if j > i {
							sum = 0
						}
						scores = append(scores, float32(sum/math.Sqrt(float64(e))))
					}
				}
			}
			check(t, "scores", taps[trace.Scores].Data, scores, 1e-5)
			layer := n * s.Width
			hidden, middle := taps[trace.Hidden].Data, taps[trace.HiddenAfterAttention].Data
			sum := func(a, b []float32) (out []float32) {
				for i := range b {
					out = append(out, a[i]+b[i])
				}
				return out
			}
			check(t, "after attention", middle,
				sum(hidden, taps[trace.AttentionOutput].Data), 1e-5)
			check(t, "after the block", hidden[layer:],
				sum(middle, taps[trace.FeedForwardOutput].Data), 1e-5)
		})
	}
}

// TestNoStreamBetween: a block that adds both parts at once has no stream between them.
func TestNoStreamBetween(t *testing.T) {
	g := openGolden(t, "falcon7")
	_, err := g.model.Trace(context.Background(), g.ids,
		[]trace.Tap{trace.HiddenAfterAttention})
	if err == nil || !strings.Contains(err.Error(), "at once") {
		t.Errorf("error %v, want one that says that both parts are added at once", err)
	}
}

// TestInnerTapsOfStacks: in a model of two stacks with norms before, the stream of every token
// grows by what each part of a layer puts out, which is nothing for the tokens of the other stack
// and of the feed-forward part that a layer does not have.
func TestInnerTapsOfStacks(t *testing.T) {
	for _, name := range []string{"t5", "mbart"} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			s := g.model.Spec
			taps := g.take(t, trace.Hidden, trace.AttentionOutput, trace.HiddenAfterAttention,
				trace.FeedForwardOutput)
			hidden, middle := taps[trace.Hidden].Data, taps[trace.HiddenAfterAttention].Data
			attended, fed := taps[trace.AttentionOutput].Data, taps[trace.FeedForwardOutput].Data
			between, after := slices.Clone(middle), slices.Clone(middle)
			begin := slices.Index(g.ids, s.Boundary())
			for i := range middle {
				l, at := i/s.Width/len(g.ids), i/s.Width%len(g.ids)
				idle := (s.Stack(l) == spec.Encoding) != (at < begin)
				if idle && (attended[i] != 0 || fed[i] != 0) ||
					s.Stack(l) == spec.Decoding && fed[i] != 0 {
					t.Fatalf("layer %d adds %g and %g to token %d", l, attended[i], fed[i], at)
				}
				between[i] = hidden[i] + attended[i]
				after[i] += fed[i]
			}
			check(t, "after attention", middle, between, 1e-5)
			check(t, "after the layer", hidden[len(g.ids)*s.Width:], after, 1e-5)
		})
	}
}
