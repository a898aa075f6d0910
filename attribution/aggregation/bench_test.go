package aggregation_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// BenchmarkRollout is one more row, what a generated token costs, and all rows at once, what a
// prompt costs.
func BenchmarkRollout(b *testing.B) {
	const L, T = 12, 512
	a, err := aggregation.Lookup("rollout")
	if err != nil {
		b.Fatal(err)
	}
	data := fakemodel.SharpRows(1, L, T, false)
	whole := aggregation.Rows{L: L, N: T, Skip: T, Data: data}
	ctx, cfg := context.Background(), aggregation.Config{Layers: L}
	b.Run(fmt.Sprintf("whole/L=%d/n=%d", L, T), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := a.New(cfg).Extend(ctx, nil, whole); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(fmt.Sprintf("row/L=%d/n=%d", L, T), func(b *testing.B) {
		s := a.New(cfg)
		if _, err := s.Extend(ctx, nil, whole); err != nil {
			b.Fatal(err)
		}
		dst, t := []float64(nil), T
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			if t == T+64 { // rows grow; start again before they are much longer
				s, t = a.New(cfg), T
				_, _ = s.Extend(ctx, nil, whole)
			}
			next := aggregation.Rows{First: t, L: L, N: 1, Data: make([]float64, L*(t+1))}
			for i := range next.Data {
				next.Data[i] = 1 / float64(t+1)
			}
			b.StartTimer()
			dst, _ = s.Extend(ctx, dst[:0], next)
			t++
		}
	})
}
