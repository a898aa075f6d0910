package transformer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// BenchmarkParts is what the parts of a logit cost beside the logit alone.
func BenchmarkParts(b *testing.B) {
	m := benchModel(b)
	for _, n := range []int{16, 64} {
		q := trace.Query{IDs: benchIDs(n), Objective: trace.Objective{
			Quantity: trace.Logit,
			Position: n - 1,
		}}
		for _, c := range []struct {
			name string
			run  func() error
		}{
			{"Predict", func() error {
				_, err := m.Predict(context.Background(), []trace.Query{q})
				return err
			}},
			{"LogitTerms", func() error {
				_, err := m.LogitTerms(context.Background(), q)
				return err
			}},
			{"Decompose", func() error {
				_, _, err := m.Decompose(context.Background(), q)
				return err
			}},
		} {
			b.Run(fmt.Sprintf("n=%d/%s", n, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					must(b, c.run())
				}
			})
		}
	}
}
