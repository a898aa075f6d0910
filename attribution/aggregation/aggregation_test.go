package aggregation_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

func TestAggregations(t *testing.T) {
	names := aggregation.Names()
	if got := fmt.Sprint(names); got != "[flow layer rollout]" {
		t.Errorf("aggregation.Names() = %s, want flow, layer and rollout", got)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			a, err := aggregation.Lookup(name)
			must(t, err)
			attributiontest.Aggregation(t, a)
		})
	}
}

// aggregate returns all levels [L,T,T] of a registered aggregation over rows [L,T,T] that are
// normalised already.
func aggregate(t testing.TB, name string, bidirectional bool, L, T int, data []float64) []float64 {
	t.Helper()
	a, err := aggregation.Lookup(name)
	must(t, err)
	cfg := aggregation.Config{Layers: L}
	if bidirectional {
		cfg.Prefix = T
	}
	s := a.New(cfg)
	out, err := s.Extend(context.Background(), nil, aggregation.Rows{L: L, N: T, Data: data})
	must(t, err)
	return out
}

// Extend must refuse rows that cannot follow, not read past them.
func TestStatePanics(t *testing.T) {
	rows := func(first, n int) aggregation.Rows {
		return aggregation.Rows{First: first, L: 1, N: n, Data: make([]float64, n*(first+n))}
	}
	a, _ := aggregation.Lookup("rollout")
	extend := func(s aggregation.State, m aggregation.Rows) {
		_, _ = s.Extend(context.Background(), nil, m)
	}
	one := aggregation.Config{Layers: 1}
	for name, f := range map[string]func(){
		"a gap":         func() { extend(a.New(one), rows(1, 1)) },
		"other layers":  func() { extend(a.New(aggregation.Config{Layers: 2}), rows(0, 1)) },
		"short data":    func() { m := rows(0, 2); m.Data = m.Data[:3]; extend(a.New(one), m) },
		"skip too many": func() { m := rows(0, 1); m.Skip = 2; extend(a.New(one), m) },
		"prefix in two calls": func() {
			s := a.New(aggregation.Config{Layers: 1, Prefix: 2})
			extend(s, rows(0, 1))
			extend(s, rows(1, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
