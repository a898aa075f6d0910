package transformer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// benchModel is a decoder of 4 layers, 8 heads and width 256 in pure Go; internal/bench/peers
// measures whole models on every backend.
func benchModel(b *testing.B) *transformer.Model {
	b.Helper()
	arch := &spec.Spec{
		Family: "benchmark", Layers: 4, Heads: 8, Width: 256, HeadWidth: 32, FeedForward: 1024,
		Vocab: 4096, Context: 512, NormEpsilon: 1e-5,
		Activation: spec.GELUTanh, ProjectionBias: true, OutputBias: true, MLPBias: true,
		TiedHead: true, BOS: -1,
	}
	random := rand.New(rand.NewPCG(1, 2))
	m, err := transformer.New(goBackend(b), arch, dtypes.Float32,
		func(p spec.Param, put func(int, []float32)) error {
			data := make([]float32, p.Size())
			for i := range data {
				data[i] = float32(0.02 * random.NormFloat64())
				if strings.HasSuffix(p.Name, ".gain") {
					data[i]++
				}
			}
			put(0, data)
			return nil
		})
	must(b, err)
	return m
}

func benchIDs(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = 37 * i % 4096
	}
	return ids
}

var benchSink any

// BenchmarkTrace is one pass with some taps.
func BenchmarkTrace(b *testing.B) {
	m := benchModel(b)
	for _, n := range []int{64, 256} {
		for _, taps := range [][]trace.Tap{
			{trace.Final},
			{trace.Attention},
			{trace.Attention, trace.Logits},
		} {
			b.Run(fmt.Sprintf("n=%d/%v", n, taps), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ts, err := m.Trace(context.Background(), benchIDs(n), taps)
					must(b, err)
					benchSink = ts
				}
			})
		}
	}
}

// BenchmarkStep is one token after a prompt, with the rows of a mixing or none.
func BenchmarkStep(b *testing.B) {
	m := benchModel(b)
	for _, n := range []int{64, 256} {
		for _, mixing := range []string{"", "attention", "value-zeroing"} {
			var asks []trace.MixingAsk
			if mixing != "" {
				asks = []trace.MixingAsk{{Name: mixing}}
			}
			b.Run(fmt.Sprintf("n=%d/%s", n, mixing), func(b *testing.B) {
				b.ReportAllocs()
				s, err := m.NewSession(asks, n+17)
				must(b, err)
				defer s.Close()
				for b.Loop() {
					if s.Length() == 0 || s.Length() == n+16 { // prompts again and keeps the length
						b.StopTimer()
						_, err := s.Prompt(context.Background(), benchIDs(n), nil)
						must(b, err)
						b.StartTimer()
					}
					out, err := s.Step(context.Background(), 5)
					must(b, err)
					benchSink = out
				}
			})
		}
	}
}
