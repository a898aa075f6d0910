package backends

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/models"
)

// BenchmarkGradients is what a number of one text, or of sixteen at once, costs, and its gradient
// by each rule, as a multiple of a pass that records the last hidden state of one text; they run in
// turn, and the medians are compared.
func BenchmarkGradients(b *testing.B) {
	ctx, n := context.Background(), 64
	for _, model := range []struct {
		name string
		open func(b *testing.B, backend string) *models.Model
	}{
		{"tiny", func(b *testing.B, backend string) *models.Model {
			return fixture.Open(b, "", backend)
		}},
		{"gpt2-small-shape", openSmall},
	} {
		for _, backend := range []string{"xla", "go"} {
			b.Run(model.name+"/"+backend, func(b *testing.B) {
				m := model.open(b, backend)
				ids := randomIDs(m, n)
				logProbability := trace.Objective{
					Quantity: trace.LogProbability, Position: n - 1, Token: 5,
				}
				query := trace.Query{IDs: ids, Objective: logProbability}
				queries := []trace.Query{query}
				for range 15 {
					queries = append(queries, query)
				}
				rule := func(rule trace.Backward) func() error {
					return func() error {
						_, err := m.Gradients(ctx, queries[:1], rule)
						return err
					}
				}
				predict := func(k int) func() error {
					return func() error {
						_, err := m.Predict(ctx, queries[:k])
						return err
					}
				}
				compareTimes(b, func() error {
					_, err := m.Trace(ctx, ids, []trace.Tap{trace.Final})
					return err
				}, []timed{
					{"predict", predict(1)},
					{"predict-16", predict(16)},
					{"gradient", rule(trace.TrueGradient)},
					{"relevance", rule(trace.RelevanceGradient)},
					{"with-attention", rule(trace.WithAttention)},
				})
			})
		}
	}
}

// timed is work by name.
type timed struct {
	name string
	do   func() error
}

// compareTimes reports what a pass takes and what each of the others is of it.
func compareTimes(b *testing.B, pass func() error, others []timed) {
	all := append([]timed{{"pass", pass}}, others...)
	took := make([][]time.Duration, len(all))
	round := func(keep bool) {
		for i, work := range all {
			begin := time.Now()
			must(b, work.do())
			if keep {
				took[i] = append(took[i], time.Since(begin))
			}
		}
	}
	round(false) // compiles
	for b.Loop() {
		round(true)
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return float64(took[i][len(took[i])/2]) / float64(time.Millisecond)
	}
	b.ReportMetric(median(0), "pass-ms")
	for i, work := range all[1:] {
		b.ReportMetric(median(1+i)/median(0), work.name+"-x")
	}
	b.ReportMetric(0, "ns/op") // one round is all of them
}
